"""Blocks: what many rows of a file have alike, such as versions, on a line of its own, which these rows refer to.

A block is the line {"block":NAME,"value":VALUE}, and {"@":NAME} in a row stands for its value. The name is part of the
SHA-256 of the value, so files of two machines merge line by line. A row's own digest is that of its whole text: a block
that was edited is found by it.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping

FEWEST_ROWS = 100  # of a file that has blocks; in a smaller one each line says all
MOST_REFERENCES = 32  # of a row; a line from elsewhere with more is not made whole, however long it would be
MOST_OF_VALUE = 1 << 14  # characters
SHARED = r'"(?:arithmetic|code|data|hardware|threads|versions)":|"(?:data|features|ids)_sha256":'
_SHARED = re.compile(rf'({SHARED})(\{{(?:[^{{}}]|\{{[^{{}}]*\}})*\}}|"[0-9a-f]{{64}}")')
_CONFIG = re.compile(r'("config":)(\{.*\})(?=,"config_hash":)')  # it refers to other blocks itself
_BLOCK = re.compile(r'\{"block":"([0-9a-f]{10})","value":(.*)\}')
_REFERENCE = re.compile(r'\{"@":"([0-9a-f]{10})"\}')


def whole(text: str, blocks: Mapping[str, str]) -> str:
    """The text of a row, with the values of ``blocks`` in place of its references."""
    for _ in ("config", "what it refers to"):
        text = _REFERENCE.sub(lambda reference: blocks.get(reference[1], reference[0]), text, MOST_REFERENCES)
    return text


def read_block(line: str) -> tuple[str, str] | None:
    """The name and the value of a block; None for another line."""
    block = _BLOCK.fullmatch(line)
    if block is None or len(block[2]) > MOST_OF_VALUE:
        return None
    return block[1], block[2]


def text_of_file(rows: Iterable[str]) -> str:
    """The text of a file of whole ``rows``: its lines, and then the blocks that they refer to."""
    lines = list(rows)
    blocks: dict[str, str] = {}
    if len(lines) >= FEWEST_ROWS:
        lines = [_with_references(line, blocks) for line in lines]
    lines += [f'{{"block":"{name}","value":{value}}}' for name, value in sorted(blocks.items())]
    return "".join(f"{line}\n" for line in lines)


def _with_references(line: str, blocks: dict[str, str]) -> str:
    """The line with references in place of values, which are added to ``blocks``; as it is where one is in the way."""
    values: dict[str, str] = {}

    def reference_to(part: re.Match[str]) -> str:
        name = hashlib.sha256(part[2].encode()).hexdigest()[:10]
        values[name] = part[2]
        return f'{part[1]}{{"@":"{name}"}}'

    short = _CONFIG.sub(reference_to, _SHARED.sub(reference_to, line))
    is_usable = all(len(value) <= MOST_OF_VALUE and blocks.get(name, value) == value for name, value in values.items())
    if not is_usable or whole(short, values) != line:
        return line
    blocks |= values
    return short

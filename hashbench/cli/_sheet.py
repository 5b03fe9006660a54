"""All about one entry, as ``hashbench show`` prints it: as JSON, or as text with facts, blocks and commands."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hashbench.cli._terminal import in_columns, wrapped
from hashbench.foundation.config import Setting

Block = tuple[str, Iterable[tuple[str, str]]]  # a heading, and names with a text each


@dataclass(frozen=True)
class Sheet:
    """An entry: the ``values`` that --json prints, and the text: a title, facts, blocks, and commands to copy."""

    title: str
    values: dict[str, Any]
    facts: Mapping[str, object] = field(default_factory=dict)
    blocks: Sequence[Block] = ()
    commands: Sequence[str] = ()

    def lines(self) -> Iterator[str]:
        """The text. A fact that is None or empty is left out, and so is a block without lines."""
        yield from wrapped("", self.title)
        if known := [(key, str(value)) for key, value in self.facts.items() if value not in (None, "")]:
            yield ""
            yield from in_columns(known)
        for heading, lines in self.blocks:
            if rows := list(lines):
                yield from ("", heading)
                yield from in_columns(rows, "  ")
        if self.commands:
            yield ""
            yield from (f"$ {command}" for command in self.commands)  # never wrapped: they are to be copied


def paper(key: str) -> str:
    """The authors, year and title of a paper, and its key."""
    from hashbench.tables.papers import cited, papers

    entries = papers(broken=str)  # str: hashbench list papers says which entries are broken
    if key not in entries:
        return key
    authors = cited(key, entries)
    return ": ".join([*([] if authors == key else [authors]), f"{entries[key].title} [{key}]"])


def setting(value: "Setting | None") -> str:
    """The value of a setting as --set takes it."""
    if value is None or value == "":
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)


def settings(values: Mapping[str, Setting]) -> str:
    """Settings on one line."""
    return ", ".join(f"{key} {setting(value)}" for key, value in values.items())

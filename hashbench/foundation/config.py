"""Typed settings read from TOML: an unknown key or a value of a wrong type is an error of one line."""

import hashlib
import json
import lzma
import math
import tomllib
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hashbench.foundation.errors import HashbenchError, one_line, retold, unknown


class Strict(BaseModel):
    """Base class of everything read from a TOML or JSON file: no unknown keys, no silent conversions, immutable."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)
    former_keys: ClassVar[Mapping[str, str]] = {}  # keys that went, with what to write in their place


MOST_OF_TEXT = 1000  # characters of a text that is stored
BEYOND_INTEGERS = 2**63  # every whole number that is stored fits into 64 bits, as those of NumPy and pandas

Setting = int | float | str | bool  # the value of a hyper-parameter
Text = Annotated[str, Field(max_length=MOST_OF_TEXT)]
Integer = Annotated[int, Field(ge=-BEYOND_INTEGERS, lt=BEYOND_INTEGERS)]
Count = Annotated[int, Field(ge=0, lt=BEYOND_INTEGERS)]

M = TypeVar("M", bound=BaseModel)
_loaded: dict[tuple[type[BaseModel], str], Any] = {}  # by the text of the file


def read_text(path: Path, what: str, remedy: str = "", *, errors: str = "strict") -> str:
    """The text of a file, which may be packed by xz; raises FileNotFoundError, or HashbenchError: no ``what``."""
    try:
        if path.suffix == ".xz":
            return lzma.decompress(path.read_bytes()).decode(errors=errors)
        return path.read_text(encoding="utf-8", errors=errors)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, lzma.LZMAError) as error:
        raise HashbenchError(f"{path}: not a readable {what}: {one_line(error)}{remedy}") from None


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; raises HashbenchError when it is missing or malformed."""
    return _tables_of(path, _toml_text(path))


def _toml_text(path: Path) -> str:
    with retold(lambda _: f"{path}: no such file", FileNotFoundError):
        return read_text(path, "TOML file")


def _tables_of(path: Path, text: str) -> dict[str, Any]:
    with retold(lambda cause: f"{path}: not a readable TOML file: {cause}", ValueError, RecursionError):
        return deepcopy(_tables(text))


def toml_value(value: object) -> str:
    """A value as TOML on one line: strings, numbers and lists as JSON writes them, and tables of these.

    >>> toml_value({"label": "16 bits", "settings": {"bits": 16}})
    '{ label = "16 bits", settings = { bits = 16 } }'
    """
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {toml_value(inner)}' for key, inner in value.items())} }}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # JSON may hold DEL as it is


def as_typed(value: Setting | None) -> str:
    """The value of a setting as --set takes it.

    >>> as_typed(True), as_typed(0.5), as_typed(None)
    ('true', '0.5', '-')
    """
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def all_as_typed(values: Mapping[str, Setting]) -> str:
    """Settings on one line."""
    return ", ".join(f"{key} {as_typed(value)}" for key, value in values.items())


def load(model: type[M], path: Path) -> M:
    """The TOML file ``path`` as an instance of ``model``, the same for equal texts; HashbenchError if it is none."""
    text = _toml_text(path)
    if (model, text) not in _loaded:
        _loaded[model, text] = parse(model, _tables_of(path, text), str(path))
    loaded: M = _loaded[model, text]
    return loaded


def toml_tables(text: str) -> dict[str, Any]:
    """The tables of a TOML text; raises ValueError if it is malformed."""
    return _shallow(tomllib.loads, text)


_tables = lru_cache(maxsize=512)(toml_tables)  # the cells of a table read one card a hundred times


def json_object(text: str) -> dict[str, Any]:
    """The object that is the whole of a JSON text; ValueError if it is none, or has a key twice, NaN or an infinity."""
    read = partial(json.loads, object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite)
    value = _shallow(read, text)
    if not isinstance(value, dict):
        raise ValueError("an object was expected")  # noqa: TRY004  (every fault of the text is a ValueError)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {max(keys, key=keys.count)!r} is there twice")
    return table


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no number")
    return value


def _shallow(read: Callable[[str], Any], text: str) -> Any:
    """The result of ``read``; raises ValueError if it is nested too deep to be read."""
    try:
        return read(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def parse(model: type[M], values: Mapping[str, Any], where: str) -> M:
    """``values`` as an instance of ``model``; raises HashbenchError for the first error, one line after ``where``."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        raise HashbenchError(f"{where}: {_first_complaint(model, error)}") from None


def _first_complaint(model: type[BaseModel], error: ValidationError) -> str:
    complaints = error.errors(include_url=False)
    # a misspelt key gives two errors, "unknown" and "missing"; the first is shown, because it lists similar names
    first = next((complaint for complaint in complaints if complaint["type"] == "extra_forbidden"), complaints[0])
    key = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        if issubclass(model, Strict) and key in model.former_keys:
            return f"the key {key!r} is no more: {model.former_keys[key]}"
        if len(first["loc"]) > 1:
            return f"unknown key {key!r}"
        return str(unknown("key", key, model.model_fields))
    if first["type"] == "missing":
        return f"key {key!r} is missing"
    message = first["msg"].removeprefix("Value error, ")
    if not key:  # of several keys together: the message names them
        return message
    value = repr(first["input"])
    if len(value) > 60:
        value = f"{value[:57]}..."
    return f"{key}: {message}, got {value}"


def canonical_json(value: object) -> str:
    """The JSON text of ``value`` that digests are computed from: sorted keys, no spaces; NaN is an error."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: object) -> str:
    """SHA-256 (hex) of the canonical JSON of ``value``: the order of keys does not matter."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def derive_seed(*names: object) -> int:
    """A seed in [0, 2^63), computed from ``names`` alone (data set, protocol, method, ...), the same everywhere."""
    text = "\x1f".join(map(str, names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1

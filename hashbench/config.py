"""Typed settings read from TOML: an unknown key or a value of a wrong type is an error of one line."""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from hashbench.errors import HashbenchError, unknown


class Strict(BaseModel):
    """Base class of everything read from a TOML or JSON file: no unknown keys, no silent conversions, immutable."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


Setting = int | float | str | bool  # the value of a hyper-parameter

M = TypeVar("M", bound=BaseModel)


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; raises HashbenchError when it is missing or malformed.

    The same text is parsed once: the cells of a table read one card a hundred times.
    """
    return deepcopy(_tables(path, _text(path)))


def load(model: type[M], path: Path) -> M:
    """The TOML file ``path`` as an instance of ``model``. The same text is parsed once: the result is cached."""
    loaded = _loaded(model, path, _text(path))
    assert isinstance(loaded, model)
    return loaded


@lru_cache(maxsize=256)
def _loaded(model: type[BaseModel], path: Path, text: str) -> BaseModel:
    return parse(model, _tables(path, text), str(path))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise HashbenchError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise HashbenchError(f"{path}: not a readable TOML file: {error}") from None


@lru_cache(maxsize=256)
def _tables(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise HashbenchError(f"{path}: not a readable TOML file: {error}") from None


def parse(model: type[M], values: Mapping[str, Any], where: str) -> M:
    """``values`` as an instance of ``model``; raises HashbenchError for the first error, one line after ``where``."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        raise HashbenchError(f"{where}: {_first_complaint(model, error)}") from None


def _first_complaint(model: type[BaseModel], error: ValidationError) -> str:
    complaints = error.errors(include_url=False)
    # a misspelt key gives two errors, "unknown" and "missing"; the first is shown, because it lists similar names
    first = next((each for each in complaints if each["type"] == "extra_forbidden"), complaints[0])
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        if len(first["loc"]) == 1:
            return str(unknown("key", key, model.model_fields))
        return f"unknown key {key!r}"
    if first["type"] == "missing":
        return f"key {key!r} is missing"
    return f"{key or 'value'}: {first['msg'].removeprefix('Value error, ')}, got {_short(first['input'])}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def canonical_json(value: object) -> str:
    """The JSON text of ``value`` that digests are computed from: sorted keys, no spaces; NaN is an error.

    Equal values have equal texts.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: object) -> str:
    """SHA-256 (hex) of the canonical JSON of ``value``.

    >>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    True
    """
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def derive_seed(*names: object) -> int:
    """A seed in [0, 2^63), computed from ``names`` alone (data set, protocol, method, ...), the same everywhere.

    >>> derive_seed("digits", "s1", 0) == derive_seed("digits", "s1", 0) != derive_seed("digits", "s1", 1)
    True
    """
    text = "\x1f".join(str(name) for name in names)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1

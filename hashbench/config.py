"""Strict settings: TOML in, typed objects out, anything unknown or of a wrong type refused in one line."""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from hashbench.errors import HashbenchError, unknown


class Strict(BaseModel):
    """Base of everything read from a TOML or JSON file: no unknown keys, no silent conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


Setting = int | float | str | bool  # the value of a hyper-parameter

M = TypeVar("M", bound=BaseModel)


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; raises HashbenchError when it is missing or malformed."""
    return _tables(path, _text(path))


def load(model: type[M], path: Path) -> M:
    """The TOML file ``path`` as a ``model``; a text that was read before is not parsed again."""
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


def _tables(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise HashbenchError(f"{path}: not a readable TOML file: {error}") from None


def parse(model: type[M], values: Mapping[str, Any], where: str) -> M:
    """``values`` as a ``model``; the first thing wrong is raised as one line that names ``where`` it is."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        raise HashbenchError(f"{where}: {_first_complaint(model, error)}") from None


def _first_complaint(model: type[BaseModel], error: ValidationError) -> str:
    complaints = error.errors(include_url=False)
    # a misspelt key is missing under its right name too, but the nearest names help more
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
    """One text for one value: sorted keys, no spaces, no NaN; what digests are taken of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: object) -> str:
    """SHA-256 (hex) of the canonical JSON of ``value``.

    >>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    True
    """
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def derive_seed(*names: object) -> int:
    """A seed in [0, 2^63) from the names of what it seeds.

    >>> derive_seed("digits", "s1", 0) == derive_seed("digits", "s1", 0) != derive_seed("digits", "s1", 1)
    True
    """
    text = "\x1f".join(str(name) for name in names)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1

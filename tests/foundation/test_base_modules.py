"""Errors, registry, paths, strict settings, seeds, files."""

import os
from pathlib import Path
from typing import Literal

import pytest
from support.one_line import one_line

from hashbench.foundation.config import Strict, canonical_json, derive_seed, digest, parse, read_toml
from hashbench.foundation.files import require_writable, write_text
from hashbench.foundation.registry import canonical
from hashbench.learning.methods import METHODS


class Example(Strict):
    former_keys = {"old": "rate has its place"}
    count: int
    rate: float = 0.5
    kind: Literal["a", "b"] = "a"


@pytest.mark.parametrize(
    "values, complaint",
    [
        ({"count": "3"}, "count: Input should be a valid integer, got '3'"),
        ({"count": 3, "old": 1}, "the key 'old' is no more: rate has its place"),
        ({"count": 3, "rat": 1.0}, "unknown key 'rat': did you mean rate?"),
        ({}, "key 'count' is missing"),
    ],
)
def test_a_wrong_setting_is_one_line(values: dict[str, object], complaint: str) -> None:
    with one_line() as caught:
        parse(Example, values, "some.toml")
    assert str(caught.value) == f"some.toml: {complaint}"


@pytest.mark.parametrize("content", [b"a = ", b"\xff\xfe", b"a = 1\na = 2\n"])
def test_malformed_toml_is_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    with one_line(r"bad.toml: not a readable TOML file"):
        read_toml(path)


def test_digest_ignores_the_order_of_keys_and_refuses_nan() -> None:
    assert digest({"a": [1, 2.5], "b": None}) == digest({"b": None, "a": [1, 2.5]})
    assert digest({"a": 1}) != digest({"a": 1.0})
    with pytest.raises(ValueError, match="Out of range"):
        canonical_json(float("nan"))


def test_hyphen_and_underscore_are_one() -> None:
    assert canonical("TALR-AP") == "talr_ap"
    assert "talr-ap" in METHODS
    assert METHODS.get("talr-ap") is METHODS.get("talr_ap")


def test_seeds_differ_by_name_and_not_by_run() -> None:
    seeds = {derive_seed("digits", bits, seed) for bits in (12, 24) for seed in range(50)}
    assert len(seeds) == 100
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert derive_seed("digits", "s1", 0) == 1006476455969797180
    assert derive_seed("a", "bc") != derive_seed("ab", "c")


def test_written_files_have_the_usual_mode(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_text(tmp_path / "file", "x")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644


def test_an_unwritable_folder_is_one_line(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with one_line("cannot be written"):
        require_writable(blocked / "results")


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    with one_line("MiB free"):
        require_writable(tmp_path, free_bytes=1 << 62)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["a = " + "[" * 100_000, ".".join("a" * 5_000) + " = 1"])
def test_toml_nested_without_end_is_one_line(tmp_path: Path, content: str) -> None:
    path = tmp_path / "deep.toml"
    path.write_text(content)
    with one_line() as caught:
        read_toml(path)
    assert str(caught.value).startswith(f"{path}: not a readable TOML file: ")

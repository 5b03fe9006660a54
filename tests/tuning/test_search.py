"""The file of a search: what is saved is read again, and a damaged line is one line."""

import json
import lzma
from collections.abc import Callable
from typing import Any

import pytest
from support.one_line import one_line
from support.searches import question, search_of

from hashbench.running.tuning.search import Search, names, path_of

SMALL = search_of({"lsh": [[0.25, 0.5], [None, 0.125]], "itq": [[0.75, 0.5]]})


def test_what_is_saved_is_read_again_and_its_lines_are_in_order() -> None:
    for stored in (SMALL, Search("small", question(recipe="mlp_digits"), SMALL.trials)):
        stored.save()
        assert Search.load("small") == stored
    assert names() == ["small"]
    lines = [json.loads(line) for line in path_of("small").read_text().splitlines()[1:]]
    assert [(trial["method"], trial["trial"], trial["study"]) for trial in lines] == [
        *(("itq", 1, 0), ("itq", 1, 1)),
        *(("lsh", 1, 0), ("lsh", 1, 1), ("lsh", 2, 0), ("lsh", 2, 1)),
    ]
    assert Search.load("smal") is None
    with one_line("unknown search 'smal': did you mean small"):
        Search.named("smal")


def test_a_search_that_was_packed_goes_on_packed() -> None:
    SMALL.save()
    plain = path_of("small")
    content = plain.read_bytes()
    packed = plain.with_name("small.jsonl.xz")
    packed.write_bytes(lzma.compress(content))
    plain.unlink()
    stored = Search.named("small")
    assert names() == ["small"]
    assert stored == SMALL
    stored.save()
    assert not plain.exists() and lzma.decompress(packed.read_bytes()) == content
    packed.write_bytes(packed.read_bytes()[:-9])
    with one_line(r"small\.jsonl\.xz: not a readable search"):
        Search.load("small")


def edited(**changes: Any) -> Callable[[list[str]], list[str]]:
    """Changes keys of the second line; None deletes one."""

    def change(lines: list[str]) -> list[str]:
        values = {**json.loads(lines[1]), **changes}
        kept = {key: value for key, value in values.items() if value is not None}
        return [lines[0], json.dumps(kept), *lines[2:]]

    return change


@pytest.mark.parametrize(
    "change, line, complaint",
    [
        (lambda _: [], 1, "not a line of a search: "),
        (lambda lines: [lines[0], lines[1][:40], *lines[2:]], 2, "not a line of a search: "),
        (lambda lines: [*lines, lines[2]], 8, "trial 1 of itq: it is there twice"),
        (edited(ap=1.5), 2, "ap: Input should be less than or equal to 1"),
        (edited(reason="it diverged"), 2, "trial 1 of itq: it has neither or both of ap and reason"),
        (edited(method="ksh"), 2, "trial 1 of ksh: the first line has no such method"),
        (edited(dataset="usps"), 2, "trial 1 of itq: the first line has no such data set"),
        (edited(searched={}), 2, "trial 1 of itq: its settings are not those of the space"),
        (edited(colour=3), 2, "unknown key 'colour'"),
    ],
)
def test_a_damaged_file_is_one_line(change: Callable[[list[str]], list[str]], line: int, complaint: str) -> None:
    SMALL.save()
    path = path_of("small")
    path.write_text("".join(f"{text}\n" for text in change(path.read_text().splitlines())))
    with one_line() as caught:
        Search.load("small")
    assert str(caught.value).startswith(f"{path}:{line}: ") and complaint in str(caught.value)
    assert "restore the file" in str(caught.value)


def test_trials_are_named_and_numbered_by_what_they_are() -> None:
    asked = question(["itq"])
    two, three = ([trial for trial, _ in asked.trials("itq", n, 2, {})] for n in (2, 3))
    assert three[:6] == two and len({entry.run for entry in three}) == 8
    assert [(entry.trial, entry.study) for entry in two] == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert {run.name.seed for trial, run in asked.trials("itq", 1, 2, {})} == {0, 1}
    more_studies = {trial.key: trial.run for trial, _ in asked.trials("itq", 2, 3, {})}
    assert {trial.key: trial.run for trial in two}.items() <= more_studies.items()
    # what the other method has in the same search does not matter
    assert [trial for trial, _ in question().trials("itq", 2, 2, {})] == two
    other = question(["itq"], settings={"bits": 24})
    assert not {trial.run for trial, _ in other.trials("itq", 2, 2, {})} & {entry.run for entry in two}

"""Committed rows: each is as it was written, is found by its names, and keeps filling its cells of tables."""

import hashlib
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.toy_root import REPOSITORY

from hashbench.cli._options import parse_settings
from hashbench.foundation.errors import HashbenchError
from hashbench.running.runs.command import train_command
from hashbench.running.runs.row import Row, from_line, to_line
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Line, Store, lines_of

STORE = Store(REPOSITORY / "results")


def faults(line: Line) -> Iterator[str]:
    """What is wrong with a row, be its digest right or not."""
    try:
        row = from_line(line.text, line.place)
        if to_line(row) != line.text:
            yield f"{line.place}: written in another way than hashbench does"
        if str(Run.from_row(row).name) != row.run or line.name != row.run:
            yield f"{line.place}: another name than the one of its configuration"
    except HashbenchError as error:
        yield str(error)


@pytest.mark.parametrize("path", STORE.files(), ids=lambda path: path.stem)
def test_every_row_of_a_file_is_as_it_was_written(path: Path) -> None:
    lines = lines_of(path).values()
    assert lines
    assert list(lines) == sorted(lines, key=lambda line: line.name)
    assert [fault for line in lines for fault in faults(line)] == []


def one_of_each_kind() -> list[Row]:
    """The last row of each method on each protocol; it has the highest seed, or unusual settings.

    Rows of pretrain are tested with that command.
    """
    result = (line for line in STORE.lines() if "-classifier-" not in line.name)
    return [line.row() for line in {(line.path, line.name.rsplit("-", 3)[0]): line for line in result}.values()]


def named_by(words: list[str]) -> str:
    """The run that the words of a command name; as the command line does it, without its options for the machine."""
    program, train, method, dataset, *options = words
    assert program == "hashbench"
    assert train == "train"
    options = [word for word in options if word != "--asymmetric"]  # another search, and no part of the name
    pairs = list(zip(options[::2], options[1::2], strict=True))
    given = dict(pairs)
    settings = parse_settings([value for option, value in pairs if option == "--set"])
    settings |= {key: given[f"--{key}"] for key in ("model", "weights") if f"--{key}" in given}
    settings |= {"bits": int(given["--bits"])} if "--bits" in given else {}
    split = int(given["--split"]) if "--split" in given else None
    seed = int(given.get("--seed", 0))
    budget = given.get("--budget")
    run = Run.resolve(dataset, given["--protocol"], method, settings, seed=seed, split_seed=split, budget=budget)
    return str(run.name)


def test_the_command_of_a_row_of_each_kind_names_its_run() -> None:
    rows = one_of_each_kind()
    assert len(rows) > 100
    assert [row.run for row in rows if named_by(shlex.split(train_command(row))) != row.run] == []


def test_the_weights_that_tables_start_from_are_those_of_a_row() -> None:
    made = [line.row().artefacts["weights"] for line in STORE.lines() if "-classifier-" in line.name]
    folder = STORE.folder / "weights"
    result = {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    assert result
    for name, checksum in result.items():
        assert checksum in made
        assert name.endswith(f"-{checksum[:12]}")

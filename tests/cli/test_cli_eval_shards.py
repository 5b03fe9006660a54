"""``hashbench eval-shards``: the report of one file, from many; kept, continued, added to; and what is refused."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from support.command_line import Answer, CommandLine
from support.counts import shards_in
from support.waiting import lives, until

from hashbench.running.jobs.shards import CountTask
from hashbench.scoring.evaluation.shard_total import locked_total

N = 300
BITS = 16
NUMBERS = (8, 9, 10, 11)
SHARDS = "eval-shards queries.npz --shards db-*.npz"  # the last --shards counts
Arrays = dict[str, np.ndarray]


def drawn(kind: str, seed: int = 0) -> Arrays:
    """Queries and a database whose last item alone has three labels, or a class that no query has."""
    rng = np.random.default_rng(seed)
    sizes = {"query": 20, "database": N}
    arrays = {f"{side}_codes": rng.integers(0, 2, (n, BITS), np.uint8) for side, n in sizes.items()}
    for side, n in sizes.items():
        ids = rng.integers(0, 4, n)
        hot = rng.integers(0, 2, (n, 5), np.uint8) * rng.integers(0, 2, (n, 1), np.uint8)
        names = np.array(["ant", "bee", "cat", ""])[ids]
        arrays[f"{side}_labels"] = {"ids": ids, "multi-hot": hot, "names": names}[kind]
    return arrays


def side(arrays: Arrays, name: str, rows: slice = slice(None)) -> Arrays:
    return {key: array[rows] for key, array in arrays.items() if key.startswith(name)}


def write(arrays: Arrays) -> None:
    """whole.npz, its queries.npz, and its database in db-8.npz to db-11.npz."""
    np.savez("whole.npz", **arrays)
    np.savez("queries.npz", **side(arrays, "query"))
    for number, (start, stop) in zip(NUMBERS, pairwise((0, 1, 120, 121, N)), strict=True):
        np.savez(f"db-{number}.npz", **side(arrays, "database", slice(start, stop)))


@pytest.fixture(autouse=True)
def folder(here: Path) -> None:
    write(drawn("multi-hot"))


def values_of(answer: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if key != "file"}


@pytest.fixture
def whole(hashbench: CommandLine, folder: None) -> dict[str, Any]:
    return values_of(hashbench.json("eval whole.npz"))


def test_the_report_is_that_of_one_file(hashbench: CommandLine) -> None:
    one = hashbench.done("eval whole.npz").lines
    answer = hashbench.done(SHARDS)
    assert answer.err == "note: 4 shards, 300 items\n"
    assert answer.lines == ["queries.npz, db-*.npz: 20 queries, 300 items, 16 bits", *one[1:]]


@pytest.mark.parametrize("kind", ["ids", "multi-hot", "names"])
def test_every_kind_of_labels_and_every_output_is_the_same(kind: str, hashbench: CommandLine) -> None:
    write(drawn(kind, seed=3))
    options = "--metric ap,ndcg@10,precision@r2,recall@5 --empty zero --ties worst"
    one = hashbench.json("eval whole.npz --per-query one.csv", options)
    # the queries are those of a file that holds a database, too
    many = hashbench.json("eval-shards whole.npz --shards db-*.npz --per-query many.csv", options)
    assert values_of(many) == values_of(one)
    assert Path("many.csv").read_text() == Path("one.csv").read_text()
    assert Path("many.csv").read_text().count("\n") == 21


def test_arrays_go_by_pairs_of_names_in_their_natural_order_or_by_keys(
    hashbench: CommandLine, whole: dict[str, Any]
) -> None:
    for number in NUMBERS:
        shard = np.load(f"db-{number}.npz")
        np.save(f"c{number}.npy", shard["database_codes"])
        np.save(f"l{number}.npy", shard["database_labels"])
        with h5py.File(f"x{number}.h5", "w") as file:
            file.update({"c": shard["database_codes"], "l": shard["database_labels"], "other": [1]})
    assert values_of(hashbench.json(SHARDS, "--shards c*.npy --shard-labels l*.npy")) == whole
    assert values_of(hashbench.json(SHARDS, "--shards x*.h5:c --shard-labels x*.h5:l")) == whole
    for options, line in {
        "--shards c*.npy --shard-labels l1*.npy": "--shards c*.npy: 4 files, --shard-labels l1*.npy: 2: a file of",
        "--shards c*.npy": "c8.npy: one array cannot be both codes and labels: name the labels with --shard-labels",
        "--shards x*.h5": "x8.h5: which array is it? say --shards x8.h5:KEY; it holds c, l, other",
    }.items():
        assert hashbench.refused(SHARDS, options).startswith(line)


class Interrupted(CountTask):
    """A task that an interrupt ends, in place of the third shard."""

    done = 0

    def run(self) -> Any:
        type(self).done += 1
        if type(self).done == 3:
            raise KeyboardInterrupt
        return super().run()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Interrupted]]:
    """Interrupts the third shard that is counted; its ``done`` are the shards that were begun."""
    monkeypatch.setattr("hashbench.running.jobs.count_shards.CountTask", Interrupted)
    monkeypatch.setattr(Interrupted, "done", 0)
    yield Interrupted


KEEPING = f"{SHARDS} --counts sum.npz"
GOES_ON = "note: 4 shards, 300 items\nnote: 2 of them are in sum.npz already\n"


def assert_whole(answer: Answer, whole: dict[str, Any]) -> None:
    assert answer.code == 0, answer.err
    assert values_of(answer.json) == whole


def test_an_interrupted_command_continues(
    hashbench: CommandLine, whole: dict[str, Any], counted: type[Interrupted]
) -> None:
    code, out, err = hashbench(KEEPING)
    assert code == 130
    assert out == ""
    assert "interrupted: the same command continues from here" in err
    assert shards_in(Path("sum.npz")) == ["db-8.npz", "db-9.npz"]
    counted.done = 10
    Path("db-8.npz").rename("db-30.npz")  # a shard is known by its bytes
    answer = hashbench(KEEPING, "--json")
    assert_whole(answer, whole)
    assert answer.err == GOES_ON
    assert counted.done == 12
    assert_whole(hashbench(KEEPING, "--json"), whole)
    assert counted.done == 12


HANGS = """
import sys
from support.dying import Hangs
from hashbench.cli._app import main
from hashbench.running.jobs import count_shards
count_shards.CountTask = Hangs
if __name__ == "__main__":
    main(sys.argv[1:])
"""


def test_a_killed_driver_continues_and_leaves_no_worker(hashbench: CommandLine, whole: dict[str, Any]) -> None:
    Path("hangs.py").write_text(HANGS)
    command = [sys.executable, "hangs.py", *KEEPING.split(), "--jobs", "2"]
    paths = os.pathsep.join(str(Path(__file__).parents[up]) for up in (1, 2))
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths}, stdout=nowhere, stderr=nowhere) as driver:
        children = Path(f"/proc/{driver.pid}/task/{driver.pid}/children")
        assert until(lambda: shards_in(Path("sum.npz")) == ["db-8.npz", "db-9.npz"] or driver.poll() is not None)
        workers = [int(process) for process in children.read_text().split()]
        driver.send_signal(signal.SIGKILL)
    assert workers and until(lambda: not any(map(lives, workers)))
    answer = hashbench(KEEPING, "--json")
    assert_whole(answer, whole)
    assert answer.err == GOES_ON
    assert shards_in(Path("sum.npz")) == [f"db-{number}.npz" for number in (10, 11, 8, 9)]


def test_only_new_shards_are_counted_and_each_once(
    hashbench: CommandLine, whole: dict[str, Any], counted: type[Interrupted]
) -> None:
    counted.done = 10
    hashbench.done(KEEPING, "--shards db-[89].npz")
    counted.done = 10
    assert_whole(hashbench(KEEPING, "--json"), whole)
    assert counted.done == 12
    Path("db-12.npz").write_bytes(Path("db-9.npz").read_bytes())
    line = "db-12.npz: the same bytes as db-9.npz: each shard is counted once, so leave one out"
    assert untouched(hashbench) == line


def untouched(hashbench: CommandLine, *more: str) -> str:
    """The line of a command that is refused; it leaves sum.npz as it is."""
    before = Path("sum.npz").read_bytes()
    line = hashbench.refused(KEEPING, *more)
    assert Path("sum.npz").read_bytes() == before
    return line


def test_a_file_of_other_queries_or_shards_is_refused(hashbench: CommandLine) -> None:
    hashbench.done(KEEPING)
    line = untouched(hashbench, "--shards db-1*.npz")
    assert line.startswith("sum.npz: holds db-8.npz and 1 more, not among the given shards: give all shards")
    queries = dict(np.load("queries.npz"))
    others = (
        "sum.npz: has the counts of 20 other queries of 16 bits, but 20 queries of 16 bits are given: name another file"
    )
    np.savez("queries.npz", **{**queries, "query_labels": queries["query_labels"][::-1]})
    assert untouched(hashbench) == others
    np.savez("queries.npz", **{key: array[:5] for key, array in queries.items()})
    assert "has the counts of 20 other queries of 16 bits, but 5 queries of 16 bits are given" in untouched(hashbench)
    Path("sum.npz").unlink()
    arrays = drawn("names")
    write(arrays)
    hashbench.done(KEEPING)
    renamed = np.where(arrays["query_labels"] == "bee", "bird", arrays["query_labels"])
    np.savez("queries.npz", query_codes=arrays["query_codes"], query_labels=renamed)
    assert untouched(hashbench) == others


def flipped(content: bytes) -> bytes:
    """Another byte in the counts themselves."""
    at = content.index(b"counts.npy") + 1000
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def test_a_damaged_file_is_refused(hashbench: CommandLine) -> None:
    hashbench.done(KEEPING)
    kept = Path("sum.npz").read_bytes()
    for content, line in {
        kept[:-50]: "sum.npz: not a readable .npz file",
        kept[: len(kept) // 2]: "sum.npz: not a readable .npz file",
        flipped(kept): "sum.npz: counts: cannot be read: Bad CRC-32",
        b"": "sum.npz: not a readable",
        Path("queries.npz").read_bytes(): "sum.npz: not a file that --counts wrote: name another file",
    }.items():
        Path("sum.npz").write_bytes(content)
        assert untouched(hashbench).startswith(line)
    np.savez("sum.npz", about=np.array([{}], object), counts=np.zeros(1), levels=np.zeros(1))
    assert "which can run code and is never opened here" in untouched(hashbench)


def test_one_driver_at_a_time(hashbench: CommandLine) -> None:
    with locked_total(Path("sum.npz")):
        line = hashbench.refused(KEEPING)
    assert re.fullmatch(r"sum\.npz: process \d+ of \S+, since \S+, adds shards to it: wait for it", line)
    assert not Path("sum.npz").exists()
    hashbench.done(KEEPING)


def change(part: Callable[[Arrays], Arrays]) -> None:
    shard = dict(np.load("db-9.npz"))
    np.savez("db-9.npz", **{**shard, **part(shard)})


WRONG: dict[str, Callable[[Arrays], Arrays]] = {
    "database_codes uint8(119, 12): codes of the same": lambda a: {"database_codes": a["database_codes"][:, :12]},
    "class ids or names [items] on both sides, or multi-hot": lambda a: {"database_labels": a["database_labels"][:, 0]},
    "query_labels (20, 5) and database_labels (119, 4)": lambda a: {"database_labels": a["database_labels"][:, :4]},
    "database_labels (119,) beside": lambda a: {"database_labels": np.full(119, "bee")},
    "database_labels (7, 5) beside": lambda a: {"database_labels": a["database_labels"][:7]},
    "are 0 or 1 (or -1 or 1); others": lambda a: {"database_labels": a["database_labels"] * 3},
    "7 is no bit: whole numbers are 0 and 1": lambda a: {"database_codes": a["database_codes"] * 7},
    "n_bits is 12, but the codes are read as 16 bits": lambda a: {"n_bits": np.array(12)},
    "shape (0, 16): items x bits": lambda a: {"database_codes": a["database_codes"][:0]},
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_shard_is_one_line_that_names_it(text: str, hashbench: CommandLine) -> None:
    change(WRONG[text])
    line = hashbench.refused(SHARDS)
    assert line.startswith("db-9.npz: ") and text in line


def test_zeros_and_minus_ones_are_one_and_the_same_bit(hashbench: CommandLine, whole: dict[str, Any]) -> None:
    """A bit is set where its value is above 0, whatever the other shards hold: their values need not agree."""
    change(lambda shard: {"database_codes": 2 * shard["database_codes"].astype(np.int8) - 1})
    assert values_of(hashbench.json(SHARDS)) == whole

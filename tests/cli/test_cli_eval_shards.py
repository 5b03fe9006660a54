"""``hashbench eval-shards``: the report of one file, from many; kept, continued, added to; and what is refused."""

import gc
import json
import os
import re
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from support.command_line import status
from support.counts import shards_in
from support.limits import file_size_limit
from support.waiting import lives, until

from hashbench.evaluation.shard_total import Total, locked_total, read_total
from hashbench.evaluation.shards import CountTask

N, BITS = 300, 16
Arrays = dict[str, np.ndarray]


def drawn(kind: str, seed: int = 0) -> Arrays:
    """Queries and a database whose last item alone has three labels, or a class that no query has."""
    rng = np.random.default_rng(seed)
    sizes = {"query": 20, "database": N}
    found = {f"{side}_codes": rng.integers(0, 2, (n, BITS), np.uint8) for side, n in sizes.items()}
    for side, n in sizes.items():
        ids = rng.integers(0, 4, n)
        hot = rng.integers(0, 2, (n, 5), np.uint8) * rng.integers(0, 2, (n, 1), np.uint8)
        names = np.array(["ant", "bee", "cat", ""])[ids]
        found[f"{side}_labels"] = {"ids": ids, "multi-hot": hot, "names": names}[kind]
    return found


def side(arrays: Arrays, name: str, rows: slice = slice(None)) -> Arrays:
    return {key: array[rows] for key, array in arrays.items() if key.startswith(name)}


def pieces(folder: Path, arrays: Arrays, bounds: tuple[int, ...] = (0, 1, 120, 121, N)) -> None:
    for number, (start, stop) in enumerate(pairwise(bounds), 8):
        np.savez(folder / f"db-{number}.npz", **side(arrays, "database", slice(start, stop)))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a whole.npz, its queries, and its database in db-8.npz to db-11.npz."""
    monkeypatch.chdir(tmp_path)
    arrays = drawn("multi-hot")
    np.savez("whole.npz", **arrays)
    np.savez("queries.npz", **side(arrays, "query"))
    pieces(tmp_path, arrays)
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """``hashbench eval-shards queries.npz --shards db-*.npz`` with more arguments; the last --shards counts."""
    capsys.readouterr()
    return lambda *more: hashbench("eval-shards queries.npz --shards db-*.npz", *more)


def of_json(printed: tuple[int, str, str]) -> dict[str, Any]:
    assert printed[0] == 0, printed[2]
    found: dict[str, Any] = json.loads(printed[1])
    del found["file"]
    return found


@pytest.fixture
def whole(folder: Path, hashbench: CommandLine) -> dict[str, Any]:
    return of_json(hashbench("eval whole.npz --json"))


def refused(printed: tuple[int, str, str]) -> str:
    """The only line on stderr but for notes, of a command that printed no result and ended with status 2."""
    assert printed[:2] == (2, "")
    (line,) = [line for line in printed[2].splitlines() if not line.startswith("note: ")]
    assert line.startswith("error: ")
    return line.removeprefix("error: ")


def test_the_report_is_that_of_one_file(run: Call, hashbench: CommandLine) -> None:
    one = hashbench("eval whole.npz").lines
    code, text, errors = run()
    first, *rest = text.splitlines()
    assert (code, errors) == (0, "note: 4 shards, 300 items\n")
    assert first == "queries.npz, db-*.npz: 20 queries, 300 items, 16 bits"
    assert rest == one[1:]


@pytest.mark.parametrize("kind", ["ids", "multi-hot", "names"])
def test_every_kind_of_labels_and_every_output_is_the_same(kind: str, folder: Path, hashbench: CommandLine) -> None:
    arrays = drawn(kind, seed=3)
    np.savez("whole.npz", **arrays)
    pieces(folder, arrays)
    options = ["--metric", "ap,ndcg@10,precision@r2,recall@5", "--empty", "zero", "--ties", "worst", "--json"]
    outputs = [["--per-query", f"{name}.csv"] for name in ("one", "many")]
    one = of_json(hashbench("eval whole.npz", *options, *outputs[0]))
    # the queries are those of a file that holds a database, too
    many = of_json(hashbench("eval-shards whole.npz --shards db-*.npz", *options, *outputs[1]))
    assert many == one
    assert Path("many.csv").read_text() == Path("one.csv").read_text()
    assert len(Path("many.csv").read_text().splitlines()) == 21


def test_workers_give_the_same(run: Call, whole: dict[str, Any]) -> None:
    assert of_json(run("--json", "--jobs", 2)) == whole


def test_plain_arrays_go_by_pairs_of_names_in_their_natural_order(run: Call, whole: dict[str, Any]) -> None:
    for number in (8, 9, 10, 11):
        shard = np.load(f"db-{number}.npz")
        np.save(f"c{number}.npy", shard["database_codes"])
        np.save(f"l{number}.npy", shard["database_labels"])
    assert of_json(run("--shards", "c*.npy", "--shard-labels", "l*.npy", "--json")) == whole
    assert refused(run("--shards", "c*.npy", "--shard-labels", "l1*.npy")) == (
        "--shards c*.npy: 4 files, --shard-labels l1*.npy: 2: a file of labels for each file of codes is expected"
    )
    line = refused(run("--shards", "c*.npy"))
    assert line == "c8.npy: one array cannot be both codes and labels: name the labels with --shard-labels"


def test_arrays_are_named_by_keys(run: Call, whole: dict[str, Any]) -> None:
    for number in (8, 9, 10, 11):
        shard = np.load(f"db-{number}.npz")
        with h5py.File(f"x{number}.h5", "w") as file:
            file.update({"c": shard["database_codes"], "l": shard["database_labels"], "other": [1]})
    assert of_json(run("--shards", "x*.h5:c", "--shard-labels", "x*.h5:l", "--json")) == whole
    line = refused(run("--shards", "x*.h5"))
    assert line == "x8.h5: which array is it? say --shards x8.h5:KEY; it holds c, l, other"


@pytest.mark.parametrize("suffix", ["npz", "npy", "h5", "mat", "pt"])
def test_a_counted_shard_leaves_nothing_to_the_collector_of_cycles(
    suffix: str, run: Call, whole: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    convert(suffix)
    counts: list[weakref.ref[np.ndarray]] = []

    def watched(task: CountTask) -> Total:
        total = counted(task)
        counts.append(weakref.ref(total.evidence.histogram.counts))
        return total

    counted = CountTask.run
    monkeypatch.setattr(CountTask, "run", watched)
    more = ["--shard-labels", "l*.npy"] if suffix == "npy" else []
    gc.disable()  # as good as it is with the threshold of a command
    try:
        found = of_json(run("--shards", f"c*.{suffix}", *more, "--json"))
        assert {**found, "notes": []} == whole  # a .mat is read whole, and a note says so
        assert [count() for count in counts] == [None] * 4
    finally:
        gc.enable()


def convert(suffix: str) -> None:
    """Writes c8 to c11 in the format, from the shards of ``folder``; with l8.npy to l11.npy, the labels of .npy."""
    for number in (8, 9, 10, 11):
        shard = dict(np.load(f"db-{number}.npz"))
        to = Path(f"c{number}.{suffix}")
        if suffix == "npz":
            np.savez(to, **shard)
        elif suffix == "npy":
            np.save(to, shard["database_codes"])
            np.save(f"l{number}.npy", shard["database_labels"])
        elif suffix == "h5":
            with h5py.File(to, "w") as file:
                file.update(shard)
        elif suffix == "mat":
            pytest.importorskip("scipy.io").savemat(to, shard)
        else:
            torch = pytest.importorskip("torch")
            torch.save({key: torch.from_numpy(value) for key, value in shard.items()}, to)


class _Interrupted(CountTask):
    """A task that an interrupt ends, in place of the third shard."""

    done = 0

    def run(self) -> Any:
        type(self).done += 1
        if type(self).done == 3:
            raise KeyboardInterrupt
        return super().run()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[_Interrupted]]:
    """Interrupts the third shard that is counted; its ``done`` are the shards that were begun."""
    monkeypatch.setattr("hashbench.evaluation.count_shards.CountTask", _Interrupted)
    monkeypatch.setattr(_Interrupted, "done", 0)
    yield _Interrupted


def test_an_interrupted_command_continues(run: Call, whole: dict[str, Any], counted: type[_Interrupted]) -> None:
    code, text, errors = run("--counts", "sum.npz")
    assert (code, text) == (130, "") and "interrupted: the same command continues from here" in errors
    kept = read_total(Path("sum.npz"))
    assert kept is not None and [entry.file for entry in kept.entries] == ["db-8.npz", "db-9.npz"]
    counted.done = 10
    Path("db-8.npz").rename("db-30.npz")  # a shard is known by its bytes
    printed = run("--counts", "sum.npz", "--json")
    assert of_json(printed) == whole
    assert counted.done == 12  # two shards
    assert printed[2] == "note: 4 shards, 300 items\nnote: 2 of them are in sum.npz already\n"
    assert of_json(run("--counts", "sum.npz", "--json")) == whole and counted.done == 12


HANGS = """
import sys
from support.dying import Hangs
from hashbench.cli._app import main
from hashbench.evaluation import count_shards
count_shards.CountTask = Hangs
if __name__ == "__main__":
    main(sys.argv[1:])
"""


def test_a_killed_driver_continues_and_leaves_no_worker(folder: Path, run: Call, whole: dict[str, Any]) -> None:
    Path("hangs.py").write_text(HANGS)
    command = [sys.executable, "hangs.py", "eval-shards", "queries.npz", "--shards", "db-*.npz", "--counts", "sum.npz"]
    paths = os.pathsep.join(str(Path(__file__).parents[up]) for up in (1, 2))
    with subprocess.Popen(
        [*command, "--jobs", "2"],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as driver:
        children = Path(f"/proc/{driver.pid}/task/{driver.pid}/children")
        assert until(lambda: shards_in(Path("sum.npz")) == ["db-8.npz", "db-9.npz"] or driver.poll() is not None)
        workers = [int(each) for each in children.read_text().split()]
        driver.send_signal(signal.SIGKILL)
    assert workers and until(lambda: not any(map(lives, workers)))
    printed = run("--counts", "sum.npz", "--json")
    assert of_json(printed) == whole
    assert printed[2] == "note: 4 shards, 300 items\nnote: 2 of them are in sum.npz already\n"
    assert shards_in(Path("sum.npz")) == [f"db-{number}.npz" for number in (10, 11, 8, 9)]


@pytest.mark.slow  # tests/jobs/test_follow.py kills workers, and the workers above count shards
def test_a_killed_worker_costs_nothing(folder: Path, whole: dict[str, Any]) -> None:
    command = [sys.executable, "-m", "hashbench", "eval-shards", "queries.npz", "--shards", "db-*.npz", "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*command, "--jobs", "2"], text=True, **pipes) as driver:
        children = Path(f"/proc/{driver.pid}/task/{driver.pid}/children")
        workers: list[int] = []

        def begun() -> bool:
            workers[:] = [int(each) for each in children.read_text().split() if b"spawn_main" in cmdline(each)]
            return bool(workers)

        assert until(begun)
        os.kill(workers[0], signal.SIGKILL)
        out, errors = driver.communicate(timeout=120)
    assert of_json((driver.returncode, out, errors)) == whole
    assert re.search(r"^note: db-\d+\.npz: the worker was ended by SIGKILL.*: it is tried again$", errors, re.MULTILINE)


def cmdline(process: str) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def test_only_new_shards_are_counted_and_each_once(
    run: Call, whole: dict[str, Any], counted: type[_Interrupted]
) -> None:
    counted.done = 10
    assert run("--shards", "db-[89].npz", "--counts", "sum.npz")[0] == 0
    counted.done = 10
    assert of_json(run("--counts", "sum.npz", "--json")) == whole
    assert counted.done == 12
    Path("db-12.npz").write_bytes(Path("db-9.npz").read_bytes())
    assert refused(run("--counts", "sum.npz")) == (
        "db-12.npz: the same bytes as db-9.npz: each shard is counted once, so leave one out"
    )


def untouched(run: Call, *more: str) -> str:
    """The line that refuses sum.npz, which stays as it is."""
    before = Path("sum.npz").read_bytes()
    line = refused(run("--counts", "sum.npz", *more))
    assert Path("sum.npz").read_bytes() == before
    return line


def test_a_file_of_other_queries_or_shards_is_refused(run: Call) -> None:
    assert run("--counts", "sum.npz")[0] == 0
    assert untouched(run, "--shards", "db-1*.npz") == (
        "sum.npz: holds db-8.npz and 1 more, not among the given shards: give all shards"
    )
    queries = dict(np.load("queries.npz"))
    np.savez("queries.npz", **{**queries, "query_labels": queries["query_labels"][::-1]})
    line = untouched(run)
    assert line == "sum.npz: has the counts of other queries: their codes or labels differ: name another file"
    np.savez("queries.npz", **{key: array[:5] for key, array in queries.items()})
    line = untouched(run)
    assert (
        line
        == "sum.npz: has the counts of 20 queries of 16 bits, but 5 queries of 16 bits are given: name another file"
    )


def test_queries_with_other_names_of_classes_are_other_queries(folder: Path, run: Call, hashbench: CommandLine) -> None:
    arrays = drawn("names")
    pieces(folder, arrays)
    np.savez("queries.npz", **side(arrays, "query"))
    assert run("--counts", "sum.npz")[0] == 0
    renamed = np.where(arrays["query_labels"] == "bee", "bird", arrays["query_labels"])
    np.savez("queries.npz", query_codes=arrays["query_codes"], query_labels=renamed)
    assert untouched(run) == "sum.npz: has the counts of other queries: their codes or labels differ: name another file"


def damaged(content: bytes) -> bytes:
    """Another byte in the counts themselves."""
    at = content.index(b"counts.npy") + 1000
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def test_a_damaged_file_is_refused(run: Call) -> None:
    for change, text in [
        (lambda content: content[:-50], "sum.npz: not a readable .npz file"),
        (lambda content: content[: len(content) // 2], "sum.npz: not a readable .npz file"),
        (damaged, "sum.npz: counts: cannot be read: Bad CRC-32"),
        (lambda _: b"", "sum.npz: not a readable"),
        (lambda _: Path("queries.npz").read_bytes(), "sum.npz: not a file that --counts wrote: name another file"),
    ]:
        Path("sum.npz").unlink(missing_ok=True)
        assert run("--counts", "sum.npz")[0] == 0
        Path("sum.npz").write_bytes(change(Path("sum.npz").read_bytes()))
        assert text in untouched(run)


def test_a_file_of_another_schema_or_edited_by_hand_is_refused(run: Call) -> None:
    for old, new, line in [
        (
            b'"schema_version":1',
            b'"schema_version":2',
            "sum.npz: has schema 2, but this version of hashbench reads schema 1",
        ),
        (b'"items":', b'"itens":', "sum.npz: unknown key 'entries.0.itens'"),
        (b'"items":119', b'"items":118', "sum.npz: damaged: its counts are not those of its shards: name another file"),
    ]:
        Path("sum.npz").unlink(missing_ok=True)
        assert run("--counts", "sum.npz")[0] == 0
        arrays = dict(np.load("sum.npz"))
        about = arrays["about"].tobytes()
        assert old in about
        arrays["about"] = np.frombuffer(about.replace(old, new, 1), np.uint8)
        np.savez("sum.npz", **arrays)
        assert untouched(run) == line


def test_a_pickle_is_not_opened(run: Call) -> None:
    np.savez("sum.npz", about=np.array([{}], object), counts=np.zeros(1), levels=np.zeros(1))
    assert "which can run code and is never opened here" in untouched(run)


def test_one_driver_at_a_time(run: Call) -> None:
    with locked_total(Path("sum.npz")):
        line = refused(run("--counts", "sum.npz"))
    assert re.fullmatch(r"sum\.npz: process \d+ of \S+, since \S+, adds shards to it: wait for it", line)
    assert not Path("sum.npz").exists()
    assert run("--counts", "sum.npz")[0] == 0


def test_a_full_disk_leaves_the_file_as_it_was(run: Call) -> None:
    assert run("--shards", "db-8.npz", "--counts", "sum.npz")[0] == 0
    with file_size_limit(10_000):
        line = untouched(run)
    assert line == "sum.npz: cannot be written (File too large): make room or write elsewhere"


def test_options_that_have_moved_work_for_one_release(folder: Path, hashbench: CommandLine) -> None:
    code, out, err = hashbench("eval whole.npz --query-codes query_codes --bit-order=big")
    today = ("eval", "whole.npz", "--array", "query-codes=query_codes", "--layout", "big")
    assert (code, out) == hashbench(*today)[:2]
    assert err.splitlines() == [
        "note: --query-codes of hashbench eval is now --array query-codes=query_codes",
        "note: --bit-order of hashbench eval is now --layout big",
    ]
    line = refused(hashbench("eval whole.npz --bits"))
    assert line == "--bits of hashbench eval needs a value, and is now --layout VALUE"
    line = refused(hashbench("eval whole.npz --layout 32,64"))
    assert line == "--layout: a code has 32 bits or 64, not both"
    assert (
        "note: --query-codes of hashbench eval-shards is now --array"
        in hashbench("eval-shards --query-codes whole.npz:query_codes --shards none.npz").err
    )


def changed(change: Callable[[Arrays], Arrays]) -> None:
    np.savez("db-9.npz", **change(dict(np.load("db-9.npz"))))


def test_a_wrong_shard_is_one_line_that_names_it(run: Call) -> None:
    for change, text in [
        (
            lambda one: {**one, "database_codes": one["database_codes"][:, :12]},
            "query_codes has 16 bits and database_codes 12",
        ),
        (lambda one: {**one, "database_labels": one["database_labels"][:, 0]}, "both must be class ids [n] or both"),
        (lambda one: {**one, "database_labels": one["database_labels"][:, :4]}, "shape (20, 5) beside (119, 4)"),
        (lambda one: {**one, "database_labels": np.full(119, "bee")}, "names of classes on one side"),
        (lambda one: {**one, "database_labels": one["database_labels"][:7]}, "7 rows, database_codes has 119"),
        (lambda one: {**one, "database_labels": one["database_labels"] * 3}, "are 0 or 1 (or -1 or 1); others"),
        (lambda one: {**one, "database_codes": one["database_codes"] * 7}, "7 is no bit: whole numbers are 0 and 1"),
        (lambda one: {**one, "n_bits": np.array(12)}, "n_bits is 12, but the codes are read as 16 bits"),
        (lambda one: {"database_codes": one["database_codes"]}, "one array cannot be both codes and labels"),
        (lambda one: {**one, "database_codes": one["database_codes"][:0]}, "0 items of 16 bits"),
    ]:
        whole = Path("db-9.npz").read_bytes()
        changed(change)
        line = refused(run())
        Path("db-9.npz").write_bytes(whole)
        assert line.startswith("db-9.npz: ") and text in line


def test_a_wrong_shard_ends_the_workers_and_the_others_are_kept(run: Call) -> None:
    changed(lambda one: {**one, "database_labels": one["database_labels"] * 3})  # seen when it is counted
    line = refused(run("--jobs", 2, "--counts", "sum.npz"))
    assert line.startswith("db-9.npz: database_labels: multi-hot labels [n, labels] are 0 or 1")
    kept = read_total(Path("sum.npz"))
    assert kept is None or "db-9.npz" not in [entry.file for entry in kept.entries]


def test_a_shard_that_is_cut_off_is_one_line(run: Call) -> None:
    content = Path("db-9.npz").read_bytes()
    Path("db-9.npz").write_bytes(content[: len(content) // 2])
    assert refused(run()).startswith("db-9.npz: not a readable .npz file")


def test_zeros_and_minus_ones_are_one_and_the_same_bit(run: Call, whole: dict[str, Any]) -> None:
    """A bit is set where its value is above 0, whatever the other shards hold: their values need not agree."""
    changed(lambda one: {**one, "database_codes": 2 * one["database_codes"].astype(np.int8) - 1})
    assert of_json(run("--json")) == whole


def test_shards_whose_packed_bits_begin_at_different_ends_are_refused(run: Call, folder: Path) -> None:
    arrays = drawn("ids")
    bits = {key: array[:, :12] for key, array in arrays.items() if key.endswith("codes")}
    bits["query_codes"] = bits["query_codes"] * (np.arange(12) < 8)  # its padding does not show the order
    packed = np.packbits(bits["query_codes"], axis=1)
    np.savez("queries.npz", query_codes=packed, query_labels=arrays["query_labels"], n_bits=12)
    for number, order in ((8, "big"), (9, "little")):
        rows = slice(0, 150) if number == 8 else slice(150, N)
        codes = np.packbits(bits["database_codes"][rows], axis=1, bitorder=order)
        np.savez(f"db-{number}.npz", database_codes=codes, database_labels=arrays["database_labels"][rows])
    line = refused(run("--shards", "db-[89].npz"))
    assert line == (
        "db-9.npz: the queries are read in another way than with db-8.npz, perhaps because bits are packed in another "
        "order: give --layout big or --layout little for all"
    )
    assert status("eval-shards", "queries.npz", "--shards", "db-8.npz") == 0


def test_shards_of_bits_by_items(run: Call, whole: dict[str, Any]) -> None:
    for path in [Path("queries.npz"), *Path.cwd().glob("db-*.npz")]:
        np.savez(path, **{key: array.T for key, array in np.load(path).items()})
    found = of_json(run("--json"))
    assert "queries.npz: codes are bits x items" in found.pop("notes")
    assert found == {key: value for key, value in whole.items() if key != "notes"}


def test_the_file_of_counts_is_no_shard(run: Call, whole: dict[str, Any]) -> None:
    for _ in range(2):
        assert of_json(run("--shards", "[ds]*.npz", "--counts", "sum.npz", "--json")) == whole

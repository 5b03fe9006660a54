"""``hashbench results merge``, and ``list runs``, of several folders of rows."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from support import stored_rows
from support.command_line import CommandLine
from support.fake_rows import row_of_run
from support.on_digits import on_digits

from hashbench.running.runs.row import Row, to_line
from hashbench.running.runs.store import Store, repeat_name

FEWER_OR_OTHER = "kept beside the row here, which has other values or fewer"
NOT_SCORED = "not scored again, for neither counts nor codes are beside them: "


def row(method: str = "lsh", bits: int = 12, seed: int = 0, status: str = "ok", ap: float = 0.5, **changes: Any) -> Row:
    """The row of a run on the digits; ``changes`` go over its keys."""
    run = on_digits(method, {"bits": bits}, seed=seed)
    means = {"ap": ap} if status == "ok" else {}
    return row_of_run(run, status, **means).model_copy(update=changes)


def write(folder: Path, *rows: Row) -> None:
    for stored in rows:
        Store(folder).write(stored)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return tmp_path / "other"


def test_rows_are_listed_and_chosen(results: Path, hashbench: CommandLine) -> None:
    rows = [row(), row(bits=24), row("itq"), row("itq", seed=1, status="failed")]
    write(results, *rows)
    names = [stored.run for stored in rows]
    for options, chosen in {
        "": names,
        "--only method=ITQ --only status=failed": [names[3]],
        "--only bits=12 --only status=ok": [names[0], names[2]],
        "--only dataset=digits --only protocol=s1 --only bits=24": [names[1]],
        "--only bits=12 --only bits=24 --only method=lsh": names[:2],
        "--only protocol=s2": [],
    }.items():
        assert [run["name"] for run in hashbench.json("list runs", options)["runs"]] == sorted(chosen)
    assert hashbench.done("list runs --only bits=24").out == f"{names[1]}  ap 0.5000 2000-01-01\n"


def test_a_row_that_cannot_be_read_is_one_line_and_the_rest_follows(
    results: Path, other: Path, hashbench: CommandLine
) -> None:
    good = row("itq")
    bad = row()
    write(results, good, bad)
    write(other, good)
    before = stored_rows.texts(results)[bad.run]

    def other_bits(content: dict[str, Any]) -> None:
        content["config"]["settings"]["bits"] = 13

    for text, complaint in {
        f'{{"run":"{bad.run}",': "not a readable row: Expecting property name",
        stored_rows.edited(
            before, lambda content: content.update(schema=3)
        ): "a row of schema version 3; this hashbench",
        stored_rows.edited(before, other_bits, sign=False): "not a row that hashbench wrote: settings.bits is 12, in",
        to_line(bad.model_copy(update={"reason": "gone\x1b]0;title\x07"})): "not a row that hashbench wrote: ",
        to_line(bad.model_copy(update={"hardware": {"cpu": "a\u202eb"}})): "not a row that hashbench wrote: ",
    }.items():
        stored_rows.replace(results, bad.run, text)
        listed = hashbench(f"--results {results} list runs")
        merged = hashbench(f"--results {other} results merge {results}")
        for answer in (listed, merged):
            assert answer.code == 1 and answer.err.count("\n") == 2
            assert answer.err.startswith(f"left out: {results}/rows/digits-s1.jsonl:")
            assert f": {complaint}" in answer.err.splitlines()[0]
            assert answer.err.endswith("error: 1 left out: see the line above\n")
            assert answer.err.replace("\n", "").isprintable()
        assert good.run in listed.out
        assert stored_rows.names(other) == [good.run]
        write_again(results, good, bad)


def write_again(results: Path, *rows: Row) -> None:
    shutil.rmtree(results)
    write(results, *rows)


def test_merging_copies_and_keeps_what_conflicts(results: Path, other: Path, hashbench: CommandLine) -> None:
    write(results, row(), row("itq"), row(bits=24), row(bits=48, status="failed"), row("itq", bits=48))
    write(
        other,
        row(),  # equal
        row("itq", ap=0.625),  # other values
        row(bits=24, utc="2001-01-01T00:00:00Z"),  # the same values of another machine
        row(bits=32),  # only there
        row(bits=48),  # failed here
        row("itq", bits=48, status="failed"),  # failed there
    )
    before = stored_rows.texts(results)
    theirs = stored_rows.texts(other)
    conflict = row("itq").run
    beside = repeat_name(conflict, theirs[conflict])
    printed = [
        f"{beside}: {FEWER_OR_OTHER}",
        "",
        f"{results}: 6 rows would be merged (--dry-run)",
        "  1 copied",
        "  1 copied in place of a failed row",
        f"  1 {FEWER_OR_OTHER}",
        "  1 already here",
        "  1 left out: the row here has the same values",
        "  1 left out: it failed, and there is a row of this run here",
    ]
    *lines, last = hashbench.done(f"results merge {other} --dry-run").lines
    assert lines == printed
    assert last.startswith(f"  3 {NOT_SCORED}digits-s1-itq-")
    assert stored_rows.texts(results) == before
    printed[2] = f"{results}: 6 rows merged"
    assert hashbench.done(f"results merge {other}").lines == [*printed, last]
    after = {**before, **{row(bits=bits).run: theirs[row(bits=bits).run] for bits in (32, 48)}}
    after[beside] = theirs[conflict]
    assert stored_rows.texts(results) == after
    assert stored_rows.texts(other) == theirs
    again = hashbench.json(f"results merge {other / 'rows'} {other}")["rows"]
    assert {merged["outcome"] for merged in again} == {"equal", "failed", "same_values"}
    assert stored_rows.texts(results) == after


def test_a_run_that_was_measured_twice_is_there_twice_and_a_table_shows_the_mean(
    results: Path, other: Path, hashbench: CommandLine
) -> None:
    write(results, row(ap=0.5), row(seed=1, ap=0.8))
    write(other, row(ap=0.7))
    hashbench.done(f"results merge {other}")
    (table,) = hashbench.json("table digits")["tables"]
    (cell,) = [cell for section in table["sections"] for cell in section["cells"] if cell["measured"] is not None]
    assert cell["measured"] == pytest.approx(0.7)
    assert cell["n_seeds"] == 2
    assert cell["n_runs"] == 2  # of 0.6 and 0.8
    assert cell["std"] == pytest.approx(0.2 / 2**0.5)  # over the seeds alone
    note = f"Measured more than once, and shown as the mean of the measurements: 1 of the runs ({row().run})."
    assert note in table["notes"]
    (beside,) = [name for name in stored_rows.names(results) if "~" in name]
    for name, ap in {row().run: 0.5, row().run[:-3]: 0.5, beside: 0.7}.items():
        run = hashbench.json(f"show {name}")["run"]
        assert run["searches"]["database"]["ap"]["mean"] == ap and Path(run["row"]).name == "digits-s1.jsonl"
    hashbench.done(f"--results {other} results merge {results}")
    for folder in (results, other):
        assert sorted(stored.metrics["ap"].mean or 0 for stored in Store(folder).rows()) == [0.5, 0.7, 0.8]
    write_again(results, row(ap=0.5))
    assert "Measured more than once" not in hashbench.done(f"--results {results} table digits").out


def test_a_damaged_row_here_is_not_overwritten(results: Path, other: Path, hashbench: CommandLine) -> None:
    write(results, row())
    place = stored_rows.damage(results)
    text = stored_rows.texts(results)[row().run]
    write(other, row(), row("itq"))
    code, _, err = hashbench(f"results merge {other}")
    assert code == 1 and err.startswith(f"left out: {place}: not a readable row: ")
    assert stored_rows.texts(results)[row().run] == text and len(stored_rows.names(results)) == 2

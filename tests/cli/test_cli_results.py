"""``hashbench results``: list, show and merge, through main() as a user meets them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support import stored_rows
from support.command_line import CommandLine
from support.fake_rows import row_of_run

from hashbench.runs.row import Row, to_line
from hashbench.runs.run import Run
from hashbench.runs.store import Store, repeat_name


def row(method: str = "lsh", bits: int = 12, seed: int = 0, status: str = "ok", ap: float = 0.5, **changes: Any) -> Row:
    """The row of a run on the digits; ``changes`` go over its keys."""
    named = Run.resolve("digits", "s1", method, {"bits": bits}, seed=seed)
    return row_of_run(named, status, **({"ap": ap} if status == "ok" else {})).model_copy(update=changes)


def write(folder: Path, *rows: Row) -> None:
    for each in rows:
        Store(folder).write(each)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return tmp_path / "other"


def damage(folder: Path, damaged: Row, text: str) -> str:
    """Writes ``text`` in place of a row; returns the place of the line."""
    return stored_rows.replace(folder, damaged.run, text)


def test_rows_are_listed_and_chosen(results: Path, hashbench: CommandLine) -> None:
    rows = [row(), row(bits=24), row("itq"), row("itq", seed=1, status="failed")]
    write(results, *rows)

    def listed(*options: str) -> list[str]:
        code, out, err = hashbench("list runs", *(f"--only={pair}" for pair in options), "--json")
        assert (code, err) == (0, "")
        return [each["name"] for each in json.loads(out)["runs"]]

    names = [each.run for each in rows]
    assert listed() == sorted(names)
    assert listed("method=ITQ", "status=failed") == [names[3]]
    assert listed("bits=12", "status=ok") == sorted([names[0], names[2]])
    assert listed("dataset=digits", "protocol=s1", "bits=24") == [names[1]]
    assert listed("bits=12", "bits=24", "method=lsh") == sorted(names[:2])
    assert listed("protocol=s2") == []
    assert hashbench("list runs --only bits=24").out == f"{names[1]}  ap 0.5000 2000-01-01\n"
    code, _, err = hashbench("list runs --only bit=24")
    assert code == 2 and err.startswith("error: unknown key of --only 'bit': did you mean bits?")


def test_former_commands_go_on_working_for_one_release(results: Path, hashbench: CommandLine) -> None:
    write(results, row())
    for former, today, rest in (("results show", "show", [row().run]), ("results list", "list runs", [])):
        code, out, err = hashbench(*former.split(), *rest)
        assert (code, out) == hashbench(*today.split(), *rest)[:2]
        assert err == f"note: hashbench {former} is now hashbench {today}\n"
    code, out, err = hashbench("results collect digits")
    assert (code, out, err.count("\n")) == (2, "", 1) and "is gone: hashbench bundle TABLE" in err


def test_a_row_that_cannot_be_read_is_one_line_and_the_rest_follows(
    results: Path, other: Path, hashbench: CommandLine
) -> None:
    good, bad = row("itq"), row()
    write(results, good, bad)
    write(other, good)
    before = stored_rows.texts(results)[bad.run]
    damages = {
        "not a readable row: Expecting property name": f'{{"run":"{bad.run}",',
        "a row of schema version 3; this hashbench reads 2 here: use the version of hashbench that": stored_rows.edited(
            before, lambda content: content.update(schema=3)
        ),
        "not a row that hashbench wrote: settings.bits is 12, in config 13": stored_rows.edited(
            before, lambda content: content["config"]["settings"].update(bits=13), sign=False
        ),
    }
    left = "error: 1 left out: see the line above\n"
    for complaint, text in damages.items():
        place = damage(results, bad, text)
        code, out, err = hashbench(f"--results {results} list runs")
        assert code == 1 and err.startswith(f"left out: {place}: {complaint}") and err.endswith(left)
        assert err.count("\n") == 2 and good.run in out
        code, out, err = hashbench(f"--results {other} results merge {results}")
        assert code == 1 and err.startswith(f"left out: {place}: {complaint}") and err.count("\n") == 2
        assert stored_rows.names(other) == [good.run]


def test_merging_takes_further_searches_of_the_same_row(results: Path, other: Path, hashbench: CommandLine) -> None:
    more = [
        each.model_copy(update={"searches": {**each.searches, "asymmetric": each.metrics}})
        for each in (row(), row("itq"))
    ]
    write(results, row(), row("itq", ap=0.625))
    write(other, *more)
    lines = hashbench(f"results merge {other}").lines
    assert lines.pop().startswith("  2 not scored again, for neither counts nor codes are beside them: digits-s1-itq-")
    assert lines[3:] == [
        "  1 copied in place of the same row with fewer searches",
        "  1 kept beside the row here, which has other values or fewer",
    ]
    assert stored_rows.texts(results)[row().run] == stored_rows.texts(other)[row().run]
    write(other / "before", row())
    assert hashbench("results merge", other / "before").lines[1:] == ["  1 left out: the row here has the same values"]


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
    before, theirs = stored_rows.texts(results), stored_rows.texts(other)
    conflict = row("itq").run
    beside = repeat_name(conflict, theirs[conflict])
    printed = [
        f"{beside}: kept beside the row here, which has other values or fewer",
        "",
        f"{results}: 6 rows would be merged (--dry-run)",
        "  1 copied",
        "  1 copied in place of a failed row",
        "  1 kept beside the row here, which has other values or fewer",
        "  1 already here",
        "  1 left out: the row here has the same values",
        "  1 left out: it failed, and there is a row of this run here",
    ]
    code, out, err = hashbench(f"results merge {other} --dry-run")
    *lines, last = out.splitlines()
    assert (code, err, lines) == (0, "", printed)
    assert last.startswith("  3 not scored again, for neither counts nor codes are beside them: digits-s1-itq-")
    assert stored_rows.texts(results) == before
    printed[2] = f"{results}: 6 rows merged"
    assert hashbench(f"results merge {other}").lines == [*printed, last]
    copied, replaced = (row(bits=bits).run for bits in (32, 48))
    assert stored_rows.texts(results) == {
        **before,
        copied: theirs[copied],
        replaced: theirs[replaced],
        beside: theirs[conflict],
    }
    assert stored_rows.texts(other) == theirs
    after = stored_rows.texts(results)
    again = hashbench("results merge", other / "rows", f"{other} --json")
    outcomes = [each["outcome"] for each in json.loads(again[1])["rows"]]
    assert again[0] == 0 and sorted(set(outcomes)) == ["equal", "failed", "same_values"]
    assert stored_rows.texts(results) == after


def test_a_row_with_fewer_values_is_left_out_and_one_with_more_is_kept(
    results: Path, other: Path, hashbench: CommandLine
) -> None:
    fewer = row()
    more = fewer.model_copy(update={"searches": {"database": {**fewer.metrics, "ndcg": fewer.metrics["ap"]}}})
    write(results, more)
    write(other, fewer)
    assert "  1 left out: the row here has the same values" in hashbench(f"results merge {other}").out
    assert hashbench(f"--results {other} results merge {results}").lines[2:] == [
        f"{other}: 1 row merged",
        "  1 kept beside the row here, which has other values or fewer",
        f"  1 not scored again, for neither counts nor codes are beside them: {more.run}",
    ]
    for folder, n in ((results, 1), (other, 2)):
        assert sum("ndcg" in each.metrics for each in Store(folder).rows()) == 1 and len(stored_rows.texts(folder)) == n


def test_merging_back_gives_both_folders_the_same_values(results: Path, other: Path, hashbench: CommandLine) -> None:
    write(results, row(ap=0.5))
    write(other, row(ap=0.75))
    assert hashbench(f"results merge {other}").code == 0
    assert hashbench(f"--results {other} results merge {results}").code == 0
    for folder in (results, other):
        assert sorted(each.metrics["ap"].mean or 0 for each in Store(folder).rows()) == [0.5, 0.75]
        assert len(stored_rows.texts(folder)) == 2


def test_a_table_shows_the_mean_of_a_run_that_was_measured_twice(
    results: Path, other: Path, hashbench: CommandLine
) -> None:
    write(results, row(ap=0.5), row(seed=1, ap=0.8))
    write(other, row(ap=0.7))
    hashbench(f"results merge {other}")
    code, out, err = hashbench("table digits --json")
    assert (code, err) == (0, "")
    (table,) = json.loads(out)["tables"]
    cells = [cell for section in table["sections"] for cell in section["cells"]]
    (cell,) = [each for each in cells if each["measured"] is not None]
    assert (cell["measured"], cell["n_seeds"], cell["n_runs"]) == (pytest.approx(0.7), 2, 2)  # of 0.6 and 0.8
    assert cell["std"] == pytest.approx(0.2 / 2**0.5)  # over the seeds alone
    note = f"Measured more than once, and shown as the mean of the measurements: 1 of the runs ({row().run})."
    assert note in table["notes"]
    assert f"- {note}\n" in hashbench("table digits").out
    shutil.rmtree(results)
    write(results, row(ap=0.5))
    assert "Measured more than once" not in hashbench("table digits").out


def test_a_row_kept_beside_another_is_shown_by_its_whole_name(
    results: Path, other: Path, hashbench: CommandLine
) -> None:
    write(results, row(ap=0.5))
    write(other, row(ap=0.75))
    hashbench(f"results merge {other}")
    (beside,) = [name for name in stored_rows.names(results) if "~" in name]
    for shorter in (row().run, row().run[:-3]):
        found = hashbench.json(f"show {shorter}")["run"]
        assert found["searches"]["database"]["ap"]["mean"] == 0.5
    found = hashbench.json(f"show {beside}")["run"]
    assert found["searches"]["database"]["ap"]["mean"] == 0.75 and Path(found["row"]).name == "digits-s1.jsonl"


def test_rows_with_control_characters_are_left_out(results: Path, other: Path, hashbench: CommandLine) -> None:
    good = row("itq")
    write(results, good)
    write(other, good)
    for change in ({"reason": "gone\x1b]0;title\x07"}, {"hardware": {"cpu": "a\u202eb"}}):
        stored_rows.replace_first(other, to_line(row().model_copy(update=change)))
        place = f"{other}/rows/digits-s1.jsonl:1"
        code, out, err = hashbench(f"results merge {other}")
        assert code == 1 and err.startswith(f"left out: {place}: not a row that hashbench wrote: ")
        assert err.count("\n") == 2 and (out + err).replace("\n", "").isprintable()


def test_a_damaged_row_here_is_not_overwritten(results: Path, other: Path, hashbench: CommandLine) -> None:
    write(results, row())
    text = f'{{"run":"{row().run}",'
    place = damage(results, row(), text)
    write(other, row(), row("itq"))
    code, _, err = hashbench(f"results merge {other}")
    assert code == 1 and err.startswith(f"left out: {place}: not a readable row: ")
    assert stored_rows.texts(results)[row().run] == text and len(stored_rows.names(results)) == 2


def folder(results: Path, run: str, *names: str) -> Path:
    made = results / "runs" / run
    made.mkdir(parents=True)
    for name in names:
        (made / name).write_text("x")
    return made


def test_prune_lists_and_removes_only_what_is_of_no_use(results: Path, hashbench: CommandLine) -> None:
    rows = [row(), row(bits=24, status="failed"), row(bits=32), row(bits=48)]
    write(results, *rows)
    good, failed, damaged, newer = names = [each.run for each in rows]
    damage(results, rows[2], f'{{"run":"{damaged}",')
    stored_rows.edit(results, lambda content: content.update(schema=3), newer)
    kept = [folder(results, name, "config.json") for name in (good, damaged, newer)]
    kept.append(folder(results, "somebody-elses", "notes.txt"))
    gone = [folder(results, failed, "config.json"), folder(results, "incomplete", "config.json", "checkpoint.pt")]
    gone.append(folder(results, "just-a-lock", "lock"))
    outside = results.parent / "outside"
    outside.mkdir()
    (results / "runs" / "link").symlink_to(outside)
    code, out, err = hashbench("results prune")
    assert (code, err.count("\n")) == (1, 1) and err.startswith("error: 1 row damaged: ")
    lines, path = out.splitlines(), results / "rows" / "digits-s1.jsonl"
    assert lines[0] == f"would remove {path}: {failed}: failed: it diverged"
    assert lines[1].startswith(f"would remove {path}: {damaged}: damaged: not a readable row: Expecting property name")
    assert lines[2] == f"would remove {gone[0]}: folder: its run failed"
    assert lines[3] == f"would remove {gone[1]}: folder: no row, and no command of today continues its run"
    assert lines[4].startswith(f"would remove {gone[2]}: folder: no row")
    assert lines[5:] == ["5 to remove: --yes removes them"]
    assert all(path.exists() for path in (*kept, *gone)) and stored_rows.names(results) == names
    only = hashbench.json("results prune --only damaged --yes")
    assert [each["run"] for each in only["found"]] == [damaged] and only["removed"] is True
    assert stored_rows.names(results) == [good, failed, newer] and gone[0].exists()
    code, out, err = hashbench("results prune --yes")
    assert (code, err) == (0, "")
    removed = [*gone, kept[1]]
    named = sorted(f"removed {each}" for each in [path, path, *gone])
    assert sorted(line.split(": ")[0] for line in out.splitlines()) == named
    assert call(capsys, "results", "prune", "--yes")[0] == 0  # the folder of the damaged row has no row any more
    assert not any(path.exists() for path in removed) and stored_rows.names(results) == [good, newer]
    assert all(path.exists() for path in (kept[0], kept[2], kept[3], outside, results / "runs" / "link"))
    assert hashbench("results prune") == (0, f"{results}: nothing to remove\n", "")


def test_prune_leaves_what_a_process_works_on(results: Path, hashbench: CommandLine) -> None:
    failed = row(status="failed")
    write(results, failed)
    busy = folder(results, failed.run, "config.json")
    with FileLock(busy / "lock"):
        assert hashbench("results prune --yes") == (0, f"{results}: nothing to remove\n", "")
    assert stored_rows.names(results) == [failed.run] and busy.exists()


def test_prune_does_not_remove_a_row_that_has_become_good(
    results: Path, hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hashbench.runs import prune

    write(results, row(status="failed"))
    listed = list(prune.useless(Store(results)))
    write(results, row())  # the run is repeated between the list and the removal
    monkeypatch.setattr("hashbench.cli.results.useless", lambda *_: listed)
    assert hashbench("results prune --yes").code == 0
    assert Store(results).named(row().run).status == "ok"

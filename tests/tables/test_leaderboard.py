"""The leaderboard: ranks and ranges are those of a slow script; blocks are complete, failures last."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations
from math import inf
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support import committed
from support.command_line import CommandLine
from support.fake_rows import fake_hash, fake_row
from support.one_line import one_line
from support.toy_root import REPOSITORY

from hashbench.foundation.config import parse
from hashbench.running.datasets.protocol import N_SPLITS
from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Store
from hashbench.showing.ink import write
from hashbench.showing.tables import spec
from hashbench.showing.tables.cell import Cell, TableFile
from hashbench.showing.tables.cell_runs import cell_hash, repeats_of
from hashbench.showing.tables.collect import collect
from hashbench.showing.tables.leaderboard import Panel, Task, declared, leaderboard, tables_of
from hashbench.showing.tables.leaderboard_sheet import sheet_of
from hashbench.showing.tables.ranking import CUT, SAMPLES, points_of
from hashbench.showing.tables.spec import TableSpec
from hashbench.showing.tables.table import Table

Scores = dict[str, dict[tuple[str, str], list[float]]]  # of each method: the AP of each repeat of a task


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)  # fmean takes ten times as long


def points_by_hand(scores: Sequence[float]) -> list[float]:
    return [sum((mine > other) + (mine == other) / 2 for other in scores) - 0.5 for mine in scores]


def redrawn(scores: Scores, task: tuple[str, str], repeats: Sequence[int]) -> list[float]:
    """The mean of each method over the drawn repeats of a task."""
    return [mean([of_tasks[task][repeat] for repeat in repeats]) for of_tasks in scores.values()]


def ranked_by_hand(scores: Scores) -> tuple[dict[str, float], dict[str, tuple[int, int]], dict[tuple[str, str], float]]:
    """The points, the range of ranks and the shares of the pairs, resampled in plain Python by the documented draws."""
    methods = list(scores)
    tasks = list(scores[methods[0]])
    datasets = list(dict.fromkeys(dataset for dataset, _ in tasks))
    n_repeats = {task: len(scores[methods[0]][task]) for task in tasks}
    rng = np.random.default_rng(0)
    of_datasets = rng.integers(len(datasets), size=(SAMPLES, len(datasets))).tolist()
    of_repeats = {t: rng.integers(n, size=(SAMPLES, len(datasets), n)).tolist() for t, n in n_repeats.items()}

    def points(drawn: Sequence[str], repeats: Mapping[tuple[str, str], Sequence[Sequence[int]]]) -> list[float]:
        total = [0.0] * len(methods)
        for copy, dataset in enumerate(drawn):
            of_tasks = [redrawn(scores, task, repeats[task][copy]) for task in tasks if task[0] == dataset]
            of_copy = points_by_hand([mean(of_method) for of_method in zip(*of_tasks, strict=True)])
            total = [a + b for a, b in zip(total, of_copy, strict=True)]
        return total

    measured = points(datasets, {task: [range(n)] * len(datasets) for task, n in n_repeats.items()})
    samples = [
        points([datasets[place] for place in drawn], {task: of_repeats[task][sample] for task in tasks})
        for sample, drawn in enumerate(of_datasets)
    ]
    drawn = np.asarray(samples)  # [SAMPLES, methods]
    ranges = {}
    beats = {}
    for place, method in enumerate(methods):
        firsts = sorted(1 + (drawn > drawn[:, [place]]).sum(axis=1))
        lasts = sorted((drawn >= drawn[:, [place]]).sum(axis=1))
        ranges[method] = int(firsts[CUT]), int(lasts[-1 - CUT])
    for row, column in permutations(range(len(methods)), 2):
        above = drawn[:, row] > drawn[:, column]
        equal = drawn[:, row] == drawn[:, column]
        beats[methods[row], methods[column]] = (above.sum() + equal.sum() / 2) / SAMPLES
    return {m: measured[k] / len(datasets) for k, m in enumerate(methods)}, ranges, beats


def assert_ranked_by_hand(panel: Panel, scores: Scores) -> None:
    points, ranges, beats = ranked_by_hand(scores)
    assert {line.method: line.points for line in panel.lines} == pytest.approx(points)
    assert {line.method: (line.low, line.high) for line in panel.lines} == ranges
    assert [line.points for line in panel.lines] == sorted(points.values(), reverse=True)
    shares: dict[tuple[str, str], float] = {}
    for row, line in enumerate(panel.lines):
        shares |= {(line.method, other.method): panel.beats[row, column] for column, other in enumerate(panel.lines)}
    assert {pair: shares[pair] for pair in beats} == pytest.approx(beats)


# ---- the committed rows


@cache
def committed_panels() -> list[Panel]:
    return leaderboard(tables_of(committed.rows()))


@cache
def rows_by_cell() -> Mapping[str, list[dict[str, Any]]]:
    """The parts of the lines of results/rows that the slow script needs."""
    by_cell: dict[str, list[dict[str, Any]]] = {}
    for line in Store(REPOSITORY / "results").lines():
        row = json.loads(line.text)
        by_cell.setdefault(row["cell_hash"], []).append({key: row[key] for key in ("seed", "split_seed", "searches")})
    return by_cell


def repeats_of_rows(
    by_cell: Mapping[str, list[dict[str, Any]]], cell: Cell, table: TableSpec, n_splits: int
) -> list[float]:
    """The score of each seed on the protocol's own split; of several, that of seed r on split r."""
    repeats = [(seed, None) for seed in range(N_SPLITS)] if n_splits == 1 else repeats_of(cell, table, N_SPLITS)
    rows = [row for split in {split for _, split in repeats} for row in by_cell.get(cell_hash(cell, split), [])]
    rows = [row for row in rows if (row["seed"], row["split_seed"]) in repeats]
    rows.sort(key=lambda row: int(row["seed"]))
    return [row["searches"][cell.evaluation][cell.metric]["mean"] for row in rows]


def scores_of_rows(panel: Panel) -> Scores:
    """The scores of the ranked methods of a declared panel, read from the lines of results/rows."""
    file = declared()[panel.name]
    ranked = {line.method for line in panel.lines}
    values: dict[str, dict[tuple[str, str], list[list[float]]]] = {}
    for block in file.blocks:
        table = spec.load(block.table)
        for cell in table.cells:
            chosen = cell.section == block.section and cell.measure == file.measure
            if chosen and cell.settings["bits"] in block.bits and cell.row in ranked:
                of_task = values.setdefault(cell.row, {}).setdefault((cell.dataset, cell.protocol), [])
                n_splits = panel.n_splits[Task(cell.dataset, cell.protocol)]
                of_task.append(repeats_of_rows(rows_by_cell(), cell, table, n_splits)[: file.repeats])
    return {
        method: {
            task: [fmean(of_repeat) for of_repeat in zip(*lengths, strict=True)] for task, lengths in tasks.items()
        }
        for method, tasks in values.items()
    }


@pytest.mark.parametrize("name", declared())
def test_the_committed_panels_are_ranked_as_a_slow_script_ranks_their_rows(name: str) -> None:
    panel = next(panel for panel in committed_panels() if panel.name == name)
    assert len(panel.lines) >= 3
    assert_ranked_by_hand(panel, scores_of_rows(panel))
    for line in panel.lines:
        for task, by_bits in line.cells.items():
            means = [cell.measured.mean for cell in by_bits.values() if cell.measured]
            assert line.score(task) == pytest.approx(fmean(means)), "the score of a panel is not that of its table"


# ---- panels of a test

METHODS = ("lsh", "itq", "spherical", "agh")
TASKS = {("cifar10", "s1"): (16, 32), ("cifar10", "s2"): (16,), ("cifar100", "s1"): (32, 64)}
BOARD = """
[panels.small]
question = "Which is best?"
repeats = 3
blocks = [
  { table = "cifar10", section = "tuned", bits = [16, 32] },
  { table = "other", section = "tuned", bits = [32, 64] },
]
"""


def declare(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str = BOARD) -> None:
    (folder / "experiments").mkdir(exist_ok=True)
    (folder / "experiments" / "leaderboard.toml").write_text(text)
    monkeypatch.setenv("HASHBENCH_ROOT", str(folder))


def tables(n_splits: int = 1, recipe: str | None = None, methods: Sequence[str] = METHODS) -> dict[str, TableSpec]:
    """CIFAR-10 with two protocols in one table, CIFAR-100 in another."""
    rows = [{"label": method.upper(), "method": method} for method in methods]
    declared_tables = {}
    for name, chosen in (("cifar10", ["cifar10"]), ("other", ["cifar100"])):
        groups = []
        for (dataset, protocol), lengths in TASKS.items():
            columns = [{"label": f"{protocol} {bits}", "settings": {"bits": bits}} for bits in lengths]
            place = {"section": "tuned", "dataset": dataset, "protocol": protocol, "recipe": recipe}
            groups += [{**place, "columns": columns, "rows": rows}] if dataset in chosen else []
        repeats = "splits" if n_splits > 1 else "seeds"
        text = {"title": name, "repeats": repeats, "defaults": {"metric": "ap"}, "groups": groups}
        declared_tables[name] = spec.from_file(name, parse(TableFile, text, name), Path(name))
    return declared_tables


Aps = Mapping[tuple[str, str, str, int], Sequence[float | None]]  # None: the run failed


def aps(seed: int = 0, methods: Sequence[str] = METHODS) -> dict[tuple[str, str, str, int], list[float | None]]:
    """The AP of three repeats of each method, data set, protocol and code length; neighbours change places."""
    rng = np.random.default_rng(seed)
    found: dict[tuple[str, str, str, int], list[float | None]] = {}
    for place, method in enumerate(methods):
        for task, lengths in TASKS.items():
            found |= {(method, *task, bits): (0.3 + 0.01 * place + 0.05 * rng.random(3)).tolist() for bits in lengths}
    return found


def rows_of(specs: Mapping[str, TableSpec], values: Aps) -> list[Row]:
    """The rows: repeat r is seed r, on split r where the table has several."""
    rows = []
    for table in specs.values():
        is_of_splits = table.repeats == "splits"
        for cell in table.cells:
            splits = [split for _, split in repeats_of(cell, table, N_SPLITS)] if is_of_splits else [None] * 9
            of_cell = values.get((cell.method, cell.dataset, cell.protocol, int(str(cell.settings["bits"]))), [])
            for seed, ap in enumerate(of_cell):
                failed: dict[str, Any] = {"status": "failed"} if ap is None else {"ap": ap}
                rows.append(fake_row(cell, seed, split_seed=splits[seed], **failed))
    return rows


Fill = Callable[..., Panel]


@pytest.fixture
def fill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fill:
    """A function that fills the small panel from the AP of rows."""
    declare(tmp_path, monkeypatch)

    def filled(values: Aps, n_splits: int = 1, recipe: str | None = None, methods: Sequence[str] = METHODS) -> Panel:
        specs = tables(n_splits, recipe, methods)
        rows = rows_of(specs, values)

        def table_of(name: str, of_one_split: bool) -> Table:
            repeats = "seeds" if of_one_split else specs[name].repeats
            return collect(specs[name].model_copy(update={"repeats": repeats}), rows, None, hash_of=fake_hash)

        (panel,) = leaderboard(table_of, ["small"])
        return panel

    return filled


def scores_of(values: Aps) -> Scores:
    scores: Scores = {}
    for method in METHODS:
        for task, lengths in TASKS.items():
            cells = [[-inf if ap is None else ap for ap in values[(method, *task, bits)]] for bits in lengths]
            means = [fmean(of_repeat) for of_repeat in zip(*cells, strict=True)]
            scores.setdefault(method.upper(), {})[task] = means
    return scores


def of_ranks(panel: Panel) -> list[tuple[str, float, int, int]]:
    return [(line.method, line.points, line.low, line.high) for line in panel.lines]


@given(arrays(float, (2, 5), elements=st.sampled_from([0.1, 0.2, 0.3, -inf])))
def test_points_are_those_of_a_loop(scores: np.ndarray[Any, Any]) -> None:
    assert points_of(scores).tolist() == [points_by_hand(of_task) for of_task in scores.tolist()]


@pytest.mark.parametrize("n_splits", [1, 3])
def test_a_panel_is_ranked_as_a_slow_script_ranks_it_and_says_what_it_rests_on(fill: Fill, n_splits: int) -> None:
    panel = fill(aps(), n_splits)
    assert_ranked_by_hand(panel, scores_of(aps()))
    assert any(line.low < line.high for line in panel.lines)
    assert ("ONE split" in panel.rests_on) == (n_splits == 1) and "2 data sets" in panel.rests_on
    assert set(panel.n_splits.values()) == {n_splits}


def test_where_a_method_has_one_split_all_are_ranked_on_it(fill: Fill) -> None:
    values = aps()
    panel = fill(values)
    specs = tables(3)
    of_splits = rows_of(specs, values)
    others = [row for row in rows_of(tables(), values) if row.method == "lsh" or row.seed > 0]
    stored = [row for row in of_splits if row.method != "lsh"] + others

    def table_of(name: str, of_one_split: bool) -> Table:
        repeats = "seeds" if of_one_split else "splits"
        return collect(specs[name].model_copy(update={"repeats": repeats}), stored, None, hash_of=fake_hash)

    (mixed,) = leaderboard(table_of, ["small"])
    assert of_ranks(mixed) == of_ranks(panel) and "ONE split" in mixed.rests_on


def test_a_method_with_one_task_changes_no_rank_and_is_named(fill: Fill) -> None:
    values = aps()
    alone = fill(values)
    more = {**values, ("sgh", "cifar10", "s1", 16): [0.99] * 3, ("sgh", "cifar10", "s1", 32): [0.99] * 3}
    panel = fill(more, methods=(*METHODS, "sgh"))
    assert of_ranks(panel) == of_ranks(alone) and np.array_equal(panel.beats, alone.beats)
    assert panel.not_ranked == {"SGH": "lacks cifar10 s2, cifar100 s1"}
    assert "Not ranked: SGH lacks cifar10 s2, cifar100 s1." in panel.notes


def test_a_method_that_lacks_a_code_length_or_a_repeat_is_not_ranked(fill: Fill) -> None:
    values = aps()
    values["itq", "cifar100", "s1", 64] = []
    values["lsh", "cifar10", "s2", 16] = [0.9, 0.9]
    panel = fill(values)
    lacks = {"LSH": "lacks cifar10 s2 (16 bits: 2 of 3 repeats)", "ITQ": "lacks cifar100 s1 (64 bits)"}
    assert panel.not_ranked == lacks
    assert {line.method for line in panel.lines} == {"SPHERICAL", "AGH"}


def test_a_failed_run_is_last_however_good_the_others_are(fill: Fill) -> None:
    values = aps()
    for task, lengths in TASKS.items():
        values |= {("lsh", *task, bits): [0.9, None, 0.9] for bits in lengths}
    panel = fill(values)
    assert panel.lines[-1].method == "LSH"
    assert panel.lines[-1].points == 0
    assert [panel.lines[-1].score(task) for task in panel.tasks] == [None] * 3
    assert_ranked_by_hand(panel, scores_of(values))
    assert "failed" in write(sheet_of([panel]), "markdown")


def test_all_methods_are_drawn_together(fill: Fill) -> None:
    values = aps()
    for task, lengths in TASKS.items():  # equal to another but for a little: it is behind it in every resample
        values |= {("lsh", *task, bits): [(ap or 0) - 1e-9 for ap in values["agh", *task, bits]] for bits in lengths}
        values |= {("itq", *task, bits): values["spherical", *task, bits] for bits in lengths}
    panel = fill(values)
    at = {line.method: place for place, line in enumerate(panel.lines)}
    assert panel.beats[at["AGH"], at["LSH"]] == 1
    assert panel.beats[at["ITQ"], at["SPHERICAL"]] == 0.5
    equal = [panel.lines[at[method]] for method in ("ITQ", "SPHERICAL")]
    assert len({(line.points, line.low, line.high) for line in equal}) == 1 and equal[0].low < equal[0].high


def test_the_paired_test_names_who_is_not_below_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(tmp_path, monkeypatch)
    specs = tables(3)
    rows = rows_of(specs, aps())
    rng = np.random.default_rng(0)
    hardness = rng.random((3, 200)) / 4
    above = {"agh": 0.3, "spherical": 0.3, "itq": 0.2, "lsh": 0.1}

    def with_queries(name: str, of_one_split: bool) -> Table:
        """The table of rows whose AP of each query is kept: of CIFAR-10 S1 alone."""
        sections = []
        for section in collect(specs[name], rows, None, hash_of=fake_hash).sections:
            cells = dict(section.cells)
            for position, cell in cells.items():
                if cell.declared.protocol == "s1" and cell.declared.dataset == "cifar10" and cell.measured:
                    noise = rng.normal(0, 0.02, hardness.shape)
                    values = (above[cell.declared.method] + hardness + noise).astype(np.float32)
                    scores = {f"split {r}": values[r] for r in range(3)}
                    cells[position] = replace(cell, measured=replace(cell.measured, scores=scores))
            sections.append(replace(section, cells=cells))
        return replace(collect(specs[name], rows, None, hash_of=fake_hash), sections=tuple(sections))

    (panel,) = leaderboard(with_queries, ["small"])
    assert panel.not_below == {("cifar10", "s1"): ["AGH", "SPHERICAL"]}
    assert any("not significantly below" in note and note.endswith(": AGH, SPHERICAL.") for note in panel.notes)


@pytest.mark.parametrize(
    "old, new, why",
    [
        ('section = "tuned", bits = [16', 'section = "tuned!", bits = [16', "unknown section 'tuned!'"),
        ("bits = [16, 32]", "bits = [16, 48]", "section 'tuned' has no ap at 48 bits"),
        ("panels.small", "panels.large", "unknown panel 'small'"),
        ("repeats = 3", "repeats = 0", "repeats"),
    ],
)
def test_a_wrong_declaration_is_one_line(
    fill: Fill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, why: str
) -> None:
    declare(tmp_path, monkeypatch, BOARD.replace(old, new))
    with one_line(text=why):
        fill(aps())


def test_only_tuned_settings_are_ranked(fill: Fill) -> None:
    with one_line("settings of our_defaults; tuned are expected"):
        fill(aps(), recipe="our_defaults")


def test_all_formats_say_the_same(fill: Fill) -> None:
    panel = fill(aps())
    lines = {line.method: line for line in panel.lines}
    for row in csv.DictReader(io.StringIO(write(sheet_of([panel]), "csv"))):
        line = lines[row["method"]]
        assert int(row["rank_low"]) == line.low
        assert int(row["rank_high"]) == line.high
        (task,) = (task for task in panel.tasks if task == (row["dataset"], row["protocol"]))
        assert float(row["score"]) == pytest.approx(line.score(task), abs=1e-6)
    (of_json,) = json.loads(write(sheet_of([panel]), "json"))["panels"]
    assert [(line["rank_low"], line["rank_high"]) for line in of_json["lines"]] == [
        (line.low, line.high) for line in panel.lines
    ]
    for output in ("text", "markdown", "html", "latex"):
        text = write(sheet_of([panel]), output)  # type: ignore[arg-type]
        assert all(line.ranks in text for line in panel.lines) and "ONE split" in text


def test_the_command_prints_panels_and_refuses(
    hashbench: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "unknown panel 'large'" in hashbench.refused("leaderboard large")
    assert "no method has all tasks" in hashbench.refused("leaderboard fine_tuned")
    committed.give_rows(monkeypatch)
    code, out, _ = hashbench("leaderboard fine_tuned")
    assert code == 0 and out.startswith("## Partial fine-tuning") and "| 1. " in out

"""The differences between codes, runs or lines of a table, how sure they are, and both as a sheet."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from hashbench.foundation.errors import HashbenchError, printable, retold
from hashbench.foundation.progress import note
from hashbench.running.runs.command import train_command
from hashbench.running.runs.store import Store
from hashbench.scoring.codes import files
from hashbench.scoring.codes.files import Explicit
from hashbench.scoring.evaluation.compare import Comparison, Side, compare
from hashbench.scoring.evaluation.paired import LEVEL, Paired, holm
from hashbench.scoring.evaluation.scorer import Scorer
from hashbench.scoring.metrics import Metrics, shown
from hashbench.showing.sheet import Cell, Grid, Number, Range, Sheet, Value, records
from hashbench.showing.tables.difference import claim, compare_scores
from hashbench.showing.tables.table import Lines

SIGNED = "+.4f"  # of a difference
TOP = 5  # queries that differ most
INTERVAL = 1 - LEVEL  # how often an interval holds the true difference
MOST = len(ascii_uppercase)
SUFFIXES = (".npz", ".npy", ".mat", ".h5", ".pt")
RECORD = (
    *("metric", "a", "b", "mean_a", "mean_b", "difference", "low", "high", "p"),
    *("p_holm", "n_splits", "n_queries"),
)


@dataclass(frozen=True)
class Difference:
    """Two sides in one metric; p by Holm's correction is for all pairs of sides in this metric."""

    metric: str
    a: str
    b: str
    letters: str  # of both
    paired: Paired
    p_holm: float

    @property
    def record(self) -> list[Value]:
        """What ``RECORD`` names."""
        paired = self.paired
        means: list[Value] = [self.metric, self.a, self.b, paired.a, paired.b]
        tested = [paired.difference, paired.low, paired.high, paired.p, self.p_holm]
        return [*means, *tested, paired.n_splits, paired.n_queries]

    @property
    def cells(self) -> list[Cell]:
        """Both means, their difference, its interval and p."""
        paired = self.paired
        interval = Range(paired.low, paired.high, SIGNED)
        return [Number(paired.a), Number(paired.b), Number(paired.difference, SIGNED), interval, _p(paired.p)]


def compare_codes(sides: Sequence[Side], metrics: Metrics) -> Sheet:
    """The differences of codes over the queries of one split."""
    comparisons = [compare(a, b, metrics) for a, b in combinations(sides, 2)]
    first = comparisons[0]
    differences = _differences([side.name for side in sides], [comparison.metrics for comparison in comparisons])
    rows: list[tuple[Cell, ...]] = []
    values: dict[str, Any] = {"over": "queries", "same_queries_by": first.same_by}
    values |= {"n_queries": first.n_queries, "n_empty": first.n_empty, "n_database": first.n_database}
    for letter, side in zip(ascii_uppercase, sides, strict=False):
        rows.append((letter, f"{side.name}: {side.histogram.n_bits} bits"))
    grids = [Grid(rows), _grid(differences)]
    if len(comparisons) == 1:
        grids.append(_most_different(first))
        values["most_different"] = {name: [*map(asdict, first.most_different(name, TOP))] for name in first.metrics}
    queries = f"{first.n_queries:,} queries"
    if first.n_empty:
        queries += f", {first.n_empty:,} of them without a relevant item (left out)"
    texts = [f"{queries}, {first.n_database:,} items; the same queries by {first.same_by}"]
    return _sheet(differences, values, Sheet("", grids, texts))


def compare_lines(table: str, lines: Lines) -> Sheet:
    """The differences of lines of the ``table`` over the splits that both have."""
    names = [cell.declared.row for cell in lines.cells]
    scores = [cell.measured.scores if cell.measured is not None else {} for cell in lines.cells]
    pairs: list[Mapping[str, Paired]] = []
    for a, b in combinations(range(len(names)), 2):
        if not scores[a].keys() & scores[b].keys():
            fault = f"no split has the {shown(lines.metric)} of each query of both"
            advice = "hashbench compare RUN RUN compares two runs by their histograms"
            raise HashbenchError(f"table {table}, {names[a]} and {names[b]}: {fault}: {advice}")
        pairs.append({lines.metric: compare_scores(scores[a], scores[b])})
    differences = _differences(names, pairs)
    values = {"over": "splits", "table": table, "section": lines.section, "column": lines.column}
    where = ", ".join(filter(None, (table, lines.section, lines.column)))
    grids = [Grid([*zip(ascii_uppercase, names, strict=False)]), _grid(differences)]
    claims = [claim(entry.a, entry.b, entry.paired, entry.p_holm) for entry in differences]
    return _sheet(differences, values, Sheet(where, grids, notes=claims))


def side_of(name: str, explicit: Explicit, program: Sequence[str], *, exclude_self: bool) -> Side:
    """The saved codes called ``name`` where there is such a file or folder, else the run."""
    if Path(name).exists():
        saved = files.load([Path(name)], explicit=explicit)
        for line in saved.notes:
            note(f"note: {line}")
        histogram = Scorer.of_saved(saved, exclude_self=exclude_self).evidence.histogram
        return Side(name, histogram, saved.query_ids, saved.query_labels)
    if "/" in name or name.endswith(SUFFIXES):
        raise HashbenchError(f"{name}: no such file or folder")
    if exclude_self:
        raise HashbenchError(f"--exclude-self can be used with saved codes only: {name} is a run")
    store = Store.default()
    row = store.named(name)
    if row.status != "ok":
        raise HashbenchError(f"{row.run}: the run failed ({row.reason}): a run with scores is expected")
    if "histogram" not in row.artefacts:
        raise HashbenchError(f"{row.run}: {row.method} has no ranking of binary codes: nothing can be compared")
    if (kept := store.histogram(row)) is None:
        path = store.run_folder(row.run) / "histogram.npz"
        with retold(lambda fault: f"{path}: no such file, and no command makes it: {fault}", HashbenchError):
            remedy = train_command(row, program, again=True)
        raise HashbenchError(f"{path}: no such file: this makes it: {remedy}")
    return Side(row.run, kept, labels=store.query_labels(row), split=row.ids_sha256)


def _differences(names: Sequence[str], pairs: Sequence[Mapping[str, Paired]]) -> list[Difference]:
    """The differences of each two of ``names`` (``pairs``, in the order of combinations), metric by metric."""
    differences = []
    for metric in pairs[0]:
        corrected = holm([by_metric[metric].p for by_metric in pairs])
        for (a, b), by_metric, p in zip(combinations(range(len(names)), 2), pairs, corrected, strict=True):
            letters = f"{ascii_uppercase[a]}, {ascii_uppercase[b]}"
            differences.append(Difference(metric, names[a], names[b], letters, by_metric[metric], p))
    return differences


def _sheet(differences: Sequence[Difference], values: Mapping[str, Any], sheet: Sheet) -> Sheet:
    """The sheet with notes on the test before its own, and with the differences for programs."""
    lines = [entry.record for entry in differences]
    known = [dict(zip(RECORD, line, strict=True)) for line in lines]
    return Sheet(
        sheet.title,
        sheet.grids,
        sheet.texts,
        [*_how(differences), *sheet.notes],
        values=lambda: {**values, "differences": known, "interval": INTERVAL},
        records=lambda: records(RECORD, lines, ""),
    )


def _how(differences: Sequence[Difference]) -> Iterator[str]:
    """How interval and p were made, for what they hold, and how p is corrected where there are several pairs."""
    is_of_one_split = any(entry.paired.is_of_one_split for entry in differences)
    over = "the splits"
    if is_of_one_split:
        over = "the queries"
    yield f"interval ({INTERVAL:.0%}) and p: paired t-test over {over}; p is two-sided"
    if (n := _n_pairs(differences)) > 1:
        yield f"p (Holm): corrected for the {n} comparisons of each metric"
    if is_of_one_split:
        yield "of one split only: another split, or another training, may give another sign"


def _n_pairs(differences: Sequence[Difference]) -> int:
    return len({entry.letters for entry in differences})


def _grid(differences: Sequence[Difference]) -> Grid:
    """A row for each metric and pair; of one pair p needs no correction."""
    columns = ["first", "second", "difference", "interval", "p"]
    if _n_pairs(differences) == 1:
        return Grid([[shown(entry.metric), *entry.cells] for entry in differences], ["metric", *columns])
    rows = [[shown(entry.metric), entry.letters, *entry.cells, _p(entry.p_holm)] for entry in differences]
    return Grid(rows, ["metric", "pair", *columns, "p (Holm)"])


def _p(p: float) -> Number:
    return Number(p, ".4f" if p >= 5e-5 else ".1e")


def _most_different(comparison: Comparison) -> Grid:
    """The queries that differ most in the first metric; their ids, where they have some."""
    metric = next(iter(comparison.metrics))
    rows: list[list[Cell]] = []
    for query in comparison.most_different(metric, TOP):
        row: list[Cell] = [str(query.query), Number(query.a), Number(query.b), Number(query.a - query.b, SIGNED)]
        if comparison.ids is not None:
            row.append(printable(str(query.id)))
        rows.append(row)
    columns = ["query", "first", "second", "difference"]
    if comparison.ids is not None:
        columns.append("id")
    return Grid(rows, columns, f"largest differences in {shown(metric)}, queries numbered from 0")

"""``hashbench compare``: the differences between codes, runs or lines of a table, and how sure they are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated, Any

from typer import Argument, Context, Option

from hashbench.cli._options import program
from hashbench.cli._scoring import CodesLayout, explicit_of
from hashbench.cli._terminal import leave_out, print_notes, rows_read
from hashbench.cli.catalogue import complete
from hashbench.foundation.errors import HashbenchError, printable, retold
from hashbench.running.runs.command import train_command
from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Store
from hashbench.scoring.codes import files
from hashbench.scoring.codes.files import Explicit
from hashbench.scoring.evaluation import compare, scorer
from hashbench.scoring.evaluation.compare import Comparison, Side
from hashbench.scoring.evaluation.paired import LEVEL, Paired, holm
from hashbench.scoring.evaluation.scorer import Scorer
from hashbench.scoring.metrics import shown
from hashbench.showing.sheet import Cell, Grid, Number, Range, Sheet, Value, records
from hashbench.showing.tables import spec
from hashbench.showing.tables.collect import collect
from hashbench.showing.tables.difference import claim, compare_scores

SIGNED = "+.4f"  # of a difference
TOP = 5  # queries that differ most
INTERVAL = 1 - LEVEL  # share of the samples inside the interval
RECORDS = (
    *("metric", "a", "b", "mean_a", "mean_b", "difference", "low", "high", "p"),
    *("p_holm", "n_splits", "n_queries"),
)

Pairs = list[tuple[int, int]]


@dataclass(frozen=True)
class NamedSide:
    """What one argument names: a side of a comparison, and of a run its seed."""

    side: Side
    seed: int | None = None
    notes: tuple[str, ...] = ()


def _complete_side(incomplete: str) -> list[str]:
    return complete("runs")(incomplete) if incomplete else []


def command(
    context: Context,
    sides: Annotated[
        list[str],
        Argument(
            metavar="A B...", help="Saved codes, runs, or rows of --table: two or more.", autocompletion=_complete_side
        ),
    ],
    metric: Annotated[list[str] | None, Option(help="Metrics, named as for hashbench eval; repeatable.")] = None,
    exclude_self: Annotated[bool, Option("--exclude-self", help="Of saved codes, as in hashbench eval.")] = False,
    table: Annotated[
        str | None, Option(metavar="TABLE[/SECTION[/COLUMN]]", help="Compare rows of this table over all their splits.")
    ] = None,
    bits: Annotated[int | None, Option(min=1, help="The column of --table: its code length.")] = None,
    layout: CodesLayout = None,
) -> Sheet:
    """Compare two or more codes of the same queries and database, or two or more rows of a table.

    For each metric: the means, their difference A - B, its interval and its two-sided p, by a paired t-test. Codes and
    runs are of one split: the test is over its queries, and the result holds for this split. With --table, A and B are
    rows of one column of a table, such as ITQ-CCA and KSH at --bits 32: the test is over splits, and the
    sentence that may be claimed of their AP, or of their recall, is printed.

    Of more than two, each is compared with each, and Holm's correction of p is for the number of comparisons.
    """
    if not 2 <= len(sides) <= len(ascii_uppercase):
        raise HashbenchError(f"{len(sides)} to compare: 2 to {len(ascii_uppercase)} codes, runs or rows are expected")
    if table is not None and (metric or exclude_self or layout):
        raise HashbenchError(
            "--table compares what the table shows: --metric and the options of saved codes cannot be used with it"
        )
    if table is not None:
        result = _compare_lines(table, sides, bits)
    else:
        if bits is not None:
            raise HashbenchError(f"--bits is the column of --table; of saved codes: --layout {bits}")
        explicit = explicit_of(layout)
        compared = [_side(name, explicit, exclude_self, program(context)) for name in sides]
        result = _compare_codes(compared, metric)
        print_notes([note for named in compared for note in named.notes])
    values = {**result.values, "interval": INTERVAL}
    return replace(result.sheet, values=lambda: values, records=result.records)


@dataclass(frozen=True)
class Result:
    """The differences of each two of several codes or rows, by metric, and what is printed of them."""

    names: list[str]
    differences: list[Mapping[str, Paired]]  # of each pair
    values: dict[str, Any]  # of --json
    sheet: Sheet

    def records(self) -> Grid:
        """A line for each metric and pair, with all digits."""
        lines: list[list[Value]] = []
        for metric, p_holm in _corrected(self.differences).items():
            for (a, b), by_metric, p in zip(_pairs(self.names), self.differences, p_holm, strict=True):
                paired = by_metric[metric]
                means: list[Value] = [metric, self.names[a], self.names[b], paired.a, paired.b]
                tested = [paired.difference, paired.low, paired.high, paired.p, p]
                lines.append([*means, *tested, paired.n_splits, paired.n_queries])
        return records(RECORDS, lines, "")


def _pairs(names: Sequence[str]) -> Pairs:
    return list(combinations(range(len(names)), 2))


def _corrected(differences: Sequence[Mapping[str, Paired]]) -> dict[str, list[float]]:
    return {metric: holm([by_metric[metric].p for by_metric in differences]) for metric in differences[0]}


def _compare_codes(compared: list[NamedSide], metric: list[str] | None) -> Result:
    """The differences over the queries of one split."""
    sides = [named.side for named in compared]
    names = [side.name for side in sides]
    parsed = compare.check_names(metric or scorer.DEFAULT)
    comparisons = [compare.compare(a, b, parsed) for a, b in combinations(sides, 2)]
    differences: list[Mapping[str, Paired]] = [comparison.metrics for comparison in comparisons]
    first = comparisons[0]
    if len(comparisons) == 1:
        grids = [_sides(compared), _grid(first.metrics), *_different(first)]
        different = {name: [*map(asdict, first.most_different(name, TOP))] for name in first.metrics}
        values: dict[str, Any] = {"same_queries_by": first.same_by, "over": "queries", **_sizes(first)}
        values |= {"a": _side_json(compared[0]), "b": _side_json(compared[1])}
        values["metrics"] = {name: asdict(paired) for name, paired in first.metrics.items()}
        values["most_different"] = different
    else:
        grids = [_sides(compared), *_grids_of_all(names, differences)]
        values = _json_of_all(compared, comparisons)
    sheet = Sheet(grids=grids, texts=[_queries(first)], notes=[*_how(differences)])
    return Result(names, differences, values, sheet)


def _compare_lines(named: str, labels: Sequence[str], bits: int | None) -> Result:
    """The differences of rows of a table over the splits that both have."""
    table_name, _, section = named.partition("/")
    store = rows_read()
    table = collect(spec.load(table_name), store.rows(leave_out), store)
    lines = table.lines(labels, bits, section)
    scores = [cell.measured.scores if cell.measured is not None else {} for cell in lines.cells]
    differences: list[Mapping[str, Paired]] = []
    for a, b in _pairs(labels):
        if not scores[a].keys() & scores[b].keys():
            lacking = f"no split has the {shown(lines.metric)} of each query of both"
            fault = f"table {table_name}, {labels[a]} and {labels[b]}: {lacking}"
            raise HashbenchError(f"{fault}: hashbench compare RUN RUN compares two runs by their histograms")
        difference = compare_scores(scores[a], scores[b])
        differences.append({lines.metric: difference})
    names = [cell.declared.row for cell in lines.cells]
    values = {
        "over": "splits and queries",
        "table": table_name,
        "section": lines.section,
        "column": lines.column,
        "sides": {letter: {"name": name} for letter, name in zip(ascii_uppercase, names, strict=False)},
        "comparisons": _json_of_pairs(names, differences),
    }
    where = ", ".join(part for part in (table_name, lines.section, lines.column) if part)
    sides = Grid([*zip(ascii_uppercase, names, strict=False)])
    notes = [*_how(differences)]
    p_holm = _corrected(differences)[lines.metric]
    for (a, b), by_metric, p in zip(_pairs(names), differences, p_holm, strict=True):
        notes.append(claim(names[a], names[b], by_metric[lines.metric], p))
    sheet = Sheet(where, [sides, *_grids_of_all(names, differences)], notes=notes)
    return Result(names, differences, values, sheet)


def _side(name: str, explicit: Explicit, exclude_self: bool, program: list[str]) -> NamedSide:
    """The saved codes called ``name`` where there is such a file or folder, else the run."""
    if not Path(name).exists():
        if "/" in name or Path(name).suffix in (".npz", ".npy", ".mat", ".h5", ".pt"):
            raise HashbenchError(f"{name}: no such file or folder")
        if exclude_self:
            raise HashbenchError(f"--exclude-self can be used with saved codes only: {name} is a run")
        return _run(name, program)
    saved = files.load([Path(name)], explicit=explicit)
    counted = Scorer.of_saved(saved, exclude_self=exclude_self).evidence().histogram
    return NamedSide(Side(name, counted, saved.query_ids, saved.query_labels), notes=saved.notes)


def _run(name: str, program: list[str]) -> NamedSide:
    store = Store.default()
    row = _row(name, store)
    if (histogram := store.histogram(row)) is None:
        path = store.run_folder(row.run) / "histogram.npz"
        with retold(lambda fault: f"{path}: no such file, and no command makes it: {fault}", HashbenchError):
            remedy = train_command(row, program, again=True)
        raise HashbenchError(f"{path}: no such file: this makes it: {remedy}")
    side = Side(row.run, histogram, labels=store.query_labels(row), split=row.ids_sha256)
    return NamedSide(side, row.seed)


def _row(name: str, store: Store) -> Row:
    """The successful row of a run of binary codes; several seeds of one cell are no run."""
    lines = {line.name: line for line in store.begun(name)}
    begun: dict[str, Row] = {}
    if name not in lines:
        begun = {line.name: line.row() for line in lines.values()}
    if len(begun) > 1 and len({row.cell_hash for row in begun.values()}) == 1:
        seeds = ", ".join(str(seed) for seed in sorted(row.seed for row in begun.values()))
        advice = f"name one run, for the test is over the queries of one run, such as {min(begun)}"
        more = "with --table all splits of a row are compared"
        raise HashbenchError(f"{name}: a cell with {len(begun)} seeds ({seeds}): {advice}; {more}")
    row = store.named(name)
    if row.status != "ok":
        raise HashbenchError(f"{row.run}: the run failed ({row.reason}): a run with scores is expected")
    if "histogram" not in row.artefacts:
        raise HashbenchError(f"{row.run}: {row.method} has no ranking of binary codes: nothing can be compared")
    return row


def _json_of_all(compared: list[NamedSide], comparisons: list[Comparison]) -> dict[str, Any]:
    sides = {letter: _side_json(named) for letter, named in zip(ascii_uppercase, compared, strict=False)}
    names = [named.side.name for named in compared]
    values = _json_of_pairs(names, [comparison.metrics for comparison in comparisons])
    for of_pair, comparison in zip(values, comparisons, strict=True):
        of_pair["same_queries_by"] = comparison.same_by
    return {"over": "queries", **_sizes(comparisons[0]), "sides": sides, "comparisons": values}


def _sizes(comparison: Comparison) -> dict[str, int]:
    return {key: getattr(comparison, key) for key in ("n_queries", "n_empty", "n_database")}


def _json_of_pairs(names: Sequence[str], differences: Sequence[Mapping[str, Paired]]) -> list[dict[str, Any]]:
    corrected = _corrected(differences)
    comparisons = []
    for n, ((a, b), by_metric) in enumerate(zip(_pairs(names), differences, strict=True)):
        metrics = {metric: {**asdict(paired), "p_holm": corrected[metric][n]} for metric, paired in by_metric.items()}
        comparisons.append({"a": ascii_uppercase[a], "b": ascii_uppercase[b], "metrics": metrics})
    return comparisons


def _side_json(compared: NamedSide) -> dict[str, Any]:
    values = {"name": compared.side.name, "n_bits": compared.side.histogram.n_bits}
    if compared.seed is not None:
        values["seed"] = compared.seed
    return values


def _grids_of_all(names: Sequence[str], differences: Sequence[Mapping[str, Paired]]) -> Iterator[Grid]:
    """A grid for each metric, with a row for each pair."""
    for metric, corrected in _corrected(differences).items():
        rows: list[list[Cell]] = []
        for (a, b), by_metric, p in zip(_pairs(names), differences, corrected, strict=True):
            rows.append([f"{ascii_uppercase[a]}, {ascii_uppercase[b]}", *_cells(by_metric[metric]), _p(p)])
        yield Grid(rows, [shown(metric), "first", "second", "difference", "interval", "p", "p (Holm)"])


def _sides(compared: Sequence[NamedSide]) -> Grid:
    rows: list[list[Cell]] = []
    for letter, named in zip(ascii_uppercase, compared, strict=False):
        rows.append([letter, f"{named.side.name}: {named.side.histogram.n_bits} bits"])
    return Grid(rows)


def _queries(comparison: Comparison) -> str:
    queries = f"{comparison.n_queries:,} queries"
    if comparison.n_empty:
        queries += f", {comparison.n_empty:,} of them without a relevant item (left out)"
    return f"{queries}, {comparison.n_database:,} items; the same queries by {comparison.same_by}"


def _grid(metrics: Mapping[str, Paired]) -> Grid:
    """A row for each metric of one pair."""
    rows: list[list[Cell]] = []
    for name, paired in metrics.items():
        rows.append([shown(name), *_cells(paired)])
    return Grid(rows, ["metric", "A", "B", "A - B", f"{100 * INTERVAL:g}% interval", "p"])


def _how(differences: Sequence[Mapping[str, Paired]]) -> Iterator[str]:
    """How interval and p were made, for what they hold, and how p is corrected where there are several pairs."""
    is_of_one_split = any(paired.is_of_one_split for by_metric in differences for paired in by_metric.values())
    over = "the splits"
    if is_of_one_split:
        over = "the queries"
    share = f"{100 * INTERVAL:g}%"
    yield f"interval ({share}) and p: paired t-test over {over}; p is two-sided"
    if len(differences) > 1:
        yield f"p (Holm): corrected for the {len(differences)} comparisons of each metric"
    if is_of_one_split:
        yield "of one split only: another split, or another training, may give another sign"


def _cells(paired: Paired) -> list[Cell]:
    """Both means, their difference, its interval, and p."""
    difference = Number(paired.difference, SIGNED)
    interval = Range(paired.low, paired.high, SIGNED)
    return [Number(paired.a), Number(paired.b), difference, interval, _p(paired.p)]


def _p(p: float) -> Number:
    return Number(p, ".4f" if p >= 5e-5 else ".1e")


def _different(comparison: Comparison) -> Iterator[Grid]:
    """The queries that differ most in the first metric; their ids, where they have some."""
    metric = next(iter(comparison.metrics))
    queries = list(comparison.most_different(metric, TOP))
    columns = ["query", "A", "B", "A - B"]
    has_ids = any(query.id is not None for query in queries)
    if has_ids:
        columns.append("id")
    rows: list[list[Cell]] = []
    for query in queries:
        row: list[Cell] = [str(query.query), Number(query.a), Number(query.b), Number(query.a - query.b, SIGNED)]
        if has_ids:
            row.append(printable(str(query.id)))
        rows.append(row)
    yield Grid(rows, columns, f"largest differences in {shown(metric)}, queries numbered from 0")

"""Which published figures hashbench reproduces: a verdict for each published cell, counted by paper and by method.

The classes are those of Ali et al., "Bringing Light Into the Dark" (PyKEEN): reproduced with the reported settings,
reproduced with others only, not reproduced; and, as its own, what cannot be compared and what was not measured.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hashbench.foundation.errors import counted
from hashbench.foundation.paths import read_once
from hashbench.learning.methods import METHODS
from hashbench.running.runs.past import CODE_SIZE, LIKE
from hashbench.running.runs.settings import method_file
from hashbench.scoring.metrics import shown
from hashbench.showing.sheet import Grid, Sheet, records
from hashbench.showing.tables.cell import Cell
from hashbench.showing.tables.notation import cite
from hashbench.showing.tables.papers import OWN
from hashbench.showing.tables.sheet import settings_text
from hashbench.showing.tables.spec import load, why_not_here
from hashbench.showing.tables.table import Table, TableCell

REPRODUCED = "reproduced"
OTHER_SETTINGS = "with other settings"
NOT_REPRODUCED = "not reproduced"
NOT_COMPARED = "not compared"
NOT_MEASURED = "not measured"
FITTED = "fitted"
VERDICTS = (REPRODUCED, OTHER_SETTINGS, NOT_REPRODUCED, NOT_MEASURED, NOT_COMPARED)  # that which says most first
COLUMNS = (REPRODUCED, FITTED, *VERDICTS[1:])
OF_CELL = ("citation", "section", "row", "column", "dataset", "protocol", "method", "metric", "published", "tolerance")
OF_OTHER_INPUT = "it is of another network, other features or other data"
TITLE = "Verdicts of reproduction"
EXPLANATION = (
    "Reproduced: the mean over seeds is within the tolerance of the published value, with the network or features of "
    "the paper. Fitted: of these, a setting was chosen by the published values themselves. With other settings: it is "
    "not within it, but that of another cell is, which differs in its settings only. "
    "Not compared: the published value has no tolerance. A published value counts once."
)


@dataclass(frozen=True)
class Verdict:
    """A published cell of a table, its verdict, and why: the difference, or what is missing."""

    table: str
    cell: TableCell
    verdict: str
    why: str

    def line(self) -> dict[str, Any]:
        """The columns of the CSV and the keys of the JSON."""
        declared = self.cell.declared
        measured = self.cell.measured
        line = {"table": self.table, **{key: getattr(declared, key) for key in OF_CELL}}
        line |= {"settings": settings_text(declared.settings), "measured": measured.mean if measured else None}
        return {**line, "verdict": self.verdict, "why": self.why, "fitted": declared.fitted}


def verdicts(tables: Iterable[Table]) -> list[Verdict]:
    """A verdict for each published cell of ``tables``; of cells with one published value that which says most.

    A table of our own may repeat a published value beside another network or other data, and a table at another budget
    repeats all.
    """
    tables = list(tables)
    measured: dict[tuple[Any, ...], list[TableCell]] = defaultdict(list)
    for cell in (cell for table in tables for cell in table.cells() if cell.measured is not None):
        measured[_same_input(cell.declared)].append(cell)
    chosen: dict[tuple[Any, ...], Verdict] = {}
    printed: set[tuple[Any, ...]] = set()  # in the papers' tables
    # these first: only they say what would be right
    for table in sorted(tables, key=lambda table: table.paper == OWN):
        for cell in table.cells():
            if (declared := cell.declared).published is None:
                continue
            key = (declared.citation, *_same_run(declared), declared.published)
            if table.paper != OWN:
                printed.add(_as_printed(declared))
            elif key not in chosen and _as_printed(declared) in printed:
                continue  # it stands beside other data than the paper's
            verdict = _verdict(table, cell, measured[_same_input(declared)])
            if key not in chosen or VERDICTS.index(verdict.verdict) < VERDICTS.index(chosen[key].verdict):
                chosen[key] = verdict
    return list(chosen.values())


def _as_printed(cell: Cell) -> tuple[Any, ...]:
    """What two cells have in common that show the same number of a paper, on whatever data."""
    size = (cell.settings.get(key) for key in CODE_SIZE)
    return cell.citation, cell.method, cell.metric, cell.published, *size


def _same_run(cell: Cell) -> tuple[Any, ...]:
    """What cells have in common that differ in the settings of the method, or in the network, only."""
    size = (cell.settings.get(key) for key in CODE_SIZE)
    return cell.dataset, cell.protocol, cell.method, cell.metric, cell.evaluation, *size


def _same_input(cell: Cell) -> tuple[Any, ...]:
    """The same of cells on the same network or features."""
    return *_same_run(cell), *(cell.settings.get(key) for key in LIKE)


def _verdict(table: Table, cell: TableCell, alike: Sequence[TableCell]) -> Verdict:
    declared = cell.declared
    if declared.tolerance is None:
        why = "it has no tolerance"
        if table.paper == OWN:
            why = OF_OTHER_INPUT
        return Verdict(table.name, cell, NOT_COMPARED, declared.no_tolerance or why)
    if cell.within_tolerance:
        return Verdict(table.name, cell, REPRODUCED, f"differs by {cell.difference:+.3f}")
    # settings with a value of their own in the paper are another method to it, as the loss of StructHash
    own_values = (None, declared.published)
    of_other_methods = [other.declared.settings for other in alike if other.declared.published not in own_values]
    others = [other for other in alike if TableCell(declared, other.measured).within_tolerance]
    if others := [other for other in others if other.declared.settings not in of_other_methods]:
        other = others[0].declared
        stated = declared.settings.items()
        how = settings_text({key: value for key, value in other.settings.items() if (key, value) not in stated})
        if not how and other.budget != declared.budget:
            how = f"schedule {other.budget}"
        return Verdict(table.name, cell, OTHER_SETTINGS, how or other.row)
    if cell.measured is not None:
        return Verdict(table.name, cell, NOT_REPRODUCED, f"differs by {cell.difference:+.3f}")
    source = declared.settings.get("model") or declared.settings.get("features") or "its items"
    no_run = f"no run on the schedule {declared.budget} on {declared.dataset} {declared.protocol} of {source}"
    return Verdict(table.name, cell, NOT_MEASURED, why_not_here(declared, read_once(load)(table.name)) or no_run)


def sheet_of_verdicts(judged: Sequence[Verdict]) -> Sheet:
    """How many cells of each paper, method and metric have each verdict; the records have a line for each cell."""
    waiting = Counter(verdict.why for verdict in judged if verdict.verdict == NOT_MEASURED)
    notes = [EXPLANATION]
    if waiting:
        reasons = (f"{counted(n, 'cell')}: {why}" for why, n in waiting.most_common())
        notes.append(f"Not measured: {'; '.join(reasons)}.")
    notes += _not_compared(judged)
    by_paper = [cite(verdict.cell.declared.citation).words for verdict in judged]
    by_method = [_title_of(verdict.cell.declared.method) for verdict in judged]
    by_metric = [shown(verdict.cell.declared.metric) for verdict in judged]
    parts = [
        Sheet(f"{TITLE}, by paper", [_counts("paper", by_paper, judged)], notes),
        Sheet(f"{TITLE}, by method", [_counts("method", by_method, judged)]),
        Sheet(f"{TITLE}, by metric", [_counts("metric", by_metric, judged)]),
    ]
    return Sheet(
        parts=parts,
        values=lambda: {"verdicts": [verdict.line() for verdict in judged]},
        records=lambda: _records(judged),
    )


def _title_of(method: str) -> str:
    """The title of a method; its name where it is not installed here."""
    return method_file(method).title if method in METHODS else method


def _counts(corner: str, labels: Sequence[str], judged: Sequence[Verdict]) -> Grid:
    """The number of verdicts of each label, a row each; those that are fitted are counted twice."""
    counts: Counter[tuple[str, str]] = Counter()
    for label, verdict in zip(labels, judged, strict=True):
        counts[label, verdict.verdict] += 1
        if verdict.verdict == REPRODUCED and verdict.cell.declared.fitted is not None:
            counts[label, FITTED] += 1
    return Grid(
        [[label, *(counts[label, column] for column in COLUMNS)] for label in sorted(set(labels))], [corner, *COLUMNS]
    )


def _not_compared(judged: Sequence[Verdict]) -> list[str]:
    """The reasons why published values are not compared, the most frequent first, with the data sets of each."""
    datasets: dict[str, Counter[str]] = defaultdict(Counter)
    for verdict in judged:
        if verdict.verdict == NOT_COMPARED:
            datasets[verdict.why][verdict.cell.declared.dataset] += 1
    reasons = []
    for why, n in sorted(datasets.items(), key=lambda item: -item[1].total()):
        of_each = ", ".join(f"{n_of_dataset} on {dataset}" for dataset, n_of_dataset in sorted(n.items()))
        reasons.append(f"{counted(n.total(), 'value')}: {why} ({of_each})")
    if not reasons:
        return []
    return [f"Not compared: {'; '.join(reasons)}."]


def _records(judged: Sequence[Verdict]) -> Grid:
    lines = [verdict.line() for verdict in judged]
    return records(lines[0] if lines else ["table"], (line.values() for line in lines))

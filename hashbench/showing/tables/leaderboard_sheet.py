"""The leaderboard as a sheet: for each panel its ranking, and who beats whom."""

from collections.abc import Iterator, Sequence
from typing import Any

from hashbench.showing.sheet import Cell, Grid, Number, Sheet, Text, Value, records
from hashbench.showing.tables.leaderboard import EXPLANATION, Line, Panel

NOT_MEASURED = "-"

RECORDS = (
    "panel",
    "method",
    "name",
    "rank_low",
    "rank_high",
    "points",
    "train_s",
    "dataset",
    "protocol",
    "measure",
    "score",
    "lacks",
)


def sheet_of(panels: Sequence[Panel]) -> Sheet:
    """A part for each panel; the first says what the numbers are."""
    parts = []
    for panel in panels:
        explanation = [EXPLANATION] if panel is panels[0] else []
        parts.append(Sheet(panel.question, [ranking(panel), pairs(panel)], [*explanation, *panel.notes]))
    values = {"explanation": EXPLANATION, "panels": [*map(_values_of_panel, panels)]}
    lines = (line for panel in panels for line in _records(panel))
    return Sheet(parts=parts, values=lambda: values, records=lambda: records(RECORDS, lines))


def ranking(panel: Panel) -> Grid:
    """A row for each method: rank, points, the score of each task, and seconds of training."""
    labels = labels_of(panel)
    columns = ["method", "rank", "points", *(task.title for task in panel.tasks), "train s"]
    return Grid([[label, *facts_of(panel, line)] for label, line in zip(labels, panel.lines, strict=True)], columns)


def facts_of(panel: Panel, line: Line) -> Iterator[Cell]:
    """The cells of a method."""
    yield Number(line.low, "d", after=line.ranks.removeprefix(str(line.low)))
    yield Number(line.points, ".1f")
    for task in panel.tasks:
        mean = line.score(task)
        yield "failed" if mean is None else Number(mean, ".3f")
    yield NOT_MEASURED if line.train_s is None else Number(line.train_s, ",.1f")


def pairs(panel: Panel) -> Grid:
    """A row and a column for each method: the percent of resamples in which the one of the row beats the other."""
    rows: list[list[Cell]] = []
    for place, label in enumerate(labels_of(panel)):
        row: list[Cell] = [label, *(Number(100 * share, ".0f") for share in panel.beats[place].tolist())]
        row[1 + place] = None
        rows.append(row)
    return Grid(rows, ["method", *(str(number) for number in range(1, len(rows) + 1))])


def labels_of(panel: Panel) -> list[Text]:
    """The label of each line, with its number."""
    return [f"{number}. {line.method}" for number, line in enumerate(panel.lines, 1)]


def _records(panel: Panel) -> Iterator[list[Value]]:
    """A line for each ranked method and task, and one for each method that is not ranked."""
    for line in panel.lines:
        ranks: list[Value] = [panel.name, line.method, line.name, line.low, line.high, line.points, line.train_s]
        for task in panel.tasks:
            yield [*ranks, *task, panel.measure, line.score(task), None]
    for method, why in panel.not_ranked.items():
        yield [panel.name, method, *[None] * 9, why]


def _values_of_panel(panel: Panel) -> dict[str, Any]:
    """The panel as an object for JSON; a line has the share of resamples in which it beats each other line."""
    tasks = [
        {**task._asdict(), "bits": [*bits], "splits": panel.n_splits[task], "not_below": panel.not_below.get(task)}
        for task, bits in panel.tasks.items()
    ]
    lines = []
    for line, shares in zip(panel.lines, panel.beats.tolist(), strict=True):
        beats = {other.method: share for other, share in zip(panel.lines, shares, strict=True) if other is not line}
        ranks = {"rank_low": line.low, "rank_high": line.high, "points": line.points, "train_s": line.train_s}
        results = [{**task._asdict(), "score": line.score(task)} for task in panel.tasks]
        lines.append({"method": line.method, "name": line.name, **ranks, "results": results, "beats": beats})
    return {
        "panel": panel.name,
        "question": panel.question,
        "measure": panel.measure,
        "notes": [*panel.notes],
        "tasks": tasks,
        "lines": lines,
        "not_ranked": dict(panel.not_ranked),
    }

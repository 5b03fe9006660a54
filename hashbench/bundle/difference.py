"""New rows beside the reference rows of the same task, as Markdown that can be posted as a comment."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

from hashbench.foundation.errors import counted
from hashbench.runs.row import Row, processor_of
from hashbench.showing.inks.markdown import escape
from hashbench.tables.tracks import Task

REFERENCES = ("itq", "random_ranking", "classifier_codes")


def markdown(rows: Sequence[Row], stored: Iterable[Row]) -> str:
    """A line for each of the ``rows``, its first metric, and how much that is above the ``stored`` references'."""
    known = [row for row in stored if row.method in REFERENCES and row.status == "ok"]
    lines = [
        "| run | by | on | metric | new | " + " | ".join(f"new - {name}" for name in REFERENCES) + " |",
        "| --- | --- | --- | --- | ---: | " + " | ".join("---" for _ in REFERENCES) + " |",
    ]
    return "\n".join([*lines, *(_line(row, known) for row in rows)])


def _line(row: Row, known: Sequence[Row]) -> str:
    metric, new = next(((name, value.mean) for name, value in row.metrics.items()), ("none", None))
    cells = [row.run, row.maker or "unknown", processor_of(row), metric, "none" if new is None else f"{new:.4f}"]
    cells += ["; ".join(_differences(row, metric, new, name, known)) for name in REFERENCES]
    return f"| {' | '.join(_text(cell) for cell in cells)} |"


def _differences(row: Row, metric: str, new: float | None, method: str, known: Sequence[Row]) -> Iterator[str]:
    """A text for the reference on the same input, or for each input: codes made elsewhere do not say theirs."""
    task, found = Task.of(row), defaultdict[str, list[float]](list)
    for each in known:
        value, same = each.metrics.get(metric), Task.of(each)[:3] == task[:3] and each.split_seed == row.split_seed
        if each.method == method and same and value is not None and value.mean is not None:
            found[Task.of(each).features].append(value.mean)
    for features in [task.features] if task.features in found else sorted(found):
        if new is not None:
            mean, seeds = fmean(found[features]), counted(len(found[features]), "row")
            yield f"{new - mean:+.4f} ({mean:.4f}, {seeds}, {features})"


def _text(cell: str) -> str:
    """A cell in which nobody is addressed and nothing is a link."""
    return escape(cell).replace("@", "&#64;").replace("://", "&#58;//").replace("[", r"\[")

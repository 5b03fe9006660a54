"""The leaderboard as CSV, Markdown, LaTeX and HTML, and as a value for JSON; verdicts have the same grids."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hashbench.tables import render_html, render_latex, render_markdown
from hashbench.tables.leaderboard import EXPLANATION, Panel
from hashbench.tables.notation import split_evenly
from hashbench.tables.render_csv import csv_lines

ACROSS = 7  # columns of one tabular of LaTeX
NOT_MEASURED = "-"

Columns = Mapping[str, Sequence[tuple[str, float | None]]]  # by heading: the text of each row, and what it is sorted by

# of a title, notes, the heading of the labels, the labels, and blocks of columns
Renderer = Callable[[str, Sequence[str], str, Sequence[str], Sequence[Columns]], str]


def facts_of(panel: Panel) -> Columns:
    """The columns of a panel: rank, points, the score of each task, and seconds of training."""
    facts: dict[str, list[tuple[str, float | None]]] = {
        "rank": [(line.ranks, float(line.low)) for line in panel.lines],
        "points": [(f"{line.points:.1f}", line.points) for line in panel.lines],
    }
    for task in panel.tasks:
        facts[task.title] = [_score(line.score(task)) for line in panel.lines]
    facts["train s"] = [_seconds(line.train_s) for line in panel.lines]
    return facts


def pairs_of(panel: Panel) -> Columns:
    """The matrix of a panel, a column for each line by its number: the percent of resamples in which a row beats it."""
    columns: dict[str, list[tuple[str, float | None]]] = {}
    for column in range(len(panel.lines)):
        shares = panel.beats[:, column].tolist()
        cells = [(f"{share:.0%}".removesuffix("%"), share) for share in shares]
        columns[str(column + 1)] = [*cells[:column], ("", None), *cells[column + 1 :]]
    return columns


def labels_of(panel: Panel) -> list[str]:
    """The label of each line, with its number."""
    return [f"{number}. {line.method}" for number, line in enumerate(panel.lines, 1)]


def render(panels: Sequence[Panel], output: str) -> str:
    """The panels as text in the format csv, markdown, latex or html; the first says what the numbers are."""
    if output == "csv":
        return csv_lines(CSV, (line for panel in panels for line in _csv_lines(panel)))
    texts = []
    for panel in panels:
        notes = [EXPLANATION, *panel.notes] if panel is panels[0] else [*panel.notes]
        blocks = [facts_of(panel), pairs_of(panel)]
        texts.append(RENDERERS[output](panel.question, notes, "method", labels_of(panel), blocks))
    return "\n".join(texts)


CSV = (
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


def _csv_lines(panel: Panel) -> Iterator[list[Any]]:
    """A line for each ranked method and task, and one for each method that is not ranked."""
    for line in panel.lines:
        ranks = [panel.name, line.method, line.name, line.low, line.high, line.points, line.train_s]
        for task in panel.tasks:
            yield [*ranks, *task, panel.measure, line.score(task), None]
    for method, why in panel.not_ranked.items():
        yield [panel.name, method, *[None] * 9, why]


def json_leaderboard(panels: Sequence[Panel]) -> dict[str, Any]:
    """The panels as an object for JSON; a line has the share of resamples in which it beats each other line."""
    return {"explanation": EXPLANATION, "panels": [_json_panel(panel) for panel in panels]}


def _json_panel(panel: Panel) -> dict[str, Any]:
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
    named = {
        "panel": panel.name,
        "question": panel.question,
        "measure": panel.measure,
        "notes": [*panel.notes],
        "tasks": tasks,
    }
    return {**named, "lines": lines, "not_ranked": dict(panel.not_ranked)}


def _score(mean: float | None) -> tuple[str, float | None]:
    return ("failed", None) if mean is None else (f"{mean:.3f}", mean)


def _seconds(seconds: float | None) -> tuple[str, float | None]:
    return (NOT_MEASURED, None) if seconds is None else (f"{seconds:,.1f}", seconds)


def markdown(title: str, notes: Sequence[str], corner: str, labels: Sequence[str], blocks: Sequence[Columns]) -> str:
    """A heading, the notes and the grids, cut to the width of a terminal."""
    escape = render_markdown.escape
    parts = [f"## {escape(title)}", *map(escape, notes)]
    for columns in blocks:
        texts = {head: [escape(head), *(escape(text) for text, _ in cells)] for head, cells in columns.items()}
        parts += render_markdown.grids([corner, *map(escape, labels)], texts)
    return "\n\n".join(parts) + "\n"


def html(title: str, notes: Sequence[str], corner: str, labels: Sequence[str], blocks: Sequence[Columns]) -> str:
    """A heading, the notes and a table, whose columns the page of the report can sort; all text is escaped."""
    escape, kind = render_html.escape, ' class="number"'
    columns = {head: cells for block in blocks for head, cells in block.items()}
    heads = "".join(f'<th scope="col"{kind}>{escape(head)}</th>' for head in columns)
    lines = [f"<h2>{escape(title)}</h2>", *(f'<p class="legend">{escape(note)}</p>' for note in notes)]
    lines += ['<div class="scroll"><table class="list sortable">']
    lines += [f'<thead><tr><th scope="col">{corner}</th>{heads}</tr></thead>', "<tbody>"]
    for n, label in enumerate(labels):
        row = (cells[n] for cells in columns.values())
        cells = (f"<td{kind}{render_html.sorted_by(value)}>{escape(text)}</td>" for text, value in row)
        lines.append(f'<tr><th scope="row">{escape(label)}</th>{"".join(cells)}</tr>')
    text = "\n".join([*lines, "</tbody></table></div>"]) + "\n"
    return text.encode("ascii", "xmlcharrefreplace").decode()


def latex(title: str, notes: Sequence[str], corner: str, labels: Sequence[str], blocks: Sequence[Columns]) -> str:
    """Tabulars of at most ``ACROSS`` columns, one below the other, for a document that loads booktabs and longtable."""
    escape = render_latex.escape
    lines = [
        r"% needs \usepackage{booktabs,longtable}",
        rf"\section*{{{escape(title)}}}",
        *(rf"\noindent {escape(note)}\par" for note in notes),
        r"\footnotesize",
    ]
    for columns, piece in ((of, piece) for of in blocks for piece in split_evenly(tuple(of), ACROSS)):
        heads = (rf"\parbox[b]{{16mm}}{{\raggedright {escape(head)}}}" for head in piece)
        lines += [rf"\begin{{longtable}}{{l{'r' * len(piece)}}}", r"\toprule"]
        lines += [" & ".join([corner, *heads]) + r" \\", r"\midrule", r"\endhead"]
        for n, label in enumerate(labels):
            lines.append(" & ".join([escape(label), *(escape(columns[head][n][0]) for head in piece)]) + r" \\")
        lines += [r"\bottomrule", r"\end{longtable}"]
    return "\n".join(lines) + "\n"


RENDERERS: dict[str, Renderer] = {"markdown": markdown, "html": html, "latex": latex}

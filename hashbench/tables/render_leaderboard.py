"""The leaderboard as CSV, Markdown, LaTeX and HTML, and as a value for JSON; verdicts have the same grids."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from hashbench.tables import render_html, render_latex, render_markdown
from hashbench.tables.leaderboard import Leaderboard, Line, Result
from hashbench.tables.notation import split_evenly
from hashbench.tables.render_csv import csv_lines

TITLE = "Leaderboard: AP with ties"
GAP = "-"  # nothing is measured there
ACROSS = 7  # columns of one tabular of LaTeX

Columns = Mapping[str, Sequence[tuple[str, float | None]]]  # by heading: the text of each row, and what it is sorted by

# of a title, notes, the heading of the labels, the labels, and blocks of columns
Renderer = Callable[[str, Sequence[str], str, Sequence[str], Sequence[Columns]], str]


def title_of(board: Leaderboard) -> str:
    """The title, with what all tasks have in common."""
    return f"{TITLE} ({', '.join(board.shared)})" if board.shared else TITLE


def blocks_of(board: Leaderboard) -> list[Columns]:
    """The columns after the method: the ranks with what they cost and need, and one for each task."""
    shown: dict[str, tuple[str, str]] = {  # by heading: the column, and how it is written
        "place": ("place", "{:.0f}"),
        "needs": ("needs", "{}"),
        "beats": ("beaten", "{:.0%}"),
        "mean rank": ("mean_rank", "{:.2f}"),
        "interval": ("why_no_interval", "{}"),
        "tasks": ("n_tasks", "{:.0f}"),
        "of": ("n_compared", "{:.1f}"),
        "better than": ("better", "{:.2f} than {better_than}"),
        "settings": ("settings", "{}"),
        "pre-trained": ("pretrained", "{}"),
        "train s": ("train_s", "{:,.1f}"),
        "items/s": ("items_per_s", "{:,.0f}"),
        "MiB": ("peak_memory", "{:,.0f}"),
        "hasher KiB": ("hasher_bytes", "{:,.1f}"),
    }
    ranks = {head: [_text(line, *how) for line in board.lines] for head, how in shown.items()}
    results = {task: [line.results.get(task) for line in board.lines] for task in board.tasks}
    return [ranks, {board.title_of(*task.parts): [*map(_result, of)] for task, of in results.items()}]


def render(board: Leaderboard, output: str) -> str:
    """The leaderboard as text in the format csv, markdown, latex or html."""
    if output == "csv":
        head = [*board.lines[0].columns] if board.lines else ["method"]
        head += [", ".join(task.parts) + of for task in board.tasks for of in ("", ": std", ": seeds")]
        return csv_lines(head, (_csv_line(board, line) for line in board.lines))
    labels = [line["method"] for line in board.lines]
    return RENDERERS[output](title_of(board), [*board.notes], "method", labels, blocks_of(board))


def json_leaderboard(board: Leaderboard) -> dict[str, Any]:
    """The leaderboard as an object for JSON; a task that is not measured is not in a line's ``results``."""
    lines = [{**line.columns, "results": _json_results(line)} for line in board.lines]
    return {"notes": [*board.notes], "tasks": [task._asdict() for task in board.tasks], "lines": lines}


def _json_results(line: Line) -> list[dict[str, Any]]:
    return [
        {**task._asdict(), "ap": of.mean, "std": of.std, "rank": of.rank, "seeds": [*of.of_seeds]}
        for task, of in line.results.items()
    ]


def _csv_line(board: Leaderboard, line: Line) -> list[Any]:
    results = (line.results.get(task) for task in board.tasks)
    of_tasks = ((None,) * 3 if each is None else (each.mean, each.std, len(each.of_seeds)) for each in results)
    return [*line.columns.values(), *chain.from_iterable(of_tasks)]


def _text(line: Line, column: str, form: str) -> tuple[str, float | None]:
    value = line[column]
    if column == "why_no_interval" and not value:
        return "{rank_low:.1f} to {rank_high:.1f}".format(**line.columns), None
    if value is None or isinstance(value, str):
        return value or GAP, None
    value /= {"peak_memory": 1 << 20, "hasher_bytes": 1 << 10}.get(column, 1)
    return form.format(value, **line.columns), float(value)


def _result(found: Result | None) -> tuple[str, float | None]:
    spread = "" if found is None or found.std is None else f"±{found.std:.3f}"
    return (GAP, None) if found is None else (f"{found.mean:.3f}{spread}", found.mean)


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

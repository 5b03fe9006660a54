"""The leaderboard as a part of the page: each result can be opened, and each method leads to its card."""

from collections.abc import Iterator

from hashbench.report.provenance import Provenance, filter_attributes
from hashbench.tables.leaderboard import Leaderboard, Line
from hashbench.tables.render_html import element_attributes, escape, sorted_by
from hashbench.tables.render_leaderboard import blocks_of, title_of
from hashbench.tables.tracks import Task, kinds_of

NAME = "leaderboard"
LEAST_FIRST = ("place", "mean rank", "train s", "MiB", "hasher KiB")  # the first click puts the least value on top


def result_id(board: Leaderboard, line: Line, task: Task) -> str:
    """The id of the element of a result."""
    return f"{NAME}.{board.lines.index(line) + 1}.{board.tasks.index(task) + 1}"


def render_board(board: Leaderboard, provenance: Provenance) -> Iterator[str]:
    """The section of the leaderboard, whose results are added to the data of the page."""
    facts, results = blocks_of(board)
    yield f'<section class="hashbench-table" id="{NAME}"><h2>{escape(title_of(board))}</h2>'
    yield '<div class="scroll tall"><table><thead><tr><th scope="col">method</th>'
    for head in facts:
        first = ' data-first="asc"' if head in LEAST_FIRST else ""
        yield f'<th scope="col" class="fact"{first}>{escape(head)}</th>'
    yield "".join(f'<th scope="col">{escape(board.title_of(*task.parts))}</th>' for task in board.tasks)
    yield "</tr></thead><tbody>"
    for n, line in enumerate(board.lines):
        name = escape(line["method"])
        name = f'<a href="{escape(card)}">{name}</a>' if (card := provenance.cards.get(line["name"])) else name
        cells = "".join(
            f'<td class="fact"{sorted_by(cells[n][1])}>{escape(cells[n][0])}</td>' for cells in facts.values()
        )
        of_tasks = "".join(
            _result(board, line, task, *results[board.title_of(*task.parts)][n], provenance) for task in board.tasks
        )
        yield f'<tr><th scope="row">{name}</th>{cells}{of_tasks}</tr>'
    yield "</tbody></table></div><details><summary>What the numbers are</summary>"
    yield from (f'<p class="legend">{escape(note)}</p>' for note in board.notes)
    yield '<p class="legend">The filter hides tasks and lines; ranks are over all of them.</p></details></section>'


def _result(board: Leaderboard, line: Line, task: Task, text: str, value: float | None, provenance: Provenance) -> str:
    if value is None:
        return f'<td class="missing">{escape(text)}</td>'
    attributes = filter_attributes(task.dataset, line["name"], task.bits, features=task.features)
    attributes |= {"data-kinds": " ".join(sorted(kinds_of(line.results[task].rows[0])))}
    name = result_id(board, line, task)
    provenance.add_result(name, line, task)
    named = {"id": name, "class": "measured", **attributes}
    return f"<td{element_attributes(named)}{sorted_by(value)}>{escape(text)}</td>"

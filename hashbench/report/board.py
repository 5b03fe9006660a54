"""The leaderboard as a part of the page: each result can be opened, and each method leads to its card."""

from collections.abc import Iterator

from hashbench.foundation.errors import counted
from hashbench.report.provenance import Provenance, filter_attributes
from hashbench.tables.leaderboard import FEWEST, Leaderboard, Line
from hashbench.tables.render_html import element_attributes, escape, sorted_by
from hashbench.tables.render_leaderboard import blocks_of, title_of
from hashbench.tables.tracks import Task, kinds_of

NAME = "leaderboard"
TASKS = "one for each task, that is a data set, a protocol, a code length and an input: the AP with ties, mean ± "
TASKS += "standard deviation over seeds; scroll the table sideways to see them"
FILTERED = "Under a filter, place, beats and tasks are among the lines and tasks that are left, and the other ranks, "
FILTERED += "which are over all of them, are not shown."
LEAST_FIRST = ("place", "mean rank", "train s", "MiB", "hasher KiB")  # the first click puts the least value on top
COLUMNS = {  # in the order of the page, in words for somebody who has not seen them before
    "place": "the order of the lines, the best first; methods that learn without labels have places of their own",
    "beats": "the share of the other lines that it beats, on average over its tasks",
    "tasks": f"on how many tasks it is compared with others; lines with fewer than {FEWEST} come last",
    "needs": "what it learns from beside the items: pairs of alike items, classes, or none",
    "settings": "its hyper-parameters: tuned by a search here, our defaults, or by hand",
    "mean rank": "its rank on a task, where 1 is the best, on average over its tasks",
    "interval": "where the mean rank may lie by chance of tasks and seeds, with 95% confidence",
    "of": "how many lines a task has, on average over its tasks",
    "pre-trained": "whether a network that has seen other data made its input",
    "train s": "seconds of training, the median",
    "items/s": "items that are encoded in a second, the median",
    "MiB": "the most memory that a run took, the median",
    "hasher KiB": "the size of its stored hash function, the median",
    "better than": "how likely it is better than the next line with which it shares enough tasks, from 0 to 1",
}
OVER_ALL = ("mean rank", "interval", "of", "better than")  # said of all tasks and lines: not shown of some


def result_id(board: Leaderboard, line: Line, task: Task) -> str:
    """The id of the element of a result."""
    return f"{NAME}.{board.lines.index(line) + 1}.{board.tasks.index(task) + 1}"


def render_board(board: Leaderboard, provenance: Provenance) -> Iterator[str]:
    """The section of the leaderboard, whose results are added to the data of the page."""
    facts, results = blocks_of(board)
    yield f'<section class="hashbench-table" id="{NAME}"><h2>{escape(title_of(board))}</h2>'
    yield '<div class="scroll tall"><table><thead><tr><th scope="col">method</th>'
    for head, meaning in COLUMNS.items():
        first = {"data-first": "asc"} if head in LEAST_FIRST else {}
        kind = "fact over-all" if head in OVER_ALL else "fact"
        yield f"<th{element_attributes({'scope': 'col', 'class': kind, **first, 'title': meaning})}>{escape(head)}</th>"
    yield "".join(f'<th scope="col">{escape(board.title_of(*task.parts))}</th>' for task in board.tasks)
    yield "</tr></thead><tbody>"
    for n, line in enumerate(board.lines):
        name = escape(line["method"])
        name = f'<a href="{escape(card)}">{name}</a>' if (card := provenance.cards.get(line["name"])) else name
        cells = "".join(
            f'<td class="fact"{sorted_by(facts[head][n][1])}>{escape(facts[head][n][0])}</td>' for head in COLUMNS
        )
        of_tasks = "".join(
            _result(board, line, task, *results[board.title_of(*task.parts)][n], provenance) for task in board.tasks
        )
        group = element_attributes({"data-needs": line["needs"], "data-settings": line["settings"]})
        yield f'<tr{group}><th scope="row">{name}</th>{cells}{of_tasks}</tr>'
    yield '</tbody></table></div><button type="button" id="all-lines" hidden></button>'
    yield '<dl class="columns">'
    yield from (f"<dt>{escape(head)}</dt><dd>{escape(meaning)}</dd>" for head, meaning in COLUMNS.items())
    yield f"<dt>{counted(len(board.tasks), 'more column')}</dt><dd>{TASKS}</dd></dl>"
    yield "<details><summary>More about the numbers</summary>"
    yield from (f'<p class="legend">{escape(note)}</p>' for note in board.notes)
    yield f'<p class="legend">{FILTERED}</p></details></section>'


def _result(board: Leaderboard, line: Line, task: Task, text: str, value: float | None, provenance: Provenance) -> str:
    if value is None:
        return f'<td class="missing">{escape(text)}</td>'
    attributes = filter_attributes(task.dataset, line["name"], task.bits, features=task.features)
    attributes |= {"data-kinds": " ".join(sorted(kinds_of(line.results[task].rows[0])))}
    name = result_id(board, line, task)
    provenance.add_result(name, line, task)
    named = {"id": name, "class": "measured", **attributes}
    return f"<td{element_attributes(named)}{sorted_by(value)}>{escape(text)}</td>"

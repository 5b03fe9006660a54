"""The leaderboard as a part of the page: its panels."""

from collections.abc import Iterator, Sequence

from hashbench.tables.leaderboard import EXPLANATION, Panel
from hashbench.tables.render_html import escape, sorted_by
from hashbench.tables.render_leaderboard import Columns, facts_of, pairs_of


def render_board(panels: Sequence[Panel]) -> Iterator[str]:
    """The section of the leaderboard."""
    yield f'<section id="leaderboard"><h2>Leaderboard</h2><p class="legend">{escape(EXPLANATION)}</p>'
    for panel in panels:
        yield f'<h3 id="leaderboard.{escape(panel.name)}">{escape(panel.question)}</h3>'
        yield from (f'<p class="legend">{escape(note)}</p>' for note in panel.notes)
        tables = ", ".join(f'<a href="#{escape(table)}">{escape(table)}</a>' for table in panel.tables)
        yield f'<p class="legend">Its values are those of {tables}.</p>'
        if panel.lines:
            yield _grid(panel, facts_of(panel))
            yield f"<details><summary>Who beats whom</summary>{_grid(panel, pairs_of(panel))}</details>"
    yield "</section>"


def _grid(panel: Panel, columns: Columns) -> str:
    """A line for each line of the panel, with these columns."""
    heads = "".join(f'<th scope="col">{head}</th>' for head in ["method", *map(escape, columns)])
    lines = list[str]()
    for place, line in enumerate(panel.lines):
        cells = list[str]()
        for column in columns.values():
            text, value = column[place]
            cells.append(f'<td class="number"{sorted_by(value)}>{escape(text)}</td>')
        lines.append(f'<tr><th scope="row">{place + 1}. {escape(line.method)}</th>{"".join(cells)}</tr>')
    head, body = f"<thead><tr>{heads}</tr></thead>", f"<tbody>{''.join(lines)}</tbody>"
    return f'<div class="scroll"><table class="list">{head}{body}</table></div>'

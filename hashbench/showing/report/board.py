"""The leaderboard as a part of the page: its panels."""

from collections.abc import Iterator, Sequence

from hashbench.showing.inks.html import Html, escape
from hashbench.showing.tables.leaderboard import EXPLANATION, Panel
from hashbench.showing.tables.leaderboard_sheet import pairs, ranking


def render_board(panels: Sequence[Panel]) -> Iterator[str]:
    """The section of the leaderboard."""
    ink = Html()
    yield f'<section id="leaderboard"><h2>Leaderboard</h2><p class="legend">{escape(EXPLANATION)}</p>'
    for panel in panels:
        yield f'<h3 id="leaderboard.{escape(panel.name)}">{escape(panel.question)}</h3>'
        yield from (f'<p class="legend">{escape(note)}</p>' for note in panel.notes)
        tables = ", ".join(f'<a href="#{escape(table)}">{escape(table)}</a>' for table in panel.tables)
        yield f'<p class="legend">Its values are those of {tables}.</p>'
        if panel.lines:
            yield from ink.grid(ranking(panel))
            yield "<details><summary>Who beats whom</summary>"
            yield from ink.grid(pairs(panel))
            yield "</details>"
    yield "</section>"

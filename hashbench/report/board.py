"""The leaderboard as a part of the page: its panels, whose methods lead to their cards."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from hashbench.showing.inks.html import Html, escape, sorted_by
from hashbench.tables.leaderboard import EXPLANATION, Panel
from hashbench.tables.leaderboard_sheet import pairs, ranking

NAME = "leaderboard"

Cell = str | tuple[float | None, str]  # text, or a number with what is shown of it


def render_board(panels: Sequence[Panel], cards: Mapping[str, str]) -> Iterator[str]:
    """The section of the leaderboard; ``cards`` has the address of the card of a method."""
    ink = Html()
    yield f'<section id="{NAME}"><h2>Leaderboard</h2><p class="legend">{escape(EXPLANATION)}</p>'
    for panel in panels:
        yield f'<h3 id="{NAME}.{escape(panel.name)}">{escape(panel.question)}</h3>'
        yield from (f'<p class="legend">{escape(note)}</p>' for note in panel.notes)
        tables = ", ".join(f'<a href="#{escape(table)}">{escape(table)}</a>' for table in panel.tables)
        yield f'<p class="legend">Its values are those of {tables}.</p>'
        if panel.lines:
            yield from ink.grid(ranking(panel, cards))
            yield "<details><summary>Who beats whom</summary>"
            yield from ink.grid(pairs(panel, cards))
            yield "</details>"
    yield "</section>"


def grid(heads: Sequence[str], lines: Iterable[Sequence[Cell]], *, sortable: bool = False) -> str:
    """A table of escaped texts, and of numbers with what is shown of them."""
    kind = "list sortable" if sortable else "list"
    text = "".join(f'<th scope="col">{head}</th>' for head in heads)
    body = "".join(f'<tr><th scope="row">{first}</th>{"".join(map(_cell, rest))}</tr>' for first, *rest in lines)
    return (
        f'<div class="scroll"><table class="{kind}"><thead><tr>{text}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return f"<td>{cell}</td>"
    value, text = cell
    return f'<td class="number"{sorted_by(value)}>{text}</td>'

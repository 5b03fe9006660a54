"""The card of a method, a page of the site: paper, objective, place, cost, verdicts, figures, settings with sources."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from inspect import cleandoc

from hashbench.foundation import paths
from hashbench.foundation.config import all_as_typed, as_typed
from hashbench.foundation.errors import counted
from hashbench.methods import METHODS
from hashbench.report.board import NAME as BOARD
from hashbench.report.board import Cell, grid
from hashbench.report.contents import Contents, place_of
from hashbench.report.page import Beside, figure, head
from hashbench.report.provenance import Provenance
from hashbench.runs.declared import other_values_of, settings_of
from hashbench.runs.settings import method_file
from hashbench.showing.inks.html import Html, escape
from hashbench.tables.leaderboard import Line, Panel
from hashbench.tables.leaderboard_sheet import ranking
from hashbench.tables.papers import VENUE, Paper, cited
from hashbench.tables.tracks import NEEDS
from hashbench.tables.verdicts import Verdict, verdicts

PAGE = "../index.html"
NOT_SHOWN = ("method", "lines")  # columns of the tables in docs/methods.md


@dataclass(frozen=True)
class Cards:
    """The cards of the site, made of what its first page shows; ``pictures`` are its files, by figure."""

    contents: Contents
    provenance: Provenance
    pictures: Mapping[str, str]

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Those of all published cells."""
        return verdicts(each.table for each in self.contents.tables)

    @cached_property
    def described(self) -> dict[str, dict[str, str]]:
        """What docs/methods.md says of each method, by the heads of its tables."""
        page = paths.shipped() / "docs" / "methods.md"
        return described(page.read_text(encoding="utf-8")) if page.is_file() else {}

    def overview(self) -> str:
        """The list of all methods for the first page."""
        lines: list[list[Cell]] = []
        for name, card in self.provenance.cards.items():
            file, method = method_file(name), METHODS.get(name)
            n_rows = sum(row.method == name for row in self.contents.rows)
            of_method = [
                f'<a href="{card}">{escape(file.title)}</a>',
                escape(method.group),
                escape(NEEDS[method.supervision]),
                escape(_cited(self.provenance.entries.get(file.paper), file.paper)),
            ]
            ranks = "; ".join(f"{panel.name} {line.ranks}" for panel, line in self._lines_of(name))
            lines.append([*of_method, (n_rows, f"{n_rows:,}"), escape(ranks or "-")])
        heads = ["method", "kind", "learns from", "paper", "rows", "ranks"]
        return grid(heads, lines, sortable=True)

    def render(self, name: str) -> str:
        """The card of a method as a page in the folder of cards."""
        file, method, beside = method_file(name), METHODS.get(name), Beside("../", self.pictures)
        paper = self.provenance.entries.get(file.paper)
        known = self.described.get(name, {})
        facts = {
            "paper": _reference(paper, file.paper),
            "kind": escape(method.group),
            "learns from": escape(NEEDS[method.supervision]),
            **{key: escape(text) for key, text in known.items()},
            **({} if known else {"objective": _docstring(name)}),
        }
        addresses = {"All results": PAGE, "All methods": f"{PAGE}#methods", "Its rows": f"{PAGE}{_rows_of(name)}"}
        addresses |= {"Documentation": "../docs/methods.html"}
        nav = " ".join(f'<a href="{to}">{text}</a>' for text, to in addresses.items())
        return "\n".join(
            [
                *head(f"hashbench: {file.title}", beside, script=False),
                f'<main class="card"><header><nav>{nav}</nav>',
                f"<h1>{escape(file.title)}</h1><p>{escape(file.summary)} <code>{escape(name)}</code></p></header>",
                f"<dl>{''.join(f'<dt>{escape(key)}</dt><dd>{text}</dd>' for key, text in facts.items())}</dl>",
                *self._place(name),
                *self._verdicts(name),
                *self._figures(name, beside),
                *_settings(name),
                "</main>\n</body>\n</html>\n",
            ]
        )

    def _lines_of(self, name: str) -> Iterator[tuple[Panel, Line]]:
        """The lines of a method on the leaderboard, with their panels."""
        for panel in self.contents.board:
            yield from ((panel, line) for line in panel.lines if line.name == name)

    def _place(self, name: str) -> Iterator[str]:
        n_rows = sum(row.method == name for row in self.contents.rows)
        rows = f'<a href="{PAGE}{_rows_of(name)}">{counted(n_rows, "row")}</a>'
        yield f'<section id="place"><h2>Ranks and cost</h2><p>{rows} stored.</p>'
        lines: list[list[Cell]] = []
        for panel, line in self._lines_of(name):
            question = f'<a href="{PAGE}#{BOARD}.{escape(panel.name)}">{escape(panel.question)}</a>'
            grid_of_panel = ranking(panel)
            row = grid_of_panel.rows[panel.lines.index(line)]
            texts = dict(zip(grid_of_panel.columns, map(Html().cell, row), strict=True))
            aps = "; ".join(f"{task.title} {texts[task.title]}" for task in panel.tasks)
            ranks = f"{line.ranks} of {len(panel.lines)}"
            lines.append([question, escape(line.method), ranks, texts["points"], aps, texts["train s"]])
        if lines:
            yield grid(["panel", "line", "rank", "points", "AP with ties", "train s"], lines)
        else:
            yield "<p>No panel of the leaderboard ranks it.</p>"
        yield "</section>"

    def _verdicts(self, name: str) -> Iterator[str]:
        found = [each for each in self.verdicts if each.cell.declared.method == name]
        if not found:
            return
        yield '<section id="verdicts"><h2>Verdicts of reproduction</h2>'
        heads = ["table", "cell", "metric", "published", "measured", "verdict", "why"]
        lines = []
        for each in found:
            declared, line = each.cell.declared, each.line()
            cell = self.provenance.ids[each.table, place_of(declared)]
            place = escape(", ".join(filter(None, place_of(declared))))
            values: list[Cell] = [
                (value, "" if value is None else f"{value:.3f}") for value in (line["published"], line["measured"])
            ]
            link = f'<a href="{PAGE}#cell={escape(cell)}">{place}</a>'
            lines.append([escape(each.table), link, escape(declared.metric), *values, each.verdict, escape(each.why)])
        yield f"{grid(heads, lines)}</section>"

    def _figures(self, name: str, beside: Beside) -> Iterator[str]:
        shown = [each for each in self.contents.pictures if each.data_uri]
        shown = [each for each in shown if any(cell.method == name for cell in each.spec.cells)]
        if shown:
            yield '<section id="figures"><h2>Figures</h2>'
            yield from (figure(each, self.provenance.entries, beside) for each in shown)
            yield "</section>"


def _rows_of(name: str) -> str:
    return f"#method={name}&amp;see=rows"


def described(text: str) -> dict[str, dict[str, str]]:
    r"""The cells of each method's row in the tables of a page in Markdown that have a column ``lines``.

    >>> described("| method | fitted to | lines |\n| --- |\n| `itq` | \\|B - V R\\|², `R` a rotation | 35 |")
    {'itq': {'fitted to': '|B - V R|², R a rotation'}}
    """
    found: dict[str, dict[str, str]] = {}
    heads: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells and cells[0] == "method":
            heads = cells
        elif cells and "lines" in heads and (named := re.fullmatch(r"`(\w+)`", cells[0])):
            known = zip(heads, (_plain(cell) for cell in cells), strict=True)
            found[named[1]] = {key: value for key, value in known if key not in NOT_SHOWN}
    return found


def _plain(text: str) -> str:
    """Markdown of one line without backquotes, and without the addresses of links."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "")


def _docstring(name: str) -> str:
    text = import_module(f"hashbench.methods.{name}").__doc__ if METHODS.folder(name) is None else None
    parts = cleandoc(text or method_file(name).summary).replace("``", "").split("\n\n")
    return "<br>".join(escape(part) for part in parts)


def _settings(name: str) -> Iterator[str]:
    yield '<section id="settings"><h2>Settings</h2><p class="legend">Source: the paper, the code of its authors, ours, '
    yield "default (of the code here), or required: given by the run or by a recipe.</p>"
    lines = []
    for key, each in settings_of(name).items():
        note = escape(each["note"]) + (
            f" (released: {escape(as_typed(each['released']))})" if "released" in each else ""
        )
        lines.append([f"<code>{escape(key)}</code>", escape(as_typed(each["value"])), each["source"], note])
    yield grid(["setting", "value", "source", "note"], lines)
    if others := other_values_of(name):
        when = ((all_as_typed(each.conditions), all_as_typed(each.values), each.why) for each in others)
        yield "<h3>Other values</h3>"
        yield grid(["where", "values", "why"], [[escape(text) for text in each] for each in when])
    yield "</section>"


def _reference(paper: Paper | None, key: str) -> str:
    if paper is None:
        return escape(key or "none")
    venue = getattr(paper, VENUE.get(paper.type, "howpublished")) or ""
    text = f"{', '.join(paper.author)}: {paper.title}. {venue} {paper.year or ''}".strip()
    address = paper.url or (paper.doi and f"https://doi.org/{paper.doi}")
    address = address or (paper.eprint and f"https://arxiv.org/abs/{paper.eprint}")
    return f'<a href="{escape(address)}">{escape(text)}</a>' if address else escape(text)


def _cited(paper: Paper | None, key: str) -> str:
    return cited(key, {key: paper}) if paper else key

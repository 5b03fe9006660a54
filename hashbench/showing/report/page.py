"""The report as one page of HTML that needs nothing else."""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from hashbench.foundation.errors import counted
from hashbench.running.runs.row import Row
from hashbench.showing.ink import write
from hashbench.showing.inks.html import element_attributes, escape, sorted_by
from hashbench.showing.report.board import render_board
from hashbench.showing.report.contents import Contents, MissingRun, Picture, ReportedTable
from hashbench.showing.report.provenance import (
    Provenance,
    ascending,
    filter_attributes,
    input_of,
    machine_of,
)
from hashbench.showing.report.readme import methods_measured
from hashbench.showing.tables.papers import Paper, cited, papers
from hashbench.showing.tables.sheet import sheet_of
from hashbench.showing.tables.verdicts import sheet_of_verdicts, verdicts

STYLE, SCRIPT = (Path(__file__).with_name(f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
COLUMN = 400  # pixels: a wider figure is scrolled on a phone, because it could not be read if it were shrunk
LIBRARIES = ("python", "numpy", "torch", "cuda")
KINDS = ("supervised", "unsupervised", "shallow", "deep")  # of methods
COLUMNS = ["method", "data set", "bits"], ["seed", "mAP"], ["protocol", "input"]  # of the rows


def render(contents: Contents, documentation: str | None = None) -> str:
    """The page; the same contents give the same text. ``documentation`` is the address that it links to, if any."""
    provenance = Provenance({row.run: row for row in contents.rows}, papers(broken=str))  # a broken paper by its key
    parts = [
        *_head(),
        *_filter(contents),
        "<main>",
        *_overview(contents, documentation),
        *_tables(contents),
        *(_table(reported, provenance) for reported in contents.tables),
        *_figures(contents.pictures, provenance.entries),
        *_rows(),
        *_machines(contents),
        *_missing(contents),
        "</main>",
        '<aside id="provenance" role="status" hidden></aside>',
        # last, because the tables add their cells to it
        f'<script type="application/json" id="data">{provenance.as_json()}</script>\n<script>{SCRIPT}</script>',
        "</body>\n</html>\n",
    ]
    return "\n".join(parts)


def _head() -> Iterator[str]:
    """The page up to its body."""
    # nothing but the page's own script and style can act, even if a name of a foreign row were not escaped
    policy = f"img-src data:; style-src {_hash_of(STYLE)}; script-src {_hash_of(SCRIPT)}"
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; {policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield f"<title>hashbench: results</title>\n<style>{STYLE}</style>\n</head>\n<body>"


def _hash_of(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _filter(contents: Contents) -> Iterator[str]:
    """The form that the script acts on; it is hidden where there is no script."""
    cells = [cell.declared for reported in contents.tables for cell in reported.table.cells()]
    settings = [*(cell.settings for cell in cells), *(row.config.get("settings", {}) for row in contents.rows)]
    bits = ascending(values["bits"] for values in settings if "bits" in values)
    datasets, methods = (
        sorted({getattr(item, key) for item in (*cells, *contents.rows)}) for key in ("dataset", "method")
    )
    yield '<form id="filter" hidden>'
    for name, label, values in (
        ("dataset", "Data set", datasets),
        ("method", "Method", methods),
        ("bits", "Bits", bits),
        ("features", "Input", sorted({input_of(row) for row in contents.rows} - {""})),
        ("kinds", "Kind", KINDS),
    ):
        options = "".join(f"<option>{escape(value)}</option>" for value in values)
        yield f'<label>{label}<select name="{name}"><option value="">all</option>{options}</select></label>'
    yield '<label class="check"><input type="checkbox" name="measured"> measured only</label>'
    yield '<button type="reset">Reset</button> <output></output></form>'


def _overview(contents: Contents, documentation: str | None) -> Iterator[str]:
    tables = [reported.table for reported in contents.tables]
    n_cells = sum(table.n_cells for table in tables)
    n_measured = sum(table.n_measured for table in tables)
    n_machines = len({machine_of(row) for row in contents.rows})
    links = {}
    if contents.board:
        links["Leaderboard"] = "#leaderboard"
    links |= {"Tables": "#tables", "Figures": "#figures", "Rows": "#rows", "Machines": "#machines"}
    links["Missing"] = "#missing"
    if documentation:
        links["Documentation"] = documentation
    yield "<header><h1>hashbench: results</h1>"
    nav = " ".join(f'<a href="{to}">{name}</a>' for name, to in links.items())
    methods = methods_measured(tables)
    yield (
        f"<nav>{nav}</nav><p>Methods that turn items into binary codes, compared by how well the codes find alike "
        f"items: {methods}, {counted(len(contents.rows), 'stored run')} on "
        f"{counted(n_machines, 'machine')}. {n_measured:,} of {n_cells:,} cells of "
        f"{counted(len(tables), 'table')} are measured. All scores count tied items exactly.</p>"
    )
    yield '<p class="hint">Point at a cell, or tap it, to see the runs behind it. The head of a column sorts by it. '
    yield "A table that is wider than the window scrolls in its box.</p></header>"
    if contents.board:
        yield from render_board(contents.board)
    if judged := verdicts(tables):
        yield f'<section id="verdicts">{write(sheet_of_verdicts(judged), "html")}</section>'


def _tables(contents: Contents) -> Iterator[str]:
    yield '<section id="tables"><h2>Tables</h2><p class="legend">Measured: how many cells of the table are; outside: '
    yield "how many of these differ from the published value by more than their tolerance; missing: how many runs are. "
    yield "A cell of a table shows published / measured: the mean over runs ± standard deviation, and the (number of "
    yield 'runs).</p><div class="scroll"><table class="list sortable">'
    yield f"{_heading(['table'], ['measured', 'outside', 'missing'])}\n<tbody>"
    for reported in contents.tables:
        table = reported.table
        n_outside = sum(cell.within_tolerance is False for cell in table.cells())
        link = f'<a href="#{escape(table.name)}">{escape(table.name)}</a>'
        measured = _count(table.n_measured, f"{table.n_measured} of {table.n_cells}")
        counts = f"{measured}{_count(n_outside)}{_count(len(reported.missing))}"
        yield f'<tr><th scope="row">{link} <span class="title">{escape(table.title)}</span></th>{counts}</tr>'
    yield "</tbody></table></div></section>"


def _table(reported: ReportedTable, provenance: Provenance) -> str:
    """The table, and below it its picture, where there is one."""
    table = reported.table
    text = write(sheet_of(table, counts=True, attributes=provenance.add(reported)), "html")
    if reported.picture is None:
        return text
    picture = _image(*reported.picture, table.title)
    return text.replace("</section>", f'<figure id="picture-{escape(table.name)}">{picture}</figure></section>')


def _count(value: float, shown: str | None = None) -> str:
    form = ",.2f" if isinstance(value, float) else ","
    return f'<td{sorted_by(value)} class="number">{shown or format(value, form)}</td>'


def _heading(*labels: Sequence[str]) -> str:
    """The head of a list: labels of texts, then of numbers, then of texts."""
    kinds = zip(("", ' class="number"', ""), labels, strict=False)
    cells = "".join(f'<th scope="col"{kind}>{label}</th>' for kind, texts in kinds for label in texts)
    return f"<thead><tr>{cells}</tr></thead>"


def _figures(pictures: Sequence[Picture], entries: Mapping[str, Paper]) -> Iterator[str]:
    yield '<section id="figures"><h2>Figures</h2>'
    yield from (_figure(picture, entries) for picture in pictures)
    yield "</section>"


def _figure(picture: Picture, entries: Mapping[str, Paper]) -> str:
    """A figure with its caption."""
    file = picture.spec.file
    where = f"{cited(file.paper, entries)}, {file.source}"
    notes = " ".join(f"{text.rstrip('.')}." for text in [*file.notes, *filter(None, [picture.missing])])
    caption = f"<figcaption><b>{escape(file.title)}</b> ({escape(where)}). {escape(notes)}</figcaption>"
    image = ""
    if picture.data_uri:
        image = _image(picture.data_uri, picture.size, file.title)
    return f'<figure id="figure-{escape(picture.spec.name)}">{image}{caption}</figure>'


def _image(data_uri: str, size: tuple[int, int], title: str) -> str:
    width, height = size
    wide = ' class="wide"' if width > COLUMN else ""
    look = f'width="{width}" height="{height}"{wide} loading="lazy"'
    return f'<div class="scroll"><img src="{data_uri}" {look} alt="{escape(title)}"></div>'


def _rows() -> Iterator[str]:
    """The list of all rows, which the script fills, some at a time."""
    yield '<section id="rows"><h2>Rows</h2>'
    yield '<p class="legend">A row is the stored result of one run.</p>'
    yield '<div class="scroll"><table class="list sortable" data-rows>'
    yield f"{_heading(*COLUMNS)}<tbody></tbody></table></div>"
    yield '<button type="button" id="more" hidden>More</button></section>'


def _machines(contents: Contents) -> Iterator[str]:
    yield '<section id="machines"><h2>Machines</h2><div class="scroll"><table class="list">'
    yield f"{_heading(['machine'], ['runs', 'hours'], ['from', *LIBRARIES])}\n<tbody>"
    rows_by_machine: dict[str, list[Row]] = {}
    for row in contents.rows:
        rows_by_machine.setdefault(machine_of(row), []).append(row)
    for machine, rows in sorted(rows_by_machine.items()):
        days = sorted(row.utc[:10] for row in rows)
        texts = [" to ".join(dict.fromkeys((days[0], days[-1]))), *(_versions(rows, name) for name in LIBRARIES)]
        seconds = sum(sum(row.seconds.model_dump().values()) for row in rows if row.seconds)
        cells = _count(len(rows)) + _count(seconds / 3600) + "".join(f"<td>{escape(text)}</td>" for text in texts)
        yield f'<tr><th scope="row">{escape(machine)}</th>{cells}</tr>'
    yield "</tbody></table></div></section>"


def _versions(rows: Sequence[Row], library: str) -> str:
    """The versions of a library that the rows were made with, sorted."""
    return ", ".join(sorted({str(row.versions[library]) for row in rows if row.versions.get(library)}))


def _missing(contents: Contents) -> Iterator[str]:
    yield '<section id="missing"><h2>Missing</h2>'
    if contents.left_out:
        lines = (f"<li>{escape(line)}</li>" for line in contents.left_out)
        yield from ("<p>Left out, because it cannot be read:</p><ul>", *lines, "</ul>")
    waiting = [reported for reported in contents.tables if reported.missing]
    if not waiting:
        yield "<p>Nothing: every cell of every table is measured.</p>"
    for reported in waiting:
        name = escape(reported.table.name)
        runnable = [run for run in reported.missing if run.command is not None]
        yield f"<details><summary>{name}: {counted(len(reported.missing), 'run')} missing</summary>"
        if runnable:
            yield f"<p>All of them ({_hours(runnable)}): <code>hashbench run {name}</code></p>"
        yield from ("<ul>", *map(_missing_run, reported.missing), "</ul></details>")
    yield "</section>"


def _hours(runs: Sequence[MissingRun]) -> str:
    """How long the runs take, one after the other, as far as past runs tell."""
    known = [run.seconds for run in runs if run.seconds is not None]
    if not known:
        return "no past run tells how long"
    about = "about" if len(known) == len(runs) else "more than"
    return f"{about} {sum(known) / 3600:.1f} hours"


def _missing_run(run: MissingRun) -> str:
    cell = run.cell
    attributes = element_attributes(filter_attributes(cell.dataset, cell.method, cell.settings.get("bits")))
    text = escape(" / ".join(filter(None, run.places[0])))
    if others := run.places[1:]:
        text += f" and {counted(len(others), 'cell')} more"
    text += f": {escape(run.why)}"
    if run.command:
        text += f"<br><code>{escape(run.command)}</code>"
    return f"<li{attributes}>{text}</li>"

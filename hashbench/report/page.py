"""The report as one page of HTML that needs nothing else: no network, no file beside it."""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from hashbench.foundation.errors import counted
from hashbench.report.contents import Contents, MissingRun, Picture
from hashbench.report.provenance import Provenance, Ran, ascending, filter_attributes, grouped, machine_of
from hashbench.tables import render_leaderboard
from hashbench.tables.papers import Paper, cited, papers
from hashbench.tables.render_html import element_attributes, escape, render_html
from hashbench.tables.verdicts import render as verdicts_text
from hashbench.tables.verdicts import verdicts

STYLE, SCRIPT = (Path(__file__).with_name(f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
COLUMN = 400  # pixels: a wider figure is scrolled on a phone, because it could not be read if it were shrunk
LIBRARIES = ("python", "numpy", "torch", "cuda")


def render(contents: Contents) -> str:
    """The page; the same contents give the same text."""
    entries = papers(broken=str)  # str: a broken entry is cited by its key
    provenance = Provenance({row.run: row for row in contents.rows}, entries)
    tables = [render_html(each.table, counts=True, attributes=provenance.add(each)) for each in contents.tables]
    figures = _figures(contents.pictures, entries)
    parts = [*_overview(contents), *_tables(contents), *tables, *figures, *_machines(contents), *_missing(contents)]
    data = f'<script type="application/json" id="data">{provenance.as_json()}</script>'
    foot = [
        '<aside id="provenance" role="status" hidden></aside>',
        data,
        f"<script>{SCRIPT}</script>\n</body>\n</html>",
    ]
    return "\n".join([*_head(), *_filter(contents), "<main>", *parts, "</main>", *foot]) + "\n"


def _head() -> Iterator[str]:
    # nothing but the page's own script and style can act, even if a name of a foreign row were not escaped
    policy = f"default-src 'none'; img-src data:; style-src {_hash_of(STYLE)}; script-src {_hash_of(SCRIPT)}"
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield f"<title>hashbench: results</title>\n<style>{STYLE}</style>\n</head>\n<body>"


def _hash_of(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _filter(contents: Contents) -> Iterator[str]:
    """The form that the script acts on; it is hidden where there is no script."""
    cells = [cell.declared for each in contents.tables for cell in each.table.cells()]
    bits = ascending(cell.settings["bits"] for cell in cells if "bits" in cell.settings)
    datasets, methods = sorted({cell.dataset for cell in cells}), sorted({cell.method for cell in cells})
    yield '<form id="filter" hidden>'
    for name, label, values in (
        ("dataset", "Data set", datasets),
        ("method", "Method", methods),
        ("bits", "Bits", bits),
    ):
        options = "".join(f"<option>{escape(value)}</option>" for value in values)
        yield f'<label>{label}<select name="{name}"><option value="">all</option>{options}</select></label>'
    yield '<label class="check"><input type="checkbox" name="measured"> measured only</label>'
    yield '<button type="reset">Reset</button> <output></output></form>'


def _overview(contents: Contents) -> Iterator[str]:
    n_cells = sum(each.table.n_cells for each in contents.tables)
    n_measured = sum(each.table.n_measured for each in contents.tables)
    n_machines = len({machine_of(row) for row in contents.rows})
    yield "<header><h1>hashbench: results</h1>"
    yield (
        f"<p>{n_measured:,} of {n_cells:,} cells of {counted(len(contents.tables), 'table')} are measured. "
        f"The {counted(len(contents.rows), 'stored run')} were made on {counted(n_machines, 'machine')}. "
        "A cell shows published / measured: the mean over runs ± standard deviation, and the (number of runs). "
        "Below: how many cells of each table are measured, how many of these lie outside their tolerance, and how many "
        "runs are missing.</p>"
    )
    yield (
        '<p class="hint">Point at a cell, or tap it, to see the runs behind it. The head of a column sorts by it.</p>'
        '<nav><a href="#leaderboard">Leaderboard</a> <a href="#tables">Tables</a> <a href="#figures">Figures</a> '
        '<a href="#machines">Machines and runs</a> '
        '<a href="#missing">Missing</a></nav></header>'
    )
    if contents.board is not None and contents.board.lines:
        yield f'<section id="leaderboard">{render_leaderboard.render(contents.board, "html")}</section>'
    if found := verdicts(each.table for each in contents.tables):
        yield f'<section id="verdicts">{verdicts_text(found, render_leaderboard.html)}</section>'


def _tables(contents: Contents) -> Iterator[str]:
    yield '<section id="tables"><h2>Tables</h2><div class="scroll"><table class="list sortable">'
    yield f"{_heading(['table'], ['measured', 'outside', 'missing'])}\n<tbody>"
    for each in contents.tables:
        table, n_outside = each.table, sum(cell.within_tolerance is False for cell in each.table.cells())
        link = f'<a href="#{escape(table.name)}">{escape(table.name)}</a>'
        measured = _count(table.n_measured, f"{table.n_measured} of {table.n_cells}")
        counts = f"{measured}{_count(n_outside)}{_count(len(each.missing))}"
        yield f'<tr><th scope="row">{link} <span class="title">{escape(table.title)}</span></th>{counts}</tr>'
    yield "</tbody></table></div></section>"


def _count(value: float, shown: str | None = None) -> str:
    text = shown or (f"{value:,.2f}" if isinstance(value, float) else f"{value:,}")
    return f'<td data-measured="{value:.6f}" class="number">{text}</td>'


def _heading(*labels: Sequence[str]) -> str:
    """The head of a list: labels of texts, then of numbers, then of texts."""
    kinds = zip(("", ' class="number"', ""), labels, strict=False)
    cells = "".join(f'<th scope="col"{kind}>{label}</th>' for kind, some in kinds for label in some)
    return f"<thead><tr>{cells}</tr></thead>"


def _figures(pictures: Sequence[Picture], entries: Mapping[str, Paper]) -> Iterator[str]:
    yield '<section id="figures"><h2>Figures</h2>'
    for each in pictures:
        file = each.spec.file
        where = f"{cited(file.paper, entries)}, {file.source}"
        notes = " ".join(f"{text.rstrip('.')}." for text in [*file.notes, *filter(None, [each.missing])])
        yield f'<figure id="figure-{escape(each.spec.name)}">{_image(each)}'
        yield f"<figcaption><b>{escape(file.title)}</b> ({escape(where)}). {escape(notes)}</figcaption></figure>"
    yield "</section>"


def _image(each: Picture) -> str:
    if not each.data_uri:
        return ""
    (width, height), wide = each.size, ' class="wide"' if each.size[0] > COLUMN else ""
    image = f'<img src="{each.data_uri}" width="{width}" height="{height}"{wide} alt="{escape(each.spec.file.title)}">'
    return f'<div class="scroll">{image}</div>'


def _machines(contents: Contents) -> Iterator[str]:
    yield '<section id="machines"><h2>Machines and runs</h2><div class="scroll"><table class="list">'
    yield f"{_heading(['machine'], ['runs', 'hours'], ['from', *LIBRARIES])}\n<tbody>"
    for each in grouped(contents.rows, lambda row: (machine_of(row),)):
        versions = "".join(f"<td>{escape(each.versions(library))}</td>" for library in LIBRARIES)
        n_runs, _, _, hours = each.counts
        counts = f"{_count(n_runs)}{_count(hours)}<td>{escape(each.dates)}</td>"
        yield f'<tr><th scope="row">{escape(each.name[0])}</th>{counts}{versions}</tr>'
    yield "</tbody></table></div>"
    yield '<details><summary>Runs by data set and method</summary><div class="scroll"><table class="list sortable">'
    yield _heading(["data set", "protocol", "method", "bits"], ["runs", "failed", "seeds", "hours"], ["machine"])
    by_method = grouped(contents.rows, lambda row: (row.dataset, row.protocol, row.method))
    yield from ("<tbody>", *map(_ran, by_method), "</tbody></table></div></details></section>")


def _ran(each: Ran) -> str:
    dataset, _, method = each.name
    names = "".join(f"<td>{escape(name)}</td>" for name in [*each.name, ", ".join(each.bits)])
    attributes = element_attributes(filter_attributes(dataset, method, *each.bits))
    counts = "".join(map(_count, each.counts))
    return f"<tr{attributes}>{names}{counts}<td>{escape('; '.join(each.machines))}</td></tr>"


def _missing(contents: Contents) -> Iterator[str]:
    yield '<section id="missing"><h2>Missing</h2>'
    if contents.left_out:
        lines = (f"<li>{escape(line)}</li>" for line in contents.left_out)
        yield from ("<p>Left out, because it cannot be read:</p><ul>", *lines, "</ul>")
    waiting = [each for each in contents.tables if each.missing]
    if not waiting:
        yield "<p>Nothing: every cell of every table is measured.</p>"
    for each in waiting:
        name, runnable = escape(each.table.name), [run for run in each.missing if run.command is not None]
        yield f"<details><summary>{name}: {counted(len(each.missing), 'run')} missing</summary>"
        if runnable:
            yield f"<p>All of them ({_hours(runnable)}): <code>hashbench run {name}</code></p>"
        yield from ("<ul>", *map(_missing_run, each.missing), "</ul></details>")
    yield "</section>"


def _hours(runs: Sequence[MissingRun]) -> str:
    """How long the runs take, one after the other, as far as past runs tell."""
    known = [run.seconds for run in runs if run.seconds is not None]
    if not known:
        return "no past run tells how long"
    return f"{'about' if len(known) == len(runs) else 'more than'} {sum(known) / 3600:.1f} hours"


def _missing_run(run: MissingRun) -> str:
    cell = run.cell
    attributes = element_attributes(filter_attributes(cell.dataset, cell.method, cell.settings.get("bits")))
    command = f"<br><code>{escape(run.command)}</code>" if run.command else ""
    first = " / ".join(filter(None, run.places[0]))
    others = f" and {counted(len(run.places) - 1, 'cell')} more" if len(run.places) > 1 else ""
    return f"<li{attributes}>{escape(first)}{others}: {escape(run.why)}{command}</li>"

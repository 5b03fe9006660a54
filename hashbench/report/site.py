"""The site: the page of results with its files beside it, a card for each method, and the bundles; no absolute link."""

from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from hashbench.bundle.archive import RUNS, opened
from hashbench.foundation.errors import HashbenchError, counted
from hashbench.foundation.files import all_or_none, write_bytes, write_text
from hashbench.foundation.registry import Broken, each_usable
from hashbench.methods import METHODS
from hashbench.report.board import grid
from hashbench.report.cards import Cards
from hashbench.report.contents import Contents
from hashbench.report.page import DATA, SCRIPT, STYLE, Beside, compose, provenance_of
from hashbench.runs.settings import method_file
from hashbench.showing.inks.html import escape

HOW_TO_ADD = (
    "<p>None is in <code>results/bundles</code>. "
    '<a href="docs/contributing-results.html">Contributing rows</a> says how to add one.</p>'
)


def write_site(folder: Path, contents: Contents, results: Path, broken: Broken) -> list[str]:
    """Writes the site of ``contents`` to ``folder``, with the bundles in ``results``/bundles.

    ``broken`` is called for a method that cannot be read, and for a bundle that is none; they are left out, and a line
    for each is returned. All files are written, or none.
    """
    left_out: list[str] = []

    def leave_out(error: HashbenchError) -> None:
        left_out.append(str(error).replace(f"{results}/", ""))
        broken(error)

    with all_or_none():
        pictures = dict(_pictures(folder, contents))
        methods = [name for name, _ in each_usable(METHODS.names, _method, leave_out)]
        provenance = provenance_of(contents, {name: f"methods/{name}.html" for name in methods})
        cards = Cards(contents, provenance, pictures)
        parts = {"Methods": cards.overview(), "Bundles": _bundles(folder, results, leave_out)}
        pages = {
            "index.html": compose(contents, provenance, Beside("", pictures, parts))
        }  # before the cards: it names cells
        pages |= {card: cards.render(name) for name, card in provenance.cards.items()}
        pages |= {"page.css": STYLE, "page.js": SCRIPT, DATA: provenance.as_json()}
        for name, text in pages.items():
            write_text(folder / name, text)
    return left_out


def _method(name: str) -> str:
    METHODS.get(name)
    return method_file(name).title


def _pictures(folder: Path, contents: Contents) -> Iterator[tuple[str, str]]:
    """Writes each picture, and gives the name of its figure and its address in the site."""
    for each in contents.pictures:
        if each.data_uri:
            kind, _, text = each.data_uri.removeprefix("data:image/").partition(";base64,")
            address = f"figures/{each.spec.name}.{kind}"
            write_bytes(folder / address, b64decode(text))
            yield each.spec.name, address


def _bundles(folder: Path, results: Path, broken: Broken) -> str:
    """The list of the bundles, which are copied into the site."""
    lines = []
    for path in sorted((results / "bundles").rglob("*.zip")):
        address = path.relative_to(results).as_posix()
        try:
            with opened(path) as archive:
                manifest = archive.manifest
        except HashbenchError as error:
            broken(error)
            continue
        write_bytes(folder / address, path.read_bytes())
        n_runs = len({name.split("/")[2] for name in manifest.files if name.startswith(f"{RUNS}/")})
        link = f'<a href="{quote(address)}">{escape(path.name)}</a>'
        made = escape(manifest.maker or "not said"), f"{counted(n_runs, 'run')} with codes or counts"
        lines.append([link, escape(manifest.table), *made, f"{path.stat().st_size / 2**20:,.1f} MiB"])
    return grid(["bundle", "table", "made by", "holds", "size"], lines, sortable=True) if lines else HOW_TO_ADD

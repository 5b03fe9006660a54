"""Seconds until the site of 5,000 rows stands in a headless Chromium, and the bytes that it needs.

The stored rows of the clone come first; copies of them under other seeds fill up the number. The browser starts once,
and each opening loads the page anew, without its cache, from a server of this machine.
"""

import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, count, islice
from pathlib import Path
from statistics import median

import _record

from hashbench.report.contents import gather
from hashbench.report.site import write_site
from hashbench.runs.row import Row, to_line
from hashbench.runs.store import Store

sys.path.append(str(_record.REPOSITORY / "tests"))
from support.chromium import Page, chromium

ROWS, REPEATS = 5000, 5
READY = """new Promise(done => {
    const look = () => performance.getEntriesByName("ready").length ? done() : setTimeout(look, 5); look(); })"""
TIMES = """(() => {
    const [at, ready] = [performance.getEntriesByType("navigation")[0], performance.getEntriesByName("ready")[0]];
    return { document: at.responseEnd, parsed: at.domInteractive, ready: ready.startTime };
})()"""


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


def copy_of(row: Row, seed: int) -> Row:
    """The row under another seed, by which its name follows too."""
    return row.model_copy(update={"seed": seed, "run": f"{row.run}-{seed}"})


def filled(folder: Path, stored: list[Row]) -> Store:
    """A store of ``ROWS`` rows: the stored ones, and copies of them."""
    store = Store(folder)
    copies = (copy_of(row, 1000 * again + row.seed) for again in count(1) for row in stored)
    for row in islice(chain(stored, copies), ROWS):
        path = store.rows_path(row.dataset, row.protocol)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as lines:  # Store.write would write the whole file again for each row
            lines.write(f"{to_line(row)}\n")
    return store


def opened(page: Page, address: str) -> dict[str, float]:
    """Milliseconds from the request of the page until it was received, parsed, and its rows stood."""
    page.open(address)
    page.value(READY)
    return dict(page.value(TIMES))


def measure(site: Path) -> dict[str, float]:
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server,
        tempfile.TemporaryDirectory() as profile,
        chromium(Path(profile)) as page,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page.call("Network.setCacheDisabled", cacheDisabled=True)
        address = f"http://127.0.0.1:{server.server_port}/index.html"
        opened(page, address)  # the first one also starts the browser's processes
        found = [opened(page, address) for _ in range(REPEATS)]
        server.shutdown()
    return {f"{key}_ms": round(median(each[key] for each in found)) for key in found[0]}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        if len(sys.argv) == 1:
            store = filled(Path(folder) / "results", list(Store.default().rows()))
            site = Path(folder) / "site"
            write_site(site, gather(store, lambda _: None), store.folder, lambda _: None)
        else:
            site = Path(sys.argv[1])  # one that was written before
        sizes = {name: (site / name).stat().st_size for name in ("index.html", "data.json", "page.js", "page.css")}
        _record.write("site-load", {"rows": ROWS, "repeats": REPEATS, **measure(site), "bytes": sizes})

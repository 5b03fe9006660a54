"""``hashbench report --site`` on a server of loopback, under a sub-path, walked through in a headless Chromium."""

import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from support.chromium import BROWSER, Page, chromium
from support.command_line import call, status
from support.fake_rows import with_config
from support.report_root import report_root, tiny_row
from support.waiting import until

from hashbench.methods import METHODS
from hashbench.report.cards import described
from hashbench.runs.row import Row
from hashbench.runs.store import Store

HIS = "his_csq"
HOSTILE = "<script>window.ran = 1<"  # without the sign that no name of a folder has
SCREENSHOTS = os.environ.get("HASHBENCH_SCREENSHOTS")  # a folder: what is seen on the way is kept there
READY = "new Promise(done => { const look = () => performance.getEntriesByName('ready').length ? done() : "
READY += "setTimeout(look, 10); look(); })"

walked = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


def foreign(row: Row) -> Row:
    """The row as that of codes made elsewhere, by somebody whose name is markup."""
    run = row.run.replace("-lsh-", f"-{HIS}-")
    own = row.model_copy(update={"method": HIS, "budget": "imported", "maker": HOSTILE, "run": run})
    return with_config(own, method=HIS, budget="imported")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The site of the small root, with a row of a stranger and a file that is no bundle."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HASHBENCH_RESULTS", str(folder / "results"))
        patch.setenv("HASHBENCH_ROOT", "")  # so that the one that the root sets is taken back
        report_root(folder, patch)
        Store.default().write(foreign(tiny_row("lsh", 12, 7, ap=0.4)))
        assert status("report", "--site", folder / "served" / "deep" / "site") == 0
    yield folder / "served" / "deep" / "site"


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where it is served: two folders below the root of the server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site.parents[1])) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/deep/site/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with chromium(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def page(browser: Page, address: str) -> Iterator[Page]:
    """A page; what its console says, and what it asks of another host or out of its folder, fails the test."""
    browser.complaints.clear()
    browser.requested.clear()
    browser.show()
    yield browser
    assert browser.complaints == []
    assert all(url.startswith((address, "data:", "about:")) for url in browser.requested), browser.requested


def opened(page: Page, address: str, state: str = "") -> None:
    page.open(f"{address}index.html", state)
    page.value(READY)


def arrived(page: Page, name: str) -> None:
    """Waits until a link has led to the page ``name`` of the site, and its data are there."""
    is_there = f"location.pathname.endsWith('/deep/site/{name}') && document.readyState === 'complete'"
    is_there += " && (!document.querySelector('#data') || performance.getEntriesByName('ready').length > 0)"

    def reached() -> bool:
        with suppress(AssertionError):  # the page is changing
            return bool(page.value(is_there))
        return False

    assert until(reached, 20), page.value("[location.href, document.readyState]")


def texts(page: Page, selector: str) -> list[str]:
    """The texts of the elements that are seen."""
    shown = f"[...document.querySelectorAll({selector!r})].filter(each => each.checkVisibility())"
    return list(page.value(f"{shown}.map(each => each.textContent)"))


def look(page: Page, name: str) -> None:
    """Keeps what is seen, and checks that the window need not be scrolled sideways."""
    assert page.value("document.documentElement.scrollWidth <= innerWidth")
    if SCREENSHOTS:
        page.screenshot(Path(SCREENSHOTS) / f"{name}.png")


def lines(page: Page) -> list[str]:
    return texts(page, "#leaderboard tbody th")


@walked
@pytest.mark.parametrize("width", [390, 1400])
def test_a_walk_through_the_site(page: Page, address: str, width: int) -> None:
    page.show(width, 844, touch=width == 390)
    press = page.tap if width == 390 else page.click
    opened(page, address)
    look(page, f"first-{width}")
    assert lines(page) == ["1. ITQ", "2. Spherical", "3. LSH"]
    press("#leaderboard summary")
    assert lines(page)[3:] == lines(page)[:3]

    press("#tiny td[data-method=itq]")
    box = " ".join(texts(page, "#provenance"))
    assert "digits-s1-itq-12b-s0" in box
    look(page, f"cell-{width}")

    press("#provenance a[href='methods/itq.html']")
    arrived(page, "methods/itq.html")
    assert texts(page, "h1") == ["ITQ"]
    assert "iterations" in texts(page, "#settings th")
    look(page, f"card-{width}")

    press("nav a[href*='see=rows']")
    arrived(page, "index.html")
    assert texts(page, "#rows tbody td:first-child") == ["itq"]
    press("#rows td[id]")
    assert "iterations 50" in " ".join(texts(page, "#provenance"))
    look(page, f"rows-{width}")
    press("#provenance a[href='methods/itq.html#settings']")
    arrived(page, "methods/itq.html")
    assert texts(page, "h1") == ["ITQ"]


@walked
def test_a_panel_leads_to_a_card_and_the_card_to_the_panel(page: Page, address: str) -> None:
    opened(page, address)
    page.click("#leaderboard a[href='methods/itq.html']")
    arrived(page, "methods/itq.html")
    assert "1 of 3" in " ".join(texts(page, "#place td"))
    page.click("#place a[href*='leaderboard.tiny']")
    arrived(page, "index.html")


@walked
def test_rows_sort_and_filter(page: Page, address: str) -> None:
    opened(page, address, "method=lsh&sort=rows.0:4:desc")
    assert texts(page, "#rows td[id]") == ["0.5000", "0.2700", "0.2500"]
    opened(page, address, "features=pixels&bits=24&see=rows")
    assert texts(page, "#rows td[id]") == ["0.5000"]


@walked
@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark(page: Page, address: str, dark: bool) -> None:
    page.show(dark=dark)
    for name in ("index.html", "methods/itq.html"):
        page.open(address + name)
        (shade,) = page.value("getComputedStyle(document.body).backgroundColor.match(/\\d+/)")
        assert (int(shade) < 128) == dark
        look(page, f"{'dark' if dark else 'light'}-{name.replace('/', '-')}")


@walked
def test_names_of_strangers_are_text(page: Page, address: str) -> None:
    opened(page, address, "see=rows")
    assert HIS in texts(page, "#rows tbody td:first-child")
    page.value(f"[...document.querySelectorAll('#rows tr')].find(row => row.textContent.includes({HIS!r})).id = 'his'")
    page.click("#his td[id]")
    shown = " ".join(texts(page, "#provenance"))
    assert f"{HIS} on digits" in shown and "made elsewhere" in shown and HOSTILE in shown
    assert page.value("window.ran") is None and page.value("document.querySelectorAll('main script').length") == 0


def test_every_method_has_a_card_and_every_link_leads_somewhere(site: Path) -> None:
    assert {path.stem for path in (site / "methods").iterdir()} == set(METHODS.names)
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    for path, text in pages.items():
        for link in re.findall(r'(?:href|src)="([^"]*)"', text):
            if link.startswith(("https://", "data:", "#")):  # a paper; the icon; a part of the page
                continue
            target, _, anchor = link.partition("#")
            other = (path.parent / target).resolve()
            assert other.is_relative_to(site.resolve()), link
            assert other.is_file() or "/docs/" in str(other), link  # make site adds the documentation
            if cell := re.fullmatch(r"cell=(.+)", anchor):
                assert f'id="{cell[1]}"' in pages[site / "index.html"], link


def test_the_rows_are_beside_the_page(site: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads((site / "data.json").read_text(encoding="utf-8"))
    assert len(data["runs"]) == 6 and data["cards"]["itq"] == "methods/itq.html"
    assert data["runs"][0][0] not in text and "data:image" not in text
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy


def test_a_verdict_and_a_place_are_on_the_card(site: Path) -> None:
    text = (site / "methods" / "lsh.html").read_text(encoding="utf-8")
    assert ">reproduced</td>" in text and "<td>3 of 3</td>" in text and "digits s1 0.250" in text
    assert "No panel of the leaderboard ranks it." in (site / "methods" / "agh.html").read_text(encoding="utf-8")


def test_bundles_can_be_downloaded(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = report_root(tmp_path, monkeypatch)
    table = root / "experiments" / "tables" / "tiny.toml"
    table.write_text(re.sub(r'.*method = "nothing".*\n', "", table.read_text()))  # such a table is not packed
    packed = Store.default().folder / "bundles" / "digits" / "a#b.zip"
    packed.parent.mkdir(parents=True)
    assert call(capsys, "bundle", "tiny", "--by", HOSTILE, "-o", packed)[0] == 0
    assert call(capsys, "report", "--site", tmp_path / "site")[0] == 0
    text = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert '<a href="bundles/digits/a%23b.zip">a#b.zip</a></th><td>tiny</td><td>&lt;script&gt;' in text
    assert (tmp_path / "site" / "bundles" / "digits" / "a#b.zip").read_bytes() == packed.read_bytes()


def test_what_is_no_bundle_is_named_and_left_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report_root(tmp_path, monkeypatch)
    path = Store.default().folder / "bundles" / "incoming" / "digits" / "mine.zip"
    path.parent.mkdir(parents=True)
    path.write_text("no archive")
    code, _, error = call(capsys, "report", "--site", tmp_path / "site")
    assert code == 1 and "mine.zip" in error.splitlines()[0]
    assert "None is in" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    code, _, error = call(capsys, "report", "tiny", "--site", tmp_path / "other")
    assert (code, error.count("\n"), (tmp_path / "other").exists()) == (2, 1, False)


def test_the_tables_of_methods_are_read_as_they_are() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "methods.md"
    found = described(page.read_text(encoding="utf-8"))
    assert len(found) == len(re.findall(r"^\| `\w+` \|.* \d+ \|$", page.read_text(encoding="utf-8"), re.MULTILINE))
    assert found["itq"]["fitted to"].startswith("|B - V R|²")

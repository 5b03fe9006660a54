"""The page of ``hashbench report`` in a headless Chromium: filter, sorting, provenance, small and dark windows."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.chromium import BROWSER, Page, chromium
from support.command_line import status
from support.report_root import report_root

BOARD = ["Leaderboard", *(f"Verdicts of reproduction, by {key}" for key in ("paper", "method", "metric"))]

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with chromium(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the small root."""
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HASHBENCH_RESULTS", str(folder / "results"))
        patch.setenv("HASHBENCH_ROOT", "")  # so that the one that the root sets is taken back
        report_root(folder, patch)
        assert status("report", "--out", folder / "page.html") == 0
    return folder / "page.html"


@pytest.fixture
def page(browser: Page, written: Path) -> Iterator[Page]:
    """The page in a wide and light window; what its console says, and what it asks the network for, fails the test."""
    browser.complaints.clear()
    browser.requested.clear()
    browser.show()
    browser.open(written)
    yield browser
    assert browser.complaints == []
    assert all(url.startswith(("file:", "data:", "about:")) for url in browser.requested)


def texts(page: Page, selector: str) -> list[str]:
    """The texts of the elements that are seen."""
    shown = f"[...document.querySelectorAll({selector!r})].filter(each => each.checkVisibility())"
    return list(page.value(f"{shown}.map(each => each.textContent)"))


def rows(page: Page) -> list[str]:
    return texts(page, "#tiny tbody th")


def columns(page: Page) -> list[str]:
    return texts(page, "#tiny thead th")


def box(page: Page) -> str:
    return " ".join(texts(page, "#provenance"))


def address(page: Page) -> str:
    return str(page.value("location.hash"))


def test_begins_with_everything(page: Page) -> None:
    assert rows(page) == ["LSH", "ITQ", "Spherical", "Nothing"]
    assert columns(page) == ["12 bits", "24 bits"]
    assert texts(page, "#filter output") == ["10 of 10 cells"]
    assert texts(page, "h2") == [*BOARD, "Tables", "Tiny", "Other", "Figures", "Rows", "Machines", "Missing"]
    assert box(page) == ""


@pytest.mark.parametrize(
    "state, rows_left, columns_left, counted",
    [
        ("method=lsh", ["LSH"], ["12 bits", "24 bits"], "4 of 10 cells"),
        ("bits=12", ["LSH", "ITQ", "Spherical", "Nothing"], ["12 bits"], "4 of 10 cells"),
        ("method=itq&bits=24", ["ITQ"], ["24 bits"], "1 of 10 cells"),
        ("measured=yes", ["LSH", "ITQ", "Spherical"], ["12 bits", "24 bits"], "4 of 10 cells"),
        ("method=unknown", ["LSH", "ITQ", "Spherical", "Nothing"], ["12 bits", "24 bits"], "10 of 10 cells"),
    ],
)
def test_filter_of_an_address(
    page: Page, written: Path, state: str, rows_left: list[str], columns_left: list[str], counted: str
) -> None:
    page.open(written, state)
    assert rows(page) == rows_left
    assert columns(page) == columns_left
    assert texts(page, "#filter output") == [counted]


def test_filter_reaches_other_tables_the_list_and_what_is_missing(page: Page, written: Path) -> None:
    page.open(written, "dataset=cifar10")
    assert texts(page, ".hashbench-table h2") == ["Other"]
    assert texts(page, "#tables tbody th a") == ["other"]
    assert texts(page, "#missing summary") == ["other: 2 runs missing"]
    page.value("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert texts(page, "#missing code") == [
        "hashbench run other",
        "hashbench train lsh cifar10 --protocol s1 --bits 32",
    ]


def test_choosing_filters_and_reset_change_the_address(page: Page) -> None:
    chosen = "document.querySelector('#filter [name=method]')"
    page.value(f"{chosen}.value = 'itq'; {chosen}.dispatchEvent(new Event('input', {{bubbles: true}}))")
    assert (rows(page), address(page)) == (["ITQ"], "#method=itq")
    page.click("#filter [name=measured]")
    assert (columns(page), address(page)) == (["12 bits"], "#method=itq&measured=yes")
    page.click("#filter [type=reset]")
    page.value("new Promise(done => setTimeout(done))")
    assert len(rows(page)) == 4
    assert address(page) == ""


def test_a_click_sorts_from_the_best_then_from_the_worst_then_as_in_the_paper(page: Page) -> None:
    heading = "#tiny thead th:nth-child(2)"
    page.click(f"{heading} button")
    assert rows(page) == ["ITQ", "Spherical", "LSH", "Nothing"]  # nothing is measured of the last: it stays below
    assert address(page) == "#sort=tiny.0%3A1%3Adesc"
    assert page.value(f"document.querySelector('{heading}').ariaSort") == "descending"
    page.click(f"{heading} button")
    assert rows(page) == ["LSH", "Spherical", "ITQ", "Nothing"]
    page.click(f"{heading} button")
    assert rows(page) == ["LSH", "ITQ", "Spherical", "Nothing"]
    assert address(page) == ""


def test_a_table_without_measured_cells_sorts_by_what_is_published(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report_root(tmp_path, monkeypatch)
    for path in (tmp_path / "results" / "rows").glob("*.jsonl"):
        path.unlink()
    assert status("report", "--out", tmp_path / "page.html") == 0
    page.open(tmp_path / "page.html", "sort=tiny.0:1:desc")
    assert rows(page) == ["ITQ", "Nothing", "Spherical", "LSH"]


def test_pointing_at_a_cell_shows_its_runs(page: Page) -> None:
    page.move_to("[id='tiny.1']")
    assert len(re.findall(r"seed [01]digits-s1-lsh-12b-s[01]-\w{10}", box(page))) == 2
    assert all(text in box(page) for text in ("commit 0123456789ab", "A processor", "train 3,600.0 s"))
    assert "0.260 ± 0.014, 2 runs" in box(page)
    page.move_to("h1")
    assert box(page) == ""
    assert address(page) == ""


def test_pointing_at_an_empty_cell_shows_the_command(page: Page) -> None:
    page.move_to("[id='tiny.4']")
    assert "hashbench train itq digits --protocol s1 --bits 24" in box(page)


def test_a_click_keeps_the_box_until_the_next(page: Page) -> None:
    page.click("[id='tiny.3']")
    page.move_to("h1")
    assert "itq on digits" in box(page) and address(page) == "#cell=tiny.3"
    page.click("[id='tiny.5']")
    assert "spherical on digits" in box(page)
    page.click("#provenance .close")
    assert box(page) == ""
    assert address(page) == ""


def test_keys_move_from_cell_to_cell(page: Page) -> None:
    page.value("document.getElementById('tiny.1').focus()")
    assert "lsh on digits" in box(page) and "bits=12" in box(page)
    page.press("ArrowRight")
    assert "bits=24" in box(page)
    page.press("ArrowDown")
    assert "itq on digits" in box(page)
    page.press("Enter")
    assert address(page) == "#cell=tiny.4"
    page.press("Escape")
    assert box(page) == ""
    assert address(page) == ""


def test_one_cell_of_a_table_is_reached_by_the_tab_key(page: Page) -> None:
    reached = page.value("[...document.querySelectorAll('td[id]')].filter(each => each.tabIndex === 0).map(e => e.id)")
    assert reached[:2] == ["tiny.1", "other.1"]
    assert [each.partition("-")[0] for each in reached[2:]] == ["run.digits"]


def test_a_tap_on_a_phone_shows_the_box_below_the_cell(page: Page, written: Path) -> None:
    page.show(390, 844, touch=True)
    page.open(written)
    page.tap("[id='tiny.5']")
    assert "spherical on digits" in box(page)
    cell, above = page.value(
        "[document.getElementById('tiny.5').getBoundingClientRect().bottom,"
        "document.getElementById('provenance').getBoundingClientRect().top]"
    )
    assert cell <= above
    page.tap("#provenance .close")
    assert box(page) == ""


def test_a_filter_leaves_the_leaderboard_as_it_is(page: Page, written: Path) -> None:
    ranked = texts(page, "#leaderboard tbody tr")
    assert ["itq" in line.lower() for line in ranked] == [True, False, False]
    page.open(written, "method=lsh&bits=24")
    assert texts(page, "#leaderboard tbody tr") == ranked and rows(page) == ["LSH"]


# of a box with a wider table, scrolled to its end: how far the first cell is from the left, the last from the right,
# and the share of the box that the first takes
AT_THE_END = """box => {
  const row = box.querySelector('tbody tr');
  if (!row || box.scrollWidth <= box.clientWidth + 1) return null;
  box.scrollLeft = 1e6;
  const [outer, first, last] = [box, row.cells[0], row.cells[row.cells.length - 1]].map(e => e.getBoundingClientRect());
  return [first.left - outer.left, last.right - outer.right, first.width / outer.width];
}"""


@pytest.mark.parametrize("width", [390, 1400])
def test_every_column_is_reached_beside_the_label_of_its_row(page: Page, written: Path, width: int) -> None:
    page.show(width, touch=width == 390)
    page.open(written)
    assert page.value("document.documentElement.scrollWidth") <= width
    ends = page.value(f"[...document.querySelectorAll('.scroll')].map({AT_THE_END}).filter(ends => ends)")
    assert width == 1400 or len(ends) > 1
    for label_left, last_right, share in ends:
        assert abs(label_left) < 1 and abs(last_right) < 1 and share < 0.6


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_in_light_and_dark(page: Page, written: Path, dark: bool) -> None:
    page.show(dark=dark)
    page.open(written, "cell=tiny.3")
    for selector in ("body", "#provenance", "[id='tiny.3']", ".legend", "[id='tiny.4']"):
        assert page.value(f"({CONTRAST})(document.querySelector({selector!r}))") >= 4.5, selector
    (shade,) = page.value("getComputedStyle(document.body).backgroundColor.match(/\\d+/)")
    assert (int(shade) < 128) == dark


# the contrast of an element's text with what is behind it, as WCAG 2 defines it
CONTRAST = """element => {
  const channels = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => channels(colour).slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
  let behind = element;
  while (channels(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
  const both = [getComputedStyle(element).color, getComputedStyle(behind).backgroundColor].map(light);
  return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
}"""


def test_a_script_in_a_name_does_not_run(page: Page, written: Path, tmp_path: Path) -> None:
    text = written.read_text(encoding="utf-8")
    forged = tmp_path / "forged.html"
    forged.write_text(text.replace("<h1>", "<script>window.ran = true</script><h1>", 1), encoding="utf-8")
    page.open(forged)
    assert page.value("window.ran") is None
    assert any("Content Security Policy" in each for each in page.complaints)
    page.complaints.clear()


def test_without_its_script_the_tables_are_there(page: Page, written: Path, tmp_path: Path) -> None:
    text = written.read_text(encoding="utf-8")
    plain = tmp_path / "plain.html"
    plain.write_text(text.replace('"use strict";', "", 1), encoding="utf-8")  # its hash is another: it is not run
    page.open(plain)
    page.complaints.clear()
    assert texts(page, "#filter") == [] and rows(page) == ["LSH", "ITQ", "Spherical", "Nothing"]

"""What results/ and the README say is what the committed rows give: REPORT.md, README.md, figures."""

import math
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from html import unescape
from statistics import fmean, stdev

import pytest
from support import committed
from support.rendered import rendered
from support.toy_root import REPOSITORY

from hashbench.showing import figures
from hashbench.showing.report import pages
from hashbench.showing.report.readme import QUICKSTART, results_readme
from hashbench.showing.tables import spec
from hashbench.showing.tables.collect import collect
from hashbench.showing.tables.table import Measured, Table, TableCell

TEXT = (REPOSITORY / "results" / "REPORT.md").read_text(encoding="utf-8")
SECTIONS = re.split(r"^##+ ", re.sub(r"<!--.*?-->", "", TEXT, flags=re.DOTALL), flags=re.MULTILINE)[1:]
DECLARED = set(spec.names())
MEAN_AND_STD = re.compile(r"(\d*\.\d+)%? ± (\d*\.\d+)")
PUBLISHED = re.compile(r"\([^)]*\)")
NUMBER = re.compile(r"\d*\.\d+")
DIFFERENCE = re.compile(r"([\w-]+) less ([\w-]+), over five splits: (\.\d+) ± (\.\d+)")  # at 32 bits of S1, tuned
INTERVAL = re.compile(r"\S+ \([^ ()]+ to [^ ()]+\)|\S+ \([^ ()]+ to [^ ()]+, seeds\)")  # test_claims.py computes it
RANGE = re.compile(r"([A-Z][\w -]+?)'s? (\.\d+) is from (\.\d+) to (\.\d+)")  # by the order of ties, at 32 bits of S1
# numbers of the prose that no table of their section holds, by a phrase of that section
ELSEWHERE = {"Setup": {".0038"}}  # tests/report/test_claims.py computes it


@cache
def tables() -> dict[str, Table]:
    return {name: committed.table(name) for name in spec.names()}


@cache
def measured(table: str) -> list[Measured]:
    return [cell.measured for cell in tables()[table].cells() if cell.measured is not None]


def named(section: str) -> list[str]:
    """The tables of the pages that a section links to; all for the abstract, which links to none."""
    links = re.findall(r"\(pages/(\w+)\.md\)", section)
    of_pages = pages.declared()
    return sorted({table for page in links or of_pages for table in of_pages[page].tables})


def written(value: float, like: str) -> set[str]:
    """``value`` as the report writes it, in parts of 1 or in percent, with as many decimals as ``like``."""
    decimals = len(like.partition(".")[2])
    return {f"{scaled:.{decimals}f}".removeprefix("0") for scaled in (value, 100 * value)}


def numbers_of_tables(section: str) -> Iterator[str]:
    """The means in the cells of Markdown tables, without the published ones, which are in brackets."""
    for line in section.splitlines():
        if line.startswith("| "):
            for cell in line.strip("|").split("|")[1:]:  # without the row's label
                yield from NUMBER.findall(MEAN_AND_STD.sub(r"\1", PUBLISHED.sub("", cell)))


def test_means_with_deviations_are_those_of_the_rows() -> None:
    wrong = [
        f"{section.splitlines()[0]}: {mean} ± {std}"
        for section in SECTIONS
        for mean, std in MEAN_AND_STD.findall(section)
        if not any(
            mean.removeprefix("0") in written(value.mean, mean)
            and value.std is not None
            and std.removeprefix("0") in written(value.std, std)
            for table in named(section)
            for value in measured(table)
        )
    ]
    assert wrong == []


def test_numbers_in_tables_are_those_of_the_rows() -> None:
    wrong = [
        f"{section.splitlines()[0]}: {number}"
        for section in SECTIONS
        for number in numbers_of_tables(section)
        if not any(
            number.removeprefix("0") in written(value.mean, number)
            for table in named(section)
            for value in measured(table)
        )
    ]
    assert wrong == []


def prose(section: str) -> str:
    """The section without commands, tables, pictures and names."""
    lines = (line for line in section.splitlines() if not line.startswith(("    ", "|", "!")))
    return re.sub(r"`[^`]*`", "", "\n".join(lines))


def means_of_splits(cell: TableCell) -> list[float]:
    """The mean over the seeds of each split, in one order for every cell."""
    assert cell.measured is not None
    of_splits: dict[int, list[float]] = defaultdict(list)
    for row, mean in zip(cell.measured.rows, cell.measured.values, strict=True):
        of_splits[-1 if row.split_seed is None else row.split_seed].append(mean)
    return [fmean(of_splits[split]) for split in sorted(of_splits)]


def test_every_number_of_the_prose_is_in_a_table_of_its_section_or_is_excused() -> None:
    wrong = []
    excused = set()
    for section in SECTIONS:
        head = section.splitlines()[0]
        cells = [cell for table in named(section) for cell in tables()[table].cells()]
        known = [cell.measured.mean for cell in cells if cell.measured is not None]
        known += [cell.declared.published for cell in cells if cell.declared.published is not None]
        text = re.sub(r"± \.\d+", "", INTERVAL.sub("", RANGE.sub("", prose(section))))
        for number in NUMBER.findall(text):
            if any(number.removeprefix("0") in written(value, number) for value in known):
                continue
            if of := next((of for of in ELSEWHERE if head.startswith(of) and number in ELSEWHERE[of]), None):
                excused.add((of, number))
            else:
                wrong.append(f"{head}: {number}")
    assert wrong == []
    assert excused == {(of, number) for of, numbers in ELSEWHERE.items() for number in numbers}


def test_ranges_by_the_order_of_ties_are_those_of_the_rows() -> None:
    stated = RANGE.findall(TEXT)
    assert len(stated) == 4
    for row, *numbers in stated:
        measured_ = at_32_bits(S1, TUNED, row).measured
        assert measured_ is not None
        assert numbers == [part(value or 0) for value in (measured_.mean, measured_.worst, measured_.best)], row


def test_differences_over_splits_in_the_readme_are_those_of_the_rows() -> None:
    for above, below, *numbers in DIFFERENCE.findall((REPOSITORY / "README.md").read_text(encoding="utf-8")):
        of_splits = [means_of_splits(at_32_bits(S1, TUNED, row)) for row in (above, below)]
        assert list(map(len, of_splits)) == [5, 5]
        differences = [a - b for a, b in zip(*of_splits, strict=True)]
        assert numbers == [part(fmean(differences)), part(stdev(differences))], f"{above} less {below}"


def test_the_tests_above_have_something_to_compare() -> None:
    whole = "\n".join(SECTIONS)
    assert len(MEAN_AND_STD.findall(whole)) >= 20
    assert len(list(numbers_of_tables(whole))) >= 60


def test_the_overview_of_the_results_is_the_generated_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_RESULTS", str(committed.STORE.folder))
    kept = (REPOSITORY / "results" / "README.md").read_text(encoding="utf-8")
    assert kept == results_readme(tables().values()), "hashbench table --all --write writes it"
    links = re.findall(r"\]\(([^)]+)\)", kept)
    assert [link for link in links if not (REPOSITORY / "results" / link).is_file()] == []


def at_32_bits(table: str, section: str, row: str) -> TableCell:
    (of_table,) = (each for each in tables()[table].sections if each.title == section)
    return of_table.cells[row, "32 bits"]


def part(value: float, decimals: int = 3) -> str:
    """A fraction as the README writes it, without its zero."""
    return f"{value:.{decimals}f}".replace("0.", ".", 1)


S1 = "cifar10_s1_lite0"
TUNED = "tuned (mAP)"
PUBLISHED_SETTINGS = "our defaults, with labels (mAP)"
HEADS_224 = "the heads at 224 pixels from which full fine-tuning starts (mAP)"
ALL_LAYERS = "full fine-tuning at 224 pixels, from a head at this size (mAP)"
# the cells of the README's findings in the order of their numbers
FINDINGS = [
    [(S1, PUBLISHED_SETTINGS, "TALR-AP"), (S1, TUNED, "TALR-AP"), (S1, TUNED, "LCDSH"), (S1, TUNED, "FastAP")],
    [(S1, TUNED, "ITQ-CCA"), ("cifar100_lite0", "tuned on CIFAR-100 (mAP)", "TALR-AP")],
    [(S1, HEADS_224, "TALR-AP"), (S1, HEADS_224, "DTSH"), (S1, ALL_LAYERS, "DTSH"), (S1, ALL_LAYERS, "TALR-AP")],
]


def test_the_findings_of_the_readme_are_those_of_the_rows() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\d\. (.*)$", readme, re.MULTILINE)
    numbers = {(5, 5): "five seeds", (3, 5): "three to five seeds"}
    for line, places in zip(lines, FINDINGS, strict=True):
        values = [value for place in places if (value := at_32_bits(*place).measured) is not None]
        stated = MEAN_AND_STD.findall(DIFFERENCE.sub("", line))
        assert stated == [(part(v.mean), part(v.std or 0)) for v in values]
        n_seeds = [value.n_seeds for value in values if value.n_splits == 1]
        assert "32 bits" in line and numbers[min(n_seeds), max(n_seeds)] in line
        assert {value.n_splits for value in values} == ({1, 5} if "five splits" in line else {1})
    in_order = sorted((cell.measured.mean, row) for row, cell in linear_heads().items() if cell.measured)
    assert in_order[0][1] == "LCDSH"
    assert in_order[-1][1] == "FastAP"
    on_cifar100 = at_32_bits("cifar100_lite0", "tuned on CIFAR-100 (mAP)", "Classifier codes").measured
    assert f"predicts have {part(on_cifar100.mean)}, the highest linear head" in lines[1]


def linear_heads() -> dict[str, TableCell]:
    """The cells of the tuned linear heads on S1 at 32 bits, by row."""
    (section,) = (each for each in tables()[S1].sections if each.title == TUNED)
    cells = {row: cell for (row, column), cell in section.cells.items() if column == "32 bits"}
    return {row: cell for row, cell in cells.items() if cell.declared.settings.get("model") == "linear"}


def test_the_readme_says_of_its_picture_what_the_points_say() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    points = figures.load("readme_ties").fill(committed.rows(), committed.STORE).points
    at_32 = [point for point in points if point["x"] == 32]
    *nine, tenth = sorted(at_32, key=lambda point: -point["measured"])
    assert tenth["series"] == "Classifier codes"
    spread = nine[0]["measured"] - nine[-1]["measured"]
    ranges = [point["best"] - point["worst"] for point in nine]
    assert f"the first nine lie within {part(math.ceil(1000 * spread) / 1000)} of one another" in readme
    assert f"moves each by {part(min(ranges))} to {part(max(ranges))}" in readme
    assert f"the tenth, by {part(tenth['best'] - tenth['worst'])}" in readme
    assert {at_32_bits(S1, TUNED, point["series"]).measured.n_splits for point in at_32} == {5}
    assert "five splits. At 32 bits" in readme


def test_methods_are_counted_beside_references() -> None:
    overview = (REPOSITORY / "results" / "README.md").read_text(encoding="utf-8")
    n_methods = re.search(r"with (\d+) methods and (\d+) references", overview)
    assert n_methods is not None
    assert f"{n_methods[1]} methods and {n_methods[2]} references have more than" in TEXT
    n_heads = len(linear_heads())
    assert f"the lowest of {n_heads} heads" in TEXT and f"of the {n_heads - 1} other heads" in TEXT
    counted = re.findall(r"is above (\d+)[^*]*heads\*\*<!-- claim: (.*?) -->", TEXT)
    assert [int(n) for n, _ in counted] == [len(claim.split("; ")) for _, claim in counted] != []


def test_the_readme_counts_the_verdicts() -> None:
    readme, overview = ((REPOSITORY / name).read_text(encoding="utf-8") for name in ("README.md", "results/README.md"))
    by_paper = overview.partition("Verdicts of reproduction, by paper")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| (\w+) .*?((?: *\| +\d+){6}) \|$", by_paper, re.MULTILINE)
    counts = {name: [int(number) for number in re.findall(r"\d+", cells)] for name, cells in lines}
    # reproduced, those fitted, with other settings, not reproduced, not measured, not compared
    (*of_structhash, others), talr, sparse = (counts[name] for name in ("Lin", "He", "Jeong"))
    said = readme.partition("**Not reproduced**: ")[2].partition("\n\n")[0]
    reproduced, fitted, other_settings, not_reproduced, waiting = of_structhash
    assert f"TALR, {talr[4]} values" in said and f"sparse codes, {sparse[4]} " in said
    assert (
        f"of StructHash {reproduced} are ({fitted} of them with a setting chosen by the printed values), "
        f"{not_reproduced} are not, {waiting} wait for STL-10"
    ) in said
    chosen = f"({fitted} of them with a setting chosen by the printed values)"
    assert f"{reproduced} are reproduced {chosen}, {not_reproduced} are not." in TEXT
    assert other_settings == 0
    assert f"{others + talr[5] + sparse[5]} others have no tolerance" in said
    assert talr[:4] == sparse[:4] == [0, 0, 0, 0]


def test_the_points_of_figures_are_those_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that need a run's codes or histograms cannot be drawn from what is committed.

    Those of the quickstart are everybody's own, and are not committed.
    """
    monkeypatch.setenv("HASHBENCH_RESULTS", str(committed.STORE.folder))
    declared = {name: figures.load(name) for name in figures.names()}
    of_all = {k: each for k, each in declared.items() if {cell.dataset for cell in each.cells} != {"digits"}}
    drawn = {name: figure.fill(committed.rows(), committed.STORE) for name, figure in of_all.items()}
    for name, drawing in drawn.items():
        path = committed.STORE.folder / "figures" / f"{name}.csv"
        if not drawing.keeps_files:
            text = figures.csv_text(drawing)
            assert (path.read_text() if path.exists() else "") == text, f"{path.name}: make paper-tables writes it"


def test_the_committed_pictures_are_those_that_texts_show_and_are_small() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "results/*.png"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a clone: what is committed is not known")
    kept = "results/figures/structhash_figure2.png"  # its images are of a run's codes, which no clone has
    shown = {kept}
    for page in [REPOSITORY / "README.md", REPOSITORY / "results" / "REPORT.md", *(REPOSITORY / "docs").glob("*.md")]:
        links = re.findall(r"!\[[^\]]*\]\(([^)]*\.png)\)", page.read_text(encoding="utf-8"))
        paths = [(page.parent / link).resolve().relative_to(REPOSITORY).as_posix() for link in links]
        shown |= {path for path in paths if path.startswith("results/")}
    assert set(listed.stdout.split()) == shown
    assert [path for path in shown - {kept} if (REPOSITORY / path).stat().st_size > 80_000] == []


def numbers_by_row(text: str, separator: str) -> dict[str, list[str]]:
    """The numbers in the cells of each row of a rendered table, by its label, in the order of the columns."""
    numbers = defaultdict[str, list[str]](list)
    for line in text.splitlines():
        label, *cells = f" {line.strip('|')}".split(separator)
        if letters := re.sub(r"\\text\w+\{\}|\W", "", label):
            numbers[letters] += [number for cell in cells for number in re.findall(r"\d+\.\d+", cell)]
    return {label: found for label, found in numbers.items() if found}


@pytest.mark.parametrize("name", sorted(DECLARED - {*QUICKSTART})[::6])
def test_every_cell_of_a_committed_table_is_that_of_the_rows_in_every_format(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HASHBENCH_RESULTS", str(committed.STORE.folder))  # with its searches
    table = collect(spec.load(name), committed.rows(), committed.STORE)
    kept = REPOSITORY / "results" / "tables" / name
    assert kept.with_suffix(".csv").read_text(encoding="utf-8") == rendered(table, "csv")
    markdown = kept.with_suffix(".md").read_text(encoding="utf-8")
    assert markdown == rendered(table, "markdown")
    numbers = numbers_by_row(markdown, " | ")
    assert numbers == numbers_by_row(rendered(table, "latex"), " & ")
    html = re.sub(r"<td[^>]*>", " & ", rendered(table, "html"))
    assert numbers == numbers_by_row(unescape(re.sub(r"<[^>]*>", "", html)), " & ")

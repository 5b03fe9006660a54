"""What results/ and the README say is what the committed rows give: REPORT.md, README.md, figures."""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from statistics import fmean

import pytest
from scipy.stats import ttest_ind, ttest_rel
from support.small_root import REPOSITORY

from hashbench import figures
from hashbench.report.readme import QUICKSTART, results_readme
from hashbench.runs.row import Row
from hashbench.runs.store import Store
from hashbench.tables import spec
from hashbench.tables.collect import collect
from hashbench.tables.table import Measured, Table, TableCell

STORE = Store(REPOSITORY / "results")
TEXT = (REPOSITORY / "results" / "REPORT.md").read_text(encoding="utf-8")
SECTIONS = re.split(r"^##+ ", TEXT, flags=re.MULTILINE)[1:]
DECLARED = set(spec.names())
MEAN_AND_STD = re.compile(r"(\d*\.\d+)%? ± (\d*\.\d+)")
PUBLISHED = re.compile(r"\([^)]*\)")
NUMBER = re.compile(r"\d*\.\d+")
P_VALUES = re.compile(r"p = ((?:\d*\.\d+(?:,\s+|\s+and\s+)?)+)")
# numbers of the prose that no table of their section holds, by a phrase of that section
ELSEWHERE = {
    "A weaker network": {".684"},  # the accuracy of a classifier
    "The protocols of a collection": {".001", ".008"},  # differences by the order of ties
    # differences between rows that were made twice, and deviations beside them
    "The machines, and rows made again": {
        ".0025",
        ".009",
        ".0003",
        ".005",
        ".032",
        ".015",
        ".008",
        ".006",
        ".2",
        ".007",
    },
    "NDCG in levels": {".457"},  # of a ranking at random
    "On a weak network": {".769", ".803"},  # printed in Table 5
}


@cache
def rows() -> list[Row]:
    return list(STORE.rows())


@cache
def tables() -> dict[str, Table]:
    return {name: collect(spec.load(name), rows(), None) for name in spec.names()}


@cache
def measured(table: str) -> list[Measured]:
    return [cell.measured for cell in tables()[table].cells() if cell.measured is not None]


def named(section: str) -> list[str]:
    """The declared tables that a section names; all of them for the summary, which names none."""
    return sorted(DECLARED if section.startswith("In short") else set(re.findall(r"`(\w+)`", section)) & DECLARED)


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


@cache
def p_values(name: str) -> set[str]:
    """The p of each two cells of the table in columns of one label: Welch's over seeds, or of the pairs of splits.

    Where the table has one code length, columns are variants: two cells of one row and metric are compared too.
    """
    return {f"{p:.3f}" for p in p_of_each_two(tables()[name])}


def p_of_each_two(table: Table) -> Iterator[float]:
    lines: dict[tuple[str, ...], list[list[float]]] = defaultdict(list)
    lengths = {cell.declared.settings.get("bits") for cell in table.cells()}
    is_of_splits = any(value.n_splits > 1 for value in table.measured)
    for section in table.sections:
        for (row, column), cell in section.cells.items():
            if len(set(values := means_of_splits(cell) if is_of_splits else means_of_seeds(cell))) > 1:
                lines["column", column].append(values)
                if len(lengths) == 1 and None not in lengths:
                    lines["row", row, cell.declared.metric].append(values)
    for of_line in lines.values():
        for one, other in combinations(of_line, 2):
            tested = ttest_rel(one, other) if is_of_splits else ttest_ind(one, other, equal_var=False)
            yield tested.pvalue


def means_of_seeds(cell: TableCell) -> list[float]:
    rows_ = () if cell.measured is None else cell.measured.rows
    values = [row.searches[cell.declared.evaluation].get(cell.declared.metric) for row in rows_]
    return [value.mean for value in values if value is not None and value.mean is not None]


def means_of_splits(cell: TableCell) -> list[float]:
    """The mean over the seeds of each split, in one order for every cell."""
    rows_ = () if cell.measured is None else cell.measured.rows
    of_splits: dict[int, list[float]] = defaultdict(list)
    for row, mean in zip(rows_, means_of_seeds(cell), strict=True):
        of_splits[-1 if row.split_seed is None else row.split_seed].append(mean)
    return [fmean(of_splits[split]) for split in sorted(of_splits)]


def drawn(section: str) -> Iterator[float]:
    """The numbers in the points of the figures that a section shows."""
    for name in re.findall(r"\(figures/(\w+)\.png\)", section):
        text = (REPOSITORY / "results" / "figures" / f"{name}.csv").read_text(encoding="utf-8")
        yield from (float(number) for number in re.findall(r"(?<=,)\d\.\d+(?=[,\n])", text))


def test_every_number_of_the_prose_is_in_a_table_or_figure_of_its_section_or_is_excused() -> None:
    wrong, excused = [], set()
    for section in SECTIONS:
        head, cells = section.splitlines()[0], [cell for table in named(section) for cell in tables()[table].cells()]
        known = [cell.measured.mean for cell in cells if cell.measured is not None]
        known += [cell.declared.published for cell in cells if cell.declared.published is not None]
        known += [mean for cell in cells for mean in means_of_seeds(cell)]
        known += drawn(section)
        text = P_VALUES.sub("", re.sub(r"p [<>] \.\d+|± \.\d+", "", prose(section)))
        for number in NUMBER.findall(text):
            if any(number.removeprefix("0") in written(value, number) for value in known):
                continue
            if of := next((of for of in ELSEWHERE if head.startswith(of) and number in ELSEWHERE[of]), None):
                excused.add((of, number))
            else:
                wrong.append(f"{head}: {number}")
    assert wrong == []
    assert excused == {(of, number) for of, numbers in ELSEWHERE.items() for number in numbers}


def test_p_values_are_those_of_the_rows() -> None:
    wrong = []
    for section in SECTIONS:
        known = set().union(*map(p_values, named(section)))
        stated = NUMBER.findall(" ".join(P_VALUES.findall(prose(section))))
        wrong += [f"{section.splitlines()[0]}: p = {number}" for number in stated if f"0{number}" not in known]
    assert wrong == []


def test_the_tests_above_have_something_to_compare() -> None:
    whole = "\n".join(SECTIONS)
    assert len(MEAN_AND_STD.findall(whole)) >= 20
    assert len(list(numbers_of_tables(whole))) >= 60
    assert len(NUMBER.findall("".join(P_VALUES.findall(whole)))) >= 30


def test_runs_that_are_named_have_a_row() -> None:
    runs = re.findall(r"`([\w.-]+-s\d+-[0-9a-f]{10})`", "\n".join(SECTIONS))
    assert runs and set(runs) <= {row.run for row in rows()}


def test_the_overview_of_the_results_is_the_generated_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_RESULTS", str(STORE.folder))
    kept = (REPOSITORY / "results" / "README.md").read_text(encoding="utf-8")
    assert kept == results_readme(tables().values()), "hashbench table --all --write writes it"
    links = re.findall(r"\]\(([^)]+)\)", kept)
    assert [link for link in links if not (REPOSITORY / "results" / link).is_file()] == []


def test_the_first_screen_of_the_readme_says_which_tables_are_measured() -> None:
    lines = (REPOSITORY / "README.md").read_text(encoding="utf-8").splitlines()[:25]
    found: dict[str, str] = {}
    for line in lines:
        if counts := re.search(r"\| ([\d,]+) of ([\d,]+) \|$", line):
            named = re.findall(r"`(\w+)`", line) or sorted(tables().keys() - found.keys())  # the last line: all others
            n_declared = sum(len([*tables()[name].cells()]) for name in named)
            n_measured = sum(len(measured(name)) for name in named)
            assert counts.groups() == (f"{n_measured:,}", f"{n_declared:,}"), line
            found |= dict.fromkeys(named, line)
    assert found.keys() == tables().keys()
    unmeasured = {name for name, line in found.items() if line.startswith("| nothing measured")}
    assert unmeasured == {name for name, table in tables().items() if not table.has_measured} - {*QUICKSTART}


def test_the_readme_counts_the_verdicts() -> None:
    readme, overview = ((REPOSITORY / name).read_text(encoding="utf-8") for name in ("README.md", "results/README.md"))
    by_paper = overview.partition("Verdicts of reproduction, by paper")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| (\w+) .*?((?: *\| +\d+){5}) \|$", by_paper, re.MULTILINE)
    counts = {name: [int(number) for number in re.findall(r"\d+", cells)] for name, cells in lines}
    # reproduced, with other settings, not reproduced, not measured, not compared
    (*of_structhash, others), talr, sparse = (counts[name] for name in ("Lin", "He", "Jeong"))
    said = readme.partition("A verdict for each published value")[2].partition("\n\n")[0]
    numbers = [int(number) for number in re.findall(r"\b\d+\b", said)]
    assert numbers == [*of_structhash, talr[3], sparse[3], others + talr[4] + sparse[4]]
    assert talr[:3] == sparse[:3] == [0, 0, 0]


def test_the_points_of_figures_are_those_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that need a run's codes or histograms cannot be drawn from what is committed.

    Those of the quickstart are everybody's own, and are not committed.
    """
    monkeypatch.setenv("HASHBENCH_RESULTS", str(STORE.folder))
    declared = {name: figures.load(name) for name in figures.names()}
    committed = {k: each for k, each in declared.items() if {cell.dataset for cell in each.cells} != {"digits"}}
    drawn = {name: figure.fill(rows(), STORE) for name, figure in committed.items()}
    for name, drawing in drawn.items():
        path = STORE.folder / "figures" / f"{name}.csv"
        if not drawing.keeps_files:
            text = figures.csv_text(drawing)
            assert (path.read_text() if path.exists() else "") == text, f"{path.name}: make paper-tables writes it"
            assert path.with_suffix(".png").exists() == bool(text)

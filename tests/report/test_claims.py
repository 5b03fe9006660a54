"""Each claim of results/REPORT.md holds by the t-test of SciPy, from the stored values of each query.

A claim stands behind its sentence, in a comment that no reader sees, with names that another comment explains:

    <!-- claim: PLACE, COLUMN: A > B; C @ OTHER PLACE; D @ OTHER PLACE, OTHER COLUMN -->
    <!-- cells:
    PLACE: TABLE | SECTION
    -->

A to D are rows. A is above each of the others, by Holm's correction for all comparisons of its section of the report.
"A - B" states a difference without a claim. A difference with its interval, .123 (.100 to .146), is that of the claim
behind it, by the paired t-test over splits. Where fewer than two splits have the values of each query, only a
difference can be stated, by Welch's t over runs: .123 (.100 to .146, seeds).
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from math import sqrt
from statistics import fmean, variance

import numpy as np
import pytest
from scipy.special import stdtrit
from scipy.stats import ttest_1samp, ttest_ind
from support import committed
from support.fake_rows import SAMPLE, fake_hash, fake_row, sample_spec
from support.toy_root import REPOSITORY

from hashbench.foundation.config import canonical_json
from hashbench.running.runs import query_scores
from hashbench.scoring.evaluation.paired import compare_paired
from hashbench.showing.tables.collect import collect
from hashbench.showing.tables.table import Table, TableCell

Load = Callable[[str, str], np.ndarray | None]  # of a run and a measure, such as AP: its value for each query
Tables = Callable[[str], Table]
Place = tuple[str, str, str, str]  # a table, and a section, a row and a column of it
LEVEL = 0.05
NUMBER = r"-?\d*\.\d{3}"
INTERVAL = re.compile(rf"({NUMBER}) \(({NUMBER}) to ({NUMBER})(, seeds)?\)")
CLAIM = re.compile(r"<!-- claim: (.*?) -->", re.DOTALL)
STATED = re.compile(rf"{INTERVAL.pattern}{CLAIM.pattern}", re.DOTALL)
PLACE = re.compile(r"^(\w+): (\w+) \| (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Report:
    """A text with claims, the tables that they are about, and the values of each query."""

    text: str
    tables: Tables
    load: Load

    @cached_property
    def places(self) -> dict[str, tuple[str, str]]:
        """The table and the section behind each name."""
        return {name: (table, section) for name, table, section in PLACE.findall(self.text)}

    def cell(self, place: Place) -> TableCell:
        """The cell at a place; raises KeyError where there is none."""
        name, title, row, column = place
        (cells,) = (section.cells for section in self.tables(name).sections if section.title == title)
        return cells[row, column]

    def comparisons(self, claim: str) -> Iterator[tuple[Place, Place, bool]]:
        """The places of two cells, and whether the first is claimed to be above the second, for each pair."""
        name, column, order = re.split(r", |: ", " ".join(claim.split()), maxsplit=2)
        above, sign, others = re.split(r" ([>-]) ", order, maxsplit=1)
        for other in others.split("; "):
            row, _, elsewhere = other.partition(" @ ")
            other_name, _, other_column = (elsewhere or name).partition(", ")
            below = (*self.places[other_name], row, other_column or column)
            yield (*self.places[name], above, column), below, sign == ">"

    def differences(self, above: Place, below: Place) -> list[np.ndarray]:
        """The differences of the queries, for each split that both cells have."""
        of_above = self._scores(self.cell(above))
        of_below = self._scores(self.cell(below))
        both = sorted(of_above.keys() & of_below.keys())
        pairs = [of_above[split].astype(float) - of_below[split] for split in both]
        return [pair[~np.isnan(pair)] for pair in pairs]

    def _scores(self, cell: TableCell) -> dict[str, np.ndarray]:
        of_splits = defaultdict(list)
        for run in () if cell.measured is None else cell.measured.rows:
            scores = self.load(run.run, cell.declared.measure or "")
            if scores is not None:
                of_splits[run.ids_sha256].append(scores)
        return {split: np.mean(scores, axis=0) for split, scores in of_splits.items()}

    def interval(self, claim: str) -> tuple[float, float, float, str]:
        """The difference of the two cells of a claim, its interval, and the word for runs that are its unit."""
        ((above, below, _),) = self.comparisons(claim)
        pairs = self.differences(above, below)
        if len(pairs) >= 2:
            stated = compare_paired(pairs, [np.zeros(len(pair)) for pair in pairs])
            return stated.difference, stated.low, stated.high, ""
        runs_above, runs_below = (self.cell(place).measured for place in (above, below))
        assert runs_above is not None and runs_below is not None
        return *welch(runs_above.values, runs_below.values), ", seeds"

    def faults(self) -> Iterator[str]:
        """Each claim that does not hold, with the reason; the sections of the report are the questions."""
        for question in re.split(r"^## ", self.text, flags=re.MULTILINE):
            p_values: dict[tuple[Place, Place], float] = {}
            claimed: set[tuple[Place, Place]] = set()
            for above, below, is_claimed in chain.from_iterable(map(self.comparisons, CLAIM.findall(question))):
                pairs = self.differences(above, below)
                if is_claimed:
                    claimed.add((above, below))
                if len(pairs) >= 2:
                    test = ttest_1samp([pair.mean() for pair in pairs], 0)
                    p_values[above, below] = test.pvalue
                    low = test.confidence_interval(1 - LEVEL).low
                    if is_claimed and low <= 0:
                        yield f"{above} > {below}: the 95% interval begins at {low:.4f}"
                elif is_claimed:
                    yield f"{above} > {below}: the values of each query are kept of {len(pairs)} splits of both"
            corrected = 0.0
            for rank, places in enumerate(sorted(p_values, key=lambda places: p_values[places])):
                corrected = max(corrected, p_values[places] * (len(p_values) - rank))
                if corrected >= LEVEL and places in claimed:
                    yield f"{' > '.join(map(str, places))}: p = {corrected:.3f} after Holm"


def welch(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    """The difference of two means with its 95% interval, without equal variances."""
    squares = [variance(values) / len(values) for values in (a, b)]
    of_each = [square**2 / (len(values) - 1) for square, values in zip(squares, (a, b), strict=True)]
    freedom = sum(squares) ** 2 / sum(of_each)
    half = stdtrit(freedom, 1 - LEVEL / 2) * sqrt(sum(squares))
    difference = fmean(a) - fmean(b)
    return difference, difference - half, difference + half


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> Report:
    monkeypatch.setenv("HASHBENCH_RESULTS", str(REPOSITORY / "results"))
    return Report((REPOSITORY / "results" / "REPORT.md").read_text(encoding="utf-8"), committed.table, load_kept)


def test_each_claim_of_the_report_holds(report: Report) -> None:
    assert [*report.faults()] == []


def test_each_interval_of_the_report_is_that_of_its_claim(report: Report) -> None:
    stated = STATED.findall(report.text)
    for *numbers, claim in stated:
        *values, unit = report.interval(claim)
        assert numbers == [*map(part, values), unit], claim
    assert len(stated) == len(INTERVAL.findall(report.text)) > 0


def part(value: float) -> str:
    """A number as the report writes it: without the zero of a fraction, and without a sign where it is rounded to 0."""
    return re.sub(r"^(-?)0\.", r"\1.", f"{value:.3f}").replace("-.000", ".000")


def load_kept(run: str, measure: str) -> np.ndarray | None:
    return query_scores.load(run, measure=measure)


# the means of each row on five splits; of the last one no AP is kept
MEANS = [[0.60] * 5, [0.737, 0.70, 0.738, 0.70, 0.73], [0.75] * 5, [0.9] * 5]
CELLS = "<!-- cells:\ntoy: toy | CIFAR-10 S1 (mAP)\n-->"


@pytest.fixture(scope="module")
def toy() -> tuple[Table, dict[str, np.ndarray]]:
    """A table of four rows on five splits, and the AP of each query."""
    declared = sample_spec(groups=[SAMPLE["groups"][0]], repeats="splits")
    rows = []
    scores = {}
    for line, means in enumerate(MEANS):
        for split, mean in zip((None, 1, 2, 3, 4), means, strict=True):
            row = fake_row(declared.cells[3 * line], split or 0, split_seed=split, ap=mean)
            rows.append(row)
            if line < 3:
                noise = np.random.default_rng((line, split or 0)).normal(0, 0.05, 300)
                scores[row.run] = (mean + noise - noise.mean()).astype(np.float32)
    return collect(declared, rows, None, hash_of=fake_hash), scores


@pytest.mark.parametrize(
    "claim, fault",
    [
        ("TALR_AP > DPSH*; MIHash", None),
        ("TALR_AP > MIHash @ toy; DPSH* @ toy, 12 bits", None),
        ("MIHash - TALR_AP", None),  # only a difference
        ("MIHash > TALR_AP", "the 95% interval begins at -0.0"),
        ("TALR_AP > MIHash --><!-- claim: toy, 12 bits: MIHash - TALR_AP", "after Holm"),  # p of .03 twice
        ("TALR_AP > DPSH*; Not run", "the values of each query are kept of 0 splits of both"),
    ],
)
def test_a_false_claim_is_found_and_a_true_one_is_not(
    claim: str, fault: str | None, toy: tuple[Table, dict[str, np.ndarray]]
) -> None:
    table, scores = toy
    text = f"One is above others.\n<!-- claim: toy, 12 bits:\n{claim} --> And so on.\n{CELLS}"
    faults = [*Report(text, {"toy": table}.__getitem__, lambda run, _: scores.get(run)).faults()]
    assert (faults == []) if fault is None else (fault in "".join(faults))


def test_an_interval_over_runs_is_that_of_scipy() -> None:
    a = [0.31, 0.35, 0.32]
    b = [0.2, 0.29, 0.21, 0.22]
    interval = ttest_ind(a, b, equal_var=False).confidence_interval(1 - LEVEL)
    assert welch(a, b) == pytest.approx((fmean(a) - fmean(b), interval.low, interval.high))


def test_the_numbers_of_why_a_claim_is_over_splits_are_those_of_the_rows() -> None:
    """Of the lines of CIFAR-10 S1 with five seeds on each of five splits, which docs/comparing.md is about."""
    lines: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in committed.rows():
        if (row.dataset, row.protocol) == ("cifar10", "s1") and "ap" in row.metrics:
            config = {**row.config, "data": ""}  # which says the split
            lines[canonical_json(config)][row.split_seed or 0].append(row.metrics["ap"].mean or 0.0)
    of_five = [line for line in lines.values() if len(line) == 5 and min(map(len, line.values())) == 5]
    between = []
    within = []
    n_contradicted = 0
    for a, b in combinations(of_five, 2):
        between.append(variance([fmean(a[split]) - fmean(b[split]) for split in range(5)]))
        within += [(variance(a[split]) + variance(b[split])) / 5 for split in range(5)]
        tests = [ttest_ind(a[split], b[split], equal_var=False) for split in range(5)]
        n_contradicted += len({test.statistic > 0 for test in tests if test.pvalue < LEVEL}) == 2
    text = (REPOSITORY / "docs" / "comparing.md").read_text(encoding="utf-8")
    assert f"**{sqrt(fmean(between)):.4f}**".replace("0.", ".") in text
    assert f"**{sqrt(fmean(within)):.4f}**".replace("0.", ".") in text
    assert len(of_five) == 8
    assert len(between) == 28
    assert n_contradicted == 6
    assert "**Six of the 28 pairs" in text

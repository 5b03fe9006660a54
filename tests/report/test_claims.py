"""Each claim of results/REPORT.md holds by a bootstrap of this file, from the stored values of each query.

A claim stands behind its sentence, in a comment that no reader sees:

    <!-- claim: TABLE | SECTION | COLUMN | A > B; C; D @ OTHER SECTION -->

A, B, C and D are rows: A is above each of the others, after Holm's correction for their number. A row of another
section is followed by @ and its title. A difference with its interval, .123 (.100 to .146), is that of the next claim,
which is of two rows.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import combinations
from math import sqrt
from statistics import fmean, variance

import numpy as np
import pytest
from scipy.stats import ttest_ind
from support import committed
from support.fake_rows import SAMPLE, fake_hash, fake_row, sample_spec
from support.toy_root import REPOSITORY

from hashbench.foundation.config import canonical_json
from hashbench.running.runs import query_scores
from hashbench.scoring.evaluation.paired import compare_paired
from hashbench.showing.tables.collect import collect
from hashbench.showing.tables.table import Table

Load = Callable[[str, str], np.ndarray | None]  # of a run and a measure, such as AP: its value for each query
SAMPLES = 2000
LEVEL = 0.05
CLAIM = re.compile(r"<!-- claim: (.*?) -->", re.DOTALL)
INTERVAL = re.compile(r"(\.\d{3}) \((\.\d{3}) to (\.\d{3})\)[^<]*<!-- claim: (.*?) -->", re.DOTALL)


def false_claims(text: str, table_called: Callable[[str], Table], load: Load) -> list[str]:
    """The claims of a text that do not hold, each with the reason."""
    return [fault for claim in CLAIM.findall(text) for fault in faults(" ".join(claim.split()), table_called, load)]


def faults(claim: str, table_called: Callable[[str], Table], load: Load) -> Iterator[str]:
    name, section, column, order = claim.split(" | ")
    above, _, others = order.partition(" > ")
    below = others.split("; ")
    p_values = []
    for row in below:
        pairs = differences(table_called(name), section, column, above, row, load)
        if len(pairs) < 2:
            yield f"{claim}: {row}: the values of each query are kept of {len(pairs)} splits of both"
            return
        low, p = bootstrap(pairs)
        p_values.append(p)
        if low <= 0:
            yield f"{claim}: {row}: the 95% interval begins at {low:.4f}"
    for rank, p in enumerate(sorted(p_values)):
        if p * (len(below) - rank) >= LEVEL:
            yield f"{claim}: p = {p * (len(below) - rank):.3f} after Holm"
            return


def differences(
    table: Table, section: str, column: str, above: str, below: str, load: Load
) -> list[np.ndarray]:  # of each split that both have
    of_above = scores_of(table, section, column, above, load)
    of_below = scores_of(table, section, column, below, load)
    both = sorted(of_above.keys() & of_below.keys())
    pairs = [of_above[split].astype(float) - of_below[split] for split in both]
    return [pair[~np.isnan(pair)] for pair in pairs]


def scores_of(table: Table, section: str, column: str, row: str, load: Load) -> dict[str, np.ndarray]:
    row, _, other_section = row.partition(" @ ")
    (cells,) = (each.cells for each in table.sections if each.title == (other_section or section))
    measured = cells[row, column].measured
    measure = cells[row, column].declared.measure
    of_splits = defaultdict(list)
    for run in () if measured is None else measured.rows:
        scores = load(run.run, measure or "")
        if scores is not None:
            of_splits[run.ids_sha256].append(scores)
    return {split: np.mean(scores, axis=0) for split, scores in of_splits.items()}


def bootstrap(pairs: list[np.ndarray]) -> tuple[float, float]:
    """The lower end of the 95% interval and the two-sided p: splits, then the queries of each, are drawn one by one."""
    n = len(pairs)
    means = [pair.mean() for pair in pairs]
    mean = np.mean(means)
    error = np.std(means, ddof=1) / sqrt(n)
    drawn = np.empty((SAMPLES, n))
    for pair, (places, counts) in zip(pairs, resamples(tuple(map(len, pairs))), strict=True):
        drawn[places] = counts @ pair / len(pair)
    t_of_samples = np.abs(drawn.mean(axis=1) - mean) / (drawn.std(axis=1, ddof=1) / sqrt(n))
    low = mean - np.quantile(t_of_samples, 1 - LEVEL) * error
    n_larger = (t_of_samples >= abs(mean) / error).sum()
    return float(low), (n_larger + 1) / (SAMPLES + 1)


@lru_cache(maxsize=1)
def resamples(n_queries: tuple[int, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each split, where it is drawn, [SAMPLES, splits], and how often each of its queries then is."""
    rng = np.random.default_rng(7)
    n = len(n_queries)
    splits = np.empty((SAMPLES, n), np.int64)
    counts: list[list[np.ndarray]] = [[] for _ in n_queries]
    for sample in range(SAMPLES):
        splits[sample] = rng.integers(n, size=n)
        for split in splits[sample]:
            queries = rng.integers(n_queries[split], size=n_queries[split])
            counts[split].append(np.bincount(queries, minlength=n_queries[split]))
    return [(splits == split, np.array(counts[split], float)) for split in range(n)]


def test_each_claim_of_the_report_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_RESULTS", str(REPOSITORY / "results"))
    text = (REPOSITORY / "results" / "REPORT.md").read_text(encoding="utf-8")
    assert false_claims(text, committed.table, load_kept) == []


def test_each_interval_of_the_report_is_that_of_its_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_RESULTS", str(REPOSITORY / "results"))
    text = (REPOSITORY / "results" / "REPORT.md").read_text(encoding="utf-8")
    stated = INTERVAL.findall(text)
    for *numbers, claim in stated:
        name, section, column, order = " ".join(claim.split()).split(" | ")
        pairs = differences(committed.table(name), section, column, *order.split(" > "), load_kept)
        found = compare_paired(pairs, [np.zeros(len(pair)) for pair in pairs])
        values = found.difference, found.low, found.high
        assert numbers == [f"{value:.3f}".removeprefix("0") for value in values], claim
    assert len(stated) == len(re.findall(r"\.\d{3} \(\.\d{3} to \.\d{3}\)", text)) > 0


def load_kept(run: str, measure: str) -> np.ndarray | None:
    return query_scores.load(run, measure=measure)


# the means of each row on five splits; of the last one no AP is kept
MEANS = [[0.60] * 5, [0.737, 0.71, 0.738, 0.71, 0.725], [0.75] * 5, [0.9] * 5]
HEAD = "toy | CIFAR-10 S1 (mAP) | 12 bits |"


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
        ("TALR_AP > MIHash @ CIFAR-10 S1 (mAP)", None),
        ("MIHash > TALR_AP", "the 95% interval begins at -0.0"),
        ("TALR_AP > MIHash; MIHash", "after Holm"),  # p of .03 twice
        ("TALR_AP > DPSH*; Not run", "Not run: the values of each query are kept of 0 splits of both"),
    ],
)
def test_a_false_claim_is_found_and_a_true_one_is_not(
    claim: str, fault: str | None, toy: tuple[Table, dict[str, np.ndarray]]
) -> None:
    table, scores = toy
    report = f"One is above others.\n<!-- claim: {HEAD}\n{claim} --> And so on."
    found = false_claims(report, {"toy": table}.__getitem__, lambda run, _: scores.get(run))
    assert (found == []) if fault is None else (fault in "".join(found))


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

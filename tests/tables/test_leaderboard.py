"""The leaderboard: ranks, intervals and probabilities are those of a slow script; gaps, tracks, foreign names."""

import csv
import io
import json
from itertools import pairwise
from statistics import fmean
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata
from support.command_line import call
from support.fake_rows import row_of_run

from hashbench import metrics
from hashbench.datasets.protocol import HELD_OUT
from hashbench.foundation.provenance import Code
from hashbench.histogram import Histogram
from hashbench.metrics import Metrics
from hashbench.runs.row import Row, Seconds
from hashbench.runs.run import Run
from hashbench.runs.store import Store
from hashbench.tables import render_leaderboard
from hashbench.tables.leaderboard import Leaderboard, Selection, leaderboard
from hashbench.tables.resampling import SAMPLES, ranks_of, share_above_zero
from hashbench.tables.tracks import Task, needs_of, task_of

METHODS = ("lsh", "itq", "spherical", "pca_sign")
BITS = (8, 12, 16, 24, 32, 48)
RESNET9 = {"bits": 32, "model": "linear", "features": "resnet9_ab215f655b69"}
HOSTILE = "</script><script>alert(1)</script>"


def row(method: str, bits: int, seed: int, ap: float, **settings: Any) -> Row:
    run = Run.resolve("digits", "s1", method, {"bits": bits, **settings}, seed=seed)
    made: dict[str, Any] = {"seconds": Seconds(train=2.0 + seed, encode=0.5, score=1.0), "peak_memory": 2**20}
    made |= {"code": Code(version="0.1.0", commit="0123456789abcdef", dirty=False)}
    return row_of_run(run, ap=ap).model_copy(update=made)


def measured(gaps: tuple[tuple[str, int], ...] = (("pca_sign", 8), ("itq", 48))) -> list[Row]:
    """Rows of all methods on six tasks but the ``gaps``; ITQ has a seed fewer, and two methods are equal on a task."""
    rng = np.random.default_rng(3)
    rows = []
    for place, method in enumerate(METHODS):
        for bits in BITS:
            n = 2 if method == "itq" else 3
            aps = 0.3 + 0.02 * place + 0.04 * rng.random(n) if bits != 24 or method != "lsh" else np.full(n, 0.5)
            rows += [row(method, bits, seed, float(ap)) for seed, ap in enumerate(aps) if (method, bits) not in gaps]
    return rows


def by_hand(board: Leaderboard) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """The mean ranks and their intervals, from the values alone: loops, and SciPy's ranks."""
    of = [[line.results[t].of_seeds if t in line.results else None for line in board.lines] for t in board.tasks]

    def ranks(means: list[float | None]) -> list[float | None]:
        known = iter(rankdata([-mean for mean in means if mean is not None]))
        return [None if mean is None else float(next(known)) for mean in means]

    def mean_rank(of_tasks: list[list[float | None]], n: int) -> float | None:
        known = [rank for rank in (of_task[n] for of_task in of_tasks) if rank is not None]
        return fmean(known) if known else None

    once = [ranks([None if seeds is None else fmean(seeds.values()) for seeds in of_task]) for of_task in of]
    rng = np.random.default_rng(0)
    samples: list[list[list[float | None]]] = []
    drawn_seeds = [
        [None if seeds is None else rng.integers(len(seeds), size=(SAMPLES, len(seeds))) for seeds in of_task]
        for of_task in of
    ]
    drawn_tasks = rng.integers(len(of), size=(SAMPLES, len(of)))
    for sample in range(SAMPLES):
        of_sample = []
        for of_task, drawn in zip(of, drawn_seeds, strict=True):
            means = [
                None if seeds is None or at is None else fmean([*seeds.values()][place] for place in at[sample])
                for seeds, at in zip(of_task, drawn, strict=True)
            ]
            of_sample.append(ranks(means))
        samples.append([of_sample[place] for place in drawn_tasks[sample]])
    means_, intervals = {}, {}
    for n, line in enumerate(board.lines):
        resampled = [mean for mean in (mean_rank(sample, n) for sample in samples) if mean is not None]
        low, high = np.percentile(resampled, [2.5, 97.5])
        means_[line["method"]], intervals[line["method"]] = mean_rank(once, n) or 0.0, (float(low), float(high))
    return means_, intervals


def test_ranks_and_intervals_are_those_of_an_independent_script() -> None:
    board = leaderboard(measured())
    means, intervals = by_hand(board)
    assert {line["method"]: line["mean_rank"] for line in board.lines} == pytest.approx(means)
    for line in board.lines:
        assert (line["rank_low"], line["rank_high"]) == pytest.approx(intervals[line["method"]], abs=1e-9)
    task = Task("digits", "s1", 8, "pixels")
    assert [line.results[task].n_compared for line in board.lines if line["n_tasks"] == 6] == [3, 3]


@given(arrays(float, (3, 5), elements=st.sampled_from([0.1, 0.2, 0.3, np.nan])))
def test_ranks_are_scipys(values: np.ndarray[Any, Any]) -> None:
    assert np.array_equal(ranks_of(values), rankdata(-values, axis=1, nan_policy="omit"), equal_nan=True)


def test_the_probability_is_the_share_of_samples_of_tasks_seeds_and_queries() -> None:
    rng = np.random.default_rng(5)
    pairs = [rng.normal(0.1, 1.0, (n_seeds, n_queries)) for n_seeds, n_queries in ((3, 1), (2, 40), (5, 1))]
    rng, hits = np.random.default_rng(0), 0.0
    drawn = [[rng.multinomial(n, [1 / n] * n, size=SAMPLES) for n in pair.shape] for pair in pairs]
    tasks = rng.integers(3, size=(SAMPLES, 3))
    for sample in range(SAMPLES):
        means = []
        for pair, (seeds, queries) in zip(pairs, drawn, strict=True):
            chosen = np.repeat(np.repeat(pair, seeds[sample], axis=0), queries[sample], axis=1)
            means.append(chosen.mean())
        hits += fmean(means[task] for task in tasks[sample]) > 0
    assert share_above_zero(pairs) == pytest.approx(hits / SAMPLES)
    assert share_above_zero([np.zeros((3, 1))]) == 0.5


def test_the_next_line_is_compared_over_paired_seeds() -> None:
    board = leaderboard(measured())
    for line, following in pairwise(board.lines):
        common = [task for task in line.results if task in following.results]
        seeds = [sorted(line.results[t].of_seeds.keys() & following.results[t].of_seeds.keys()) for t in common]
        pairs = [
            np.array([[line.results[t].of_seeds[s] - following.results[t].of_seeds[s]] for s in of])
            for t, of in zip(common, seeds, strict=True)
        ]
        assert (line["better"], line["better_than"]) == (share_above_zero(pairs), following["method"])
    assert board.lines[-1]["better"] is None


def test_a_gap_is_no_zero_in_any_format() -> None:
    board = leaderboard(measured())
    heads, *lines = csv.reader(io.StringIO(render_leaderboard.render(board, "csv")))
    of_itq = next(line for line in lines if line[0] == "ITQ")
    assert of_itq[heads.index("digits, s1, 48 bits, pixels")] == ""
    text = next(
        line for line in reversed(render_leaderboard.render(board, "markdown").splitlines()) if line.startswith("| ITQ")
    )
    assert text.rstrip("| ").endswith("-") and "0.000" not in text
    itq = next(line for line in render_leaderboard.json_leaderboard(board)["lines"] if line["method"] == "ITQ")
    assert [result["bits"] for result in itq["results"]] == [8, 12, 16, 24, 32]
    assert "& - \\\\" in render_leaderboard.render(board, "latex")


def test_the_order_of_rows_changes_nothing() -> None:
    rows = measured()
    assert render_leaderboard.json_leaderboard(leaderboard(rows)) == render_leaderboard.json_leaderboard(
        leaderboard(reversed(rows))
    )


def test_an_interval_says_why_it_is_not_there() -> None:
    few = leaderboard(each for each in measured() if each.config["settings"]["bits"] in (8, 12, 16))
    assert {(line["rank_low"], line["why_no_interval"]) for line in few.lines} == {
        (None, "3 of 4 tasks"),
        (None, "2 of 4 tasks"),
    }
    one = leaderboard(each for each in measured() if each.seed == 0)
    assert {(line["rank_low"], line["why_no_interval"]) for line in one.lines} == {(None, "one seed")}


def test_a_task_of_one_method_gives_no_rank() -> None:
    board = leaderboard([*measured(), row("lsh", 64, 0, 0.9)])
    lsh = next(line for line in board.lines if line["name"] == "lsh")
    assert lsh.results[Task("digits", "s1", 64, "pixels")].rank is None and lsh["n_tasks"] == 6


def test_a_run_that_was_measured_twice_counts_once() -> None:
    (line,) = leaderboard([row("lsh", 8, 0, 0.2), row("lsh", 8, 0, 0.4), row("lsh", 8, 1, 0.5)]).lines
    (result,) = line.results.values()
    assert (result.of_seeds, result.mean) == (pytest.approx({0: 0.3, 1: 0.5}), pytest.approx(0.4))


def tracks_of(rows: list[Row], **chosen: Any) -> list[tuple[str, str]]:
    return [(line["method"], line["settings"]) for line in leaderboard(rows, Selection(**chosen)).lines]


def test_tracks_are_told_apart_and_other_settings_are_left_out() -> None:
    def of(ap: float, track: str = "tuned", **more: Any) -> Row:
        how = {**RESNET9, **more}
        return row_of_run(Run.resolve("cifar10", "s1", "talr_ap", how, track=track), ap=ap)

    tuned, published, by_hand_ = of(0.6), of(0.5, "published"), of(0.7, lr=9.0)
    assert tracks_of([tuned, published, by_hand_]) == [("TALR-AP", "tuned")]
    assert leaderboard([tuned, published, by_hand_]).n_other == 1
    assert tracks_of([published]) == [("TALR-AP", "our defaults")]
    assert tracks_of([tuned, published], all_tracks=True) == [
        ("TALR-AP (tuned)", "tuned"),
        ("TALR-AP (our defaults)", "our defaults"),
    ]
    assert leaderboard([tuned]).lines[0]["pretrained"] == "yes"


def test_rows_of_other_splits_and_of_searches_have_no_task() -> None:
    one = row("lsh", 8, 0, 0.2)
    assert task_of(one) == Task("digits", "s1", 8, "pixels")
    assert task_of(one.model_copy(update={"split_seed": 7})) is None
    assert task_of(one.model_copy(update={"status": "failed"})) is None
    run = Run.resolve("cifar10", "s1_validation", "lsh", {"bits": 8, "features": "gist"})
    assert task_of(row_of_run(run, ap=0.3)) is None
    assert task_of(one.model_copy(update={"protocol": f"s1{HELD_OUT}"})) is None
    again = Run.resolve("cifar10", "labelme_stand_in", "lsh", {"bits": 8, "features": "gist"})
    assert task_of(row_of_run(again, ap=0.3)) == Task("cifar10", "labelme_stand_in", 8, "gist")


def test_methods_without_labels_are_compared_with_one_another() -> None:
    supervised = [
        row_of_run(Run.resolve("digits", "s1", "bre", {"bits": bits, "supervised": True}), ap=ap)
        for bits, ap in zip(BITS, (0.1, 0.9, 0.1, 0.9, 0.1, 0.9), strict=True)
    ]
    alone = leaderboard(measured()).lines
    first, *others = leaderboard([*measured(), *supervised]).lines
    assert (first["name"], first["n_tasks"], first["beaten"], first["place"]) == ("bre", 0, None, None)
    assert [line.columns for line in others] == [line.columns for line in alone]
    assert [line["place"] for line in others] == [1, 2, 3, 4]


def test_kinds_and_needs() -> None:
    supervised = row_of_run(Run.resolve("digits", "s1", "bre", {"bits": 8, "supervised": True}), ap=0.1)
    alone = row_of_run(Run.resolve("digits", "s1", "bre", {"bits": 8, "supervised": False}), ap=0.1)
    assert (needs_of(supervised), needs_of(alone)) == ("pairs", "none")
    rows = [supervised, row("lsh", 8, 0, 0.2)]
    assert {label for label, _ in tracks_of(rows, kinds=["unsupervised"])} == {"LSH"}
    assert {label for label, _ in tracks_of(rows, kinds=["supervised", "shallow"])} == {"BRE"}
    assert tracks_of(rows, kinds=["deep"]) == []


class Histograms:
    """A store whose runs all have the histogram of their seed."""

    def histogram(self, row: Row) -> Histogram:
        rng = np.random.default_rng([len(row.method), row.seed])
        relevant = rng.integers(0, 9, (20, 5))
        relevant[0] = 0  # a query without a relevant item
        return Histogram(np.stack([np.full((20, 5), 9) - relevant, relevant], axis=2), np.array([0, 1]))


def test_queries_are_resampled_too_where_the_histograms_are_kept() -> None:
    rows = [each.model_copy(update={"artefacts": {"histogram": "0" * 64}}) for each in measured(())]
    store = Histograms()
    first, second, *_ = leaderboard(rows, store=cast(Store, store)).lines
    assert first["better_over"] == "tasks 6, pairs of seeds 18, queries of 6 tasks"
    pairs = []
    for task in second.results:
        sides = [{each.seed: each for each in line.results[task].rows} for line in (first, second)]
        values = [
            [metrics.evaluate(store.histogram(side[seed]), Metrics.parse(["ap"]))["ap"] for side in sides]
            for seed in first.results[task].of_seeds
        ]
        pairs.append(np.stack([a - b for a, b in values])[:, 1:])
    assert first["better"] == share_above_zero(pairs)


def test_a_foreign_name_stays_text_and_its_codes_are_of_unknown_needs() -> None:
    changes = {"budget": "imported", "dataset": HOSTILE, "method": "mine", "cell_hash": "0"}
    foreign = row("lsh", 8, 0, 0.9).model_copy(update=changes)
    board = leaderboard([foreign, *measured()])
    text = render_leaderboard.render(board, "html")
    assert "<script" not in text and "&lt;script&gt;" in text
    line = next(line for line in board.lines if line["name"] == "mine")
    shown = [line[key] for key in ("settings", "needs", "pretrained", "train_s")]
    assert shown == ["made elsewhere", "unknown", "unknown", None]


def test_the_command_filters_sorts_and_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    for each in measured():
        Store.default().write(each)
    code, out, _ = call(capsys, "leaderboard", "--bits", 12, "--bits", 16, "--sort", "method", "--json")
    found = json.loads(out)
    assert (code, [line["method"] for line in found["lines"]]) == (0, ["ITQ", "LSH", "PCA-sign", "Spherical hashing"])
    assert [task["bits"] for task in found["tasks"]] == [12, 16]
    assert found["lines"][0]["items_per_s"] > 0 and found["lines"][0]["peak_memory"] == 2**20
    code, out, _ = call(capsys, "leaderboard")
    assert code == 0 and "## Leaderboard: AP with ties (digits, s1, pixels)" in out
    for options in (["--sort", "speed"], ["--kind", "quantum"], ["--dataset", "digit"], ["--kind", "deep"]):
        code, out, error = call(capsys, "leaderboard", *options)
        assert (code, out, error.count("\n")) == (2, "", 1)

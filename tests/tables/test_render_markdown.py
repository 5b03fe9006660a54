"""Markdown: published and measured cannot be taken for each other, and a terminal shows it aligned."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support.fake_rows import SAMPLE, assert_golden, fake_hash, fake_row, sample_rows, sample_spec, sample_table
from support.rendered import rendered

from hashbench.running.runs import query_scores
from hashbench.running.runs.store import Store
from hashbench.showing.inks.markdown import escape
from hashbench.showing.tables.collect import collect
from hashbench.showing.tables.spec import TableSpec
from hashbench.showing.tables.table import Table

render_markdown = partial(rendered, output="markdown")


def cells(text: str, row: str) -> list[str]:
    (line,) = (line for line in text.splitlines() if line.startswith(f"| {row}"))
    return [cell.strip() for cell in line.strip("|").split(" | ")][1:]


def without_published() -> Table:
    groups = [
        {**g, "rows": [{k: v for k, v in row.items() if k != "values"} for row in g["rows"]]} for g in SAMPLE["groups"]
    ]
    return sample_table(groups=groups)


@pytest.mark.parametrize("shown", ["", "interval", "distinct"])
def test_golden(shown: str) -> None:
    name = f"sample_{shown}.md" if shown else "sample.md"
    assert_golden(name, render_markdown(sample_table(distinct=shown == "distinct"), interval=shown == "interval"))


def test_golden_without_published_values() -> None:
    text = render_markdown(without_published())
    assert_golden("sample_ours.md", text)
    assert "published" not in text and " / " not in text


NO_TEST = "in bold: the highest mean; no test over splits"


def test_without_ap_of_each_query_the_highest_mean_is_bold_and_the_legend_says_that_there_is_no_test() -> None:
    text = render_markdown(sample_table())
    by_column = list(zip(*(cells(text, row) for row in ("DPSH*", "MIHash", "TALR_AP")), strict=True))
    assert [["**" in cell for cell in column] for column in by_column] == [
        [True, True, False],  # 0.723333 and 0.723333; TALR_AP is not measured
        [True, False, True],  # 0.7571 and 0.7569, of one seed each
        [False, False, True],
    ]
    assert cells(text, "[Npairs-Th]")[0].endswith("**") and not cells(text, "Npairs-VQ")[0].endswith("**")
    assert f"; {NO_TEST};" in text and "Holm" not in text
    alone = of_means(sample_spec(groups=[SAMPLE["groups"][0]]), [0.5, 0.6])
    assert "bold" not in alone and "**" not in alone


def on_splits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *means: float, kept: int = 3) -> str:
    """The table whose first column has such means on three splits; the AP of each query of ``kept`` lines is kept."""
    spec = sample_spec(groups=[SAMPLE["groups"][0]], repeats="splits")
    lines = [
        [fake_row(cell, split or 0, split_seed=split, ap=mean) for split in (None, 1, 2)]
        for cell, mean in zip(spec.cells[::3], means, strict=False)
    ]
    scores = {}
    for line, mean in zip(lines[:kept], means, strict=False):
        for split, row in enumerate(line):
            hard = np.random.default_rng(split).normal(0, 0.2, 400)
            scores[row.run] = (mean + hard + np.random.default_rng(len(scores)).normal(0, 0.05, 400)).astype("float32")
    monkeypatch.setattr(query_scores.Kept, "values_of", lambda _, row, measure: scores.get(row.run))
    rows = [row for line in lines for row in line]
    return render_markdown(collect(spec, rows, Store(tmp_path), hash_of=fake_hash))


def test_bold_is_what_the_paired_test_cannot_tell_from_the_best(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tested = "paired t-test over 3 splits, Holm within the column, level 0.05"
    text = on_splits(monkeypatch, tmp_path, 0.60, 0.601, 0.5)
    assert ["**" in cells(text, row)[0] for row in ("DPSH*", "MIHash", "TALR_AP")] == [True, True, False]
    assert f"; in bold: the highest mean, and all not significantly below it ({tested});" in text
    assert "not compared" not in text and NO_TEST not in text
    mixed = on_splits(monkeypatch, tmp_path, 0.60, 0.5, 0.9, kept=2)  # the highest is not compared
    assert ["**" in cells(mixed, row)[0] for row in ("DPSH*", "MIHash", "TALR_AP")] == [True, False, False]
    assert "; values without AP of each query on these splits are not compared;" in mixed


def of_means(spec: TableSpec, *means: list[float]) -> str:
    """The table whose first cells have these means, a seed each."""
    rows = [
        fake_row(cell, seed, metric=mean)
        for cell, values in zip(spec.cells[::3], means, strict=False)
        for seed, mean in enumerate(values)
    ]
    return render_markdown(collect(spec, rows, None, hash_of=fake_hash))


def test_what_prints_alike_is_bold_alike() -> None:
    text = of_means(sample_spec(groups=[SAMPLE["groups"][0]]), [0.70011, 0.70012], [0.70021, 0.70022], [0.6, 0.6])
    assert ["**" in cells(text, row)[0] for row in ("DPSH*", "MIHash", "TALR_AP")] == [True, True, False]


def test_no_deviation_is_printed_where_every_seed_gave_the_same_codes() -> None:
    text = render_markdown(sample_table())
    assert cells(text, "TALR_AP")[2] == "0.800 / **0.790**="
    assert "; = the same for every seed." in text
    by_chance = of_means(sample_spec(groups=[SAMPLE["groups"][0]]), [0.5, 0.5])  # of other histograms, or none
    assert cells(by_chance, "DPSH*")[0] == "0.720 ≠ 0.500±0.000" and "=" not in by_chance


def test_the_caption_says_which_processors_and_how_many_cells_mix_rows_of_several() -> None:
    text = render_markdown(sample_table())
    assert (
        r" Processors: AMD $x (17 of the runs), Intel(R) \| Xeon_1 (2 of the runs); 1 of 10 cells mix rows of " in text
    )
    assert "over 1 to 3 seeds of one split: the spread of training, and of processors in some cells)" in text
    assert of_means(sample_spec(), [0.5]).count(" Processor: unknown.\n") == 1
    unmixed = [row for row in sample_rows() if row.seed != 2]
    assert " Xeon_1 (2 of the runs).\n" in render_markdown(collect(sample_spec(), unmixed, None, hash_of=fake_hash))


@pytest.mark.parametrize("evaluation, is_compared", [("asymmetric", False), ("weighted", True)])
def test_only_weighted_distances_are_compared_with_those_of_hamming(evaluation: str, is_compared: bool) -> None:
    group = SAMPLE["groups"][0]
    by_other = {**group["columns"][0], "label": "other", "evaluation": evaluation}
    rows = [{**row, "values": ["-", "-"]} for row in group["rows"]]
    spec = sample_spec(groups=[{**group, "columns": [group["columns"][0], by_other], "rows": rows}])
    first, second = (cell for cell in spec.cells if cell.method in ("dpsh", "mihash") and cell.column == "12 bits")
    stored = []
    for cell, by_hamming, by_others in ((first, 0.5, 0.8), (second, 0.6, 0.7)):
        row = fake_row(cell, metric=by_hamming)
        other = {"ap": row.metrics["ap"].model_copy(update={"mean": by_others})}
        stored.append(row.model_copy(update={"searches": {**row.searches, evaluation: other}}))
    text = render_markdown(collect(spec, stored, None, hash_of=fake_hash))
    bold = [["**" in value for value in cells(text, row)] for row in ("DPSH*", "MIHash")]
    assert bold == [[False, True], [not is_compared, False]]


@pytest.mark.parametrize("metric, has_a_best", [("ap", True), ("ap_best", False), ("ap_worst", False)])
def test_an_end_of_a_tie_interval_is_no_merit(metric: str, has_a_best: bool) -> None:
    spec = sample_spec(groups=[{**SAMPLE["groups"][0], "metric": metric}])
    rows = [fake_row(cell, s, metric=0.5 + 0.01 * place) for place, cell in enumerate(spec.cells[:6]) for s in (0, 1)]
    text = render_markdown(collect(spec, rows, None, hash_of=fake_hash))
    assert ("**" in text) == (NO_TEST in text) == has_a_best


def test_the_spread_over_splits_is_said() -> None:
    spec = sample_spec(groups=[SAMPLE["groups"][0]], repeats="splits")
    seeds = {(0, None): 0.5, (1, 1): 0.51, (1, None): 0.52}
    rows = [fake_row(spec.cells[0], seed, split_seed=split, ap=ap) for (seed, split), ap in seeds.items()]
    text = render_markdown(collect(spec, rows, None, hash_of=fake_hash))
    assert "measured (mean ± standard deviation over 2 splits x 1 seed)" in text
    own = render_markdown(collect(spec, rows[::2], None, hash_of=fake_hash))
    assert "over 2 seeds of one split: the spread of training alone)" in own


def test_a_table_without_rows_is_the_papers_and_one_line_says_so() -> None:
    text = render_markdown(collect(sample_spec(), [], None, hash_of=fake_hash))
    assert_golden("sample_unmeasured.md", text)
    assert text.count("Each cell: published. Nothing is measured yet.") == 1
    assert cells(text, "MIHash") == ["0.687", "0.775", "0.822"]
    assert "±" not in text and "**" not in text and " /" not in text


def test_a_table_of_our_own_without_rows_says_so() -> None:
    groups = [{**SAMPLE["groups"][0], "rows": [{"label": "MIHash", "method": "mihash"}]}]
    spec = sample_spec(groups=groups)
    text = render_markdown(collect(spec, [], None, hash_of=fake_hash))
    assert "\n\nNothing is measured yet.\n\n" in text
    assert cells(text, "MIHash") == ["", "", ""]


@pytest.mark.parametrize(
    "text, escaped",
    [
        ("a | b", r"a \| b"),
        ("*: with", r"\*: with"),
        ("DPSH*", "DPSH*"),
        ("AP_T ap_worst", "AP_T ap_worst"),
        ("_x_", r"\_x\_"),
        ("P@H<=2, <b>", r"P@H<=2, \<b>"),
        ("two\n  lines", "two lines"),
        ("a\\b `c`", r"a\\b \`c\`"),
        ("a\x1b[2Jb", "a?[2Jb"),
        ("$x_i$, for $5", r"\$x_i\$, for $5"),
        ("A & B, &lt;", r"A & B, \&lt;"),
    ],
)
def test_escape(text: str, escaped: str) -> None:
    assert escape(text) == escaped

"""One cell: its names and digests, what it stores, and what it refuses before it trains."""

from pathlib import Path

import numpy as np
import pytest
from support.on_digits import on_digits
from support.one_line import one_line

from hashbench.learning.methods import METHODS
from hashbench.running.datasets.card import load_card
from hashbench.running.runs.guard import row_of
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.scoring import histogram, metrics
from hashbench.scoring.codes import files
from hashbench.scoring.metrics import Metrics


def lsh(seed: int = 0, **settings: int | bool) -> Run:
    return on_digits("lsh", {"bits": 16, **settings}, seed=seed)


def test_seeds_share_the_cell_and_not_the_run() -> None:
    first = lsh(0)
    second = lsh(1)
    assert first.name.cell_hash == second.name.cell_hash
    assert first.name.config_hash != second.name.config_hash
    assert str(first.name) != str(second.name)
    assert first.derived_seed != second.derived_seed


def test_saying_what_holds_anyway_changes_nothing() -> None:
    assert lsh(centre=True) == lsh()
    assert str(lsh(centre=True).name) == str(lsh().name)
    other = lsh(centre=False)
    assert other.name.cell_hash != lsh().name.cell_hash
    assert other.name.identity == {"bits": 16, "centre": False, "features": "pixels"}
    # another hyper-parameter starts from the same random numbers
    assert other.derived_seed == lsh().derived_seed


@pytest.mark.parametrize(
    "names, settings, complaint",
    [
        (("digts", "s1", "lsh"), {"bits": 8}, "unknown dataset 'digts': did you mean digits"),
        (("digits", "s1", "lhs"), {"bits": 8}, "unknown method 'lhs': did you mean"),
        (("digits", "s1", "lsh"), {"bits": 0}, "bits: Input should be greater than or equal to 1, got 0"),
        (("digits", "s1", "lsh"), {}, "lsh on digits needs bits: --bits BITS"),
        (("digits", "s1", "sparse_th"), {"bits": 8}, "sparse_th makes sparse codes, which have no bits: --set d=D"),
        (("digits", "s1", "lsh"), {"bits": 8, "centre": 5}, "centre: true, false or range is expected, got 5"),
        (("digits", "s1", "talr_ap"), {"bits": 8, "lrr": 0.1}, "unknown setting of talr_ap 'lrr': did you mean lr"),
        (("digits", "s1", "talr_ap"), {"bits": 8, "model": "mpl"}, "unknown model 'mpl': did you mean mlp"),
    ],
)
def test_wrong_names_and_settings_are_one_line(
    names: tuple[str, str, str], settings: dict[str, int | float | str], complaint: str
) -> None:
    with one_line(text=complaint):
        Run.resolve(*names, settings)


def test_a_row_says_what_its_histogram_gives(tmp_path: Path) -> None:
    store = Store(tmp_path)
    row = row_of(lsh(), store)
    assert store.find("digits", "s1", row.run) == row
    folder = store.run_folder(row.run)
    kept = histogram.Histogram.load(folder / "histogram.npz")
    assert row.artefacts["histogram"] == kept.sha256()
    for name, value in row.metrics.items():
        assert metrics.summarise(metrics.evaluate(kept, Metrics.parse([name]))[name]) == value
    saved = files.load(folder / "codes.npz")
    counted = histogram.count(saved.query, saved.database, saved.relevance)
    np.testing.assert_array_equal(counted.counts, kept.counts)
    assert row.metrics["ap_worst"].mean < row.metrics["ap"].mean < row.metrics["ap_best"].mean  # type: ignore[operator]
    assert row.metrics["ap"].n_queries == 500
    ids = load_card("digits").protocol("s1")
    assert row.ids_sha256 == ids.ids_sha256


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    row = row_of(lsh(), store)
    path = store.rows_path("digits", "s1")
    before = path.stat().st_mtime_ns
    assert row_of(lsh(), store) == row
    assert Run.from_row(row) == lsh()
    assert path.stat().st_mtime_ns == before
    with one_line("written once"):
        store.write(row)


def test_another_split_is_another_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hashbench.foundation import paths

    root = paths.root()
    (tmp_path / "datasets").mkdir()
    (tmp_path / "experiments").symlink_to(root / "experiments")
    card = (root / "datasets" / "digits.toml").read_text()
    before = lsh()
    monkeypatch.setenv("HASHBENCH_ROOT", str(tmp_path))
    (tmp_path / "datasets" / "digits.toml").write_text(card.replace("queries_per_class = 50", "queries_per_class = 40"))
    assert lsh().name.cell_hash != before.name.cell_hash
    (tmp_path / "datasets" / "digits.toml").write_text(card.replace('title = "50 queries', 'title = "Fifty queries'))
    paths.read_again()
    assert lsh().name.cell_hash == before.name.cell_hash


def test_other_bits_give_the_run_that_is_resolved_or_none() -> None:
    """For every method, on data where some of them have values for their number of bits."""
    given = {"model": "vggf", "features": "pixels"}
    n_given = 0
    for method, entry in METHODS.usable():
        if "bits" not in entry.settings.model_fields:
            continue
        settings = {key: given[key] for key in given if key in entry.settings.model_fields}
        runs = [Run.resolve("cifar10", "s1", method, {"bits": bits, **settings}) for bits in (8, 16, 48)]
        for run in runs[1:]:
            other = runs[0].with_bits(int(run.name.identity["bits"]))
            n_given += other is not None
            assert other in (None, run)
            assert other is None or (str(other.name), other.sources) == (str(run.name), run.sources)
    assert n_given > 80

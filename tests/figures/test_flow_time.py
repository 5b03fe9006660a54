"""The time of the flow: from the newest record of the benchmark, or the published values alone."""

import json
from pathlib import Path

from support.declared_figures import axes_of, declare, filled
from support.one_line import one_line

from hashbench.running.runs.store import Store
from hashbench.showing import figures


def record(utc: str, cpu: str, seconds: float) -> None:
    """Writes the record of a benchmark on one machine."""
    point = {"n_c": 64, "d": 128, "ours_s": seconds, "full_network_s": 2 * seconds}
    found = {"utc": utc, "machine": {"cpu": cpu}, "ortools": "9.9", "repetitions": 5, "points": [point]}
    path = Store.default().folder / "benchmarks" / f"flow-{cpu}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found))


def test_the_published_values_are_drawn_where_nothing_is_measured() -> None:
    drawing = filled(figures.load("sparse_hash_figure1"))
    assert drawing.missing == "nothing is measured (python benchmarks/flow.py does that); drawn: the published values"
    assert drawing.points[0] == {
        "n_c": 64,
        "d": 64,
        "k": 4,
        "lam": 1.0,
        "published_s": 0.0237,
        "ours_s": None,
        "full_network_s": None,
    }
    drawn = axes_of(drawing)
    assert [len(ax.get_lines()) for ax in drawn.axes] == [1, 1, 1, 1]
    assert list(drawn.axes[3].get_lines()[0].get_ydata()) == [0.2041, 0.4072, 0.8109, 1.5897]


def test_the_newest_record_is_drawn() -> None:
    record("2026-01-02T00:00:00Z", "new", 0.5)
    record("2026-01-01T00:00:00Z", "old", 0.1)
    drawing = filled(figures.load("sparse_hash_figure1"))
    assert drawing.n_measured == 1
    assert [(point["ours_s"], point["full_network_s"]) for point in drawing.points][:2] == [(None, None), (0.5, 1.0)]


def test_a_wrong_record_is_one_line() -> None:
    record("2026-01-02T00:00:00Z", "new", 0.5)
    path = Store.default().folder / "benchmarks" / "flow-new.json"
    path.write_text(path.read_text().replace('"utc"', '"when"'))
    with one_line() as error:
        filled(figures.load("sparse_hash_figure1"))
    assert str(error.value).startswith(f"{path}: not a record of benchmarks/flow.py: ")


def test_a_number_of_values_that_does_not_fit_is_one_line(tmp_path: Path) -> None:
    keys = "k = 4\nlam = 1.0\nsizes = [64, 128]\n[published_s]\n64 = [0.1, 0.2]\n128 = [0.3]\n"
    path = declare(tmp_path, "flow_time", keys, "")
    with one_line() as error:
        figures.load("tiny")
    assert str(error.value) == f"{path}: published_s: 2 values for each of the sizes [64, 128] are expected"

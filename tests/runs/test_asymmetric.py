"""Runs whose rows have the asymmetric distance too: of new runs, and added to the rows of runs that have none."""

from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from support.command_line import CommandLine
from support.one_line import one_line
from support.stored_toy import small_images

from hashbench.running.runs import execute
from hashbench.running.runs.command import train_command
from hashbench.running.runs.guard import row_of
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.showing.tables.cell_runs import sort_out


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """ITQ on random images."""
    small_images(tmp_path / "root")
    return Run.resolve("toy", "s1", "itq", {"bits": 8})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def refuse(*_: Any, **__: Any) -> NoReturn:
    raise AssertionError("it is trained again")


def plain_ap(path: Path) -> float:
    """AP by -<z, b>, of the file of a run: a loop over queries, sorted; activations of 24 bits add up exactly."""
    with np.load(path, allow_pickle=False) as file:
        z = file["query_activations"].astype(np.float64)
        result = []
        assert np.array_equal(z > 0, file["query_codes"])
        for q, label in enumerate(file["query_labels"]):
            distance = -(z[q] * (2.0 * file["database_codes"] - 1)).sum(axis=1)
            order = np.argsort(distance)
            expected = 0.0
            before = [0, 0]
            is_relevant = file["database_labels"][order] == label
            for start in np.flatnonzero(np.diff(distance[order], prepend=-np.inf) > 1e-9):
                group = is_relevant[start:][np.abs(distance[order][start:] - distance[order][start]) < 1e-9]
                n = len(group)
                r = int(group.sum())
                for t in range(1, n + 1):  # an item at place t of the tie is relevant with probability r / n
                    others = (t - 1) * (r - 1) / (n - 1) if n > 1 else 0.0
                    expected += r / n * (before[1] + others + 1) / (before[0] + t)
                before = [before[0] + n, before[1] + r]
            result.append(expected / is_relevant.sum())
    return float(np.mean(result))


def test_a_row_has_it_only_where_it_is_asked_for(run: Run, store: Store) -> None:
    asked = run.with_asymmetric()
    codes = store.run_folder(str(run.name)) / "codes.npz"
    assert asked.name == run.name
    assert asked.with_seed(3).asymmetric is True
    row = row_of(asked, store)
    assert [*row.searches] == ["database", "asymmetric"]
    assert [*row.searches["asymmetric"]] == ["ap", "ndcg@100", "precision@100"]
    assert row.searches["asymmetric"]["ap"].mean == pytest.approx(plain_ap(codes), abs=1e-12)
    assert row.searches["asymmetric"]["ap"].mean != row.metrics["ap"].mean
    other = run.with_seed(1)
    assert [*row_of(other, store).searches] == ["database"]
    with np.load(store.run_folder(str(other.name)) / "codes.npz") as file:
        assert "query_activations" not in file
    assert "--asymmetric" in train_command(row) and "--asymmetric" not in train_command(row_of(other, store))


def test_a_stored_row_gets_it_from_the_saved_hasher(run: Run, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before = row_of(run, store)
    asked = run.with_asymmetric()
    assert sort_out([run], store).measured == [run]
    assert sort_out([asked], store).missing == [asked]
    monkeypatch.setattr(execute, "fit", refuse)
    after = row_of(asked, store)
    assert after.searches["asymmetric"]["ap"].mean == pytest.approx(
        plain_ap(store.run_folder(before.run) / "codes.npz"), abs=1e-12
    )
    changed = {"searches": {**before.searches, "asymmetric": after.searches["asymmetric"]}}
    assert store.find("toy", "s1", before.run) == before.model_copy(update=changed)
    assert sort_out([asked], store).measured == [asked]
    monkeypatch.setattr(execute, "scored", refuse)
    assert row_of(asked, store) == row_of(run, store) == store.find("toy", "s1", before.run)


def test_without_a_hasher_it_is_trained_again(run: Run, store: Store) -> None:
    before = row_of(run, store)
    for path in store.run_folder(before.run).glob("*"):
        path.unlink()
    after = row_of(run.with_asymmetric(), store)
    assert store.find("toy", "s1", before.run) == before.model_copy(update={"searches": after.searches})


def test_a_row_gets_no_search_of_other_codes(run: Run, store: Store) -> None:
    before = row_of(run, store)
    folder = store.run_folder(str(run.name))
    other = row_of(run.with_seed(1), store)
    for path in store.run_folder(other.run).glob("hasher.*"):
        (folder / path.name).write_bytes(path.read_bytes())
    with one_line(r"the codes of .* are not those of its row, which gets no further search"):
        row_of(run.with_asymmetric(), store)
    assert store.find("toy", "s1", before.run) == before


def test_sparse_codes_are_refused_before_training(hashbench: CommandLine, run: Run) -> None:
    error = hashbench.refused("train sparse_th digits --set d=8 --set k=2 --asymmetric")
    assert "its codes are not the signs of activations" in error

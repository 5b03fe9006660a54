"""``--eval-every``: the items that are scored while a network is trained are no queries, and the result is the same."""

from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine
from support.stored_toy import parts, store_toy

from hashbench import score
from hashbench.foundation.execution import Execution
from hashbench.learning.training import log
from hashbench.running.runs import held_out
from hashbench.running.runs.data import open_data
from hashbench.running.runs.guard import load_hasher, row_of
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store

LABELS = np.arange(200) % 4
ITEMS = (np.random.default_rng(0).standard_normal((200, 16)) + LABELS[:, None]).astype(np.float32)
BY_CLASS = '\n[protocols.s1]\ntitle = "by class"\ncitation = "none"\nqueries_per_class = 5\ntrain_per_class = {}\n'
SETTINGS = {"bits": 8, "model": "mlp", "epochs": 4, "batch_size": 20, "lr": 0.1}


def run_of(protocol: str, tmp_path: Path, **execution: int) -> Run:
    store_toy(tmp_path, ITEMS, LABELS, protocol)
    return Run.resolve("toy", "s1", "talr-ap", SETTINGS, **execution)


@pytest.mark.parametrize(
    "protocol, name",
    [
        (BY_CLASS.format(20), log.HELD_OUT_AP),
        (BY_CLASS.format(0), log.TRAIN_AP),  # no item of the database is left
        (parts(20, 60, 200), log.HELD_OUT_AP),
    ],
)
def test_the_items_are_no_queries_and_new_where_there_are_others(protocol: str, name: str, tmp_path: Path) -> None:
    data = open_data(run_of(protocol, tmp_path))
    chosen, results = held_out.held_out(data)
    assert results == name
    assert chosen.query_ids.size >= 10
    assert np.isin(chosen.query_ids, data.ids.train_ids).any() == (name == log.TRAIN_AP)
    for entry in (chosen.query_ids, chosen.database_ids):
        assert np.isin(entry, data.ids.database_ids).all()
        assert not np.isin(entry, data.ids.query_ids).any()
    assert not np.isin(chosen.query_ids, chosen.database_ids).any()
    np.testing.assert_array_equal(chosen.train_ids, data.ids.train_ids)


def test_a_large_database_is_sampled_always_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out, "N_DATABASE", 30)
    data = open_data(run_of(BY_CLASS.format(20), tmp_path))
    one, other = (held_out.held_out(data)[0].database_ids for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert len(one) == 30
    assert len(np.unique(LABELS[one])) == 4


def test_the_result_is_the_same_and_the_last_value_is_that_of_the_codes(tmp_path: Path) -> None:
    run = run_of(BY_CLASS.format(20), tmp_path)
    stores = [Store(tmp_path / str(every)) for every in (0, 3)]
    rows = [
        row_of(run, store, Execution(device="cpu", eval_every=every))
        for store, every in zip(stores, (0, 3), strict=True)
    ]
    assert rows[0].run == rows[1].run
    assert rows[0].artefacts == rows[1].artefacts
    sums = {(store.run_folder(rows[0].run) / "hasher.safetensors").read_bytes() for store in stores}
    assert len(sums) == 1
    plain, watched = (log.read(store.run_folder(rows[0].run)) for store in stores)
    assert [log.HELD_OUT_AP in line for line in watched] == [False, False, True, True]  # every third, and the last
    assert [line["loss"] for line in plain] == [line["loss"] for line in watched]
    assert not any(log.HELD_OUT_AP in line for line in plain)
    chosen, _ = held_out.held_out(open_data(run))
    hasher = load_hasher(rows[1], stores[1], "cpu")
    query, database = (hasher.encode(ITEMS[ids]) > 0 for ids in (chosen.query_ids, chosen.database_ids))
    due = score(query, database, LABELS[chosen.query_ids], LABELS[chosen.database_ids], "ap")["ap"]
    assert watched[-1][log.HELD_OUT_AP] == pytest.approx(due, abs=1e-6)
    assert watched[-2][log.HELD_OUT_AP] != watched[-1][log.HELD_OUT_AP]


def test_a_method_without_epochs_says_so(hashbench: CommandLine) -> None:
    err = hashbench.refused("train itq digits --bits 8 --eval-every 2")
    assert err == "--eval-every: itq trains no network of binary codes, so it has no epochs"

"""Codes made elsewhere become rows: in the protocol's order, scored as a run's codes, marked in all that shows them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import CommandLine
from support.stored_toy import small_images
from support.toy_root import declare_table

from hashbench.foundation import paths
from hashbench.running.datasets.split import Split, split
from hashbench.running.datasets.store import open_dataset
from hashbench.running.runs.guard import row_of
from hashbench.running.runs.past import Past
from hashbench.running.runs.row import Row, made_by
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.showing.bundle.pack import Order, pack
from hashbench.showing.bundle.verify import verify
from hashbench.showing.tables import spec
from hashbench.showing.tables.collect import collect
from hashbench.showing.tables.status import table_status

Trained = tuple[Row, dict[str, np.ndarray]]
OF = ("--method", "My-CSQ", "--dataset", "toy", "--bits", 8)
TABLE = """
title = "Mine"
paper = "hashbench"
source = "own"
defaults = { dataset = "toy", protocol = "s1", metric = "ap", settings = { bits = 8 } }
[[groups]]
columns = [{ label = "8 bits" }]
rows = [{ label = "LSH", method = "lsh" }, { label = "CSQ", method = "my_csq", budget = "imported" }]
"""


@pytest.fixture
def ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Split:
    """The ids of the protocol of a small data set in a root with a table of its own; the folder is ``tmp_path``."""
    monkeypatch.chdir(tmp_path)
    card = small_images(tmp_path / "root")
    return split(open_dataset(card).labels, card.protocol("s1"), "toy", "s1")


@pytest.fixture
def trained(ids: Split, tmp_path: Path) -> Trained:
    """The row of a run here, and the codes that it made."""
    store = Store(tmp_path / "results")
    row = row_of(Run.resolve("toy", "s1", "lsh", {"bits": 8}), store)
    with np.load(store.run_folder(row.run) / "codes.npz") as codes:
        kept = ("query_codes", "database_codes", "query_labels", "database_labels")
        return row, {name: codes[name] for name in kept}


def with_ids(codes: dict[str, np.ndarray], ids: Split, seed: int = 0) -> dict[str, np.ndarray]:
    """The codes in another order of the items, with their ids and without labels."""
    result = dict[str, np.ndarray]()
    random = np.random.default_rng(seed)
    for side, local in (("query", ids.query_ids), ("database", ids.database_ids)):
        order = random.permutation(len(local))
        result |= {f"{side}_codes": codes[f"{side}_codes"][order], f"{side}_ids": local[order]}
    return result


def imported(hashbench: CommandLine, arrays: dict[str, Any], *options: object) -> Row:
    np.savez("codes.npz", **arrays)
    out = hashbench.printed("results import codes.npz", *OF, *options, "--json")
    return Row.model_validate_json(out)


def test_codes_are_scored_as_those_of_a_run(
    trained: Trained, ids: Split, tmp_path: Path, hashbench: CommandLine
) -> None:
    """In any order of their ids, or in the protocol's with its labels, whatever the classes are called."""
    local, codes = trained
    names = {name: np.array(["cat", "owl", "dog"])[codes[name]] for name in ("query_labels", "database_labels")}
    given = [with_ids(codes, ids), codes, {**codes, **names}]
    rows = [imported(hashbench, arrays, "--seed", seed) for seed, arrays in enumerate(given)]
    for seed, row in enumerate(rows):
        assert row.searches == local.searches
        assert row.artefacts == local.artefacts
        assert row.method == "my_csq"
        assert row.seed == seed
        assert row.budget == "imported"
        assert row.is_imported is True
        assert row.seconds is None
        assert row.config["settings"] == {"bits": 8}
        assert made_by(row).startswith("codes made elsewhere, imported 2")
        assert Store(tmp_path / "results").named(row.run) == row
    assert len({row.cell_hash for row in rows}) == 1
    listed = hashbench("list runs --only method=my-csq").lines
    assert len(listed) == 3
    assert all(line.endswith(" imported") for line in listed)


def test_what_is_not_of_the_protocol_is_refused_and_nothing_is_written(
    trained: Trained, ids: Split, tmp_path: Path, hashbench: CommandLine
) -> None:
    _, codes = trained
    named = with_ids(codes, ids)
    before = list(Store(tmp_path / "results").lines())
    bare = {name: codes[name] for name in ("query_codes", "database_codes")}
    faults: list[tuple[dict[str, Any], str]] = [
        (bare, "query_ids and database_ids (item numbers) may stand in place of labels"),
        ({**codes, "query_labels": codes["query_labels"][::-1]}, "its labels are not those of toy s1 in the order"),
        (
            {
                **with_ids(codes, ids),
                "query_labels": codes["query_labels"],
                "database_labels": codes["database_labels"],
            },
            "its labels are not those that its ids have in toy: save both in the order of the codes, or no labels",
        ),
        ({**named, "query_ids": named["query_ids"] + 1}, "query_ids: 0, an item of toy s1, is not in it"),
        ({**named, "query_codes": named["query_codes"][:9], "query_ids": np.arange(9)}, "9 codes: there are 30"),
        ({**named, "query_codes": named["query_codes"][:, :7]}, "codes of n_bits = 8 are expected"),
    ]
    for arrays, says in faults:
        np.savez("codes.npz", **arrays)
        assert says in hashbench.refused("results import codes.npz", *OF)
    assert list(Store(tmp_path / "results").lines()) == before
    row = imported(hashbench, named)
    assert f"{row.run}: is in " in hashbench.refused("results import codes.npz", *OF)
    err = hashbench.refused("train my_csq toy --bits 8 --budget imported --seed 7")
    assert err == "my_csq: its codes were made elsewhere: hashbench results import reads them"


def test_tables_status_bundle_and_sheet_show_it_as_imported(
    trained: Trained, ids: Split, tmp_path: Path, hashbench: CommandLine
) -> None:
    local, codes = trained
    (tmp_path / "root" / "experiments").unlink()
    declare_table(TABLE, "mine")
    paths.read_again()
    declared = spec.load("mine")
    row = imported(hashbench, with_ids(codes, ids))
    store = Store(tmp_path / "results")
    cells = {cell.declared.row: cell.measured for cell in collect(declared, store.rows(), store).cells()}
    assert [measured and measured.rows for measured in cells.values()] == [(local,), (row,)]
    status = table_status(declared, {entry.run: entry for entry in store.rows()}, Past.of(store.rows()), seeds=2)
    assert status.counts() == {"done": 2, "failed": 0, "missing": 2, "unavailable": 0}
    code, out, err = hashbench("run mine --seeds 2 --dry-run")
    assert code == 0
    assert [line.rpartition("-")[0] for line in out.splitlines()] == ["toy-s1-lsh-8b-s1"]
    assert "left out: my_csq on toy s1: its codes were made elsewhere: hashbench results import makes its rows" in err
    markdown = hashbench("table mine --format markdown").out
    pack(Order("mine"), tmp_path / "mine.zip", store, pytest.fail)
    report = verify(tmp_path / "mine.zip")[1]
    assert report.differences == []
    assert report.not_checked == []
    assert report.n_rows == 2
    assert report.n_codes == 2
    sheet = hashbench("show", row.run).out
    assert "elsewhere; imported and scored 2" in sheet
    command = "hashbench results import CODES --method my_csq --dataset toy --protocol s1 --bits 8"
    assert [line for line in sheet.splitlines() if line.startswith("$")] == [f"$ {command}"]
    assert "Settings unknown, of codes made elsewhere: CSQ." in markdown
    compared = hashbench.json("compare", local.run, row.run)
    assert compared["differences"][0]["difference"] == 0

"""Our tables of heads on resnet9 features, and the search of their settings: equal terms, the figures beside."""

import pytest

from hashbench.datasets.card import load_card
from hashbench.datasets.protocol import PerClassValidation
from hashbench.hasher import CodeSettings
from hashbench.methods import METHODS
from hashbench.runs.spec import resolve
from hashbench.tables import spec
from hashbench.tables.cell import Cell
from hashbench.training.settings import DeepSettings

TABLES = ["cifar10_s1_resnet9", "cifar10_s2_resnet9"]
SEARCHED = spec.load("heads_resnet9_search").cells
CELLS = [cell for table in TABLES for cell in spec.load(table).cells]
OBJECTIVES = {"dpsh", "dtsh", "mihash", "hashnet", "talr_ap", "talr_ndcg"}
HEADS = [cell for cell in CELLS if cell.method in OBJECTIVES]


def settings_of(cell: Cell) -> CodeSettings:
    return resolve(cell.dataset, cell.protocol, cell.method, cell.settings).settings


def test_all_cells_hash_the_same_features_at_unit_norm() -> None:
    assert len({cell.settings["features"] for cell in (*CELLS, *SEARCHED)}) == 1
    assert {settings_of(cell).model_dump()["normalise"] for cell in (*CELLS, *SEARCHED)} == {"unit_norm"}


def test_the_heads_differ_in_the_loss_and_its_constants_only() -> None:
    assert {cell.method for cell in HEADS} == {cell.method for cell in SEARCHED} == OBJECTIVES
    assert all(issubclass(METHODS.get(method).settings, DeepSettings) for method in OBJECTIVES)
    epochs = {"s1": 30, "s2": 9, "s1_validation": 30}
    for cell in (*HEADS, *SEARCHED):
        found = settings_of(cell).model_dump()
        same = ("model", "batch_size", "lr_schedule", "momentum", "weight_decay", "hash_init", "augment", "optimiser")
        assert [found[key] for key in same] == ["linear", 250, "one_cycle", 0.9, 0.0, 0.0, "none", "sgd"]
        assert found["epochs"] == epochs[cell.protocol]
        assert found["relaxation"] == "identity" or found["tanh_scale"] == 5.0


def test_the_search_is_on_queries_held_out_of_the_database_of_s1() -> None:
    for cell in SEARCHED:
        rule = load_card(cell.dataset).protocol(cell.protocol)
        assert isinstance(rule, PerClassValidation)
        assert (rule.of, cell.metric, cell.settings["bits"]) == ("s1", "ap", 32)
    sections = {cell.section for cell in SEARCHED}
    rates = {
        name: {settings_of(cell).model_dump()["lr"] for cell in SEARCHED if cell.section == name} for name in sections
    }
    assert {len(each) for each in rates.values()} == {6}


def test_what_is_run_is_one_of_the_candidates() -> None:
    candidates = [(cell.method, without_size(cell)) for cell in SEARCHED]
    for cell in HEADS:
        assert candidates.count((cell.method, without_size(cell))) == 1


def without_size(cell: Cell) -> dict[str, object]:
    """The settings but for what differs between protocols and lengths of codes."""
    found = settings_of(cell).model_dump()
    return {key: value for key, value in found.items() if key not in ("bits", "epochs")}


@pytest.mark.parametrize(("table", "section"), [(TABLES[0], "CIFAR-10 S1 (AP_T)"), (TABLES[1], "CIFAR-10 S2 (AP_T)")])
def test_published_values_are_those_of_table_1_and_are_not_compared(table: str, section: str) -> None:
    published = [cell for cell in spec.load("talr_table1").cells if cell.section == section]
    printed = {(cell.method, cell.column): cell.published for cell in published}
    declared = spec.load(table)
    assert {cell.section for cell in declared.cells} == {section}
    assert {
        (cell.method, cell.column): cell.published for cell in declared.cells if cell.published is not None
    } == printed
    assert {(cell.citation, cell.tolerance) for cell in declared.cells} == {("he2018tieaware", None)}
    assert any(
        "VGG-F, pre-trained on ImageNet" in note and "no value has a tolerance" in note for note in declared.notes
    )

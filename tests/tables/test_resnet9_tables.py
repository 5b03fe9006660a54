"""Our tables of a resnet9, frozen and fine-tuned, and the searches of their settings: equal terms, figures beside."""

import pytest

from hashbench.learning.contract import CodeSettings
from hashbench.learning.methods import METHODS
from hashbench.learning.training.settings import DeepSettings
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.protocol import PerClassValidation
from hashbench.running.runs.run import Run
from hashbench.showing.tables import spec
from hashbench.showing.tables.cell import Cell

TABLES = ["cifar10_s1_resnet9", "cifar10_s2_resnet9"]
OBJECTIVES = {"dpsh", "dtsh", "mihash", "hashnet", "talr_ap", "talr_ndcg"}
CELLS = [cell for table in TABLES for cell in spec.load(table).cells]
HEADS = [cell for cell in CELLS if cell.settings.get("model") == "linear"]
FINETUNED = [cell for cell in CELLS if cell.settings.get("model") == "resnet9"]
FROZEN = [cell for cell in CELLS if cell not in FINETUNED]
# weight decay was searched later, for the table resnet9_beyond
SEARCHED = [cell for cell in spec.load("heads_resnet9_search").cells if "weight decay" not in cell.section]
SEARCHED_FINETUNED = spec.load("finetune_resnet9_search").cells


def settings_of(cell: Cell) -> CodeSettings:
    return Run.resolve(cell.dataset, cell.protocol, cell.method, cell.settings).settings


def test_all_cells_hash_the_same_features_at_unit_norm() -> None:
    assert len({cell.settings["features"] for cell in (*FROZEN, *SEARCHED)}) == 1
    assert {settings_of(cell).model_dump()["normalise"] for cell in (*FROZEN, *SEARCHED)} == {"unit_norm"}


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


def test_fine_tuning_differs_in_the_loss_its_constants_and_the_rates_only() -> None:
    assert {cell.method for cell in FINETUNED} == {cell.method for cell in SEARCHED_FINETUNED} == OBJECTIVES
    epochs = {"s1": {8}, "s2": {2}, "s1_validation": {8, 16}}
    for cell in (*FINETUNED, *SEARCHED_FINETUNED):
        found = settings_of(cell).model_dump()
        same = ("width", "head", "batch_size", "lr_schedule", "momentum", "weight_decay", "augment", "normalise")
        assert [found[key] for key in same] == [0.5, "trained", 250, "one_cycle", 0.9, 5e-4, "crop_flip", "channel"]
        assert found["epochs"] in epochs[cell.protocol]
        assert found["weights"].startswith(f"sha256:{FROZEN[0].settings['features'].removeprefix('resnet9_')}")


def test_fine_tuning_has_the_constants_of_the_heads() -> None:
    """But for the bins of TALR-AP, which were searched again."""
    of_heads = {
        cell.method: settings_of(cell).model_dump() for cell in HEADS if cell.settings.get("variant") != "exact"
    }
    constants = {"eta", "pairing", "clip_norm", "similarity_scale", "tanh_scale", "n_bins", "delta", "bin_rule"}
    for cell in FINETUNED:
        found = settings_of(cell).model_dump()
        changed = {key for key in constants if found.get(key) != of_heads[cell.method].get(key)}
        assert changed == ({"n_bins", "delta"} if cell.method == "talr_ap" else set())


def test_the_search_is_on_queries_held_out_of_the_database_of_s1() -> None:
    for cell in (*SEARCHED, *SEARCHED_FINETUNED):
        rule = load_card(cell.dataset).protocol(cell.protocol)
        assert isinstance(rule, PerClassValidation)
        assert rule.of == "s1"
        assert cell.metric == "ap"
        assert cell.settings["bits"] == 32
    sections = {cell.section for cell in SEARCHED}
    rates = {
        name: {settings_of(cell).model_dump()["lr"] for cell in SEARCHED if cell.section == name} for name in sections
    }
    assert {len(each) for each in rates.values()} == {6}


@pytest.mark.parametrize("cells, searched", [(HEADS, SEARCHED), (FINETUNED, SEARCHED_FINETUNED)])
def test_what_is_run_is_one_of_the_candidates(cells: list[Cell], searched: list[Cell]) -> None:
    candidates = [(cell.method, without_size(cell)) for cell in searched if "epochs" not in cell.settings]
    for cell in cells:
        assert candidates.count((cell.method, without_size(cell))) == 1


def without_size(cell: Cell) -> dict[str, object]:
    """The settings but for what differs between protocols and lengths of codes."""
    found = settings_of(cell).model_dump()
    return {key: value for key, value in found.items() if key not in ("bits", "epochs")}


@pytest.mark.parametrize("table, protocol", [(TABLES[0], "S1"), (TABLES[1], "S2")])
def test_published_values_are_those_of_table_1_and_are_not_compared(table: str, protocol: str) -> None:
    published = [cell for cell in spec.load("talr_table1").cells if cell.section == f"CIFAR-10 {protocol} (mAP)"]
    printed = {(cell.method, cell.column): cell.published for cell in published}
    declared = spec.load(table)
    frozen, trained = dict.fromkeys(cell.section for cell in declared.cells)
    assert frozen == f"CIFAR-10 {protocol}, frozen features (mAP)"
    assert trained == f"CIFAR-10 {protocol}, full fine-tuning from such a head (mAP)"
    beside = {
        section: {
            (cell.method, cell.column): cell.published
            for cell in declared.cells
            if cell.section == section and cell.published is not None
        }
        for section in (frozen, trained)
    }
    assert beside[frozen] == printed
    columns = {"S1": {"12 bits", "24 bits", "32 bits", "48 bits"}, "S2": {"32 bits"}}[protocol]
    assert beside[trained] == {
        (method, column): value
        for (method, column), value in printed.items()
        if method in OBJECTIVES and column in columns
    }
    assert {(cell.citation, cell.tolerance) for cell in declared.cells} == {("he2018tieaware", None)}
    assert any(
        "VGG-F, pre-trained on ImageNet" in note and "no value has a tolerance" in note for note in declared.notes
    )

"""Our tables of a resnet9, frozen and fine-tuned: the published figures beside them are those of the paper."""

import pytest

from hashbench.showing.tables import spec

TABLES = ["cifar10_s1_resnet9", "cifar10_s2_resnet9"]
OBJECTIVES = {"dpsh", "dtsh", "mihash", "hashnet", "talr_ap", "talr_ndcg"}


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

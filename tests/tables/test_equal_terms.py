"""The table of equal terms and the search of its settings: one protocol for each, and what is run was searched."""

from collections import defaultdict

from support.together import together

from hashbench.contract import CodeSettings
from hashbench.datasets.card import load_card
from hashbench.datasets.protocol import RandomValidation
from hashbench.methods import METHODS
from hashbench.runs.settings import tuned_in
from hashbench.tables import spec
from hashbench.tables.cell import Cell
from hashbench.tables.cell_runs import run_of
from hashbench.training.settings import DeepSettings

CELLS = spec.load("structhash_equal_terms").cells
SEARCHED = spec.load("structhash_search").cells
BY_HAND = [
    cell for cell in CELLS if "by hand" in cell.section and issubclass(METHODS.get(cell.method).settings, DeepSettings)
]


def settings_of(cell: Cell) -> CodeSettings:
    return run_of(cell).settings


def test_every_objective_is_compared_on_the_same_terms() -> None:
    rows = defaultdict(set)
    for cell in CELLS:
        form = cell.settings.get("hash_functions", cell.settings.get("model"))
        assert cell.section.endswith(f", {form}")
        assert (cell.protocol, cell.settings["bits"]) == ("structhash", 64)
        rows[cell.section, cell.track].add((cell.method, cell.dataset))
    assert len(rows) == 6
    assert len({frozenset(each) for each in rows.values()}) == 1
    assert {section for section, track in rows if track == "published"} == {
        f"{metric}, as published, linear" for metric in ("Tie-aware AP", "NDCG (K=100)")
    }


def test_what_is_tuned_has_the_settings_that_the_search_chose() -> None:
    for cell in CELLS:
        if ", tuned" in cell.section:
            chosen = tuned_in("linear_structhash", cell.method)
            assert chosen is not None
            assert chosen.tuned.startswith("tune/linear_structhash.jsonl: ")
            values = {key: each.value for key, each in chosen.parameters.items()}
            assert values.items() <= settings_of(cell).model_dump().items()


def test_the_search_is_on_queries_held_out_of_the_database() -> None:
    for cell in SEARCHED:
        rule = load_card(cell.dataset).protocol(cell.protocol)
        assert isinstance(rule, RandomValidation)
        assert rule.of == "structhash"
        assert cell.metric == "ap"


@together("cell", BY_HAND)
def test_what_is_run_is_one_of_the_candidates(cell: Cell) -> None:
    same = [
        each for each in SEARCHED if each.method == cell.method and each.settings["model"] == cell.settings["model"]
    ]
    candidates = [settings_of(each) for each in same if each.dataset == "usps"]
    assert candidates.count(settings_of(cell)) == 1
    assert len(candidates) > 1

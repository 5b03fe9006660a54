"""The table of equal terms and the search of its settings: one protocol for each, and what is run was searched."""

from collections import defaultdict

from support.together import together

from hashbench.contract import CodeSettings
from hashbench.datasets.card import load_card
from hashbench.datasets.protocol import RandomValidation
from hashbench.methods import METHODS
from hashbench.runs.run import Run
from hashbench.tables import spec
from hashbench.tables.cell import Cell
from hashbench.training.settings import DeepSettings

CELLS = spec.load("structhash_equal_terms").cells
SEARCHED = spec.load("structhash_search").cells
OF_NETWORKS = [
    cell for cell in CELLS if cell.method in METHODS and issubclass(METHODS.get(cell.method).settings, DeepSettings)
]


def settings_of(cell: Cell) -> CodeSettings:
    return Run.resolve(cell.dataset, cell.protocol, cell.method, cell.settings).settings


def test_every_objective_is_compared_on_the_same_terms() -> None:
    rows = defaultdict(set)
    for cell in CELLS:
        form = cell.settings.get("hash_functions", cell.settings.get("model"))
        assert cell.section.endswith(f", {form}")
        assert (cell.protocol, cell.settings["bits"]) == ("structhash", 64)
        rows[cell.section].add((cell.row, cell.dataset))
    assert len(rows) == 4
    assert len({frozenset(each) for each in rows.values()}) == 1


def test_the_search_is_on_queries_held_out_of_the_database() -> None:
    for cell in SEARCHED:
        rule = load_card(cell.dataset).protocol(cell.protocol)
        assert isinstance(rule, RandomValidation)
        assert rule.of == "structhash"
        assert cell.metric == "ap"


@together("cell", OF_NETWORKS)
def test_what_is_run_is_one_of_the_candidates(cell: Cell) -> None:
    same = [
        each for each in SEARCHED if each.method == cell.method and each.settings["model"] == cell.settings["model"]
    ]
    candidates = [settings_of(each) for each in same if each.dataset == "usps"]
    assert candidates.count(settings_of(cell)) == 1
    assert len(candidates) > 1

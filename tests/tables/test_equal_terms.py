"""The table of equal terms: the same rows in every section, and tuned methods run what the searches chose."""

from collections import defaultdict

from hashbench.running.runs.settings import tuned
from hashbench.showing.tables import spec
from hashbench.showing.tables.cell_runs import run_of

CELLS = spec.load("structhash_equal_terms").cells


def test_every_objective_is_compared_on_the_same_terms() -> None:
    rows = defaultdict(set)
    for cell in CELLS:
        form = cell.settings.get("hash_functions", cell.settings.get("model"))
        assert cell.section.endswith(f", {form}")
        assert (", our defaults, " in cell.section) == (cell.recipe == "our_defaults")
        assert cell.protocol == "structhash"
        assert cell.settings["bits"] == 64
        rows[cell.section].add((cell.method, cell.dataset))
    assert len(rows) == 8
    assert len({frozenset(each) for each in rows.values()}) == 1


def test_what_is_tuned_has_the_settings_that_the_search_chose() -> None:
    for cell in CELLS:
        if cell.recipe is None:
            name = f"{cell.section.rpartition(', ')[2]}_structhash"
            chosen = tuned(cell.method).get(name)
            assert chosen is not None
            assert chosen.tuned.startswith(f"tune/{name}.jsonl: ")
            values = {key: each.value for key, each in chosen.parameters.items()}
            assert (values | cell.settings).items() <= run_of(cell).settings.model_dump().items()

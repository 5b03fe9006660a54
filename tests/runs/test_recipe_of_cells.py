"""The recipe of a cell: the one of its task, another one, or our defaults."""

from pathlib import Path

import pytest
from support.on_digits import on_digits
from support.one_line import one_line
from support.searches import changed_root

from hashbench.foundation.config import Setting
from hashbench.running.runs.run import Run
from hashbench.running.runs.settings import recipes
from hashbench.showing.tables import spec
from hashbench.showing.tables.cell_runs import run_of
from hashbench.showing.tables.settings import settings_of_table

RECIPE = """title = "Ours"
why = "a test"
when = { dataset = "digits", model = "linear" }
[parameters]
lr = { value = 0.25, source = "ours" }

[methods.itq]
tuned = "tune/ours.jsonl: trial 1 of 2, held-out AP 0.5"
iterations = 7

[methods.dpsh]
why = "a test"
eta = 0.5
pairing = "batch"
lr = 0.125
"""
OTHER = """title = "Of other data"
why = "a test"
when = { dataset = "cifar10", model = "linear" }
[parameters]
lr = { value = 0.75, source = "ours" }

[methods.itq]
tuned = "tune/other.jsonl: trial 2 of 3, held-out AP 0.5"
iterations = 5

[methods.dpsh]
why = "a test"
eta = 0.25
"""
TABLE = """title = "Recipes"
paper = "hashbench"
source = "a test"
[defaults]
dataset = "digits"
protocol = "s1"
metric = "ap"
settings = { bits = 16 }
[[groups]]
columns = [
  { label = "as published", recipe = "our_defaults" }, { label = "tuned" }, { label = "other", recipe = "other" },
]
rows = [{ label = "ITQ", method = "itq" }, { label = "DPSH", method = "dpsh", settings = { model = "linear" } }]
"""
COLUMNS = ("as published", "tuned", "other")
LINEAR: dict[str, Setting] = {"bits": 16, "model": "linear"}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = changed_root(tmp_path, monkeypatch)
    (root / "experiments" / "recipes" / "ours.toml").write_text(RECIPE)
    (root / "experiments" / "recipes" / "other.toml").write_text(OTHER)
    return root


def run(method: str, given: dict[str, Setting], recipe: str | None = None) -> Run:
    return on_digits(method, given, recipe=recipe)


def test_what_a_recipe_tunes_is_as_the_method_has_it_without_that(root: Path) -> None:
    tuned, published = (run("itq", {"bits": 16}, entry).settings for entry in (None, "our_defaults"))
    assert tuned.iterations == 7
    assert published.iterations == 50  # type: ignore[attr-defined]
    tuned, published = (run("dpsh", LINEAR, entry).settings for entry in (None, "our_defaults"))
    assert tuned.eta == 0.5
    assert tuned.pairing == "batch"
    assert tuned.lr == 0.125  # type: ignore[attr-defined]
    assert published.eta == 0.002
    assert published.pairing == "memory"  # type: ignore[attr-defined]
    of_both = tuned.model_dump(), published.model_dump()
    assert {key for key in of_both[0] if of_both[0][key] != of_both[1][key]} == {"eta", "pairing", "lr"}
    assert published.lr == 0.25  # type: ignore[attr-defined]


def test_the_recipe_of_a_cell_chooses_the_run(root: Path) -> None:
    (root / "experiments" / "tables").mkdir()
    (root / "experiments" / "tables" / "recipes.toml").write_text(TABLE)
    cells = {(cell.row, cell.column): cell for cell in spec.load("recipes").cells}
    assert [run_of(cells["ITQ", of]).settings.iterations for of in COLUMNS] == [50, 7, 5]  # type: ignore[attr-defined]
    assert [run_of(cells["DPSH", of]).settings.eta for of in COLUMNS] == [0.002, 0.5, 0.25]  # type: ignore[attr-defined]
    published = run("itq", {"bits": 16}, "our_defaults")
    assert run_of(cells["ITQ", "as published"]).name == published.name
    assert published.name.cell_hash == run("itq", {"bits": 16, "iterations": 50}).name.cell_hash
    names = {str(run_of(cell).name) for cell in cells.values()}
    assert len(names) == 6
    itq = [entry for entry in settings_of_table(spec.load("recipes")) if entry.name.method == "itq"]
    assert [runs.stated for runs in itq] == [{"recipe": "our_defaults"}, {}, {"recipe": "other"}]
    assert [entry.entries()["iterations"][0].value for entry in itq] == [50, 7, 5]
    (root / "experiments" / "tables" / "recipes.toml").write_text(TABLE.replace('"our_defaults"', '"our_default"'))
    with one_line(r"unknown recipe 'our_default'.*our_defaults"):
        spec.load("recipes")


def test_the_values_of_another_recipe_stand_in_place_of_the_closest_ones_and_name_their_search(root: Path) -> None:
    given: dict[str, Setting] = {"bits": 16}
    other = run("itq", given, "other")
    assert other.name.cell_hash == run("itq", {**given, "iterations": 5}).name.cell_hash
    assert other.sources["iterations"].note == "tune/other.jsonl: trial 2 of 3, held-out AP 0.5"
    dpsh = run("dpsh", LINEAR, "other").settings
    assert dpsh.pairing == "memory"
    assert dpsh.lr == 0.75  # type: ignore[attr-defined]
    with one_line("unknown recipe of lsh 'other'"):
        run("lsh", given, "other")


def test_the_heads_of_a_recipe_have_the_settings_of_the_recipe_that_it_names(root: Path) -> None:
    trained: dict[str, Setting] = {"bits": 16, "model": "efficientnet_lite0_128px_from_block11"}
    near = """title = "Closer"
why = "a test"
when = { dataset = "cifar10", protocol = "s2_5k", model = "linear", features = "efficientnet_lite0_128px" }
[parameters]
lr = { value = 1.0, source = "ours" }
[methods.mihash]
why = "a test"
lr = 0.5
"""
    (root / "experiments" / "recipes" / "near.toml").write_text(near)
    path = root / "experiments" / "recipes" / "last_layers_lite0.toml"
    text = path.read_text()
    line = next(line for line in text.splitlines() if line.startswith("heads = "))
    given_rate = recipes()["heads_lite0"].methods["mihash"].parameters["lr"].value
    for named, rate in ((line, given_rate), ("", 0.5)):
        path.write_text(text.replace(line, named))
        layers = Run.resolve("cifar10", "s2_5k", "mihash", trained)
        assert layers.base is not None
        assert layers.base.settings.lr == layers.sources["base.lr"].value == rate  # type: ignore[attr-defined]

"""Where a run's hyper-parameters come from: the method's file, the recipe of its network, what was given."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from hashbench.cli._app import main
from hashbench.datasets.card import cards, load_card
from hashbench.foundation import paths
from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError
from hashbench.methods import METHODS
from hashbench.runs import hyperparameters
from hashbench.runs.run import Run
from hashbench.training.settings import DeepSettings

DEEP = [name for name in METHODS.names if issubclass(METHODS.get(name).settings, DeepSettings)]
TOML = sorted((paths.root() / "experiments").rglob("*.toml"))
TRAIN = ["train", "talr-ap", "digits", "--protocol", "s1", "--bits", "8"]
QUICK: dict[str, Setting] = {
    "epochs": 2,
    "batch_size": 50,
    "lr": 0.02,
    "lr_decay": 0.9,
    "lr_decay_every": 1,
    "lr_unit": "epoch",
    "momentum": 0.5,
    "momentum_form": "lr_outside",
    "weight_decay": 0.001,
    "augment": "none",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root with the repository's cards and experiments, whose files can be changed."""
    experiments = tmp_path / "root" / "experiments"
    for folder in ("methods", "recipes"):
        shutil.copytree(paths.root() / "experiments" / folder, experiments / folder)
    (tmp_path / "root" / "datasets").symlink_to(paths.root() / "datasets")
    monkeypatch.setenv("HASHBENCH_ROOT", str(tmp_path / "root"))
    return tmp_path / "root"


def recipe(root: Path, name: str, head: str, parameters: dict[str, Setting] = QUICK) -> Path:
    """Writes the recipe ``name`` of this ``head`` into ``root``."""
    lines = [f'{key} = {{ value = {json.dumps(value)}, source = "ours" }}' for key, value in parameters.items()]
    path = root / "experiments" / "recipes" / f"{name}.toml"
    path.write_text("\n".join(['title = "New"', 'why = "a test"', head, "[parameters]", *lines]))
    return path


def change(root: Path, file: str, old: str, new: str) -> Path:
    path = root / "experiments" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return path


def resolved(
    method: str = "talr_ap", dataset: str = "digits", protocol: str = "s1", **given: Setting
) -> dict[str, Any]:
    return Run.resolve(dataset, protocol, method, {"bits": 12, **given}).settings.model_dump()


@pytest.mark.parametrize("method", DEEP)
def test_a_new_recipe_reaches_every_deep_method_without_an_edit_of_its_file(method: str, root: Path) -> None:
    before = resolved(method, model="linear")
    recipe(root, "linear_digits", 'dataset = "digits"\nmodel = "linear"')
    after = resolved(method, model="linear")
    assert {key: after[key] for key in QUICK} == QUICK
    assert {key: value for key, value in after.items() if key not in QUICK} == {
        key: value for key, value in before.items() if key not in QUICK
    }
    assert resolved(method, "cifar10", model="linear")["epochs"] == before["epochs"]


@pytest.mark.parametrize("method", DEEP)
def test_a_recipe_says_which_network_a_new_data_set_has(method: str, root: Path) -> None:
    assert resolved(method, "mnist", "structhash")["model"] == "small_cnn"
    recipe(root, "mlp_mnist", 'dataset = "mnist"\nmodel = "mlp"\ndefault_model = true')
    assert resolved(method, "mnist", "structhash")["model"] == "mlp"
    assert resolved(method, "mnist", "structhash")["epochs"] == QUICK["epochs"]
    assert resolved(method, "mnist", "structhash", model="small_cnn")["epochs"] == 60
    assert resolved(method)["model"] == "mlp"  # of another recipe, for the digits


def test_a_run_is_trained_by_a_new_recipe(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe(root, "linear_digits", 'dataset = "digits"\nprotocol = "s1"\nmodel = "linear"')
    with pytest.raises(SystemExit) as done:
        main([*TRAIN, "--model", "linear", "--device", "cpu", "--json"])
    row = json.loads(capsys.readouterr().out)
    assert done.value.code == 0
    assert {key: row["config"]["settings"][key] for key in ("epochs", "batch_size", "lr")} == {
        "epochs": 2,
        "batch_size": 50,
        "lr": 0.02,
    }
    epochs = paths.results() / "runs" / row["run"] / "metrics.jsonl"
    assert len(epochs.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("method", "given", "key", "value"),
    [
        ("dpsh", {"model": "vggf"}, "epochs", 150),  # general
        ("dpsh", {"model": "vggf"}, "eta", 0.0002),  # of the authors, for protocol s2
        ("dtsh", {"model": "vggf"}, "weight_decay", 5.6e-4),
        ("dpsh", {}, "epochs", 60),  # of the recipe, over the general one
        ("dtsh", {}, "weight_decay", 5e-4),  # of the recipe, over the authors' for s2
        ("dpsh", {}, "eta", 0.003),  # of the method on the recipe, over the authors' for s2
        ("dpsh", {}, "lr", 0.1),  # of the method on the recipe, over the recipe's
        ("dpsh", {"lr": 0.7, "eta": 0.5}, "lr", 0.7),  # given, over all
        ("dpsh", {"lr": 0.7, "eta": 0.5}, "eta", 0.5),
    ],
)
def test_later_values_win(method: str, given: dict[str, Setting], key: str, value: Setting) -> None:
    assert resolved(method, "cifar10", "s2", **given)[key] == value


def test_a_variant_may_hold_on_a_recipe_for_one_data_set(root: Path) -> None:
    text = '[[variants]]\nrecipe = "small_cnn"\ndataset = "cifar100"\nwhy = "a test"\n'
    path = root / "experiments" / "methods" / "mihash.toml"
    path.write_text(f'{path.read_text()}{text}parameters = {{ delta = {{ value = 9.0, source = "ours" }} }}\n')
    assert resolved("mihash", "cifar100", "full")["delta"] == 9.0
    assert resolved("mihash", "cifar10")["delta"] == 2.0
    assert resolved("mihash", "cifar100", "full", model="vggf")["delta"] == 1.0


def test_the_recipe_with_more_conditions_is_the_closer_one(root: Path) -> None:
    recipe(root, "small_cnn_cifar10", 'dataset = "cifar10"\nmodel = "small_cnn"', {"epochs": 7})
    recipe(root, "small_cnn_cifar10_s2", 'dataset = "cifar10"\nprotocol = "s2"\nmodel = "small_cnn"', {"epochs": 8})
    recipe(root, "small_cnn_short", 'dataset = "mnist"\nbudget = "short"\nmodel = "small_cnn"', {"epochs": 9})
    expected = {("cifar10", "s1"): 7, ("cifar10", "s2"): 8, ("cifar100", "full"): 60, ("mnist", "structhash"): 60}
    assert {names: resolved("talr_ap", *names)["epochs"] for names in expected} == expected
    # one recipe trains a run: the others, and what a method says of them, do not
    assert resolved("talr_ap", "cifar10")["augment"] == "none"
    assert resolved("talr_ap", "cifar10")["n_bins"] == 0


def test_a_recipe_may_be_for_one_kind_of_features(root: Path) -> None:
    recipe(root, "heads", 'dataset = "digits"\nmodel = "linear"\nfeatures = "resnet9"', {"epochs": 7})
    of_resnet9 = [f"resnet9_{checksum}" for checksum in ("0123456789ab", "ba9876543210")]
    given: list[dict[str, Setting]] = [{"features": name} for name in (*of_resnet9, "gist", "pixels")]
    assert [resolved(model="linear", **each)["epochs"] for each in (*given, {})] == [7, 7, 50, 50, 50]
    recipe(root, "on_gist", 'dataset = "digits"\nmodel = "linear"\nfeatures = "gist"', {"epochs": 8})
    recipe(root, "of_pixels", 'dataset = "digits"\nmodel = "linear"\nfeatures = "pixels"', {"epochs": 9})
    assert [resolved(model="linear", **each)["epochs"] for each in (*given, {})] == [7, 7, 8, 9, 9]


def test_a_variant_may_be_for_one_kind_of_features(root: Path) -> None:
    text = '[[variants]]\nfeatures = "resnet9"\nwhy = "a test"\n'
    path = root / "experiments" / "methods" / "mihash.toml"
    path.write_text(f'{path.read_text()}{text}parameters = {{ delta = {{ value = 9.0, source = "ours" }} }}\n')
    found = [resolved("mihash", model="linear", features=name)["delta"] for name in ("resnet9_0123456789ab", "gist")]
    assert found == [9.0, 1.0]


def test_the_row_of_a_run_on_features_has_no_setting_of_its_recipe(root: Path) -> None:
    recipe(root, "heads", 'dataset = "digits"\nmodel = "linear"\nfeatures = "resnet9"', {"epochs": 7})
    given: dict[str, Setting] = {"bits": 12, "model": "linear", "features": "resnet9_0123456789ab", "lr": 0.7}
    found = Run.resolve("digits", "s1", "mihash", given)
    assert found.identity == given
    assert Run.resolve("digits", "s1", "mihash", found.identity).run == found.run


def test_a_recipe_of_unknown_features_is_refused(root: Path) -> None:
    recipe(root, "heads", 'model = "linear"\nfeatures = "resnet8"')
    with pytest.raises(HashbenchError, match=r"heads\.toml: unknown features 'resnet8': did you mean resnet9 "):
        resolved()


def test_a_recipe_may_have_other_values_for_some_of_the_data(root: Path) -> None:
    path = recipe(root, "small_cnn_cifar10", 'dataset = "cifar10"\nmodel = "small_cnn"', {"epochs": 7, "lr": 0.02})
    text = '\n[[variants]]\nprotocol = "s2"\nwhy = "more images"\n'
    path.write_text(f'{path.read_text()}{text}parameters = {{ epochs = {{ value = 3, source = "ours" }} }}\n')
    found = {protocol: resolved("talr_ap", "cifar10", protocol) for protocol in ("s1", "s2")}
    assert {protocol: (each["epochs"], each["lr"]) for protocol, each in found.items()} == {
        "s1": (7, 0.02),
        "s2": (3, 0.02),
    }
    path.write_text(path.read_text().replace("value = 3", 'value = "few"'))
    with pytest.raises(HashbenchError, match=r"small_cnn_cifar10\.toml: epochs: Input should be a valid integer"):
        resolved("talr_ap", "cifar10")


def test_a_recipe_may_be_that_of_other_data(root: Path) -> None:
    """With what the methods say about that recipe; a condition of its own is no condition here."""
    on_mnist = 'dataset = "mnist"\nmodel = "mlp"\nsame_as = "mlp_digits"'
    recipe(root, "mlp_mnist", on_mnist, {}).write_text(f'title = "New"\nwhy = "a test"\n{on_mnist}\n')
    for method in DEEP:
        on_digits = Run.resolve("digits", "s1", method, {"bits": 12, "model": "mlp"}).settings
        assert Run.resolve("mnist", "structhash", method, {"bits": 12, "model": "mlp"}).settings == on_digits
    assert resolved("talr_ap", "mnist", "structhash", model="mlp", epochs=3)["epochs"] == 3


@pytest.mark.parametrize(
    ("head", "complaint"),
    [
        ('model = "mlp"\nsame_as = "mlp_digit"', "new: same_as is the name of a recipe of mlp with values of its own"),
        ('model = "mlp"\nsame_as = "small_cnn"', "new: same_as is the name of a recipe of mlp with values of its own"),
        ('model = "mlp"\nsame_as = "new"', "new: same_as is the name of a recipe of mlp with values of its own"),
        ('model = "mlp"', "a recipe has parameters, or the name of another one"),
        (
            'model = "mlp"\nsame_as = "mlp_digits"\nparameters = { epochs = { value = 3, source = "ours" } }',
            "a recipe has parameters, or the name of another one",
        ),
    ],
)
def test_a_recipe_that_is_that_of_no_other_one_is_refused(head: str, complaint: str, root: Path) -> None:
    recipe(root, "new", head).write_text(f'title = "New"\nwhy = "a test"\ndataset = "mnist"\n{head}\n')
    with pytest.raises(HashbenchError, match=complaint) as caught:
        resolved()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("heads", "complaint"),
    [
        (['dataset = "digits"\nmodel = "mlp"'], "mlp_digits and new_0 fit digits s1 mlp equally"),
        (['protocol = "s1"\nmodel = "mlp"'], "mlp_digits and new_0 fit digits s1 mlp equally"),
        (['budget = "full"\nmodel = "mlp"'], "mlp_digits and new_0 fit digits s1 mlp equally"),
        (
            ['dataset = "digits"\nprotocol = "s1"\nmodel = "mlp"', 'budget = "full"\nmodel = "mlp"'],
            "new_0 and new_1 fit digits s1 mlp equally",
        ),
        (['dataset = "digits"\nmodel = "linear"\ndefault_model = true'], "mlp_digits and new_0 fit digits s1 equally"),
    ],
)
def test_recipes_that_fit_equally_are_refused_by_name(heads: list[str], complaint: str, root: Path) -> None:
    for number, head in enumerate(heads):
        recipe(root, f"new_{number}", head)
    with pytest.raises(HashbenchError, match=complaint) as caught:
        resolved()
    assert "\n" not in str(caught.value)
    # a recipe for both conditions decides
    recipe(root, "both", 'dataset = "digits"\nprotocol = "s1"\nbudget = "full"\nmodel = "mlp"\ndefault_model = true')
    assert resolved()["epochs"] == QUICK["epochs"]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("epochs =", "epocs =", "unknown key 'epocs': did you mean epochs"),
        ("epochs =", "eta =", "unknown key 'eta': "),  # of some methods only
        ("epochs =", "bits =", "unknown key 'bits': "),
        ("epochs =", "model =", "unknown key 'model': "),  # a condition, and no value
        ("value = 60,", "value = 60.5,", "epochs: Input should be a valid integer"),
        ("value = 60,", 'value = "many",', "epochs: Input should be a valid integer"),
        ("value = 60,", "value = 0,", "epochs: Input should be greater than or equal to 1, got 0"),
        ("value = 0.9,", "value = true,", "momentum: Input should be a valid number, got True"),
        ("value = 0.9,", "value = 1.0,", "momentum: Input should be less than 1, got 1.0"),
        ('value = "sgd"', 'value = "lion"', "optimiser: Input should be 'sgd' or 'adam', got 'lion'"),
        ('value = 60, source = "ours"', "value = 60", "key 'parameters.epochs.source' is missing"),
        ('value = 60, source = "ours"', 'value = 60, source = "them"', "parameters.epochs.source: Input should be"),
        ("value = 60,", "value = [60],", "parameters.epochs.value"),
        ("default_model =", "defualt_model =", "unknown key 'defualt_model': did you mean default_model"),
        ("default_model = true", 'default_model = "yes"', "default_model: Input should be a valid boolean, got 'yes'"),
        ("why =", 'recipe = "mlp_digits"\nwhy =', "unknown key 'recipe'"),
        ("why =", "# why =", "key 'why' is missing"),
        ('\nmodel = "mlp"', "", "key 'model' is missing"),
        ('model = "mlp"', 'model = "mpl"', "unknown model 'mpl': did you mean mlp"),
        ("[parameters]", "[parameters", "not a readable TOML file"),
    ],
)
def test_a_wrong_recipe_is_one_line_that_names_its_file(old: str, new: str, complaint: str, root: Path) -> None:
    path = change(root, "recipes/mlp_digits.toml", old, new)
    with pytest.raises(HashbenchError) as caught:
        resolved()
    assert str(caught.value).startswith(f"{path}: ")
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)
    assert Run.resolve("digits", "s1", "lsh", {"bits": 12})  # no method of recipes


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('recipe = "mlp_digits"', 'recipe = "mlp_digts"'),
        ("[[variants]]", "[without_recipes]\nmlp_digts = 'no'\n[[variants]]"),
    ],
)
def test_a_method_that_names_no_recipe_that_exists_is_one_line(old: str, new: str, root: Path) -> None:
    path = change(root, "methods/dpsh.toml", old, new)
    with pytest.raises(HashbenchError) as caught:
        resolved("dpsh")
    assert str(caught.value) == f"{path}: unknown recipe 'mlp_digts': did you mean mlp_digits?"


def test_a_method_can_do_without_a_recipe(root: Path) -> None:
    assert resolved("hashnet", "labelme", model="linear")["epochs"] == 385
    assert resolved("talr_ap", "labelme", model="linear")["epochs"] == 50
    change(root, "methods/hashnet.toml", "\n[without_recipes]\n", "\n[without_recipes]\nmlp_digits = 'a test'\n")
    assert resolved("hashnet", model="mlp")["epochs"] == 385
    assert resolved("hashnet")["model"] == "small_cnn"


def test_without_a_default_model_one_has_to_be_named(root: Path) -> None:
    change(root, "recipes/small_cnn.toml", "default_model = true", "default_model = false")
    with pytest.raises(HashbenchError, match="no recipe has a default model for cifar10: name one"):
        resolved("talr_ap", "cifar10")
    assert resolved("talr_ap", "cifar10", model="small_cnn")["epochs"] == 60


@pytest.mark.parametrize("model", ["small_cnn", "nin"])
def test_metric_networks_keep_their_authors_schedule(model: str, root: Path) -> None:
    recipe(root, "nin", 'model = "nin"\ndefault_model = true')
    for method in ("exhaustive_search", "sparse_hash"):
        settings = Run.resolve("cifar100", "sparse_hash", method, {"model": model}).settings.model_dump()
        assert settings["optimiser"] == "adam"
        assert settings["batch_size"] == 128


def test_a_file_that_changed_is_read_again(root: Path) -> None:
    assert resolved()["epochs"] == 60
    change(root, "recipes/mlp_digits.toml", "value = 60,", "value = 61,")
    assert resolved()["epochs"] == 61
    change(root, "methods/talr_ap.toml", 'title = "TALR-AP"', 'title = "Other"')
    assert hyperparameters.load("talr_ap").title == "Other"


def test_no_value_is_stated_that_is_not_used() -> None:
    assert {path.parent.name for path in TOML} >= {"methods", "recipes", "tables"}
    assert not [path.name for path in TOML if "unused" in path.read_text()]


def test_recipes_are_of_what_exists() -> None:
    recipes = hyperparameters.recipes()
    assert set(recipes) >= {"small_cnn", "mlp_digits", "linear_labelme"}
    for each in recipes.values():
        assert each.dataset is None or each.dataset in cards()
        of_data = cards() if each.dataset is None else [each.dataset]
        assert each.protocol is None or any(each.protocol in load_card(name).protocols for name in of_data)
        assert bool(each.parameters) != (each.same_as in recipes)


@pytest.mark.parametrize("model", ["linear", "kernel"])
@pytest.mark.parametrize("method", DEEP)
def test_a_protocol_of_validation_has_the_settings_of_the_one_it_is_of(method: str, model: str) -> None:
    own, other = (
        Run.resolve("usps", protocol, method, {"bits": 64, "model": model, "lr": 0.7})
        for protocol in ("structhash", "structhash_validation")
    )
    assert own.settings == other.settings
    assert own.identity == other.identity
    assert own.data != other.data
    assert own.settings.model_dump()["epochs"] == 100


@pytest.mark.parametrize("method", DEEP)
def test_a_method_states_only_what_differs_from_a_recipe(method: str) -> None:
    file, recipes = hyperparameters.load(method), hyperparameters.recipes()
    assert "model" not in file.parameters
    for variant in file.variants:
        assert variant.model is None or variant.dataset is not None  # what the authors did on their data set
        if variant.recipe is not None:
            of_recipe = recipes[variant.recipe].values()
            assert not [key for key, value in variant.values().items() if of_recipe.get(key) == value]

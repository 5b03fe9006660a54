"""Where a run's hyper-parameters come from: the method's file, the recipe of its network, what was given."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.on_digits import on_digits
from support.one_line import one_line

from hashbench.foundation import paths
from hashbench.foundation.config import Setting
from hashbench.learning.methods import METHODS
from hashbench.learning.training.settings import DeepSettings
from hashbench.running.datasets.card import cards, load_card
from hashbench.running.runs.run import Run
from hashbench.running.runs.settings import method_file, recipes

DEEP = [name for name in METHODS.names if issubclass(METHODS.get(name).settings, DeepSettings)]
QUICK: dict[str, Setting] = {
    "epochs": 2,
    "batch_size": 50,
    "lr": 0.02,
    "lr_decay": 0.9,
    "lr_decay_every": 1,
    "lr_unit": "epoch",
    "optimiser": "sgd",
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


def recipe(root: Path, name: str, when: str, parameters: dict[str, Setting] = QUICK, head: str = "") -> Path:
    """Writes the recipe ``name`` with these conditions and other lines of its ``head`` into ``root``."""
    lines = [f'{key} = {{ value = {json.dumps(value)}, source = "ours" }}' for key, value in parameters.items()]
    lines = [
        'title = "New"',
        'why = "a test"',
        f"when = {{ {when} }}",
        head,
        *(["[parameters]", *lines] if lines else []),
    ]
    return written(root / "experiments" / "recipes" / f"{name}.toml", "\n".join([*lines, ""]))


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    paths.read_again()
    return path


def added(root: Path, file: str, text: str) -> Path:
    """The file with ``text`` at its end."""
    path = root / "experiments" / file
    return written(path, f"{path.read_text()}\n{text}\n")


def resolved(
    method: str = "talr_ap", dataset: str = "digits", protocol: str = "s1", **given: Setting
) -> dict[str, Any]:
    return Run.resolve(dataset, protocol, method, {"bits": 12, **given}).settings.model_dump()


@pytest.mark.parametrize("method", DEEP)
def test_a_new_recipe_reaches_every_deep_method_without_an_edit_of_its_file(method: str, root: Path) -> None:
    before = resolved(method, model="nin")
    recipe(root, "nin_digits", 'dataset = "digits", model = "nin"')
    after = resolved(method, model="nin")
    assert {key: after[key] for key in QUICK} == QUICK
    assert {key: value for key, value in after.items() if key not in QUICK} == {
        key: value for key, value in before.items() if key not in QUICK
    }
    assert resolved(method, "cifar10", model="nin")["epochs"] == before["epochs"]


@pytest.mark.parametrize("method", DEEP)
def test_a_recipe_says_which_network_a_new_data_set_has(method: str, root: Path) -> None:
    without = resolved(method, "mnist", "structhash")
    assert without["model"] == "linear"
    assert without["features"] == "efficientnet_lite0_128px"
    assert without["epochs"] == 30
    recipe(root, "mlp_mnist", 'dataset = "mnist", model = "mlp"', head='default_for = "mnist"')
    assert resolved(method, "mnist", "structhash")["model"] == "mlp"
    assert resolved(method, "mnist", "structhash")["epochs"] == QUICK["epochs"]
    assert resolved(method, "mnist", "structhash", model="small_cnn")["epochs"] == 60
    assert resolved(method)["model"] == "mlp"  # of another recipe, for the digits


@pytest.mark.parametrize(
    "method, given, key, value",
    [
        ("dpsh", {"model": "vggf"}, "epochs", 150),  # general
        ("dpsh", {"model": "vggf"}, "eta", 0.0002),  # of the authors, for protocol s2
        ("dtsh", {"model": "vggf"}, "weight_decay", 5.6e-4),
        ("dpsh", {"model": "small_cnn"}, "epochs", 60),  # of the recipe, over the general one
        ("dtsh", {"model": "small_cnn"}, "weight_decay", 5e-4),  # of the recipe, over the authors' for s2
        ("dpsh", {"model": "small_cnn"}, "eta", 0.003),  # of the method on the recipe, over the authors' for s2
        ("dpsh", {"model": "small_cnn"}, "lr", 0.1),  # of the method on the recipe, over the recipe's
        ("cibhash", {"model": "vggf", "bits": 16}, "epochs", 80),  # of the authors, for so many bits
        ("dpsh", {"lr": 0.7, "eta": 0.5}, "lr", 0.7),  # given, over all
        ("dpsh", {"lr": 0.7, "eta": 0.5}, "eta", 0.5),
    ],
)
def test_later_values_win(method: str, given: dict[str, Setting], key: str, value: Setting) -> None:
    assert resolved(method, "cifar10", "s2", **given)[key] == value


def test_the_recipe_with_more_conditions_is_the_closer_one(root: Path) -> None:
    recipe(root, "small_cnn_cifar10", 'dataset = "cifar10", model = "small_cnn"', {"epochs": 7})
    recipe(root, "small_cnn_cifar10_s2", 'dataset = "cifar10", protocol = "s2", model = "small_cnn"', {"epochs": 8})
    expected = {("cifar10", "s1"): 7, ("cifar10", "s2"): 8, ("cifar100", "full"): 60, ("mnist", "structhash"): 60}
    assert {names: resolved("talr_ap", *names, model="small_cnn")["epochs"] for names in expected} == expected
    # one recipe trains a run: the others, and what a method says of them, do not
    assert resolved("talr_ap", "cifar10", model="small_cnn")["augment"] == "none"
    assert resolved("talr_ap", "cifar10", model="small_cnn")["n_bins"] == 0


def test_a_recipe_may_be_for_one_kind_of_features(root: Path) -> None:
    recipe(root, "heads", 'dataset = "digits", model = "linear", features = "resnet9"', {"epochs": 7})
    of_resnet9 = [f"resnet9_{checksum}" for checksum in ("0123456789ab", "ba9876543210")]
    given: list[dict[str, Setting]] = [{"features": name} for name in (*of_resnet9, "gist", "pixels")]
    assert [resolved(model="linear", **settings)["epochs"] for settings in (*given, {})] == [7, 7, 100, 100, 100]
    recipe(root, "on_gist", 'dataset = "digits", model = "linear", features = "gist"', {"epochs": 8})
    recipe(root, "of_pixels", 'dataset = "digits", model = "linear", features = "pixels"', {"epochs": 9})
    assert [resolved(model="linear", **settings)["epochs"] for settings in (*given, {})] == [7, 7, 8, 9, 9]


def test_the_row_of_a_run_on_features_has_no_setting_of_its_recipe(root: Path) -> None:
    recipe(root, "heads", 'dataset = "digits", model = "linear", features = "resnet9"', {"epochs": 7})
    given: dict[str, Setting] = {"bits": 12, "model": "linear", "features": "resnet9_0123456789ab", "lr": 0.7}
    run = on_digits("mihash", given)
    assert run.name.identity == given
    assert on_digits("mihash", run.name.identity).name == run.name


def test_a_recipe_needs_settings_of_known_methods_and_a_reason_for_them(root: Path) -> None:
    wrong = {
        '[methods.dphs]\nwhy = "x"\nlr = 1.0': "unknown method 'dphs': did you mean dpsh",
        "[methods.dpsh]\nlr = 1.0": "the settings of a method need why, or tuned",
        '[methods.dpsh]\nwhy = "x"': "methods.dpsh.parameters: ",
        'heads = "hedas"': "new: heads names another recipe, not hedas",
    }
    for text, complaint in wrong.items():
        path = recipe(root, "new", 'dataset = "mnist", model = "mlp"')
        lines = path.read_text()
        written(path, lines.replace("[parameters]", f"{text}\n[parameters]"))
        with one_line(text=complaint):
            resolved()


@pytest.mark.parametrize(
    "when, head",
    [
        ('dataset = "digits", model = "mlp"', ""),
        ('dataset = "digits", model = "linear"', 'default_for = "digits"'),
    ],
)
def test_two_recipes_for_the_same_runs_are_refused_by_name(when: str, head: str, root: Path) -> None:
    recipe(root, "new", when, head=head)
    with one_line("mlp_digits and new are for the same runs"):
        resolved()


def test_a_recipe_may_be_called_as_the_data_set_of_another_one(root: Path) -> None:
    recipe(root, "digits", 'dataset = "digits", model = "nin"')
    assert resolved()["model"] == "mlp"
    assert resolved(model="nin")["epochs"] == QUICK["epochs"]


@pytest.mark.parametrize(
    "old, new, complaint",
    [
        ("epochs =", "epocs =", "unknown key 'epocs': did you mean epochs"),
        ("epochs =", "eta =", "unknown key 'eta': "),  # of some methods only
        ("epochs =", "model =", "unknown key 'model': "),  # a condition, and no value
        ("value = 60,", "value = 0,", "epochs: Input should be greater than or equal to 1, got 0"),
        (', source = "ours"', "", "key 'parameters.epochs.source' is missing"),
        (', model = "linear"', "", "key 'when.model' is missing"),
        ('model = "linear"', 'model = "linear", features = "resnet8"', "unknown features 'resnet8'"),
        ('model = "linear"', 'model = "linaer"', "unknown model 'linaer': did you mean linear"),
        ("[parameters]", "[parameters", "not a readable TOML file"),
    ],
)
def test_a_wrong_recipe_is_one_line_that_names_its_file(old: str, new: str, complaint: str, root: Path) -> None:
    path = recipe(root, "wrong", 'dataset = "digits", model = "linear"', {"epochs": 60})
    written(path, path.read_text().replace(old, new, 1))
    with one_line() as caught:
        resolved()
    assert str(caught.value).startswith(f"{path}: ") and complaint in str(caught.value)


@pytest.mark.parametrize("model", ["small_cnn", "nin"])
def test_metric_networks_keep_their_authors_schedule(model: str, root: Path) -> None:
    recipe(root, "nin", 'model = "nin"', head='default_for = "cifar100"')
    for method in ("exhaustive_search", "sparse_hash"):
        settings = Run.resolve("cifar100", "sparse_hash", method, {"model": model}).settings.model_dump()
        assert settings["optimiser"] == "adam"
        assert settings["batch_size"] == 128


def test_recipes_are_of_what_exists() -> None:
    assert set(recipes()) >= {"small_cnn", "mlp_digits", "linear_labelme"}
    for when in (recipe.when for recipe in recipes().values()):
        assert when.dataset is None or when.dataset in cards()
        of_data = cards() if when.dataset is None else [when.dataset]
        assert when.protocol is None or any(when.protocol in load_card(name).protocols for name in of_data)


def test_what_a_recipe_says_of_a_method_are_settings_of_the_method() -> None:
    for recipe in recipes().values():
        for method, tuned in recipe.methods.items():
            assert METHODS.get(method).group in ("deep", "shallow")
            assert set(tuned.parameters) <= METHODS.get(method).settings.model_fields.keys()
            same = [key for key, local in tuned.parameters.items() if recipe.parameters.get(key) == local]
            assert not same, f"{recipe.title}, {method}: the recipe says so of {', '.join(same)} already"


@pytest.mark.parametrize("model", ["linear", "kernel"])
@pytest.mark.parametrize("method", DEEP)
def test_a_protocol_of_validation_has_the_settings_of_the_one_it_is_of(method: str, model: str) -> None:
    local, other = (
        Run.resolve("usps", protocol, method, {"bits": 64, "model": model, "lr": 0.7})
        for protocol in ("structhash", "structhash_validation")
    )
    assert local.settings == other.settings
    assert local.name.identity == other.name.identity
    assert local.name.data != other.name.data
    assert local.settings.model_dump()["epochs"] == 100


def test_a_method_states_no_model_but_that_of_its_authors() -> None:
    for method in DEEP:
        file = method_file(method)
        assert "model" not in file.parameters
        for when in (variant.when for variant in file.variants):
            assert when.model is None or when.dataset is not None  # what the authors did on their data set

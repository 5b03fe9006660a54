"""What a search chose is written into a recipe: its method's tuned keys, and no other line."""

import tomllib

import pytest
from support.on_digits import on_digits
from support.one_line import one_line

from hashbench.foundation.config import Setting
from hashbench.running.runs.run import Run
from hashbench.running.tuning.choice import Choice
from hashbench.running.tuning.recipe import require_use, with_choices

HEAD = """# of a test
title = "New"
why = "a test"
when = { dataset = "digits", model = "mlp" }

[parameters]
lr = { value = 3.0, source = "ours" }  # methods.mihash is below
"""
SECTIONS = """
# of MIHash, and what it says stays
[methods.mihash]  # in the middle
why = "by eye"
# alpha
tanh_scale = 5.0
n_bins = { value = 0, note = "one bin for each bit" }

pairing = "batch"

# of TALR-AP
[methods.talr_ap]
tanh_scale = 2.0
why = "all of it is chosen"
"""


def choice(method: str, ap: float = 0.5714, failure: str | None = None, **searched: Setting) -> Choice:
    return Choice(method, 17, searched, ap, ap, ap, n_trials=24, n_failed=0, edges={}, search_again=[], failure=failure)


def test_tuned_keys_are_replaced_and_all_other_lines_stay() -> None:
    before = HEAD + SECTIONS.replace('pairing = "batch"', "delta = 2.0")
    result = with_choices("new", before, [choice("mihash", lr=2.5, n_bins=12, tanh_scale=1e-05)], "heads")
    assert (
        result
        == HEAD
        + """
# of MIHash, and what it says stays
[methods.mihash]  # in the middle
tuned = "tune/heads.jsonl: trial 17 of 24, held-out AP 0.571"
lr = 2.5
n_bins = 12
tanh_scale = 1e-05
why = "by eye"
# alpha

delta = 2.0

# of TALR-AP
[methods.talr_ap]
tanh_scale = 2.0
why = "all of it is chosen"
"""
    )
    again = with_choices("new", result, [choice("mihash", 0.6, lr=0.5, n_bins=0, tanh_scale=3.0)], "heads")
    assert again == result.replace("AP 0.571", "AP 0.600").replace("lr = 2.5", "lr = 0.5").replace(
        "n_bins = 12", "n_bins = 0"
    ).replace("tanh_scale = 1e-05", "tanh_scale = 3.0")


def test_a_reason_stays_only_where_a_setting_of_it_does() -> None:
    result = with_choices("new", HEAD + SECTIONS, [choice("talr_ap", tanh_scale=4.0, variant="exact")], "heads")
    assert tomllib.loads(result)["methods"]["talr_ap"] == {
        "tuned": "tune/heads.jsonl: trial 17 of 24, held-out AP 0.571",
        "tanh_scale": 4.0,
        "variant": "exact",
    }
    assert tomllib.loads(result)["methods"]["mihash"] == tomllib.loads(SECTIONS)["methods"]["mihash"]


def test_missing_sections_are_added() -> None:
    result = with_choices("new", HEAD, [choice("dpsh", eta=0.1), choice("itq", iterations=9, rotate=True)], "heads")
    message = '"tune/heads.jsonl: trial 17 of 24, held-out AP 0.571"'
    added = f"\n[methods.itq]\ntuned = {message}\niterations = 9\nrotate = true\n"
    assert result == f"{HEAD}\n[methods.dpsh]\ntuned = {message}\neta = 0.1\n{added}"


@pytest.mark.parametrize(
    "section",
    [
        '[methods.mihash]\ntuned = """\nby eye"""\nlr = 3\n',
        '[methods.mihash]\nwhy = "by eye"\n"lr" = 3\n',
        '[methods]\nmihash = { why = "by eye", lr = 3 }\n',
    ],
)
def test_lines_that_it_cannot_change_are_one_line(section: str) -> None:
    with one_line() as caught:
        with_choices("new", HEAD + section, [choice("mihash", lr=2.5)], "heads")
    assert str(caught.value).startswith("new: the values cannot be written between its lines: ")


def test_a_recipe_of_another_network_is_one_line() -> None:
    usual = on_digits("itq", {"bits": 32})
    kernel = Run.resolve("usps", "structhash", "structhash", {"bits": 32, "hash_functions": "kernel"})
    require_use("mlp_digits", on_digits("dpsh", {"bits": 32, "model": "mlp"}))
    require_use("heads_resnet9", usual)
    require_use("kernel_structhash", kernel)
    for run in (usual, kernel):
        with one_line(f"recipe mlp_digits is for mlp networks .* {run.name.method} has "):
            require_use("mlp_digits", run)

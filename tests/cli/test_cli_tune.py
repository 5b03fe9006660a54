"""``hashbench tune``: the same search in any number of processes and after any interruption; another search."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.command_line import CommandLine
from support.command_line import status as run
from support.on_digits import on_digits
from support.searches import changed_root
from support.toy_root import recipe_of

from hashbench.cli.tune import question_of
from hashbench.foundation import paths
from hashbench.running.tuning.search import Search, path_of

OPTIONS = "--bits 16 --trials 2 --repeats 1 --name pair --set normalise=unit_norm"
BOTH = f"tune lsh itq digits {OPTIONS}"
OF_THE_MACHINE = ("seconds", "utc", "code", "processor")


def lines(folder: Path, name: str = "pair") -> list[dict[str, Any]]:
    """The lines of a search, without what another day or machine changes."""
    objects = [json.loads(line) for line in (folder / "tune" / f"{name}.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key not in OF_THE_MACHINE} for line in objects]


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results folder of a whole search, made by one process at a time."""
    folder = tmp_path_factory.mktemp("searched")
    assert run("--results", folder, *BOTH.split()) == 0
    return folder


def keep(searched: Path, kept: slice, methods: tuple[str, ...] = ("itq", "lsh")) -> list[str]:
    """Writes the search of these ``methods`` with those of its trials that are ``kept``; returns the lines of these."""
    first, *trials = (searched / "tune" / "pair.jsonl").read_text().splitlines(keepends=True)
    head = json.loads(first)
    head["spaces"] = {method: head["spaces"][method] for method in methods}
    path_of("pair").parent.mkdir(parents=True)
    path_of("pair").write_text("".join([f"{json.dumps(head)}\n", *trials[kept]]))
    return [line.strip() for line in trials[kept]]


def test_a_search_has_a_line_for_each_trial_and_leaves_no_working_files(searched: Path) -> None:
    first, *trials = lines(searched)
    assert first["settings"] == {"bits": 16, "normalise": "unit_norm"} and "recipe" not in first
    assert first["left_out"] == {"digits": ["s1"]}
    assert [(trial["method"], trial["trial"], trial["study"]) for trial in trials] == [
        (method, number, 0) for method in ("itq", "lsh") for number in (0, 1, 2)
    ]
    assert all(0.1 < trial["ap"] < 0.9 and len(trial["histogram"]) == 64 for trial in trials)
    assert len({trial["histogram"] for trial in trials if trial["trial"] > 0}) == 4
    assert [path.name for path in searched.rglob("*")] == ["tune", "pair.jsonl"]


def goes_on_in_two_processes(searched: Path, hashbench: CommandLine) -> None:
    """A search of one trial becomes whole, made of a line that is there and five that are not."""
    (before,) = path_of("pair").read_text().splitlines()[1:]
    answer = hashbench.done(BOTH, "--jobs 2 --json")
    assert "6 runs of 2 x 2 trials, 1 done, 5 to do" in answer.err
    assert before in path_of("pair").read_text().splitlines()  # with its times: it was not made again
    assert lines(paths.results()) == lines(searched)
    assert [path.name for path in paths.results().rglob("*")] == ["tune", "pair.jsonl"]
    choices = {choice["method"]: choice for choice in answer.json["choices"]}
    assert {choice["n_trials"] for choice in choices.values()} == {2} and choices["itq"]["ap"] > choices["lsh"]["ap"]


def test_a_search_with_some_of_its_trials_goes_on_in_two_processes(searched: Path, hashbench: CommandLine) -> None:
    keep(searched, slice(0, 1))
    goes_on_in_two_processes(searched, hashbench)


def test_the_trials_that_are_missing_are_printed_and_those_of_equal_settings_as_one_run(
    searched: Path, hashbench: CommandLine
) -> None:
    keep(searched, slice(0, 5))
    assert hashbench.done(BOTH, "--dry-run").lines == [line["run"] for line in lines(searched)[6:]]
    answer = hashbench.done("tune lsh digits --bits 8 --trials 6 --repeats 1 --dry-run")
    assert "7 to do; the next 7 are 6 runs: trials of equal settings are one" in answer.err
    assert len(set(answer.lines)) == len(answer.lines) == 6


def test_a_method_whose_trials_all_fail_is_told_and_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashbench: CommandLine
) -> None:
    recipe = changed_root(tmp_path, monkeypatch) / "experiments" / "recipes" / "ours.toml"
    head = recipe_of('dataset = "digits", model = "linear"')
    recipe.write_text(head)
    tune = "tune itq lsh digits --recipe ours --bits 80 --trials 1 --repeats 1 --set normalise=channel_unit_norm"
    code, out, err = hashbench(tune)
    assert code == 1 and "+[methods.lsh]\n+tuned = " in out and "+[methods.itq]" not in out
    assert "not written: --write puts these values into" in err and recipe.read_text() == head
    code, out, err = hashbench(tune, "--write")
    reason = "80 bits from 64 features: at most 64 bits"
    assert code == 1 and err.splitlines()[-1] == f"error: every trial failed of itq: {reason}"
    assert f"| ITQ | failed |  | none of 1 | 1 of 1 | nothing: {reason} |" in out
    (choice,) = [line.split(" = ")[1] for line in recipe.read_text().splitlines() if line.startswith("centre")]
    search = Search.named("ours")
    ap = search.of_method("lsh")[0][0].ap
    tuned = f'tuned = "tune/ours.jsonl: trial 0 (our defaults) of 1, held-out AP {ap:.3f}"'
    assert recipe.read_text() == f"{head}\n[methods.lsh]\n{tuned}\ncentre = {choice}\n"
    # what was written is what the trial ran with
    settings = {key: value for key, value in search.question.given("lsh").items() if key != "centre"}
    assert json.dumps(on_digits("lsh", settings).settings.centre) == choice  # type: ignore[attr-defined]
    # a failed trial has ended, until it is asked for again
    assert "4 done, 0 to do" in hashbench(tune).err
    assert "2 done, 2 to do" in hashbench(tune, "--retry-failed --dry-run").err


def test_of_several_data_sets_each_has_bits_that_its_items_allow() -> None:
    question = question_of(["ksh", "usps", "isolet"], "structhash", None, {"bits": 300})
    assert question.fewer_bits == {"usps": 256}  # of 16 x 16 numbers; those of isolet have 617
    runs = [run for _, run in question.trials("ksh", 1, 1, {})]
    assert {run.name.dataset: run.name.settings["bits"] for run in runs} == {"usps": 256, "isolet": 300}
    assert question_of(["ksh", "usps", "isolet"], "structhash", None, {}).settings["bits"] == 32
    assert question_of(["ksh", "usps"], "structhash", None, {"bits": 300}).fewer_bits == {}


SETTINGS = "its settings is {'bits': 16, 'normalise': 'unit_norm'}, not "
OTHERS = {
    "--bits 24": f"{SETTINGS}{{'bits': 24, ",
    "--set features=pixels": SETTINGS,
    "--set centre=true": SETTINGS,
    "--recipe heads": "its recipe is None, not heads",
}


@pytest.mark.parametrize("options", OTHERS)
def test_another_search_of_the_same_name_is_one_line(
    searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashbench: CommandLine, options: str
) -> None:
    recipe = changed_root(tmp_path, monkeypatch) / "experiments" / "recipes" / "heads.toml"
    recipe.write_text(recipe_of('dataset = "digits", model = "linear"'))
    path = searched / "tune" / "pair.jsonl"
    before = path.read_bytes()
    line = hashbench.refused(f"--results {searched} {BOTH} {options}")
    assert line.startswith(f"{path}: ") and line.endswith(": give this search another --name")
    assert OTHERS[options] in line
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "file, old, new, complaint",
    [
        ("lsh", '[false, true, "range"]', "[false, true]", "its space of lsh is not the one of today's file or --set"),
        ("itq", "high = 500", "high = 5000", "its space of itq is not the one of today's file or --set"),
        ("itq", '"pixels"', '"gist"', "trial 0 of itq is not the one of today's space or recipe"),
    ],
)
def test_a_space_or_value_that_has_changed_is_one_line(
    searched: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    hashbench: CommandLine,
    file: str,
    old: str,
    new: str,
    complaint: str,
) -> None:
    method = changed_root(tmp_path, monkeypatch) / "experiments" / "methods" / f"{file}.toml"
    assert old in method.read_text()
    method.write_text(method.read_text().replace(old, new))
    line = hashbench.refused(f"--results {searched} {BOTH}")
    assert complaint in line and line.endswith(": give this search another --name")


def test_a_choice_is_judged_by_the_last_ends_of_today(
    searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashbench: CommandLine
) -> None:
    keep(searched, slice(0, 6))
    stored = Search.named("pair")
    others = [stored.trials["itq", number, "digits", 0] for number in (0, 2)]
    stored = stored.with_trials(other.model_copy(update={"ap": 0.1}) for other in others)
    stored.save()
    file = changed_root(tmp_path, monkeypatch) / "experiments" / "methods" / "itq.toml"
    of_today = file.read_text()
    assert 'last = ["low", "high"]' in of_today
    file.write_text(of_today.replace(', last = ["low", "high"]', ""))
    paths.read_again()
    assert '"edges":{"iterations":"high"}' in hashbench.done(BOTH, "--json").out
    file.write_text(of_today)
    paths.read_again()
    answer = hashbench.done(BOTH)
    assert "6 done, 0 to do" in answer.err and "to be searched again" not in answer.out
    assert Search.named("pair").question.spaces["itq"]["iterations"].last == ["low", "high"]
    assert Search.named("pair").trials == stored.trials


def test_trials_are_compared_by_any_metric(hashbench: CommandLine) -> None:
    tune = "tune lsh digits --bits 8 --trials 6 --repeats 1"
    out = hashbench.done(tune, "--metric Precision@5").out
    search = Search.named("digits_s1_8b_precision_5")
    trials = [trial for (trial,) in search.of_method("lsh").values()]
    assert "| method | validation precision@5 |" in out and "median of its tie-aware precision@5 chooses" in out
    assert all(trial.ap is None and 0 < (trial.value or 0) < 1 for trial in trials)
    (choice,) = hashbench.json(tune, "--metric Precision@5")["choices"]
    assert choice["precision@5"] == max(trial.value or 0 for trial in trials) == trials[choice["trial"]].value
    line = hashbench.refused(tune, f"--name {search.name}")
    assert "its metric is precision@5, not ap: give this search another --name" in line

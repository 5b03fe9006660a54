"""``hashbench tune``: the same search in any number of processes and after any interruption; wrong requests."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.command_line import CommandLine
from support.command_line import status as run
from support.searches import changed_root
from support.together import together
from support.waiting import until

from hashbench.cli.tune import question_of
from hashbench.foundation import paths
from hashbench.runs.run import Run
from hashbench.tuning.search import Search, path_of

BOTH = ["tune", "lsh", "itq", "digits", "--bits", "16", "--trials", "2", "--repeats", "1", "--name", "pair"]
BOTH += ["--set", "normalise=unit_norm"]
OF_THE_MACHINE = ("seconds", "utc", "code", "processor")
VALUES = '[parameters]\nepochs = { value = 3, source = "ours" }\n'  # of a recipe


def lines(folder: Path, name: str = "pair") -> list[dict[str, Any]]:
    """The lines of a search, without what another day or machine changes."""
    found = [json.loads(line) for line in (folder / "tune" / f"{name}.jsonl").read_text().splitlines()]
    return [{key: value for key, value in each.items() if key not in OF_THE_MACHINE} for each in found]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results folder of a whole search, made by one process at a time."""
    folder = tmp_path_factory.mktemp("made")
    assert run("--results", folder, *BOTH) == 0
    return folder


def with_lines(made: Path, kept: slice, methods: tuple[str, ...] = ("itq", "lsh")) -> Path:
    """This test's results folder, with the search of these ``methods`` and those of its trials that are ``kept``."""
    first, *others = (made / "tune" / "pair.jsonl").read_text().splitlines(keepends=True)
    asked = json.loads(first)
    asked["spaces"] = {method: asked["spaces"][method] for method in methods}
    path_of("pair").parent.mkdir(parents=True)
    path_of("pair").write_text("".join([f"{json.dumps(asked)}\n", *others[kept]]))
    return paths.results()


def test_a_search_has_a_line_for_each_trial_and_leaves_no_working_files(made: Path) -> None:
    first, *trials = lines(made)
    assert first["settings"] == {"bits": 16, "normalise": "unit_norm"} and "recipe" not in first
    assert first["left_out"] == {"digits": ["s1"]}
    assert [(each["method"], each["trial"], each["study"]) for each in trials] == [
        (method, trial, 0) for method in ("itq", "lsh") for trial in (0, 1, 2)
    ]
    assert all(0.1 < each["ap"] < 0.9 and len(each["histogram"]) == 64 for each in trials)
    assert len({each["histogram"] for each in trials if each["trial"] > 0}) == 4
    assert [path.name for path in made.rglob("*")] == ["tune", "pair.jsonl"]


def goes_on_in_two_processes(made: Path, hashbench: CommandLine) -> None:
    """What a search of one trial becomes, made of a line that is there and five that are not."""
    (before,) = path_of("pair").read_text().splitlines()[1:]
    status, out, err = hashbench(*BOTH, "--jobs 2 --json")
    assert status == 0 and "6 runs of 2 x 2 trials, 1 done, 5 to do" in err
    assert before in path_of("pair").read_text().splitlines()  # with its times: it was not made again
    assert lines(paths.results()) == lines(made)
    assert [path.name for path in paths.results().rglob("*")] == ["tune", "pair.jsonl"]
    found = {each["method"]: each for each in json.loads(out)["choices"]}
    assert {each["n_trials"] for each in found.values()} == {2} and found["itq"]["ap"] > found["lsh"]["ap"]


def test_a_search_with_some_of_its_trials_goes_on_in_two_processes(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_lines(made, slice(0, 1))
    goes_on_in_two_processes(made, capsys)


@pytest.mark.slow  # the one above goes on from what a killed search leaves
def test_a_search_killed_in_the_middle_goes_on_in_two_processes(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-m", "hashbench", "--results", str(paths.results()), *BOTH]
    killed = subprocess.Popen(command, env=os.environ, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        assert until(lambda: path_of("pair").exists() and len(lines(paths.results())) > 1)
    finally:
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
    first, *before = path_of("pair").read_text().splitlines()
    assert 0 < len(before) < 6
    path_of("pair").write_text(f"{first}\n{before[0]}\n")  # and the others are lost
    goes_on_in_two_processes(made, capsys)


def test_a_trial_with_the_settings_of_another_one_has_its_result(made: Path, hashbench: CommandLine) -> None:
    with_lines(made, slice(3, 6), ("lsh",))
    before = path_of("pair").read_text().splitlines()[1:]
    status, _, err = hashbench("tune lsh digits", *BOTH[4:6], "--trials 3", *BOTH[8:])
    assert status == 0 and "4 runs of 1 x 3 trials, 3 done, 1 to do" in err
    *stored, third = path_of("pair").read_text().splitlines()[1:]
    assert stored == before and json.loads(third) == {**json.loads(before[-1]), "trial": 3}


def test_the_trials_that_are_missing_are_printed(made: Path, hashbench: CommandLine) -> None:
    with_lines(made, slice(0, 5))
    status, out, _ = hashbench(*BOTH, "--dry-run")
    assert status == 0 and out.splitlines() == [each["run"] for each in lines(made)[6:]]


def test_trials_of_equal_settings_are_printed_as_one_run(hashbench: CommandLine) -> None:
    status, out, err = hashbench("tune lsh digits --bits 8 --trials 6 --repeats 1 --dry-run")
    assert status == 0 and "7 to do; the next 7 are 6 runs: trials of equal settings are one" in err
    assert len(set(out.splitlines())) == len(out.splitlines()) == 6


def test_a_method_whose_trials_all_fail_is_told_and_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashbench: CommandLine
) -> None:
    recipe = changed_root(tmp_path, monkeypatch) / "experiments" / "recipes" / "ours.toml"
    head = 'title = "Ours"\nwhy = "a test"\nwhen = { dataset = "digits", model = "linear" }\n' + VALUES
    recipe.write_text(head)
    tune = ["tune", "itq", "lsh", "digits", "--recipe", "ours", "--bits", "80", "--trials", "1", "--repeats", "1"]
    tune += ["--set", "normalise=channel_unit_norm"]
    status, out, err = hashbench(*tune)
    assert status == 1 and "+[methods.lsh]\n+tuned = " in out and "+[methods.itq]" not in out
    assert "not written: --write puts these values into" in err and recipe.read_text() == head
    status, out, err = hashbench(*tune, "--write")
    reason = "80 bits from 64 features: at most 64 bits"
    assert status == 1 and err.splitlines()[-1] == f"error: every trial failed of itq: {reason}"
    assert f"| ITQ | failed |  | none of 1 | 1 of 1 | nothing: {reason} |" in out
    (choice,) = [line.split(" = ")[1] for line in recipe.read_text().splitlines() if line.startswith("centre")]
    ap = Search.named("ours").of_method("lsh")[0][0].ap
    said = f'tuned = "tune/ours.jsonl: trial 0 (our defaults) of 1, held-out AP {ap:.3f}"'
    assert recipe.read_text() == f"{head}\n[methods.lsh]\n{said}\ncentre = {choice}\n"
    # what was written is what the trial ran with
    given = {key: value for key, value in Search.named("ours").question.given("lsh").items() if key != "centre"}
    assert json.dumps(Run.resolve("digits", "s1", "lsh", given).settings.centre) == choice  # type: ignore[attr-defined]
    # a failed trial has ended, until it is asked for again
    assert "4 done, 0 to do" in hashbench(*tune).err
    assert "2 done, 2 to do" in hashbench(*tune, "--retry-failed --dry-run").err


def test_of_several_data_sets_each_has_bits_that_its_items_allow() -> None:
    asked = question_of(["ksh", "usps", "isolet"], "structhash", None, {"bits": 300})
    assert asked.fewer_bits == {"usps": 256}  # of 16 x 16 numbers; those of isolet have 617
    runs = {run.name.dataset: run for _, run in asked.trials("ksh", 1, 1, {})}
    assert {name: run.name.settings["bits"] for name, run in runs.items()} == {"usps": 256, "isolet": 300}
    assert question_of(["ksh", "usps", "isolet"], "structhash", None, {}).settings["bits"] == 32
    assert question_of(["ksh", "usps"], "structhash", None, {"bits": 300}).fewer_bits == {}


@together(
    ("change", "complaint"),
    [
        (["--bits", "24"], "its settings is {'bits': 16, 'normalise': 'unit_norm'}, not {'bits': 24, "),
        (["--set", "features=pixels"], "its settings is {'bits': 16, 'normalise': 'unit_norm'}, not "),
        (["--set", "centre=true"], "its settings is {'bits': 16, 'normalise': 'unit_norm'}, not "),
        (["--recipe", "heads"], "its recipe is None, not heads"),
    ],
)
def test_another_search_of_the_same_name_is_one_line(
    made: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    hashbench: CommandLine,
    change: list[str],
    complaint: str,
) -> None:
    if "heads" in change:
        recipe = changed_root(tmp_path, monkeypatch) / "experiments" / "recipes" / "heads.toml"
        recipe.write_text('title = "A"\nwhy = "b"\nwhen = { dataset = "digits", model = "linear" }\n' + VALUES)
    path = made / "tune" / "pair.jsonl"
    before = path.read_bytes()
    status, _, err = hashbench(f"--results {made}", *BOTH, *change)
    assert status == 2 and len(err.splitlines()) == 1
    assert err.startswith(f"error: {path}: ") and err.endswith(": give this search another --name\n")
    assert complaint in err
    assert path.read_bytes() == before


def test_a_search_goes_on_when_tables_show_the_queries_of_another_protocol(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashbench: CommandLine
) -> None:
    with_lines(made, slice(0, 5))
    root = changed_root(tmp_path, monkeypatch)
    with (root / "datasets" / "digits.toml").open("a") as card:
        card.write('\n[protocols.later]\ntitle = "another draw"\ncitation = "hashbench"\n')
        card.write("queries_per_class = 50\ntrain_per_class = 50\n")
    (root / "experiments" / "tables").mkdir()
    (root / "experiments" / "tables" / "shown.toml").write_text(
        'title = "T"\npaper = "hashbench"\nsource = "shown"\n'
        '[defaults]\ndataset = "digits"\nprotocol = "later"\nmetric = "ap"\ntie_aware = true\n'
        "settings = { bits = 16 }\n"
        '[[groups]]\nsection = "s"\ncolumns = [{ label = "AP" }]\nrows = [{ label = "LSH", method = "lsh" }]\n'
    )
    paths.read_again()
    status, _, err = hashbench(*BOTH, "--protocol s1")
    assert status == 0 and "6 runs of 2 x 2 trials, 5 done, 1 to do" in err
    assert "queries of digits later, which tables show now, may be in its lists" in err
    assert lines(paths.results()) == lines(made)


@together(
    ("file", "old", "new", "complaint"),
    [
        ("lsh", '[false, true, "range"]', "[false, true]", "its space of lsh is not the one of today's file or --set"),
        ("itq", "high = 500", "high = 5000", "its space of itq is not the one of today's file or --set"),
        ("itq", '"pixels"', '"gist"', "trial 0 of itq is not the one of today's space or recipe"),
    ],
)
def test_a_space_or_value_that_has_changed_is_one_line(
    made: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    hashbench: CommandLine,
    file: str,
    old: str,
    new: str,
    complaint: str,
) -> None:
    method = changed_root(tmp_path, monkeypatch) / "experiments" / "methods" / f"{file}.toml"
    text = method.read_text()
    assert old in text
    method.write_text(text.replace(old, new))
    status, _, err = hashbench(f"--results {made}", *BOTH)
    assert status == 2 and len(err.splitlines()) == 1
    assert complaint in err and err.endswith(": give this search another --name\n")


def test_a_choice_is_judged_by_the_last_ends_of_today(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashbench: CommandLine
) -> None:
    with_lines(made, slice(0, 6))
    stored = Search.named("pair")
    others = [stored.trials["itq", number, "digits", 0] for number in (0, 2)]
    stored = stored.with_trials(other.model_copy(update={"ap": 0.1}) for other in others)
    stored.save()
    file = changed_root(tmp_path, monkeypatch) / "experiments" / "methods" / "itq.toml"
    of_today = file.read_text()
    assert 'last = ["low", "high"]' in of_today
    file.write_text(of_today.replace(', last = ["low", "high"]', ""))
    paths.read_again()
    assert '"edges":{"iterations":"high"}' in hashbench(*BOTH, "--json").out
    file.write_text(of_today)
    paths.read_again()
    status, out, err = hashbench(*BOTH)
    assert status == 0 and "6 done, 0 to do" in err and "to be searched again" not in out
    assert Search.named("pair").question.spaces["itq"]["iterations"].last == ["low", "high"]
    assert Search.named("pair").trials == stored.trials


def test_trials_are_compared_by_any_metric(hashbench: CommandLine) -> None:
    tune = ["tune", "lsh", "digits", "--bits", "8", "--trials", "6", "--repeats", "1", "--metric", "Precision@5"]
    status, out, _ = hashbench(*tune)
    search = Search.named("digits_s1_8b_precision_5")
    trials = [each for (each,) in search.of_method("lsh").values()]
    assert status == 0
    assert "| method | held-out precision@5 |" in out and "median of its tie-aware precision@5 chooses" in out
    assert all(trial.ap is None and 0 < (trial.value or 0) < 1 for trial in trials)
    (choice,) = hashbench.json(*tune)["choices"]
    assert choice["precision@5"] == max(trial.value or 0 for trial in trials) == trials[choice["trial"]].value
    status, _, err = hashbench(*tune[:-2], f"--name {search.name}")
    assert status == 2 and "its metric is precision@5, not ap: give this search another --name" in err

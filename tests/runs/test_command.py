"""The command that a row gives names the row's run again."""

from pathlib import Path

import pytest

from hashbench.cli._settings import parse_settings
from hashbench.foundation.errors import HashbenchError
from hashbench.runs.command import train_command
from hashbench.runs.run import Run
from hashbench.runs.store import Row, read

REPOSITORY = Path(__file__).resolve().parents[2]


def one_of_each_kind() -> list[Path]:
    """The last committed row of each method on each protocol; it has the highest seed, or unusual settings.

    Rows of pretrain are tested with that command.
    """
    paths = sorted(
        path for path in (REPOSITORY / "results" / "rows").glob("*/*.json") if "-classifier-" not in path.name
    )
    return list({(path.parent.name, path.stem.rsplit("-", 3)[0]): path for path in paths}.values())


def named_by(words: list[str]) -> str:
    """The run that the words of a command name; as the command line does it, without its options for the machine."""
    program, train, method, dataset, *options = words
    assert (program, train) == ("hashbench", "train")
    pairs = list(zip(options[::2], options[1::2], strict=True))
    given = dict(pairs)
    settings = parse_settings([value for option, value in pairs if option == "--set"])
    settings |= {key: given[f"--{key}"] for key in ("model", "weights") if f"--{key}" in given}
    settings |= {"bits": int(given["--bits"])} if "--bits" in given else {}
    seed, budget = int(given.get("--seed", 0)), given.get("--budget")
    return Run.resolve(dataset, given["--protocol"], method, settings, seed=seed, budget=budget).run


@pytest.mark.parametrize("path", one_of_each_kind(), ids=lambda path: path.stem)
def test_the_command_of_a_committed_row_names_its_run(path: Path) -> None:
    import shlex

    row = read(path)
    assert named_by(shlex.split(train_command(row))) == row.run


def a_row() -> Row:
    """A committed row without settings of its own but the bits."""
    run = Run.resolve("cifar10", "s1", "talr_ap", {"bits": 32}).run
    return read(REPOSITORY / "results" / "rows" / "cifar10-s1" / f"{run}.json")


def test_only_what_changes_the_run_is_in_the_command() -> None:
    row = a_row()
    assert train_command(row, ["hb", "--root", "a b"], again=True) == (
        "hb --root 'a b' train talr_ap cifar10 --protocol s1 --bits 32 --again"
    )


def test_a_row_of_other_data_has_no_command() -> None:
    row = a_row()
    data = {**row.config["data"], "content_sha256": "0" * 64}
    other = row.model_copy(update={"config": {**row.config, "data": data}, "run": "other"})
    with pytest.raises(HashbenchError, match="other: its data or its split have changed since"):
        train_command(other)


def test_a_setting_whose_default_has_changed_is_in_the_command() -> None:
    row = a_row()
    made = Run.resolve("cifar10", "s1", "talr_ap", {"bits": 32, "batch_size": 123}, seed=row.seed)
    older = row.model_copy(update={"run": made.run, "config": made.config, "config_hash": made.config_hash})
    assert train_command(older).endswith(" --set batch_size=123")

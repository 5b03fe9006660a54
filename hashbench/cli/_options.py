"""Arguments and options that several commands have, each declared once; how KEY=VALUE is read."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Context, Option

from hashbench.cli.catalogue import card_of, complete
from hashbench.foundation.errors import HashbenchError, printable
from hashbench.running.jobs.task import AUTO

if TYPE_CHECKING:
    from hashbench.running.datasets.card import Card
else:
    Card = str  # what Typer is told: to import cards would make every --help slower

DATASETS = complete("datasets")
DATASET = "A data set: hashbench list datasets."
DatasetName = Annotated[str, Argument(help=DATASET, autocompletion=DATASETS)]
Dataset = Annotated[Card, Argument(parser=card_of, metavar="DATASET", help=DATASET, autocompletion=DATASETS)]
Datasets = Annotated[
    list[Card],
    Argument(parser=card_of, metavar="NAME...", help="Data sets: hashbench list datasets.", autocompletion=DATASETS),
]
ProtocolName = Annotated[str | None, Option(help="Needed if the data set has several.")]
Metric = Annotated[str, Option(metavar="METRIC", help="What is compared: hashbench list metrics.")]


def _number_of_jobs(text: str | int) -> int:
    """The number of jobs that --jobs names; AUTO for auto."""
    if text == "auto":
        return AUTO
    if not re.fullmatch("[1-9][0-9]{0,3}", str(text)):
        raise HashbenchError(f"--jobs {printable(str(text))}: a whole number from 1 on, or auto")
    return int(text)


Jobs = Annotated[
    int, Option(parser=_number_of_jobs, metavar="N|auto", help="Runs at the same time; auto: as many as fit.")
]
Device = Annotated[str, Option(help="auto, cpu, cuda or cuda:N.")]
TrainingDevice = Annotated[str, Option(help="auto, cpu, cpu:N (threads), cuda or cuda:N.")]
SEEDS = "Runs of each cell, with seeds 0 to N - 1."
SplitSeed = Annotated[int | None, Option(min=0, max=2**32 - 1, help="Seed of the split. Default: the protocol's.")]
TABLES = complete("tables", "figures")

# of train and pretrain
RunSeed = Annotated[int, Option(help="Seed of all random choices.")]
Settings = Annotated[list[str] | None, Option("--set", metavar="KEY=VALUE", help="Set a hyper-parameter; repeatable.")]
Precision = Annotated[str, Option(help="auto, float32 or bfloat16 (auto on a GPU).")]
DryRun = Annotated[bool, Option("--dry-run", help="Print the settings with their sources, and exit.")]


def device_and_threads(device: str) -> tuple[str, int]:
    """The device that --device names, and the threads of PyTorch on it.

    >>> device_and_threads("cpu:4"), device_and_threads("cuda:1")
    (('cpu', 4), ('cuda:1', 1))
    """
    if re.fullmatch("cpu:[1-9][0-9]{0,3}", device):
        return "cpu", int(device.removeprefix("cpu:"))
    return device, 1


def given(options: Mapping[str, object]) -> str:
    """The options that have a value, as they are typed; empty if none has one."""
    names = [option for option, value in options.items() if value is not None and value is not False and value != []]
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


def program(context: Context) -> list[str]:
    """The first words of a command to print, so that it finds the same: ``hashbench`` and the shared options given."""
    params = context.find_root().params
    named = ((f"--{name}", params.get(name)) for name in ("root", "results", "data"))
    return ["hashbench", *(word for option, value in named if value is not None for word in (option, str(value)))]


def parse_settings(pairs: list[str]) -> dict[str, int | float | str | bool]:
    """The settings in texts KEY=VALUE; a value is read as TOML, and is a string if it is not TOML.

    >>> parse_settings(["lr=0.1", "epochs=3", "variant=exact"])
    {'lr': 0.1, 'epochs': 3, 'variant': 'exact'}
    """
    return dict(pairs_of(pairs, "--set", "lr=0.1"))


def pairs_of(texts: list[str], option: str, example: str) -> list[tuple[str, int | float | str | bool]]:
    """The keys and values in texts KEY=VALUE, which were given with ``option``; a key may come twice."""
    from hashbench.foundation.config import toml_tables  # pydantic is not imported for --help

    pairs: list[tuple[str, int | float | str | bool]] = []
    for pair in texts:
        key, equals, text = (part.strip() for part in pair.partition("="))
        if not (key and equals and text):
            raise HashbenchError(f"{option} {pair!r}: KEY=VALUE is expected, as in {option} {example}")
        try:
            value = toml_tables(f"value = {text}")["value"]
        except ValueError:
            value = text
        pairs.append((key, value if isinstance(value, int | float | str | bool) else text))
    return pairs

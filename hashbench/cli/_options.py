"""Arguments and options that several commands have, each declared once; how KEY=VALUE is read."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Context, Option

from hashbench.cli.catalogue import card_of, complete
from hashbench.foundation.errors import HashbenchError, printable
from hashbench.jobs.task import AUTO
from hashbench.showing.ink import Format

if TYPE_CHECKING:
    from hashbench.datasets.card import Card
else:
    Card = str  # what Typer is told: to import cards would make every --help slower

READING = "How files are read"

DATASETS = complete("datasets")
DATASET = "A data set; `hashbench list datasets` shows the names."
DatasetName = Annotated[str, Argument(help=DATASET, autocompletion=DATASETS)]
Dataset = Annotated[Card, Argument(parser=card_of, metavar="DATASET", help=DATASET, autocompletion=DATASETS)]
Datasets = Annotated[
    list[Card],
    Argument(parser=card_of, metavar="NAME...", help="Data sets: hashbench list datasets.", autocompletion=DATASETS),
]
ProtocolName = Annotated[str | None, Option(help="A protocol of the data set; needed if it has several.")]
Metric = Annotated[
    str, Option(metavar="METRIC", help="What is compared, such as ndcg or recall@10: hashbench list metrics.")
]


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
Splits = Annotated[int, Option(min=1, help="Number of splits: the protocol's seed and the SPLITS - 1 seeds after it.")]
SplitSeed = Annotated[
    int | None, Option(min=0, max=2**32 - 1, help="Seed of the split. Default: the protocol's own seed.")
]
TABLES = complete("tables", "figures")
RunName = Annotated[str, Argument(help="A run, or the start of its name.", autocompletion=complete("runs"))]
Budget = Annotated[str | None, Option(help="The runs at this budget of the methods, not at the table's own.")]
Output = Annotated[Format, Option("--format", help="The format in which it is printed.")]
AsJson = Annotated[bool, Option("--json", help="Print one JSON object.")]
OfDataset = Annotated[str | None, Option(help="Only those of this data set.", autocompletion=DATASETS)]
OfMethod = Annotated[str | None, Option(help="Only runs of this method.", autocompletion=complete("methods"))]

# of train and pretrain
RunSeed = Annotated[int, Option(help="Seed of all random choices in the run.")]
Settings = Annotated[
    list[str] | None, Option("--set", metavar="KEY=VALUE", help="Set a hyper-parameter; may be repeated.")
]
Threads = Annotated[
    int, Option(min=1, help="Threads of PyTorch on a CPU: more are faster and round otherwise; the row has the number.")
]
CheckpointEvery = Annotated[float, Option(metavar="SECONDS", help="Time between two checkpoints.")]
DryRun = Annotated[
    bool, Option("--dry-run", help="Print the run's name and all its settings with their sources, and exit.")
]
RowAsJson = Annotated[bool, Option("--json", help="Print the row as one JSON object.")]

# how saved codes are to be read; None: as their shapes and names say
Bits = Annotated[int | None, Option(min=1, help="The code length; needed for packed codes.", rich_help_panel=READING)]
BitOrder = Annotated[
    Literal["big", "little"] | None,
    Option(help="Which bit of a packed byte is first: the highest (big) or lowest (little).", rich_help_panel=READING),
]
Layout = Annotated[
    Literal["items-by-bits", "bits-by-items"] | None,
    Option(help="Whether a row of the codes is an item or a bit.", rich_help_panel=READING),
]


def given(options: Mapping[str, object]) -> str:
    """The options that have a value, as they are typed; empty if none has one."""
    found = [option for option, value in options.items() if value is not None and value is not False and value != []]
    return ", ".join(f"--{option.replace('_', '-')}" for option in found)


def program(context: Context) -> list[str]:
    """The first words of a command to print, so that it finds the same: ``hashbench`` and the shared options given."""
    given = context.find_root().params
    named = ((f"--{name}", given.get(name)) for name in ("root", "results", "data"))
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
    for given in texts:
        key, equals, text = (part.strip() for part in given.partition("="))
        if not (key and equals and text):
            raise HashbenchError(f"{option} {given!r}: KEY=VALUE is expected, as in {option} {example}")
        try:
            value = toml_tables(f"value = {text}")["value"]
        except ValueError:
            value = text
        pairs.append((key, value if isinstance(value, int | float | str | bool) else text))
    return pairs

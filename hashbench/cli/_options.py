"""Arguments and options that several commands have, each declared once; the options before a command."""

from typing import Annotated, Literal

import typer

from hashbench.cli.catalogue import complete

DatasetName = Annotated[
    str,
    typer.Argument(
        help="Name of a data set; `hashbench list datasets` shows them.", autocompletion=complete("datasets")
    ),
]
ProtocolName = Annotated[
    str | None, typer.Option(help="Name of one of the data set's protocols. Needed where there are several.")
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")]
Splits = Annotated[
    int, typer.Option(min=1, help="Number of splits: the protocol's own seed and the SPLITS - 1 seeds after it.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

READING = "How files are read"

# how saved codes are to be read; None: as their shapes and names say
Bits = Annotated[
    int | None, typer.Option(min=1, help="The code length; needed for packed codes.", rich_help_panel=READING)
]
BitOrder = Annotated[
    Literal["big", "little"] | None,
    typer.Option(
        help="Which bit of a packed byte is first: the highest (big) or lowest (little).", rich_help_panel=READING
    ),
]
Layout = Annotated[
    Literal["items-by-bits", "bits-by-items"] | None,
    typer.Option(help="Whether a row of the codes is an item or a bit.", rich_help_panel=READING),
]

SHARED = ("root", "results", "data")  # the options before the command that decide what it finds


def program(context: typer.Context) -> list[str]:
    """The first words of a command to print: ``hashbench`` and the shared options that this command was given.

    So the printed command finds the same.
    """
    given = context.find_root().params
    named = ((f"--{name}", given.get(name)) for name in SHARED)
    return ["hashbench", *(word for option, value in named if value is not None for word in (option, str(value)))]

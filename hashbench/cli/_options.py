"""Arguments and options that several commands have, each declared once."""

from typing import Annotated

import typer

from hashbench.cli import _complete

DatasetName = Annotated[
    str,
    typer.Argument(help="Name of a data set; `hashbench list datasets` shows them.", autocompletion=_complete.datasets),
]
ProtocolName = Annotated[
    str | None, typer.Option(help="Name of one of the data set's protocols. Needed where there are several.")
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")]
Splits = Annotated[
    int, typer.Option(min=1, help="Number of splits: the protocol's own seed and the SPLITS - 1 seeds after it.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

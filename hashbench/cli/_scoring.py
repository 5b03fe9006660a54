"""The options that ``eval`` and ``eval-shards`` share; ``--array``, which ``search`` has too."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from hashbench.cli._options import READING
from hashbench.foundation.errors import HashbenchError, unknown

MetricNames = Annotated[
    list[str] | None, Option("--metric", metavar="NAME", help="Such as ap,map@1000,recall@1,5; repeatable.")
]
Empty = Annotated[
    Literal["skip", "zero"],
    Option(metavar="skip|zero", help="Queries without a relevant item."),
]
Pairs = Annotated[float | None, Option(min=0, max=1, metavar="PRECISION", help="Also score pairs by radius.")]
PerQuery = Annotated[Path | None, Option(metavar="FILE", help="Write a CSV file, a line a query.")]
Curves = Annotated[Path | None, Option(metavar="FOLDER", help="Write curves as CSV and PNG.")]
Arrays = Annotated[
    list[str] | None,
    Option(
        metavar="NAME=FILE:KEY",
        help="Where an array is: query-codes, query-labels, ...; repeatable.",
        rich_help_panel=READING,
    ),
]


def places_of(texts: Sequence[str] | None, roles: Sequence[str]) -> dict[str, str]:
    """The places of arrays by role, in texts NAME=FILE, NAME=FILE:KEY or NAME=KEY; only ``roles`` are allowed.

    >>> places_of(["query-codes=run.mat:Bq"], ["query_codes", "query_labels"])
    {'query_codes': 'run.mat:Bq'}
    """
    places = {}
    for text in texts or ():
        name, _, place = text.partition("=")
        role = name.replace("-", "_")
        if not place:
            raise HashbenchError(f"--array {text}: NAME=FILE:KEY is expected, as in --array query-codes=run.mat:Bq")
        if role not in roles:
            raise HashbenchError(
                f"--array {text}: {unknown('array', name, [role.replace('_', '-') for role in roles])}"
            )
        if role in places:
            raise HashbenchError(f"--array {text}: {name} is named twice")
        places[role] = place
    return places

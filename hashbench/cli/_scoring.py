"""The options that ``eval`` and ``eval-shards`` share; ``--array``, which ``search`` has too."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from typer import Option

from hashbench.cli._options import READING
from hashbench.foundation.errors import HashbenchError, unknown

MetricNames = Annotated[
    list[str] | None,
    Option("--metric", metavar="NAME", help='Metrics, such as ap,map@1000 or "recall@1,5"; repeatable.'),
]
PerQuery = Annotated[Path | None, Option(metavar="FILE", help="Write a CSV file with one line per query.")]
Curves = Annotated[Path | None, Option(metavar="FOLDER", help="Write curves of precision and recall: CSV and PNG.")]
Pairs = Annotated[
    float | None,
    Option(min=0, max=1, metavar="PRECISION", help="Score pairs by Hamming radius; find that of this precision."),
]
CountDevice = Annotated[str, Option(help="Where it counts: auto, cpu, cuda or cuda:N. auto: a GPU if it takes long.")]
Arrays = Annotated[
    list[str] | None,
    Option(
        metavar="NAME=FILE:KEY", help="Where an array is, such as query-codes; repeatable.", rich_help_panel=READING
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

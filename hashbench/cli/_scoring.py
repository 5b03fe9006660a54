"""The options of ``eval`` and ``eval-shards``; ``--array`` and ``--layout``, which others have too."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from hashbench.foundation.errors import HashbenchError, printable, unknown
from hashbench.scoring.codes.files import Explicit

READING = "How files are read"

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

# how saved codes are to be read; None: as their shapes and names say
CodesLayout = Annotated[
    list[str] | None,
    Option(
        "--layout",
        metavar="BITS,ORDER,ROWS",
        help="Of codes without a header: bits of an item; big or little, the first bit of a byte; items-by-bits or "
        "bits-by-items. Or parts: 48,little.",
        rich_help_panel=READING,
    ),
]
BIT_ORDERS: dict[str, Literal["big", "little"]] = {"big": "big", "little": "little"}
ROWS: dict[str, Literal["items-by-bits", "bits-by-items"]] = {
    "items-by-bits": "items-by-bits",
    "bits-by-items": "bits-by-items",
}


def explicit_of(texts: list[str] | None, places: Mapping[str, str] | None = None) -> Explicit:
    """The description of files that --layout gives; several texts are read as one.

    >>> explicit_of(["48,little", "bits-by-items"])
    Explicit(places={}, bits=48, bit_order='little', layout='bits-by-items')
    """
    explicit = Explicit(places or {})
    if not texts:
        return explicit
    for text in ",".join(texts).split(","):
        if re.fullmatch("[1-9][0-9]{0,5}", text):
            if explicit.bits not in (None, int(text)):
                raise HashbenchError(f"--layout: a code has {explicit.bits} bits or {text}, not both")
            explicit = replace(explicit, bits=int(text))
        elif text in BIT_ORDERS:
            explicit = replace(explicit, bit_order=BIT_ORDERS[text])
        elif text in ROWS:
            explicit = replace(explicit, layout=ROWS[text])
        else:
            expected = "a number of bits, big or little, items-by-bits or bits-by-items"
            raise HashbenchError(f"--layout {printable(text)}: {expected} are expected, such as --layout 48,little")
    return explicit


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

"""``hashbench eval``: scores saved codes, those of hashbench or of other code."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from hashbench.cli._options import Device, given
from hashbench.cli._scoring import (
    Arrays,
    CodesLayout,
    Curves,
    Empty,
    MetricNames,
    Pairs,
    PerQuery,
    explicit_of,
    places_of,
)
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import require_apart
from hashbench.foundation.progress import note
from hashbench.scoring.codes.files import CODE_ROLES, IDS, LABEL_ROLES
from hashbench.scoring.evaluation.saved import Request, are_scored_one_by_one, evaluate
from hashbench.scoring.histogram.device import usable
from hashbench.scoring.metrics import Metrics
from hashbench.showing.evaluation import sheet_of, sheet_of_files, write_files
from hashbench.showing.sheet import Sheet


def command(
    files: Annotated[list[Path] | None, Argument(metavar="FILE_OR_FOLDER...", help="Codes and labels.")] = None,
    metric: MetricNames = None,
    ties: Annotated[
        Literal["expected", "order", "best", "worst"],
        Option(metavar="RULE", help="Tied items: expected, order, best or worst."),
    ] = "expected",
    as_: Annotated[
        list[str] | None, Option("--as", metavar="CODE_BASE", help="Also print what that code does: list conventions.")
    ] = None,
    empty: Empty = "skip",
    exclude_self: Annotated[bool, Option("--exclude-self", help="Leave a query out of its own ranking.")] = False,
    neighbours: Annotated[
        str | None, Option(metavar="FILE[:KEY]", help="Rows that are relevant in place of labels.")
    ] = None,
    k: Annotated[int | None, Option("--k", metavar="N", min=1, help="So many of the neighbours are relevant.")] = None,
    weights: Annotated[
        str | None, Option(metavar="FILE[:KEY]", help="Rank by weights of the bits, or activations.")
    ] = None,
    pairs: Pairs = None,
    per_query: PerQuery = None,
    curves: Curves = None,
    trec: Annotated[Path | None, Option(metavar="FOLDER", help="Write run.txt and qrels.txt of TREC.")] = None,
    device: Device = "auto",
    array: Arrays = None,
    layout: CodesLayout = None,
) -> Sheet:
    """Compute metrics of saved codes, exactly under ties; of several files in one table.

    Codes are in .npz, .npy, .mat, .h5, .pt, .txt and .faiss files, or in a folder, under the names that other hashing
    code uses.
    """
    paths = files or []
    names = [*CODE_ROLES, *IDS]
    if neighbours is None:
        names += LABEL_ROLES
    request = Request(
        Metrics.parse(metric or ()),
        ties=ties,
        empty=empty,
        exclude_self=exclude_self,
        weights=weights,
        neighbours=neighbours,
        k=k,
        conventions=as_ or [],
        pair_precision=pairs,
        explicit=explicit_of(layout, places_of(array, names)),
        device=usable(device),
    )
    if not paths and not request.explicit.places:
        raise HashbenchError("nothing to score: name a file or folder of codes, or each array with --array")
    require_apart(paths, [] if per_query is None else [per_query])
    others = {"as": as_, "trec": trec, "curves": curves, "pairs": pairs}
    if weights is not None:
        _refuse(others, "--weights")
    if exclude_self:
        _refuse({"as": as_}, "--exclude-self: other code counts a query among its own neighbours")
    if are_scored_one_by_one(paths, request):
        _refuse({**others, "per-query": per_query}, "several files that are scored one by one: score one file")
        evaluations = [evaluate([path], request) for path in paths]
        sheet = sheet_of_files(evaluations)
    else:
        evaluations = [evaluate(paths, request)]
        write_files(evaluations[0], per_query=per_query, curves=curves, trec_folder=trec)
        sheet = sheet_of(evaluations[0])
    for evaluation in evaluations:
        for line in [*evaluation.notes, *evaluation.hints]:
            note(f"note: {line}")
    return sheet


def _refuse(options: Mapping[str, object], by: str) -> None:
    names = given(options)
    if names:
        raise HashbenchError(f"{names} cannot be combined with {by}")

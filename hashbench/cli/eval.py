"""``hashbench eval``: scores saved codes, one's own or other people's."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hashbench.metrics import MetricName, MetricValue
    from hashbench.saved_codes import SavedCodes

DEFAULT = ("ap", "ap_worst", "ap_best", "ndcg")


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The .npz of codes and labels.")],
    metric: Annotated[
        list[str] | None,
        typer.Option(help='Such as ap, "ap(norm=retrieved)@1000", ndcg@100, precision@r2; may be repeated.'),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Score the codes in FILE, exactly under ties.

    FILE holds query_codes and database_codes (0 and 1, items x bits; or packed, with n_bits), query_labels and
    database_labels (class ids, or multi-hot). Means are over the queries with a relevant item.
    """
    from hashbench import histogram, metrics, saved_codes

    names = [metrics.parse(name) for name in metric or DEFAULT]
    saved = saved_codes.load(file)
    counted = histogram.count(saved.query, saved.database, saved.affinity, progress=True)
    bounds = [] if as_json else [bound for name in names for bound in _bounds(name)]
    values = metrics.evaluate(counted, [str(name) for name in (*names, *bounds)])
    summaries = {name: metrics.summarise(value) for name, value in values.items()}
    n_empty = int((counted.n_relevant == 0).sum())
    if n_empty == len(saved.query):
        typer.echo(f"warning: {file}: no query has a relevant item, so there is no mean", err=True)
    if as_json:
        typer.echo(_json(file, saved, {str(name): summaries[str(name)] for name in names}))
    else:
        typer.echo(f"{file}: {len(saved.query)} queries, {len(saved.database)} items, {saved.query.n_bits} bits")
        typer.echo(_table(names, summaries))
        if n_empty:
            typer.echo(f"{n_empty} queries have no relevant item and are left out")


def _bounds(name: "MetricName") -> list["MetricName"]:
    """The worst and the best AP over tie orders, where ``name`` is an AP that has them."""
    from hashbench.metrics import MetricName

    if name.metric != "ap" or ("norm", "retrieved") in name.parameters:
        return []
    return [MetricName(bound, name.parameters, name.at) for bound in ("ap_worst", "ap_best")]


def _json(file: Path, saved: "SavedCodes", summaries: "Mapping[str, MetricValue]") -> str:
    return json.dumps(
        {
            "file": str(file),
            "n_queries": len(saved.query),
            "n_database": len(saved.database),
            "n_bits": saved.query.n_bits,
            "metrics": {name: value.model_dump() for name, value in summaries.items()},
        },
        allow_nan=False,
    )


def _table(names: "Sequence[MetricName]", summaries: "Mapping[str, MetricValue]") -> str:
    lines = [["metric", "mean", "std", "[worst, best]"]]
    for name in dict.fromkeys(names):
        value = summaries[str(name)]
        interval = ", ".join(_number(summaries[str(bound)].mean) for bound in _bounds(name))
        lines.append([str(name), _number(value.mean), _number(value.std), f"[{interval}]" if interval else ""])
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    return "\n".join(
        f"{name:<{widths[0]}}  {mean:>{widths[1]}}  {std:>{widths[2]}}  {interval}".rstrip()
        for name, mean, std, interval in lines
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"

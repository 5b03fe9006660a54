"""``hashbench train``: one cell."""

from typing import TYPE_CHECKING, Annotated

import typer

from hashbench import paths
from hashbench.cli._settings import parse_settings
from hashbench.errors import HashbenchError

if TYPE_CHECKING:
    from hashbench.runs.spec import RunSpec
    from hashbench.runs.store import Row, Store


def command(
    method: Annotated[str, typer.Argument(help="hashbench list methods")],
    dataset: Annotated[str, typer.Argument(help="hashbench list datasets")],
    protocol: Annotated[str, typer.Option(help="A protocol of the data set.")],
    bits: Annotated[int | None, typer.Option(help="Code length; of sparse codes: --set d=D --set k=K.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything random in the run.")] = 0,
    model: Annotated[str | None, typer.Option(help="Encoder: linear, mlp, small_cnn ...")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A hyper-parameter; repeatable.")
    ] = None,
    budget: Annotated[str | None, typer.Option(help="Of the method's budgets; default: its first.")] = None,
    weights: Annotated[
        str | None, typer.Option(metavar="none|FILE", help="Of a network of ImageNet; else its official ones.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
    precision: Annotated[str, typer.Option(help="auto (bfloat16 on a GPU), float32 or bfloat16.")] = "auto",
    compile_: Annotated[bool, typer.Option("--compile/--no-compile", help="The encoder, by torch.compile.")] = False,
    channels_last: Annotated[
        bool, typer.Option("--channels-last/--no-channels-last", help="How images lie in memory.")
    ] = True,
    checkpoint_every: Annotated[float, typer.Option(metavar="SECONDS", help="Between checkpoints.")] = 10.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the row as one JSON object.")] = False,
) -> None:
    """Train one cell, encode the data, score the codes, store the row; resumes by itself.

    The run's folder holds a line an epoch, metrics.jsonl, and its curves, training.png; with the extra tensorboard
    (pip install 'hashbench[train,tensorboard]') TensorBoard's files too. Several processes, a GPU each, train one cell
    as one does: torchrun --nproc-per-node N -m hashbench train, and the same arguments.
    """
    from hashbench import parallel
    from hashbench.runs.options import Options
    from hashbench.runs.run import follow, run
    from hashbench.runs.spec import resolve
    from hashbench.runs.store import Store

    chosen = parse_settings(settings or [])
    for key in ("bits", "model"):
        if key in chosen:
            raise HashbenchError(f"--set {key}=...: give it as --{key}")
    named = {"bits": bits, "model": model}
    given = {**{key: value for key, value in named.items() if value is not None}, **chosen}
    group = parallel.from_environment()
    cell = resolve(dataset, protocol, method, given, seed=seed, budget=budget)
    file = None
    if weights is not None:
        given["weights"], file = _start(cell, weights)
        cell = resolve(dataset, protocol, method, given, seed=seed, budget=budget)
    options = Options(
        device=device,
        progress=group.is_first,
        checkpoint_every_s=checkpoint_every,
        group=group,
        compute=parallel.ComputeOptions(precision=precision, compiled=compile_, channels_last=channels_last),
        weights=file,
    )
    store = Store.default()
    if group.is_first:
        _show(run(cell, store, options), store, as_json=as_json)
    else:
        follow(cell, store, options)


def _start(cell: "RunSpec", weights: str) -> tuple[str, str | None]:
    """The setting ``weights``, and the file that has them."""
    model = getattr(cell.settings, "model", None)
    if model is None:
        raise HashbenchError(f"{cell.method} has no network: no --weights")
    from hashbench.methods import require_torch

    require_torch()
    from hashbench.training import pretrained

    return pretrained.weights_setting(model, weights)


def _show(row: "Row", store: "Store", *, as_json: bool) -> None:
    from hashbench.runs.store import to_json

    if as_json:
        typer.echo(to_json(row))
    else:
        typer.echo(f"run   {row.run}")
        for searched, metrics in (("", row.metrics), ("among the queries: ", row.metrics_of_test)):
            for name, value in metrics.items():
                typer.echo(f"{searched + name:28} {'' if value.mean is None else f'{value.mean:.4f}'}")
        typer.echo(f"row   {paths.shown(store.row_path(row.dataset, row.protocol, row.run))}")
    if row.status == "failed":
        typer.echo(f"error: {row.run}: {row.reason}", err=True)
        raise typer.Exit(2)

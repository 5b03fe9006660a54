"""``hashbench train`` trains and scores one method on one data set."""

from typing import TYPE_CHECKING, Annotated

import typer

from hashbench import paths
from hashbench.cli import _complete
from hashbench.cli._settings import parse_settings
from hashbench.errors import HashbenchError

if TYPE_CHECKING:
    from hashbench.runs.spec import RunSpec
    from hashbench.runs.store import Row, Store


def command(
    method: Annotated[
        str,
        typer.Argument(help="Name of a method; `hashbench list methods` shows them.", autocompletion=_complete.methods),
    ],
    dataset: Annotated[
        str,
        typer.Argument(
            help="Name of a data set; `hashbench list datasets` shows them.", autocompletion=_complete.datasets
        ),
    ],
    protocol: Annotated[str, typer.Option(help="Name of one of the data set's protocols.")],
    bits: Annotated[
        int | None, typer.Option(help="Code length. For sparse codes use --set d=D --set k=K instead.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random choices in the run.")] = 0,
    model: Annotated[
        str | None, typer.Option(help="Encoder, such as linear, mlp or small_cnn; `hashbench list models` shows them.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set a hyper-parameter; may be repeated.")
    ] = None,
    budget: Annotated[str | None, typer.Option(help="One of the method's budgets. Default: the first.")] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="none|FILE",
            help="Initial weights of a network for ImageNet; none: random weights. Default: the official weights.",
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
    precision: Annotated[str, typer.Option(help="auto (bfloat16 on a GPU), float32 or bfloat16.")] = "auto",
    compile_: Annotated[
        bool, typer.Option("--compile/--no-compile", help="Compile the encoder with torch.compile.")
    ] = False,
    channels_last: Annotated[
        bool,
        typer.Option("--channels-last/--no-channels-last", help="Store the channels of a pixel together in memory."),
    ] = True,
    checkpoint_every: Annotated[float, typer.Option(metavar="SECONDS", help="Time between two checkpoints.")] = 10.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the row as one JSON object.")] = False,
) -> None:
    """Train a method on a data set, encode the data, score the codes and store the scores.

    After an interruption the same command continues from the last checkpoint. The run's folder holds metrics.jsonl, one
    line for each epoch, and its curves, training.png. With TensorBoard (the extra tensorboard) it
    also holds TensorBoard's files. To train with N processes, one on each GPU, start torchrun --nproc-per-node N -m
    hashbench train with the same arguments; the result is that of one process, up to rounding.
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
    """The setting ``weights``, and the path of the file that holds them."""
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
        shown = (("", row.metrics), ("weighted: ", row.metrics_weighted), ("among the queries: ", row.metrics_of_test))
        for searched, metrics in shown:
            for name, value in metrics.items():
                typer.echo(f"{searched + name:28} {'' if value.mean is None else f'{value.mean:.4f}'}")
        typer.echo(f"row   {paths.shown(store.row_path(row.dataset, row.protocol, row.run))}")
    if row.status == "failed":
        typer.echo(f"error: {row.run}: {row.reason}", err=True)
        raise typer.Exit(2)

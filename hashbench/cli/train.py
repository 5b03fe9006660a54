"""``hashbench train``: one cell."""

from typing import Annotated

import typer

from hashbench.cli._settings import parse_settings
from hashbench.errors import HashbenchError


def command(
    method: Annotated[str, typer.Argument(help="hashbench list methods")],
    dataset: Annotated[str, typer.Argument(help="hashbench list datasets")],
    protocol: Annotated[str, typer.Option(help="A protocol of the data set.")],
    bits: Annotated[int, typer.Option(help="Code length.")],
    seed: Annotated[int, typer.Option(help="Seed of everything random in the run.")] = 0,
    model: Annotated[str | None, typer.Option(help="Encoder: linear, mlp, small_cnn ...")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A hyper-parameter; repeatable.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
    checkpoint_every: Annotated[float, typer.Option(metavar="SECONDS", help="Between checkpoints.")] = 10.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the row as one JSON object.")] = False,
) -> None:
    """Train one cell, encode the data, score the codes, store the row; resumes by itself."""
    from hashbench import experiment, measure
    from hashbench.results import Store, to_json

    chosen = parse_settings(settings or [])
    for key in ("bits", "model"):
        if key in chosen:
            raise HashbenchError(f"--set {key}=...: give it as --{key}")
    given = {"bits": bits, **({"model": model} if model else {}), **chosen}
    cell = experiment.resolve(dataset, protocol, method, given, seed=seed)
    store = Store.default()
    options = measure.Options(device=device, progress=True, checkpoint_every_s=checkpoint_every)
    row = measure.run(cell, store, options)
    if as_json:
        typer.echo(to_json(row))
    else:
        typer.echo(f"run   {row.run}")
        for name, value in row.metrics.items():
            typer.echo(f"{name:28} {'' if value.mean is None else f'{value.mean:.4f}'}")
        typer.echo(f"row   {store.row_path(row.dataset, row.protocol, row.run)}")
    if row.status == "failed":
        typer.echo(f"error: {row.run}: {row.reason}", err=True)
        raise typer.Exit(2)

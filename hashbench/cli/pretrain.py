"""``hashbench pretrain`` trains a network as a classifier, so that other runs can start from its weights."""

from typing import Annotated

import typer

from hashbench.cli._options import DatasetName, Device, ProtocolName
from hashbench.cli._settings import parse_settings
from hashbench.foundation.errors import HashbenchError


def command(
    dataset: DatasetName,
    model: Annotated[
        str, typer.Option(help="Network without official weights, such as resnet9; `hashbench list models` shows them.")
    ],
    width: Annotated[
        int | None, typer.Option(min=1, help="Channels of the first layer. Default: the model's own number.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the training items. Default: 24.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random choices in the run.")] = 0,
    protocol: ProtocolName = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set a hyper-parameter; may be repeated.")
    ] = None,
    device: Device = "auto",
    precision: Annotated[
        str,
        typer.Option(
            help="fastest (on a CPU, by a short timing at the start; bfloat16 on a GPU), float32, bfloat16 or auto "
            "(float32 on a CPU, bfloat16 on a GPU)."
        ),
    ] = "fastest",
    checkpoint_every: Annotated[float, typer.Option(metavar="SECONDS", help="Time between two checkpoints.")] = 10.0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the run's name and all its settings with their sources, and exit.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the row as one JSON object.")] = False,
) -> None:
    """Train a network as a classifier on the training part of a data set, and keep its weights in the data folder.

    The row holds the accuracy on the queries of the protocol and the checksum of the weights; without --protocol it is
    the protocol that trains on the most items. `hashbench train ... --weights NAME` and `hashbench features ...
    --weights NAME` start from the weights, and their cells name the checksum. After an interruption the same command
    continues from the last checkpoint.
    """
    from hashbench.cli._dry_run import describe
    from hashbench.cli._row_text import show
    from hashbench.foundation.parallel import ComputeOptions
    from hashbench.foundation.progress import note
    from hashbench.methods import require_torch
    from hashbench.runs.guard import stored_row
    from hashbench.runs.options import Options
    from hashbench.runs.pretrain import classifier_run, pretrain
    from hashbench.runs.store import Store

    require_torch()
    given = parse_settings(settings or [])
    for key in {"model", "width", "epochs", "classes"} & given.keys():
        remedy = "the data set has its number" if key == "classes" else f"give it as --{key}"
        raise HashbenchError(f"--set {key}=...: {remedy}")
    given = given | ({} if epochs is None else {"epochs": epochs})
    spec = classifier_run(dataset, protocol, model, given, channels=width, seed=seed)
    store = Store.default()
    if dry_run:
        chosen = {"model", "classes", *given, *([] if width is None else ["width"])}
        shown = {key: value for key, value in spec.settings.model_dump().items() if key in chosen}
        describe(spec, shown, stored_row(spec, store), as_json=as_json)
        return
    compute = ComputeOptions(precision=precision)
    options = Options(device=device, progress=True, checkpoint_every_s=checkpoint_every, compute=compute)
    done = pretrain(spec, store, options)
    if done.weights is not None and done.weights.sha256 != done.row.artefacts.get("weights"):
        note("note: the row is of other weights: these were trained again, on another machine or by other code")
    show(done.row, None, store, as_json=as_json)
    if done.weights is not None and not as_json:
        typer.echo(f"weights {done.weights.path}")

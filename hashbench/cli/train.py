"""``hashbench train`` trains and scores one method on one data set."""

from typing import TYPE_CHECKING, Annotated

import typer

from hashbench.cli._options import DatasetName, Device, ProtocolName
from hashbench.cli._settings import parse_settings
from hashbench.cli.catalogue import complete
from hashbench.foundation.errors import HashbenchError

if TYPE_CHECKING:
    from hashbench.foundation.config import Setting
    from hashbench.runs.row import Row
    from hashbench.runs.run import Run


def command(
    method: Annotated[
        str,
        typer.Argument(
            help="Name of a method; `hashbench list methods` shows them.", autocompletion=complete("methods")
        ),
    ],
    dataset: DatasetName,
    protocol: ProtocolName = None,
    bits: Annotated[
        int | None, typer.Option(help="Code length. For sparse codes use --set d=D --set k=K instead.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random choices in the run.")] = 0,
    split: Annotated[
        int | None,
        typer.Option(min=0, max=2**32 - 1, help="Seed of the split. Default: the protocol's own seed."),
    ] = None,
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
            metavar="none|FILE|NAME",
            help="Initial weights. Of a network for ImageNet: a file, or none for random weights; by default the "
            "official weights. Of another network: the name, or the file, of weights that `hashbench pretrain` made.",
        ),
    ] = None,
    device: Device = "auto",
    precision: Annotated[
        str,
        typer.Option(
            help="auto (bfloat16 on a GPU, float32 on a CPU), float32, bfloat16 or fastest (by a short timing)."
        ),
    ] = "auto",
    compile_: Annotated[
        bool, typer.Option("--compile/--no-compile", help="Compile the encoder with torch.compile.")
    ] = False,
    channels_last: Annotated[
        bool,
        typer.Option("--channels-last/--no-channels-last", help="Store the channels of a pixel together in memory."),
    ] = True,
    checkpoint_every: Annotated[float, typer.Option(metavar="SECONDS", help="Time between two checkpoints.")] = 10.0,
    again: Annotated[
        bool, typer.Option("--again", help="Train even if the run is stored, and compare; its stored row stays.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the run's name and all its settings with their sources, and exit.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the row as one JSON object.")] = False,
) -> None:
    """Train a method on a data set, encode the data, score the codes and store the scores.

    A run whose row is stored is not trained: the command prints the row. With --again it is trained, its codes and its
    hasher are saved, and its scores are compared with those of the row, equal or not; with --json they are the object
    {"again": ROW, "stored": ROW, "equal": {...}, "differences": {...}}.

    After an interruption the same command continues from the last checkpoint. The run's folder holds metrics.jsonl, one
    line for each epoch, and its curves, training.png. With TensorBoard (the extra tensorboard) it
    also holds TensorBoard's files. To train with N processes, one on each GPU, start torchrun --nproc-per-node N -m
    hashbench train with the same arguments; the result is that of one process, up to rounding.
    """
    from hashbench.cli._dry_run import describe
    from hashbench.cli._row_text import show
    from hashbench.foundation import parallel
    from hashbench.runs.guard import follow, row_of, stored_row
    from hashbench.runs.options import Options
    from hashbench.runs.run import Run
    from hashbench.runs.store import Store

    chosen = parse_settings(settings or [])
    for key in ("bits", "model"):
        if key in chosen:
            raise HashbenchError(f"--set {key}=...: give it as --{key}")
    named = {"bits": bits, "model": model}
    given = {**{key: value for key, value in named.items() if value is not None}, **chosen}
    group = parallel.from_environment()
    file = None
    if weights is not None:
        without_head = {key: value for key, value in given.items() if key != "head" and not key.startswith("base.")}
        found, file = _start(
            Run.resolve(dataset, protocol, method, without_head, seed=seed, budget=budget, split_seed=split), weights
        )
        given = {**found, **given, "weights": found["weights"]}
    spec = Run.resolve(dataset, protocol, method, given, seed=seed, budget=budget, split_seed=split)
    options = Options(
        device=device,
        progress=group.is_first,
        checkpoint_every_s=checkpoint_every,
        group=group,
        compute=parallel.ComputeOptions(precision=precision, compiled=compile_, channels_last=channels_last),
        weights=file,
    )
    store = Store.default()
    stored = stored_row(spec, store)
    if not group.is_first:
        if not dry_run:
            follow(spec, store, options)
    elif dry_run:
        describe(spec, given, stored, as_json=as_json)
    else:
        _note(stored, again=again)
        row = row_of(spec, store, options, again=again)
        show(row, stored if again else None, store, as_json=as_json)


def _note(stored: "Row | None", *, again: bool) -> None:
    """Says on stderr that the run is stored."""
    from hashbench.foundation.progress import note
    from hashbench.runs.row import made_by

    if stored is not None:
        done = "it is trained again, and its row stays" if again else "nothing was trained. --again trains and compares"
        note(f"note: this run is stored: {made_by(stored)}; {done}")


def _start(spec: "Run", weights: str) -> tuple["dict[str, Setting]", str | None]:
    """The settings that the weights decide, and the path of the file that holds them."""
    model = getattr(spec.settings, "model", None)
    if model is None:
        raise HashbenchError(f"{spec.name.method} has no network: no --weights")
    from hashbench.methods import require_torch

    require_torch()
    from hashbench.training.weights import weights_settings

    return weights_settings(model, weights)

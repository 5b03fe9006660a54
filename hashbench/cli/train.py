"""``hashbench train`` trains and scores one method on one data set."""

from typing import TYPE_CHECKING, Annotated

import typer

from hashbench import paths
from hashbench.cli import _complete
from hashbench.cli._settings import parse_settings
from hashbench.errors import HashbenchError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hashbench.config import Setting
    from hashbench.metrics import MetricValue
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
    protocol: Annotated[
        str | None, typer.Option(help="Name of one of the data set's protocols. Needed where there are several.")
    ] = None,
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
    from hashbench import parallel
    from hashbench.datasets.card import load_card
    from hashbench.runs.options import Options
    from hashbench.runs.run import follow, run, stored_row
    from hashbench.runs.spec import resolve
    from hashbench.runs.store import Store

    chosen = parse_settings(settings or [])
    for key in ("bits", "model"):
        if key in chosen:
            raise HashbenchError(f"--set {key}=...: give it as --{key}")
    named = {"bits": bits, "model": model}
    given = {**{key: value for key, value in named.items() if value is not None}, **chosen}
    group = parallel.from_environment()
    protocol = load_card(dataset).protocol_name(protocol)
    spec = resolve(dataset, protocol, method, given, seed=seed, budget=budget)
    file = None
    if weights is not None:
        given["weights"], file = _start(spec, weights)
        spec = resolve(dataset, protocol, method, given, seed=seed, budget=budget)
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
        _describe(spec, given, stored, as_json=as_json)
    else:
        _note(stored, again=again)
        row = run(spec, store, options, again=again)
        _show(row, stored if again else None, store, as_json=as_json)


def _note(stored: "Row | None", *, again: bool) -> None:
    """Says on stderr that the run is stored."""
    from hashbench.progress import note
    from hashbench.runs.again import made_by

    if stored is not None:
        done = "it is trained again, and its row stays" if again else "nothing was trained. --again trains and compares"
        note(f"note: this run is stored: {made_by(stored)}; {done}")


def _start(spec: "RunSpec", weights: str) -> tuple[str, str | None]:
    """The setting ``weights``, and the path of the file that holds them."""
    model = getattr(spec.settings, "model", None)
    if model is None:
        raise HashbenchError(f"{spec.method} has no network: no --weights")
    from hashbench.methods import require_torch

    require_torch()
    from hashbench.training import pretrained

    return pretrained.weights_setting(model, weights)


def _describe(spec: "RunSpec", given: "dict[str, Setting]", stored: "Row | None", *, as_json: bool) -> None:
    """Prints the run's name, whether it is stored, and all its settings with their sources."""
    from dataclasses import asdict

    from hashbench.config import canonical_json
    from hashbench.runs.again import made_by
    from hashbench.runs.sources import settings_of

    settings = settings_of(spec, given)
    names = {"dataset": spec.dataset, "protocol": spec.protocol, "method": spec.method}
    names |= {"budget": spec.budget}
    if as_json:
        listed = {key: asdict(found) for key, found in settings.items()}
        typer.echo(
            canonical_json(
                {"run": spec.run, "stored": stored is not None, **names, "seed": spec.seed, "settings": listed}
            )
        )
        return
    is_stored = "no" if stored is None else f"yes, {made_by(stored)}"
    width = max(map(len, settings))
    for key, text in {"run": spec.run, "stored": is_stored, **names, "seed": spec.seed}.items():
        typer.echo(f"{key:{width}}  {text}")
    for key, found in settings.items():
        source = found.source if found.recipe is None else f"recipe {found.recipe}"
        typer.echo(f"{key:{width}}  {_text(found.value):14}  {source}")


def _text(value: "Setting | None") -> str:
    if value in (None, ""):
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _show(row: "Row", stored: "Row | None", store: "Store", *, as_json: bool) -> None:
    """Prints the row; if it was trained again, beside the ``stored`` one."""
    from hashbench.runs.store import to_json

    if as_json:
        typer.echo(to_json(row) if stored is None else _compared_json(row, stored))
    else:
        typer.echo(f"run   {row.run}")
        for line in _scores(row) if stored is None else _compared(row, stored):
            typer.echo(line)
        stays = "" if stored is None else " (as it was)"
        typer.echo(f"row   {paths.shown(store.row_path(row.dataset, row.protocol, row.run))}{stays}")
    if row.status == "failed":
        typer.echo(f"error: {row.run}: {row.reason}", err=True)
        raise typer.Exit(2)


def _scores(row: "Row") -> "Iterator[str]":
    """A line for each metric of the row."""
    from hashbench.runs.again import all_metrics

    for name, value in all_metrics(row).items():
        yield f"{name:28} {_score(value)}"


def _compared(row: "Row", stored: "Row") -> "Iterator[str]":
    """A line for each metric of the row that says how it differs from the ``stored`` one."""
    from hashbench.runs.again import all_metrics, compare

    compared, before = compare(row, stored), all_metrics(stored)
    for name, is_equal in compared.counts.items():
        yield f"{name:28} {'equal' if is_equal else 'not equal to the stored one'}"
    for name, value in all_metrics(row).items():
        if name not in compared.differences:
            said = "not in the stored row"
        elif compared.differences[name] == 0:
            said = "equal"
        else:
            said = f"stored {_score(before[name])}, {_signed(compared.differences[name])}"
        yield f"{name:28} {_score(value):6}  {said}"


def _compared_json(row: "Row", stored: "Row") -> str:
    from hashbench.config import canonical_json
    from hashbench.runs.again import compare

    compared = compare(row, stored)
    rows = {"again": row.model_dump(by_alias=True), "stored": stored.model_dump(by_alias=True)}
    return canonical_json({**rows, "equal": compared.counts, "differences": compared.differences})


def _score(value: "MetricValue") -> str:
    return "" if value.mean is None else f"{value.mean:.4f}"


def _signed(difference: float | None) -> str:
    return "one of them has no mean" if difference is None else f"differs by {difference:+.2g}"

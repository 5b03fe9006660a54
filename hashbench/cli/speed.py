"""``hashbench speed``: how long a run would take on this machine, by a few seconds of it."""

from typing import Annotated, Any

from typer import Argument, Option

from hashbench.cli import _options
from hashbench.cli._given_run import given_run
from hashbench.cli._options import DatasetName, ProtocolName
from hashbench.cli._terminal import duration
from hashbench.cli.catalogue import complete
from hashbench.foundation import provenance
from hashbench.foundation.errors import counted
from hashbench.foundation.execution import Execution
from hashbench.running.datasets.status import readable
from hashbench.running.runs.speed import Speed, measure
from hashbench.running.runs.store import Store
from hashbench.showing.sheet import Cell, Sheet, facts


def command(
    method: Annotated[str, Argument(help="A method that trains a network.", autocompletion=complete("methods"))],
    dataset: DatasetName,
    protocol: ProtocolName = None,
    bits: Annotated[int | None, Option(help="Code length. For sparse codes use --set d=D --set k=K instead.")] = None,
    model: Annotated[str | None, Option(help="Encoder, such as linear or mlp; see hashbench list models.")] = None,
    settings: _options.Settings = None,
    budget: Annotated[str | None, Option(help="One of the method's budgets. Default: the first.")] = None,
    device: _options.TrainingDevice = "auto",
    precision: _options.Precision = "auto",
    seconds: Annotated[float, Option(min=0.1, metavar="S", help="How long steps are made.")] = 20.0,
) -> Sheet:
    """Measure how fast a run trains here, and say how many hours all of it takes; nothing is stored.

    The steps are those of the run itself: its items, augmentation, objective and optimiser. Then a part of the items is
    encoded and scored, and the rest is computed from it. A run that starts from another is measured after that one,
    unless that one is trained already. Inputs that are not here, features among them, are named and nothing is done.
    """
    named = given_run(
        method,
        dataset,
        protocol,
        bits=bits,
        model=model,
        settings=settings,
        weights=None,
        seed=0,
        budget=budget,
        split_seed=None,
    )
    device, threads = _options.device_and_threads(device)
    execution = Execution(device, threads, precision)
    speed = measure(named.run, Store.default(), execution, seconds)
    grids = [] if speed.base is None else [facts(_facts(speed.base))]
    return Sheet(grids=[*grids, facts(_facts(speed))], values=lambda: _values(speed))


def _values(speed: Speed) -> dict[str, Any]:
    values = {key: value for key, value in vars(speed).items() if key not in ("run", "base")}
    values |= {"items_per_s": speed.items_per_s, "total_s": speed.total_s, "hours": speed.total_s / 3600}
    base = None if speed.base is None else _values(speed.base)
    return {"run": str(speed.run.name), **values, "base": base}


def _facts(speed: Speed) -> dict[str, Cell]:
    run = speed.run
    unit = "items"
    if run.card.kind == "images" and run.settings.features == "pixels":
        unit = "images"
    processor = provenance.processor()["cpu"]
    if speed.device.startswith("cuda"):
        processor = provenance.gpu_name()
    parts = f"{duration(speed.train_s)} to train, {duration(speed.encode_s)} to encode"
    memory = []
    if speed.gpu_memory is not None:
        memory.append(f"{readable(speed.gpu_memory)} of the GPU")
    if speed.peak_memory is not None:
        memory.append(f"{readable(speed.peak_memory)} of the process")
    timed = f"{counted(speed.timed_steps, 'step')} in {speed.timed_s:.1f} s"
    known: dict[str, Cell] = {
        "run": f"{run.name.method} on {run.name.dataset} {run.name.protocol}, {run.settings.size}: {run.name}",
        "device": f"{speed.device}, {processor}",
        "speed": f"{speed.items_per_s:,.0f} {unit} a second: {timed}",
        "hours": f"{speed.total_s / 3600:.2g} ({duration(speed.total_s)}): {parts}, {duration(speed.score_s)} to score",
        "memory": ", ".join(memory),
        "disk": f"{readable(speed.hasher_bytes)} for the trained hasher",
    }
    if speed.run.base is not None:
        known["starts"] = f"from {speed.run.base.name}, which is trained once for all runs that start from it"
    return known

"""Trackers of experiments: each is a function that starts one, whose callback then gets the values of each epoch.

Nothing leaves the machine unless the user's own variables say so: wandb is offline without WANDB_MODE, MLflow writes
files without MLFLOW_TRACKING_URI, and neither reports its use to its makers.
"""

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.extras import how_to_install

PROJECT = "hashbench"  # of wandb; the experiment of MLflow

Values = Mapping[str, float]


class Tracker(NamedTuple):
    """``write`` gets the values of an epoch and its number, ``close`` ends the tracking."""

    write: Callable[[Values, int], object]
    close: Callable[[], object]


def tensorboard(folder: Path, _: Mapping[str, Any], epochs_done: int) -> Tracker:
    """Files in the folder ``tensorboard`` of the run; what a killed process wrote after ``epochs_done`` is hidden."""
    board = import_module("torch.utils.tensorboard").SummaryWriter(folder / "tensorboard", purge_step=epochs_done)

    def write(values: Values, epoch: int) -> None:
        for name, value in values.items():
            board.add_scalar(f"train/{name}", value, epoch)

    return Tracker(write, board.close)


def wandb(folder: Path, config: Mapping[str, Any], _: int) -> Tracker:
    """Files in the folder ``wandb`` of the run, which ``wandb sync`` sends; WANDB_MODE=online sends them at once."""
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    library = import_module("wandb")
    quiet = library.Settings(silent=True, console="off", disable_git=True, save_code=False)
    run = library.init(
        project=PROJECT,
        name=folder.name,
        dir=folder,
        config=dict(config),
        mode=os.environ.get("WANDB_MODE", "offline"),
        settings=quiet,
    )
    return Tracker(lambda values, epoch: run.log(dict(values), step=epoch), run.finish)


def mlflow(folder: Path, config: Mapping[str, Any], _: int) -> Tracker:
    """A run in the experiment ``hashbench``, where MLflow keeps its own: in the working directory by default."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    library = import_module("mlflow")
    library.set_experiment(PROJECT)
    library.start_run(run_name=folder.name, nested=True)
    library.log_params(dict(config))
    return Tracker(lambda values, epoch: library.log_metrics(dict(values), step=epoch), library.end_run)


TRACKERS = {"tensorboard": tensorboard, "wandb": wandb, "mlflow": mlflow}


def require(name: str) -> None:
    """Raises HashbenchError for an unknown tracker, and for one that is not installed."""
    if name not in TRACKERS:
        raise unknown("tracker", name, TRACKERS)
    if find_spec(name) is None:
        raise HashbenchError(f"--track {name}: {name} is not installed: {how_to_install(name)}")

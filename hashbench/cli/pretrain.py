"""``hashbench pretrain`` trains a network as a classifier, so that other runs can start from its weights."""

from typing import Annotated

from typer import Option

from hashbench.cli import _interrupts, _options
from hashbench.cli._command import Answer
from hashbench.cli._options import Dataset, ProtocolName
from hashbench.cli._row_text import answer_of_row, sheet_of_settings
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.execution import Execution
from hashbench.foundation.progress import note
from hashbench.learning.methods import require_torch
from hashbench.running.runs.guard import stored_row
from hashbench.running.runs.pretrain import classifier_run, pretrain
from hashbench.running.runs.store import Store
from hashbench.showing.sheet import Sheet


def command(
    dataset: Dataset,
    model: Annotated[str, Option(help="A network without official weights, such as resnet9; hashbench list models.")],
    seed: _options.RunSeed = 0,
    protocol: ProtocolName = None,
    settings: _options.Settings = None,
    device: _options.TrainingDevice = "auto",
    precision: _options.Precision = "auto",
    dry_run: _options.DryRun = False,
) -> Sheet | Answer:
    """Train a network as a classifier on the training part of a data set, and keep its weights in the data folder.

    The row holds the accuracy on the queries of the protocol, by default the one that trains on the most items, and the
    checksum of the weights. `hashbench train` and `hashbench features` start from them with --weights NAME. After an
    interruption the same command continues from the last checkpoint.
    """
    _interrupts.say_that_it_continues()
    require_torch()
    chosen_settings = _options.parse_settings(settings or [])
    for key in {"model", "classes"} & chosen_settings.keys():
        remedy = f"use --{key}"
        if key == "classes":
            remedy = "the data set has its number"
        raise HashbenchError(f"--set {key}=... cannot be used: {remedy}")
    run = classifier_run(dataset, protocol, model, chosen_settings, seed=seed)
    store = Store.default()
    if dry_run:
        return sheet_of_settings(run, stored_row(run, store))
    device, threads = _options.device_and_threads(device)
    execution = Execution(device, threads, precision, progress=True)
    done = pretrain(run, store, execution)
    if done.weights is not None and done.weights.sha256 != done.row.artefacts.get("weights"):
        note("note: the row is of other weights: these were trained again, on another machine or by other code")
    after = []
    if done.weights is not None:
        after.append(f"weights {done.weights.path}")
    return answer_of_row(done.row, None, store, after)

"""``hashbench train`` trains and scores one method on one data set."""

from collections.abc import Iterator
from typing import Annotated

from typer import Argument, Option

from hashbench.cli import _interrupts, _options
from hashbench.cli._command import Answer
from hashbench.cli._given_run import given_run
from hashbench.cli._options import DatasetName, ProtocolName, SplitSeed, device_and_threads
from hashbench.cli._row_text import answer_of_row, sheet_of_settings
from hashbench.cli.catalogue import complete
from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.execution import Execution
from hashbench.foundation.progress import note
from hashbench.learning.contract import PIXELS
from hashbench.learning.models import MODELS
from hashbench.learning.training import trackers
from hashbench.learning.training.settings import DeepSettings, TrainingSettings
from hashbench.running.runs.guard import row_of, stored_row
from hashbench.running.runs.row import made_by
from hashbench.running.runs.run import Run
from hashbench.running.runs.settings import recipe_in
from hashbench.running.runs.store import Store
from hashbench.showing.sheet import Sheet

NOT_TRAINED = "nothing was trained. --again trains and compares"


def command(
    method: Annotated[str, Argument(help="See hashbench list methods.", autocompletion=complete("methods"))],
    dataset: DatasetName,
    protocol: ProtocolName = None,
    bits: Annotated[int | None, Option(help="Code length; of sparse codes --set d=D --set k=K.")] = None,
    seed: _options.RunSeed = 0,
    split: SplitSeed = None,
    model: Annotated[str | None, Option(help="Encoder, such as linear: hashbench list models.")] = None,
    settings: _options.Settings = None,
    budget: Annotated[str | None, Option(help="One of the method's budgets. Default: the first.")] = None,
    weights: Annotated[
        str | None,
        Option(
            metavar="none|FILE|NAME",
            help="Initial weights; none: random. Default: official.",
        ),
    ] = None,
    device: _options.TrainingDevice = "auto",
    precision: _options.Precision = "auto",
    checkpoint_every: Annotated[float, Option(hidden=True)] = 10.0,  # seconds; for tests of resumed runs
    eval_every: Annotated[
        int,
        Option(min=0, metavar="N", help="Every N epochs show the AP of other items than queries."),
    ] = 0,
    track: Annotated[str | None, Option(metavar="TRACKER", help="Also log to tensorboard, wandb or mlflow.")] = None,
    asymmetric: Annotated[
        bool, Option("--asymmetric", help="Also rank by activations of queries against codes.")
    ] = False,
    again: Annotated[bool, Option("--again", help="Train a stored run too, and compare with its row.")] = False,
    dry_run: _options.DryRun = False,
) -> Sheet | Answer:
    """Train a method on a data set, encode the data, score the codes and store the scores.

    Of a run whose row is stored the row is printed. After an interruption the same command continues from the last
    checkpoint. The run's folder in results/runs has its codes, a log of its epochs and their curves.
    """
    _interrupts.say_that_it_continues()
    named = given_run(
        method,
        dataset,
        protocol,
        bits=bits,
        model=model,
        settings=settings,
        weights=weights,
        seed=seed,
        budget=budget,
        split_seed=split,
    )
    run = named.run
    if asymmetric:
        run = run.with_asymmetric()
    if eval_every and not isinstance(run.settings, DeepSettings):
        raise HashbenchError(f"--eval-every: {run.name.method} trains no network of binary codes, so it has no epochs")
    if track is not None and not isinstance(run.settings, TrainingSettings):
        raise HashbenchError(f"--track: {run.name.method} trains no network, so it has no epochs")
    if track is not None:
        trackers.require(track)
    device, threads = device_and_threads(device)
    execution = Execution(
        device,
        threads,
        precision,
        progress=True,
        weights=named.weights,
        checkpoint_every_s=checkpoint_every,
        eval_every=eval_every,
        track=track,
    )
    store = Store.default()
    stored = stored_row(run, store)
    answer: Sheet | Answer
    if dry_run:
        answer = sheet_of_settings(run, stored, own_weights=named.weights is not None)
    else:
        if stored is not None:
            remark = NOT_TRAINED
            if again:
                remark = "it is trained again, and its row stays"
            note(f"note: this run is stored: {made_by(stored)}; {remark}")
        row = row_of(run, store, execution, again=again)
        answer = answer_of_row(row, stored if again else None, store)
        if answer.error is not None:  # notes would be noise
            return answer
    for line in _notes(run, named.settings):
        note(f"note: {line}")
    return answer


def _notes(run: Run, settings: dict[str, Setting]) -> Iterator[str]:
    """What a user should know of features and network: nobody named them, or the settings were made for others."""
    if run.card.custom and run.card.kind == "images" and "features" not in settings and run.settings.features != PIXELS:
        other = "--set features=pixels takes the pixels"
        yield f"the images of {run.card.name} are hashed by their features {run.settings.features}: {other}"
    if (model := getattr(run.settings, "model", None)) is None or model not in MODELS:
        return
    name = run.name
    if recipe_in(run.sources) is None and model not in ("alexnet", "vggf"):  # the authors' networks
        yield (
            f"no recipe fits {model} on {name.dataset}, so the settings are those of the authors' network: "
            f"hashbench tune {name.method} {name.dataset} searches others"
        )

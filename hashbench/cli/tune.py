"""``hashbench tune`` searches the settings of methods, with as many trials for each."""

from typing import Annotated

from typer import Argument, Option

from hashbench.cli import _interrupts, _options
from hashbench.cli._command import Answer, lines
from hashbench.cli._options import Device
from hashbench.cli.catalogue import complete
from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.execution import Execution
from hashbench.running.runs.needs import require_device
from hashbench.running.runs.run_all import Plan
from hashbench.running.tuning.choice import choices
from hashbench.running.tuning.recipe import put_into_recipe
from hashbench.running.tuning.run import Budget, finish, planned
from hashbench.showing.search_sheet import commands_of, failure_of, sheet_of_choices
from hashbench.showing.tables.searches import name_of, question_of, search_called


def command(
    names: Annotated[
        list[str],
        Argument(metavar="METHOD... DATASET...", autocompletion=complete("methods", "datasets"), help="What is tuned."),
    ],
    protocol: _options.ProtocolName = None,
    recipe: Annotated[str | None, Option(help="The recipe that is tuned, with its model and features.")] = None,
    bits: Annotated[
        int | None,
        Option(help="Code length. Default: 32, or the numbers of an item if fewer."),
    ] = None,
    model: Annotated[str | None, Option(help="Encoder. Default: of the recipe, or linear.")] = None,
    settings: _options.Settings = None,
    trials: Annotated[int, Option(min=1, help="Trials of each method, beside our defaults.")] = 24,
    repeats: Annotated[int, Option(min=1, help="Runs of the best five, on other items and queries.")] = 3,
    name: Annotated[str | None, Option(help="Name of the search. Default: by recipe, or data, bits.")] = None,
    jobs: Annotated[int, Option(min=1, help="Trials at the same time, each on one core.")] = 1,
    device: Device = "auto",
    retry_failed: Annotated[bool, Option("--retry-failed", help="Make again the trials that failed.")] = False,
    ray: Annotated[str | None, Option(metavar="ADDRESS", help="On a Ray cluster: auto, or host:port.")] = None,
    metric: _options.Metric = "ap",
    write: Annotated[bool, Option("--write", help="Write what was chosen into [methods.X] of the recipe.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Print the trials that are missing and exit.")] = False,
) -> Answer:
    """Search the settings of methods, in the same number of trials for each.

    Trial 0 has our defaults, the first 24 others lie anywhere in the space that the method's file declares, the next
    ones around the best. The best five are run in each repeat, and their median over the repeats chooses; the queries
    come out of the database, and no table shows them. A trial that fails counts as 0; if all trials of a method
    fail, the exit status is 1.

    The trials are lines of results/tune/NAME.jsonl: the same command continues after an interruption, and more
    methods, repeats or trials add to them.
    """
    _interrupts.say_that_it_continues()
    if ray is not None and jobs > 1:
        raise HashbenchError("--jobs cannot be combined with --ray: the cluster runs as many as fit")
    if write and recipe is None:
        raise HashbenchError("--write needs --recipe NAME, the recipe that gets the values")
    execution = Execution(device=device)
    if ray is None and not dry_run:
        require_device(device)
    chosen_settings: dict[str, Setting] = {}
    if bits is not None:
        chosen_settings["bits"] = bits
    if model is not None:
        chosen_settings["model"] = model
    chosen_settings |= _options.parse_settings(settings or [])
    question = question_of(names, protocol, recipe, chosen_settings, metric)
    search = search_called(name or name_of(question), question)
    budget = Budget(list(question.spaces), trials, repeats)
    todo = planned(search, budget, retry=retry_failed)
    if dry_run:
        return Answer(lines(todo.runs, lambda: {"runs": todo.runs}), ink="text")
    search = finish(search, budget, todo, execution, Plan(jobs, ray=ray))
    chosen = [choice for choice in choices(search) if choice.method in question.spaces]
    commands: list[str] = []
    change: list[str] = []
    if question.recipe is None:
        commands = [*commands_of(question, chosen)]
    else:
        change = put_into_recipe(question.recipe, chosen, search.name, write=write)
    return Answer(sheet_of_choices(search, chosen, commands), change, failure_of(chosen))

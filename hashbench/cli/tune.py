"""``hashbench tune`` searches the settings of methods, with as many trials for each."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import unified_diff
from typing import Annotated, Any

from typer import Argument, Option

from hashbench.cli import _interrupts, _options
from hashbench.cli._command import Answer, lines
from hashbench.cli._options import Device
from hashbench.cli.catalogue import complete
from hashbench.datasets.card import cards, load_card
from hashbench.datasets.protocol import N_SPLITS
from hashbench.foundation import paths
from hashbench.foundation.config import Setting
from hashbench.foundation.errors import CheckFailed, HashbenchError, unknown
from hashbench.foundation.files import write_text
from hashbench.foundation.progress import bar, note
from hashbench.foundation.registry import canonical
from hashbench.methods import METHODS
from hashbench.metrics import NamedMetric
from hashbench.runs.command import command_of
from hashbench.runs.run import Options, Run
from hashbench.runs.run_all import Plan
from hashbench.runs.settings import FORM, recipes
from hashbench.runs.space import same_points
from hashbench.tables import spec
from hashbench.tables.spec import shown_protocols
from hashbench.tuning.choice import Choice, choices
from hashbench.tuning.recipe import recipe_path, require_use, with_choices
from hashbench.tuning.run import features_of, made, missing, n_ended, n_needed, save_spaces
from hashbench.tuning.search import METRIC, NAME, Question, Search, path_of, space_of
from hashbench.tuning.search_sheet import as_object, sheet_of

BITS = 32  # of codes, unless other ones are asked for
STUDIES = 3  # of each trial


def command(
    names: Annotated[
        list[str],
        Argument(metavar="METHOD... DATASET...", autocompletion=complete("methods", "datasets"), help="What is tuned."),
    ],
    protocol: _options.ProtocolName = None,
    recipe: Annotated[str | None, Option(help="The recipe that is tuned; it says which model and features.")] = None,
    bits: Annotated[
        int | None,
        Option(
            help="Code length. Default: 32, or as many numbers as an item has. "
            "Of several data sets, one whose items have fewer numbers has as many bits as numbers."
        ),
    ] = None,
    model: Annotated[str | None, Option(help="Encoder. Default: of the recipe; linear for data of your own.")] = None,
    settings: _options.Settings = None,
    trials: Annotated[int, Option(min=1, help="Trials of each method, beside our defaults.")] = 24,
    studies: Annotated[
        int, Option(min=1, help="Runs of the best five trials: other seeds, training items and queries.")
    ] = STUDIES,
    name: Annotated[
        str | None, Option(help="Name of the search. Default: of the recipe, or data set and bits.")
    ] = None,
    jobs: Annotated[int, Option(min=1, help="Number of trials at the same time, each on one core.")] = 1,
    device: Device = "auto",
    timeout: Annotated[float | None, Option(min=0, metavar="MINUTES", help="End a longer trial, as failed.")] = None,
    retry_failed: Annotated[bool, Option("--retry-failed", help="Make again the trials that failed.")] = False,
    ray: Annotated[str | None, Option(metavar="ADDRESS", help="On a Ray cluster: auto, host:port; or local.")] = None,
    metric: _options.Metric = "ap",
    write: Annotated[bool, Option("--write", help="Write what was chosen into the recipe.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Print the trials that are missing and exit.")] = False,
) -> Answer:
    """Search the settings of methods: the same number of trials for each, from the space that its file declares.

    Trial 0 of a method has our defaults. The first 24 others lie anywhere in its space, the next ones around the best
    so far, 12 at a time in ever smaller parts. Each is run once; the best five are run in each study, with another
    seed, other training items and other queries. The queries are held out of the database of the protocol, and are
    queries of no split that a table shows. The median over the studies chooses among the five, of AP or of the
    --metric. A trial that fails counts as 0; a method all of whose trials fail has no choice, and the exit status is 1.
    A line says which methods are to be searched again, since more than a fifth of their trials failed, or since a value
    was chosen at an end of its range that could be wider.

    The trials are lines of results/tune/NAME.jsonl: after an interruption the same command continues, and more
    methods, studies or trials add to them. --write puts the values into [methods.X] of the recipe; without it the
    change is printed.
    """
    _interrupts.say_that_it_continues()
    if ray is not None and jobs > 1:
        raise HashbenchError("--jobs cannot be combined with --ray: the cluster runs as many as fit")
    if write and recipe is None:
        raise HashbenchError("--write needs --recipe NAME, the recipe that gets the values")
    options: dict[str, Setting | None] = {"bits": bits, "model": model}
    given = {key: value for key, value in options.items() if value is not None}
    question = question_of(names, protocol, recipe, given | _options.parse_settings(settings or []), metric)
    data = f"{'_'.join(question.left_out)}_{question.protocol}_{question.settings['bits']}b"
    by_metric = "" if question.metric == METRIC else "_" + re.sub(r"\W+", "_", question.metric)
    search = search_called(name or f"{question.recipe or data}{by_metric}", question)
    methods = list(question.spaces)
    todo = missing(search, methods, trials, studies, retry=retry_failed)
    runs = list(dict.fromkeys(trial.run for trial, _ in todo))
    is_shorter = len(runs) < len(todo)
    equal = f"; the next {len(todo)} are {len(runs)} runs: trials of equal settings are one" if is_shorter else ""
    n_all = n_needed(search.question, methods, trials, studies)
    n_done = n_ended(search, methods, trials, studies, retry=retry_failed)
    note(f"{n_all} runs of {len(methods)} x {trials} trials, {n_done} done, {n_all - n_done} to do{equal}")
    if dry_run:
        return Answer(lines(runs, lambda: {"runs": runs}), ink="text")
    plan = Plan(jobs, None if timeout is None else 60 * timeout, ray=ray)
    with bar("tune", "run", n_all - n_done) as shown:
        while todo:
            for now in made(search, todo, Options(device=device), plan):
                search = now
                shown.update()
            todo = missing(search, methods, trials, studies, retry=False)
    save_spaces(search)
    chosen = [each for each in choices(search) if each.method in question.spaces]
    commands = [] if question.recipe is not None else [*_commands(question, chosen)]
    values = {"search": search.name, "choices": [as_object(choice) for choice in chosen]}
    sheet = replace(sheet_of(search), commands=commands, values=lambda: values)
    change = [] if question.recipe is None else _put_into_recipe(question.recipe, chosen, search.name, write=write)
    failed = [f"{each.method}: {each.failure}" for each in chosen if each.failure is not None]
    return Answer(sheet, change, CheckFailed(f"every trial failed of {'; '.join(failed)}") if failed else None)


def _commands(question: Question, chosen: Sequence[Choice]) -> Iterator[str]:
    """The command that trains each method with what was chosen, on each data set."""
    for each in (each for each in chosen if each.failure is None):
        for dataset in question.left_out:
            settings = {**question.given(each.method, dataset), **each.searched}
            run = Run.resolve(dataset, question.protocol, each.method, settings)
            yield command_of(run.name, run.name.identity)


def _put_into_recipe(name: str, chosen: Sequence[Choice], search: str, *, write: bool) -> list[str]:
    """The lines of the recipe that change; with ``write`` it is changed."""
    path = recipe_path(name, to_write=write)
    before, place = path.read_text("utf-8"), paths.shown(path)
    after = with_choices(name, before, chosen, search)
    if write:
        write_text(path, after)
        note(f"written: {place}")
    elif before != after:
        note(f"not written: --write puts these values into {place}")
    return [*unified_diff(before.splitlines(), after.splitlines(), place, place, n=1, lineterm="")]


def question_of(
    names: Sequence[str],
    protocol: str | None,
    recipe: str | None,
    given: dict[str, Setting],
    metric: str = "ap",
) -> Question:
    """What a search of these methods and data sets is asked; HashbenchError where a name or setting is wrong."""
    methods = [canonical(name) for name in names if canonical(name) in METHODS.names]
    datasets = [load_card(name) for name in names if canonical(name) not in METHODS.names]
    if not methods or not datasets:
        known = METHODS.names if not methods else cards()
        raise HashbenchError(f"{'a method' if not methods else 'a data set'} is missing: one of {', '.join(known)}")
    if recipe is not None:
        if canonical(recipe) not in recipes():
            raise unknown("recipe", recipe, recipes())
        when = recipes()[canonical(recipe)].when
        protocol = protocol or when.protocol
        given = {**({"model": when.model} if when.model else {}), **given}
        if when.features is not None:
            given.setdefault("features", features_of(when.features, datasets[0].name))
    _require_settings(methods, given)
    for card in datasets:
        protocol = card.protocol_name(protocol)
        card.protocol(protocol)
    vectors = [card for card in datasets if card.kind == "features" and "features" not in given]
    numbers = {card.name: math.prod(card.item_shape) for card in vectors}  # an item has
    own = {"model": "linear"} if any(card.custom for card in datasets) else {}
    given = {"bits": BITS if len(datasets) > 1 else min([BITS, *numbers.values()]), **own, **given}
    fewer = {name: n for name, n in numbers.items() if n < int(given["bits"])} if len(datasets) > 1 else {}
    of_recipe = None if recipe is None else canonical(recipe)
    left_out = {card.name: shown_protocols(card, str(protocol)) for card in datasets}
    splits = 1 if any(card.custom for card in datasets) else N_SPLITS  # of a custom data set tables show one
    what: dict[str, Any] = {"protocol": str(protocol), "left_out": left_out, "splits": splits, "recipe": of_recipe}
    what["metric"] = str(NamedMetric.parse(metric))
    found = Question(**what, settings=given, fewer_bits=fewer, spaces={})
    spaces, features = {}, set()
    for method in methods:
        usual = found.run(method, {}, datasets[0].name, 0)
        features.add(usual.settings.features)
        if of_recipe is not None:
            require_use(of_recipe, usual)
        fixed = {*given, *([FORM] if "model" in given else [])}
        spaces[method] = {key: of for key, of in space_of(usual).items() if key not in fixed}
    if len(features) == 1 and all(card.custom and card.kind == "images" for card in datasets):
        given = {**given, "features": features.pop()}  # by default of the data: said here, so that every output says it
    return found.model_copy(update={"spaces": spaces, "settings": given})


def _require_settings(methods: Sequence[str], given: dict[str, Setting]) -> None:
    """Raises HashbenchError for a method without codes of so many bits, or a setting that none of the methods has."""
    fields = {method: METHODS.get(method).settings.model_fields.keys() for method in methods}
    for method in methods:
        if METHODS.get(method).group not in ("deep", "shallow", "quantisation"):
            raise HashbenchError(f"{method} makes no binary codes, which are compared here")
    known = {"model", *(key for own in fields.values() for key in own)}
    for key in given:
        if key not in known:
            raise unknown(f"setting of {', '.join(methods)}", key, known)


def search_called(name: str, question: Question) -> Search:
    """The stored search of this name, with the methods of ``question`` too; HashbenchError if it is another one.

    It goes on with the queries that it left out when it began, so that all its methods have the same trials.
    """
    if not NAME.fullmatch(name) or name in spec.names():
        raise HashbenchError(f"--name {name}: letters, digits, _, - and dots are expected, and no name of a table")
    stored = Search.load(name)
    if stored is None:
        return Search(name, question)
    for key in ("protocol", "splits", "datasets", "recipe", "settings", "fewer_bits", "metric"):
        if (was := getattr(stored.question, key)) != (now := getattr(question, key)):
            raise HashbenchError(f"{path_of(name)}: its {key} is {was}, not {now}: give this search another --name")
    for dataset, protocols in question.left_out.items():
        if newer := sorted({*protocols} - {*stored.question.left_out[dataset]}):
            shown = f"queries of {dataset} {', '.join(newer)}, which tables show now"
            note(f"{name}: {shown}, may be in its lists, as when it began; a new --name leaves them out")
    for method in stored.question.spaces.keys() & question.spaces.keys():
        if not same_points(stored.question.spaces[method], question.spaces[method]):
            fault = f"its space of {method} is not the one of today's file or --set"
            raise HashbenchError(f"{path_of(name)}: {fault}: give this search another --name")
    spaces = {**stored.question.spaces, **question.spaces}
    return Search(name, stored.question.model_copy(update={"spaces": spaces}), stored.trials)

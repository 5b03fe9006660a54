"""Makes the trials of a search that are missing, as runs of a store of its own, of which only their lines stay."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.execution import Execution
from hashbench.foundation.files import locked, require_writable
from hashbench.foundation.progress import bar, note
from hashbench.running.features import is_own
from hashbench.running.features import path_of as features_path
from hashbench.running.runs.data import open_data, require_supervision
from hashbench.running.runs.run import Run
from hashbench.running.runs.run_all import Plan, run_all
from hashbench.running.runs.store import Store
from hashbench.running.tuning.choice import FINALISTS, finalists
from hashbench.running.tuning.search import Question, Search, Trial, path_of


def features_of(stem: str, dataset: str) -> str:
    """The features that a recipe calls ``stem``; of a network of our own those of the weights that are found here."""
    if not is_own(stem):
        return stem
    known = {f"{stem}_{path.stem.rpartition('-')[2]}" for path in paths.weight_files(f"{stem}-*")}
    known |= {path.stem for path in features_path(dataset, "x").parent.glob(f"{stem}_*.h5")}
    if len(known) != 1:
        raise HashbenchError(
            f"features {stem}: --set features=NAME says which: {', '.join(sorted(known)) or 'none is here'}"
        )
    return known.pop()


def missing(search: Search, methods: Sequence[str], n: int, n_studies: int, *, retry: bool) -> list[tuple[Trial, Run]]:
    """The runs that a search of ``n`` trials needs next and that have not ended (``retry``: or failed).

    First each trial of a method is run in one study: our defaults, 24 anywhere in its space, then 12 at a time in ever
    smaller parts of it around the best one so far. When all have ended, its ``finalists`` are run in the other studies.
    HashbenchError where a trial of the file is another one than the space gives today.
    """
    needed: list[tuple[Trial, Run]] = []
    for method in methods:
        ended = search.of_method(method)
        trials = list(search.question.trials(method, n, n_studies, ended))
        first = _missing_of(search, [(trial, run) for trial, run in trials if trial.study == 0], retry=retry)
        best = finalists({number: studies for number, studies in ended.items() if number <= n})
        others = [(trial, run) for trial, run in trials if trial.study > 0 and trial.trial in best]
        needed += first or _missing_of(search, others, retry=retry)
    return needed


def n_needed(question: Question, methods: Sequence[str], n: int, n_studies: int) -> int:
    """The number of runs of a whole search of ``n`` trials."""
    n_with_defaults = n + 1
    n_of_method = n_with_defaults + min(n_with_defaults, FINALISTS) * (n_studies - 1)
    return len(methods) * len(question.datasets) * n_of_method


def n_ended(search: Search, methods: Sequence[str], n: int, n_studies: int, *, retry: bool) -> int:
    """The number of these runs that have ended (``retry``: and not failed)."""
    n_counted = 0
    for method in methods:
        trials = {number: studies for number, studies in search.of_method(method).items() if number <= n}
        best = finalists(trials)
        for number, studies in trials.items():
            for trial in studies:
                is_needed = trial.study == 0 or (number in best and trial.study < n_studies)
                n_counted += is_needed and not (retry and trial.reason is not None)
    return n_counted


def _missing_of(search: Search, trials: Sequence[tuple[Trial, Run]], *, retry: bool) -> list[tuple[Trial, Run]]:
    """Those of the ``trials`` that have not ended."""
    missing_trials = []
    for trial, run in trials:
        stored = search.trials.get(trial.key)
        if stored is not None and stored.run != trial.run:
            fault = f"{path_of(search.name)}: trial {trial.trial} of {trial.method} is not the one of today's space"
            raise HashbenchError(f"{fault} or recipe: give this search another --name")
        if stored is None or (retry and stored.reason is not None):
            missing_trials.append((trial, run))
    return missing_trials


def made(search: Search, todo: Sequence[tuple[Trial, Run]], execution: Execution, plan: Plan) -> Iterator[Search]:
    """The search after each trial that has ended; it is stored each time. Another process may not do it meanwhile.

    HashbenchError before the first trial where the data are not here, or no trial of a method can be made of them.
    """
    folder = _working_folder(search.name)
    require_writable(folder)
    store = Store(folder)
    with locked(folder / "lock", wait=False, busy=f"{folder}: another process does this search: give another --name"):
        if (now := Search.load(search.name)) is not None:  # another process may have added trials meanwhile
            before = search.trials
            todo = [(trial, run) for trial, run in todo if now.trials.get(trial.key) == before.get(trial.key)]
            spaces = {**now.question.spaces, **search.question.spaces}
            search = Search(search.name, search.question.model_copy(update={"spaces": spaces}), now.trials)
        # where the fault is the data's, a trial has not failed, and the next one cannot do
        for run in {(run.name.dataset, run.name.method): run for _, run in todo}.values():
            require_supervision(run)
        for run in {run.name.dataset: run for _, run in todo}.values():
            open_data(run, execution)
        # two points of a small space can have the same settings: they are one run
        known = {trial.run: trial for trial in search.trials.values() if trial.score is not None}
        runs = {trial.run: run for trial, run in todo if trial.run not in known}
        for trial in [trial for trial, _ in todo if trial.run in known]:
            search = search.with_trials([known[trial.run].model_copy(update={"trial": trial.trial})])
            search.save()
            yield search
        for outcome in run_all([*runs.values()], store, execution, plan):
            for trial in [trial for trial, _ in todo if trial.run == str(outcome.spec.name)]:
                search = search.with_trials([trial.ended(outcome.row, outcome.error, search.question.metric)])
                search.save()
                yield search
            rmtree(store.run_folder(str(outcome.spec.name)), ignore_errors=True)
        rmtree(folder, ignore_errors=True)


def save_spaces(search: Search) -> None:
    """Stores the spaces of a ``search`` without missing trials: a range's ``last``, which judges a choice, may be new.

    While another process does this search nothing is stored.
    """
    folder = _working_folder(search.name)
    stored = Search.named(search.name)
    spaces = {**stored.question.spaces, **search.question.spaces}
    if spaces != stored.question.spaces and not folder.exists():
        Search(stored.name, stored.question.model_copy(update={"spaces": spaces}), stored.trials).save()


def _working_folder(name: str) -> Path:
    """The folder of the runs of the search called ``name`` while a process does it."""
    return path_of(name).with_name(f".{name}")


@dataclass(frozen=True)
class Budget:
    """The trials of each method of a search, and in how many repeats the best of them are run."""

    methods: Sequence[str]
    trials: int
    repeats: int = 3


@dataclass(frozen=True)
class Todo:
    """The trials that a search needs next, and the number of its runs that are to do."""

    trials: Sequence[tuple[Trial, Run]]
    n_runs: int

    @property
    def runs(self) -> list[str]:
        """The names of the runs of the next trials; trials of equal settings are one."""
        return list(dict.fromkeys(trial.run for trial, _ in self.trials))


def planned(search: Search, budget: Budget, *, retry: bool = False) -> Todo:
    """The trials that the search needs next; a note says how many runs it has, and how many are done."""
    size = (budget.methods, budget.trials, budget.repeats)
    trials = missing(search, *size, retry=retry)
    n_all = n_needed(search.question, *size)
    n_done = n_ended(search, *size, retry=retry)
    todo = Todo(trials, n_all - n_done)
    equal = ""
    if len(todo.runs) < len(trials):
        equal = f"; the next {len(trials)} are {len(todo.runs)} runs: trials of equal settings are one"
    of_trials = f"{len(budget.methods)} x {budget.trials} trials"
    note(f"{n_all} runs of {of_trials}, {n_done} done, {todo.n_runs} to do{equal}")
    return todo


def finish(search: Search, budget: Budget, todo: Todo, execution: Execution, plan: Plan) -> Search:
    """The search after all its missing trials were made; it is stored after each."""
    trials = todo.trials
    with bar("tune", "run", todo.n_runs) as shown:
        while trials:
            for after_trial in made(search, trials, execution, plan):
                search = after_trial
                shown.update()
            trials = missing(search, budget.methods, budget.trials, budget.repeats, retry=False)
    save_spaces(search)
    return search

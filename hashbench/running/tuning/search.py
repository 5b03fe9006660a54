"""A search: what it searches, its trials as JSON lines, and the runs that these are."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

from pydantic import Field

from hashbench.foundation import paths
from hashbench.foundation.config import Setting, Strict, canonical_json, json_object, load, parse, read_text
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.files import write_text
from hashbench.foundation.provenance import Code
from hashbench.learning.contract import PIXELS
from hashbench.learning.methods import METHODS
from hashbench.learning.training.settings import DeepSettings
from hashbench.running.datasets.card import load_card
from hashbench.running.runs.row import REMEDY as OF_FILE
from hashbench.running.runs.row import Row, processor_of
from hashbench.running.runs.run import Run
from hashbench.running.runs.settings import FORM, OUR_DEFAULTS, SETTLED, method_file, method_path
from hashbench.running.runs.space import EXPLORED, NARROWED, Space, points, points_near

METRIC = "ap"  # tie-aware, of the held-out queries: trials are compared by it unless a search says another one
REMEDY = "delete this line, or restore the file from git"
NAME = re.compile(r"\w[\w.-]*")  # of a search, which is that of its file
FOLDER = "tune"  # of the results: its files are named in recipes
DEFAULTS = 0  # the number of the trial of the settings that a method has without any search
Key = tuple[str, int, str, int]  # method, trial, data set, study
GIVEN = (*SETTLED, "bits")  # what a search cannot choose: codes of other lengths or features are no equal terms
SHARED = "search.toml"  # in experiments/: the spaces that methods share


class _SharedSpace(Strict):
    search: Space
    adam: Space  # in place of the same of `search`
    vectors: Space


def space_of(run: Run) -> Space:
    """The space of a search of the settings of ``run``: that of its method's file, and what methods share.

    HashbenchError for a wrong file, or a setting that the method does not have or that a search is given.
    """
    method = run.name.method
    kind = run.method.settings
    shared = dict[str, Any]()
    own_space = method_file(method).search
    of_all = load(_SharedSpace, paths.shipped() / "experiments" / SHARED)
    are_images = run.card.kind == "images" and run.settings.features == PIXELS
    if isinstance(run.settings, DeepSettings):
        shared |= of_all.search
        if run.settings.optimiser == "adam":
            shared |= of_all.adam
        if not are_images:  # a network has its own way to prepare images
            shared |= of_all.vectors
    elif "normalise" in kind.model_fields:
        shared = of_all.vectors
    for key in {**shared, **own_space}:
        place = method_path(method) if key in own_space else SHARED
        if key in GIVEN:
            fault = f"{key} is what a search is given, with --{key} or --set, and never searches"
            raise HashbenchError(f"{place}: search: {fault}")
        if key not in kind.model_fields:
            raise HashbenchError(f"{place}: search: {unknown(f'setting of {method}', key, kind.model_fields)}")
    return {**shared, **own_space}


class Question(Strict):
    """The first line of a search's file: the data, what all trials have in common, and the space of each method."""

    protocol: str  # whose database the queries are held out of
    left_out: dict[str, list[str]]  # of each data set: the protocols whose queries choose nothing
    splits: int | None = None  # of each of these; None: of searches that knew of one, see HeldOut
    recipe: str | None = None
    settings: dict[str, Setting]  # of every method that has them: bits, features, model
    fewer_bits: dict[str, int] = {}  # of each data set whose items have fewer numbers
    metric: str = METRIC  # of the held-out queries, by which trials are compared
    spaces: dict[str, Space]

    @property
    def datasets(self) -> list[str]:
        """The data sets that are searched on, sorted."""
        return sorted(self.left_out)

    @property
    def is_two_stage(self) -> bool:
        """Whether only the best trials are run in every study; searches of before December 2026 ran all in all."""
        return self.splits is not None

    @property
    def metric_title(self) -> str:
        """The metric in words."""
        return title_of(self.metric)

    def given(self, method: str, dataset: str | None = None) -> dict[str, Setting]:
        """The ``settings`` that the method has; of a shallow one the form of its hash functions is the model."""
        settings = dict(self.settings)
        if "model" in settings:
            settings.setdefault(FORM, settings["model"])
        if dataset in self.fewer_bits:
            settings["bits"] = self.fewer_bits[dataset]
        fields = METHODS.get(method).settings.model_fields
        return {key: value for key, value in settings.items() if key in fields}

    def run(self, method: str, searched: Mapping[str, Setting], dataset: str, study: int) -> Run:
        """The run that a trial is: ``study`` is its seed, and decides which queries are held out."""
        protocol = load_card(dataset).held_out(self.protocol, self.left_out[dataset], study, self.splits)
        run = Run.resolve(dataset, protocol, method, {**self.given(method, dataset), **searched}, seed=study)
        return run.with_metrics([self.metric])

    def defaults(self, method: str) -> dict[str, Setting]:
        """Our defaults of the settings that are searched. They may lie outside the space: 0 may mean "off"."""
        dataset = next(iter(self.left_out))
        settings = self.given(method, dataset)
        usual = Run.resolve(dataset, self.protocol, method, settings, recipe=OUR_DEFAULTS)
        return {key: getattr(usual.settings, key) for key in self.spaces[method]}

    def fault_of(self, trial: "Trial") -> str | None:
        """Why ``trial``, which a file has, is none that has ended and that answers this question; None if it is."""
        space = self.spaces.get(trial.method)
        key = "value"
        score = trial.value
        other = trial.ap
        if self.metric == METRIC:
            key = "ap"
            score = trial.ap
            other = trial.value
        faults = {
            "the first line has no such method": space is None,
            "the first line has no such data set": trial.dataset not in self.left_out,
            "its settings are not those of the space": space is not None and trial.searched.keys() != space.keys(),
            f"it has neither or both of {key} and reason": (score is None) == (trial.reason is None),
            f"its score is no {key}": other is not None,
        }
        return next((fault for fault, is_there in faults.items() if is_there), None)

    def trials(
        self, method: str, n: int, n_studies: int, ended: "Mapping[int, Sequence[Trial]]"
    ) -> "Iterator[tuple[Trial, Run]]":
        """The trials of a method without a result, each with its run; HashbenchError where one cannot be run.

        The first are ``DEFAULTS``, which are beside the ``n``. Of those that lie around the best trial so far only the
        ones whose centre is known: ``ended`` are the trials with a result, by number.
        """
        for number, searched in enumerate([self.defaults(method), *self._points(method, n, ended)], DEFAULTS):
            for dataset in self.left_out:
                for study in range(n_studies):
                    run = self.run(method, searched, dataset, study)
                    point = {"method": method, "trial": number, "dataset": dataset, "study": study}
                    yield Trial.model_validate({**point, "searched": searched, "run": str(run.name)}), run

    def _points(self, method: str, n: int, ended: "Mapping[int, Sequence[Trial]]") -> "Iterator[Mapping[str, Setting]]":
        """The settings of the first ``n`` trials, as far as they are known: ``NARROWED`` at a time around the best."""
        space = self.spaces[method]
        yield from points(space, min(n, EXPLORED), method)
        for part, n_before in enumerate(range(EXPLORED, n, NARROWED), 1):
            before = {number: studies for number, studies in ended.items() if DEFAULTS < number <= n_before}
            n_ended = sum(trial.study == 0 for studies in before.values() for trial in studies)
            if n_ended < n_before * len(self.left_out):
                return
            scores = first_scores(before)
            best = max(scores, key=lambda number: (scores[number], -number))
            yield from points_near(space, ended[best][0].searched, part, min(NARROWED, n - n_before), method)


class Trial(Strict):
    """One line: a run with the settings of one point of the method's space, in one study."""

    method: str
    trial: Annotated[int, Field(ge=DEFAULTS)]
    dataset: str
    study: Annotated[int, Field(ge=0)]
    searched: dict[str, Setting]
    run: str  # its name, whose digest covers all that decides its result
    ap: Annotated[float, Field(ge=0, le=1)] | None = None  # of the held-out queries; None if it failed
    value: Annotated[float, Field(ge=0)] | None = None  # in place of ap, of the question's metric if it is another one
    reason: str | None = None  # why it failed
    histogram: str | None = None  # SHA-256 of the counts from which the AP was computed
    seconds: float | None = None  # of training, encoding and scoring
    processor: str | None = None
    code: Code | None = None
    utc: str | None = None

    @property
    def key(self) -> Key:
        """What no other trial of the search has."""
        return self.method, self.trial, self.dataset, self.study

    @property
    def score(self) -> float | None:
        """The AP or the value of the other metric; None if the trial failed."""
        return self.value if self.ap is None else self.ap

    def ended(self, row: Row | None, error: str | None, metric: str = METRIC) -> "Trial":
        """The trial with its result: the ``metric`` in the ``row`` of its run, or the ``error`` that the run raised."""
        if row is None or row.status == "failed":
            reason = row.reason if row else None
            return self._with(reason=error or reason or "it ended without a result")
        score = row.searches[METHODS.get(self.method).main_search][metric].mean
        if score is None:
            return self._with(reason="no query has a relevant item in the database")
        seconds = None
        if row.seconds is not None:
            seconds = round(sum(row.seconds.model_dump().values()), 2)
        is_ap = metric == METRIC
        return self._with(
            ap=score if is_ap else None,
            value=None if is_ap else score,
            histogram=row.artefacts.get("histogram"),
            processor=processor_of(row),
            code=row.code.model_dump(),
            utc=row.utc,
            seconds=seconds,
        )

    def _with(self, **result: Any) -> "Trial":
        return Trial.model_validate({**self.model_dump(), **result})


@dataclass(frozen=True)
class Search:
    """A search by its name, and the trials that have ended; its file is ``results/tune/NAME.jsonl``, or that .xz."""

    name: str
    question: Question
    trials: Mapping[Key, Trial] = field(default_factory=dict)

    @staticmethod
    def load(name: str) -> "Search | None":
        """The search called ``name``; None if there is none. HashbenchError for a file that is damaged."""
        path = path_of(name)
        try:
            text = read_text(path, "search", f": {OF_FILE}")
        except FileNotFoundError:
            return None
        return Search._of(name, path, text)

    @staticmethod
    @lru_cache(maxsize=64)  # its table, its figures and footnotes read one search
    def _of(name: str, path: Path, text: str) -> "Search":
        first, *lines = text.splitlines() or [""]
        question: Question = _read(Question, first, f"{path}:1")
        trials: dict[Key, Trial] = {}
        for n, line in enumerate(lines, 2):
            trial: Trial = _read(Trial, line, f"{path}:{n}")
            fault = question.fault_of(trial)
            if fault is None and trial.key in trials:
                fault = "it is there twice"
            if fault is not None:
                raise HashbenchError(f"{path}:{n}: trial {trial.trial} of {trial.method}: {fault}: {REMEDY}")
            trials[trial.key] = trial
        return Search(name, question, trials)

    @staticmethod
    def named(name: str) -> "Search":
        """The search called ``name``; raises HashbenchError if there is none."""
        if (search := Search.load(name)) is None:
            raise unknown("search", name, names())
        return search

    def of_method(self, method: str) -> dict[int, list[Trial]]:
        """The trials of a method by number, each with its data sets and studies in order."""
        trials: dict[int, list[Trial]] = {}
        for key in sorted(key for key in self.trials if key[0] == method):
            trials.setdefault(key[1], []).append(self.trials[key])
        return trials

    def with_trials(self, trials: Iterable[Trial]) -> "Search":
        """The search with more trials, or with others in place of those with the same numbers."""
        return replace(self, trials={**self.trials, **{trial.key: trial for trial in trials}})

    def save(self) -> None:
        """Writes the file, sorted, as a whole or not at all."""
        lines = [self.question, *(self.trials[key] for key in sorted(self.trials))]
        text = "\n".join(canonical_json(line.model_dump(exclude_defaults=True)) for line in lines)
        write_text(path_of(self.name), f"{text}\n")


def _read(model: Any, line: str, place: str) -> Any:
    try:
        return parse(model, json_object(line), place)
    except HashbenchError as error:
        raise HashbenchError(f"{error}: {REMEDY}") from None
    except ValueError as error:
        raise HashbenchError(f"{place}: not a line of a search: {error}: {REMEDY}") from None


def first_scores(trials: Mapping[int, Sequence[Trial]]) -> dict[int, float]:
    """The score of each trial in its first study, by number: the mean over data sets; a run that failed counts 0."""
    first = {
        number: [trial.score or 0.0 for trial in studies if trial.study == 0] for number, studies in trials.items()
    }
    return {number: mean(scores) for number, scores in first.items() if scores}


def title_of(metric: str) -> str:
    """The ``metric`` as tables of searches and recipes call it."""
    return "AP" if metric == METRIC else metric


def path_of(name: str) -> Path:
    """The file of the search called ``name``: JSON lines, or, where it was packed by xz, the packed ones."""
    plain = paths.results() / FOLDER / f"{name}.jsonl"
    packed = plain.with_name(f"{plain.name}.xz")
    if packed.is_file() and not plain.is_file():
        return packed
    return plain


def names() -> list[str]:
    """The searches whose files are here, sorted."""
    folder = paths.results() / FOLDER
    files = [*folder.glob("[!.]*.jsonl"), *folder.glob("[!.]*.jsonl.xz")]
    return sorted({path.name.removesuffix(".xz").removesuffix(".jsonl") for path in files})

"""The inputs of runs that are not on this machine, and where each comes from: known before anything is trained."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec

from hashbench.contract import PIXELS
from hashbench.datasets.card import load_card
from hashbench.datasets.store import path_of
from hashbench.features import kept_weights, model_and_weights, split_checksum
from hashbench.features import path_of as features_path
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.extras import how_to_install
from hashbench.models import MODELS
from hashbench.runs.run import Run
from hashbench.training.settings import N_SHOWN, OFFICIAL, SHA256


@dataclass(frozen=True)
class Missing:
    """An input that is not here, or is another file than it should be, and ``remedy``, which gets it."""

    what: str
    remedy: str


Check = Callable[[str, str], list[Missing]]  # of the names of a data set and of an input


def missing_inputs(runs: Iterable[Run], *, weights: bool = True) -> dict[str, list[Missing]]:
    """The inputs of each run that are not here, by the name of the run; each input is looked for once.

    Without ``weights`` those that a network starts from are not looked for: the user named their file.
    """
    found: dict[tuple[Check, str, str], list[Missing]] = {}
    missing_by_run: dict[str, list[Missing]] = {}
    for run in runs:
        missing: list[Missing] = []
        for check, dataset, name in _inputs(run):
            if check in (_official, _pretrained) and not weights:
                continue
            key = check, dataset, name
            if key not in found:
                found[key] = check(dataset, name)
            missing += found[key]
        missing_by_run[str(run.name)] = list(dict.fromkeys(missing))
    return missing_by_run


def lines_of(missing: Iterable[Missing]) -> list[str]:
    """Two lines: what is missing, and where it comes from."""
    each = list(dict.fromkeys(missing))
    remedies = dict.fromkeys(one.remedy for one in each)
    return [f"missing: {', '.join(one.what for one in each)}", f"to get it: {'; '.join(remedies)}"]


def _inputs(run: Run) -> Iterator[tuple[Check, str, str]]:
    """How each input of ``run``, and of the run that it starts from, is looked for."""
    dataset, settings = run.card.name, run.settings
    if run.method.needs_torch:
        yield _pytorch, "", ""
    yield _dataset, dataset, dataset
    yield _features, dataset, str(settings.features)
    if (compared := run.protocol.compared_features) is not None:
        yield _features, dataset, compared
    weights, model = getattr(settings, "weights", None), getattr(settings, "model", None)
    if model is not None and weights == OFFICIAL:
        yield _official, dataset, model
    if isinstance(weights, str) and weights.startswith(SHA256):
        yield _pretrained, dataset, weights
    if run.base is not None:
        yield from _inputs(run.base)


def require_pytorch(run: Run) -> None:
    """Raises HashbenchError where the method of ``run`` needs PyTorch, and it is not installed."""
    if run.method.needs_torch and (missing := _pytorch("", "")):
        raise HashbenchError(f"torch is not installed: deep methods need the extra train: {missing[0].remedy}")


def _pytorch(_: str, __: str) -> list[Missing]:
    return [] if find_spec("torch") is not None else [Missing("PyTorch", how_to_install("train"))]


def _dataset(name: str, _: str) -> list[Missing]:
    card = load_card(name)
    is_here = card.embedded or path_of(card).is_file()
    return [] if is_here else [Missing(f"the data set {name}", card.how_to_get)]


def _official(_: str, model: str) -> list[Missing]:
    pretrained = MODELS.get(model).pretrained
    if pretrained is None:
        return []
    weights = pretrained.weights
    if weights.path.is_file():
        from hashbench.models import identify  # which imports PyTorch

        is_other = not identify(model, weights, weights.path).official
        fault = f"the weights of {model} ({weights.path} has another checksum than the official file)"
        return [Missing(fault, weights.remedy)] if is_other else []
    is_fetched = weights.fetch is not None  # it is downloaded when it is needed
    return [] if is_fetched else [Missing(f"the weights of {model}", weights.remedy)]


def _pretrained(_: str, weights: str) -> list[Missing]:
    from hashbench.training.weights import find

    try:
        find(weights)
    except HashbenchError:
        return [Missing(f"the weights {weights[: len(SHA256) + N_SHOWN]}", "hashbench pretrain makes them")]
    return []


def _features(dataset: str, name: str) -> list[Missing]:
    """What the network lacks that extracts the features called ``name``, where these are not stored."""
    if name == PIXELS or features_path(dataset, name).is_file():
        return []
    missing = _pytorch("", "")
    stem, checksum = split_checksum(name)
    if checksum is None:
        model, weights = model_and_weights(name)
        return missing + (_official(dataset, model) if model in MODELS and weights is None else [])
    try:
        kept_weights(stem, checksum)
    except HashbenchError:
        how = f"hashbench features {dataset} --model {stem} --weights FILE"
        missing.append(Missing(f"the weights of {name}", how))
    return missing

"""The inputs of runs: data sets, weights, features; whether they are here, how large they are, where they come from."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Literal

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.extras import how_to_install
from hashbench.learning.contract import PIXELS
from hashbench.learning.models import MODELS
from hashbench.learning.models import weights as weight_files
from hashbench.learning.training.settings import N_SHOWN, OFFICIAL, SHA256
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.status import download_steps
from hashbench.running.datasets.store import path_of
from hashbench.running.features import kept_weights, model_and_weights, split_checksum, stored_bytes
from hashbench.running.features import path_of as features_path
from hashbench.running.runs.run import Run


@dataclass(frozen=True)
class Need:
    """An input of a run: ``what`` it is, whether it is here, and the ``remedy`` that gets it, or makes it whole."""

    kind: Literal["package", "data set", "weights", "features"]
    name: str
    what: str
    remedy: str = ""
    is_here: bool = True
    is_automatic: bool = False  # the first run that needs it downloads or makes it
    is_by_hand: bool = False
    url: str = ""
    checksum: str = ""  # of the file, with its kind: md5 0123
    path: Path | None = None  # where the file of weights is, or belongs

    @property
    def is_missing(self) -> bool:
        """Whether runs that need it cannot begin."""
        return not self.is_here and not self.is_automatic

    @property
    def size_bytes(self) -> int | None:
        """The bytes that it takes here: by its file, or by what its card or its network says; None: nobody says it."""
        if self.kind == "data set":
            card = load_card(self.name)
            if card.embedded:
                return None
            return card.n_items * prod(card.item_shape) * card.dtype.itemsize
        if self.kind == "features":
            dataset, _, name = self.name.partition("/")
            return stored_bytes(load_card(dataset), name)
        if self.path is None or not self.path.is_file():
            return None
        return self.path.stat().st_size


Check = Callable[[str, str], list[Need]]  # of the names of a data set and of an input


def needs_of(runs: Iterable[Run], *, weights: bool = True) -> dict[str, list[Need]]:
    """The inputs of each run, and of the run that it starts from, by its name; each input is looked for once.

    Without ``weights`` those that a network starts from are left out: the user named their file.
    """
    known: dict[tuple[Check, str, str], list[Need]] = {}
    needs_by_run: dict[str, list[Need]] = {}
    for run in runs:
        needs: list[Need] = []
        for key in _inputs(run):
            check, dataset, name = key
            if check in (_official, _pretrained) and not weights:
                continue
            if key not in known:
                known[key] = check(dataset, name)
            needs += known[key]
        needs_by_run[str(run.name)] = list(dict.fromkeys(needs))
    return needs_by_run


def missing_inputs(runs: Iterable[Run], *, weights: bool = True) -> dict[str, list[Need]]:
    """The inputs of each run without which it cannot begin, by its name; ``weights`` as of ``needs_of``."""
    needs_by_run = needs_of(runs, weights=weights)
    return {run: [need for need in needs if need.is_missing] for run, needs in needs_by_run.items()}


def lines_of(missing: Iterable[Need]) -> list[str]:
    """Two lines: what is missing, and where it comes from."""
    needs = list(dict.fromkeys(missing))
    remedies = dict.fromkeys(need.remedy for need in needs)
    return [f"missing: {', '.join(need.what for need in needs)}", f"to get it: {'; '.join(remedies)}"]


def _inputs(run: Run) -> Iterator[tuple[Check, str, str]]:
    """How each input of ``run``, and of the run that it starts from, is looked for."""
    dataset = run.card.name
    settings = run.settings
    if run.method.needs_torch:
        yield _pytorch, "", ""
    yield _dataset, dataset, dataset
    yield _features, dataset, str(settings.features)
    if (compared := run.protocol.compared_features) is not None:
        yield _features, dataset, compared
    weights = getattr(settings, "weights", None)
    model = getattr(settings, "model", None)
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


def require_device(device: str) -> None:
    """Raises HashbenchError where a GPU is asked for and not here; without PyTorch runs say what they lack."""
    if device.startswith("cuda") and find_spec("torch") is not None:
        import_module("hashbench.learning.training.device").require_device(device)


def _pytorch(_: str, __: str) -> list[Need]:
    if find_spec("torch") is not None:
        return []
    return [Need("package", "torch", "PyTorch", how_to_install("train"), is_here=False)]


def _dataset(name: str, _: str) -> list[Need]:
    card = load_card(name)
    is_here = card.embedded or path_of(card).is_file()
    is_by_hand = not card.embedded and download_steps(card)[0] == "by hand"
    remedy = card.how_to_get
    if is_by_hand:
        remedy = f"by hand, as hashbench show {name} says"
    return [Need("data set", name, f"the data set {name}", remedy, is_here, is_by_hand=is_by_hand)]


def _official(_: str, model: str) -> list[Need]:
    pretrained = MODELS.get(model).pretrained
    if pretrained is None:
        return []
    weights = pretrained.weights
    what = f"the weights of {model}"
    is_here = weights.path.is_file()
    if is_here:
        is_here = weight_files.identify(model, weights, weights.path).official
        if not is_here:
            what += f" ({weights.path} has another checksum than the official file)"
    checksums = {"md5": weights.md5, "sha256": weights.sha256}
    return [
        Need(
            "weights",
            model,
            what,
            weights.remedy,
            is_here,
            is_automatic=weights.fetch is not None and not weights.path.is_file(),
            is_by_hand=weights.fetch is None and weights.package is None,
            url=weights.url,
            checksum=", ".join(f"{kind} {value}" for kind, value in checksums.items() if value is not None),
            path=weights.path,
        )
    ]


def _pretrained(_: str, weights: str) -> list[Need]:
    from hashbench.learning.training.weights import find

    name = weights[: len(SHA256) + N_SHOWN]
    path = None
    with suppress(HashbenchError):
        path = find(weights).path
    how = "hashbench pretrain makes them"
    return [Need("weights", name, f"the weights {name}", how, path is not None, checksum=weights, path=path)]


def _features(dataset: str, name: str) -> list[Need]:
    """The features called ``name``, and where they are not stored what the network lacks that makes them."""
    if name == PIXELS:
        return []
    is_here = features_path(dataset, name).is_file()
    what = f"the features {name} of {dataset}"
    how = f"hashbench features {dataset} --model {name}"
    needs = [Need("features", f"{dataset}/{name}", what, how, is_here, is_automatic=True)]
    if is_here:
        return needs
    needs += _pytorch("", "")
    stem, checksum = split_checksum(name)
    if checksum is None:
        model, weights = model_and_weights(name)
        if model in MODELS and weights is None:
            needs += _official(dataset, model)
        return needs
    try:
        kept_weights(stem, checksum)
    except HashbenchError:
        how = f"hashbench features {dataset} --model {stem} --weights FILE"
        needs.append(Need("weights", name, f"the weights of {name}", how, is_here=False))
    return needs

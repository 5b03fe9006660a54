"""Where each setting of a run comes from: a file, the command line, or a default."""

from collections.abc import Mapping
from dataclasses import replace

from hashbench.datasets.card import load_card
from hashbench.foundation.config import Setting
from hashbench.methods import METHODS
from hashbench.runs import hyperparameters
from hashbench.runs.hyperparameters import Sourced
from hashbench.runs.run import BASE, Run


def settings_of(spec: Run, given: Mapping[str, Setting]) -> dict[str, Sourced]:
    """All settings of ``spec``, which ``resolve`` made from ``given``; those of its base begin with ``base.``."""
    of_base = {key.removeprefix(BASE): value for key, value in given.items() if key.startswith(BASE)}
    own = {key: value for key, value in given.items() if not key.startswith(BASE)}
    return _own(spec, own) | {f"{BASE}{key}": found for key, found in _of_base(spec, of_base).items()}


def _own(spec: Run, given: Mapping[str, Setting]) -> dict[str, Sourced]:
    protocol = load_card(spec.dataset).protocol(spec.protocol).stands_for(spec.protocol)
    names = {"dataset": spec.dataset, "protocol": protocol, "method": spec.method, "budget": spec.budget}
    known = hyperparameters.sourced(hyperparameters.load(spec.method), names, given)
    values = spec.settings.model_dump()
    return {
        key: replace(known[key], value=value) if key in known else Sourced(value, "default")
        for key, value in values.items()
    }


def _of_base(spec: Run, given: Mapping[str, Setting]) -> dict[str, Sourced]:
    """The settings of the base's run; some of them follow from those of ``spec``."""
    base = METHODS.get(spec.method).base
    following = None if base is None else base.settings(spec.settings)
    if following is None or spec.base is None:
        return {}
    found = _own(spec.base, {**following, **given})
    return {
        key: Sourced(own.value, "run") if key in following and key not in given else own for key, own in found.items()
    }

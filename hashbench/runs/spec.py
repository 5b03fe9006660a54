"""One cell, named: what is run, with everything that decides its result."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hashbench.config import Setting, derive_seed, digest, parse
from hashbench.datasets.card import load_card
from hashbench.errors import HashbenchError, unknown
from hashbench.hasher import PIXELS, CodeSettings
from hashbench.methods import METHODS, Method
from hashbench.models import MODELS
from hashbench.registry import canonical
from hashbench.runs import hyperparameters
from hashbench.runs.store import Row

BASE = "base."  # before a setting of the method that another starts from


@dataclass(frozen=True)
class RunSpec:
    """One run, fully resolved; its name holds the digest of all that decides its result."""

    dataset: str
    protocol: str
    method: str
    data: dict[str, Any]  # what the card says of the bytes and of the split
    settings: CodeSettings
    identity: dict[str, Setting]  # the settings that name it: those the method declares and those given
    budget: str
    seed: int
    base: "RunSpec | None" = None  # what has to be run before, where the method starts from another's result

    @property
    def config(self) -> dict[str, Any]:
        """Everything that decides the result but the seed and the code."""
        return {
            "dataset": self.dataset,
            "protocol": self.protocol,
            "method": self.method,
            "data": self.data,
            "budget": self.budget,
            "settings": self.settings.model_dump(exclude_defaults=True),
            **({"base": self.base.config} if self.base else {}),
        }

    @property
    def cell_hash(self) -> str:
        """Digest of ``config``: the runs over seeds that fill one cell share it."""
        return digest(self.config)

    @property
    def config_hash(self) -> str:
        """Digest of ``config`` and seed."""
        return digest({**self.config, "seed": self.seed})

    @property
    def derived_seed(self) -> int:
        """The seed of everything random in the run, from its names; bits are in it, so that no two columns share luck.

        Hyper-parameters are not: a run with another learning rate starts from the same weights.
        """
        declared = METHODS.get(self.method).identity
        named = [f"{key}={self.identity[key]}" for key in sorted(declared)]
        return derive_seed(self.dataset, self.protocol, self.method, *named, self.seed)

    @property
    def n_classes(self) -> int:
        """How many classes, the first ones, the run is about; 0: all."""
        return int(getattr((self.base or self).settings, "n_classes", 0))

    @property
    def text(self) -> str:
        """``config`` and seed as JSON, as the run's folder keeps them."""
        return json.dumps({**self.config, "seed": self.seed}, indent=1, sort_keys=True) + "\n"

    @property
    def run(self) -> str:
        """The run's name."""
        head = f"{self.dataset}-{self.protocol}-{self.method}-{self.settings.size}-s{self.seed}"
        return f"{head}-{self.config_hash[:10]}"


def resolve(
    dataset: str,
    protocol: str,
    method: str,
    settings: Mapping[str, Setting],
    *,
    seed: int = 0,
    budget: str | None = None,
) -> RunSpec:
    """The experiment of those names; ``settings`` (the code size at least) go over what the method's TOML says.

    Those of the method that it starts from are called ``base.KEY``. ``budget`` is one of the method's TOML, None the
    usual one. Raises HashbenchError for a name that does not exist or a setting of a wrong type. Imports nothing heavy.
    """
    if seed < 0:
        raise HashbenchError(f"seed {seed}: a seed is 0 or more")
    card = load_card(dataset)
    split = card.protocol(protocol)
    entry = METHODS.get(method)
    names = {"dataset": canonical(dataset), "protocol": canonical(protocol), "method": canonical(method)}
    file = hyperparameters.load(names["method"])
    names["budget"] = file.budget(budget)
    own, of_base = _apart(settings, entry)
    given = _given(names["method"], own, entry)
    where = f"{hyperparameters.location(names['method'])} for {names['dataset']}, with what was given"
    chosen = parse(entry.settings, hyperparameters.resolve(file, names, given), where)
    base = None
    if entry.base is not None:
        asked = {**entry.base.settings(chosen), **of_base}
        base = resolve(dataset, protocol, entry.base.method, asked, seed=seed, budget=names["budget"])
    return RunSpec(
        **names,
        data={"content_sha256": card.content_sha256, "split": split.deciding()},
        settings=chosen,
        identity=_identity(chosen, entry, file, names) | {f"{BASE}{key}": value for key, value in of_base.items()},
        seed=seed,
        base=base,
    )


def _apart(settings: Mapping[str, Setting], entry: Method) -> tuple[dict[str, Setting], dict[str, Setting]]:
    """The method's own settings, and those of the method that it starts from."""
    own = {key: value for key, value in settings.items() if entry.base is None or not key.startswith(BASE)}
    return own, {key.removeprefix(BASE): value for key, value in settings.items() if key not in own}


def _given(method: str, settings: Mapping[str, Setting], entry: Method) -> dict[str, Setting]:
    """``settings``, each a key that the method has, and the entries that they name in one spelling."""
    for key in settings:
        if key not in entry.settings.model_fields:
            raise unknown(f"setting of {method}", key, entry.settings.model_fields)
    return {key: _NAMED[key](str(value)) if key in _NAMED else value for key, value in settings.items()}


def _model(name: str) -> str:
    if name not in MODELS:
        raise unknown("model", name, MODELS.names)
    return canonical(name)


def _features(name: str) -> str:
    if canonical(name) == PIXELS:
        return PIXELS
    from hashbench.features import check_name

    return check_name(name)


_NAMED = {"model": _model, "features": _features}  # settings that name an entry of a catalogue


def _identity(
    chosen: CodeSettings, entry: Method, file: hyperparameters.MethodFile, names: Mapping[str, str]
) -> dict[str, Setting]:
    """The settings that the method declares, and any that differ from what its TOML, or else its type, gives them."""
    values = chosen.model_dump()
    declared = {key: values[key] for key in sorted(entry.identity)}
    defaults = {key: field.default for key, field in entry.settings.model_fields.items()}
    usual = {**defaults, **hyperparameters.resolve(file, names, declared)}
    return {key: value for key, value in sorted(values.items()) if key in declared or value != usual[key]}


def of_row(row: Row) -> RunSpec:
    """The experiment that a row is the result of, from the configuration the row holds."""
    settings = parse(METHODS.get(row.method).settings, row.config["settings"], row.run)
    return RunSpec(
        dataset=row.dataset,
        protocol=row.protocol,
        method=row.method,
        data=row.config["data"],
        settings=settings,
        identity=row.settings,
        budget=row.budget,
        seed=row.seed,
        base=_of_config(row.config["base"], row.seed) if "base" in row.config else None,
    )


def _of_config(config: Mapping[str, Any], seed: int) -> RunSpec:
    """The experiment that another one's configuration says it starts from."""
    entry = METHODS.get(config["method"])
    settings = parse(entry.settings, config["settings"], "base")
    identity = {key: getattr(settings, key) for key in entry.identity}
    names = {key: config[key] for key in ("dataset", "protocol", "method", "data", "budget")}
    return RunSpec(**names, settings=settings, identity=identity, seed=seed)

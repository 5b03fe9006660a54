"""The specification of a run: everything that decides its result, and the run's name."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hashbench.contract import PIXELS, CodeSettings
from hashbench.datasets.card import load_card
from hashbench.datasets.protocol import with_seed
from hashbench.foundation.config import Setting, derive_seed, digest, parse
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.registry import canonical
from hashbench.methods import METHODS, Method
from hashbench.models import MODELS
from hashbench.runs import hyperparameters
from hashbench.runs.row import Row

OPTIONS = {"bits": "--bits BITS", "model": "--model MODEL"}  # of hashbench train; the others have --set
BASE = "base."  # the prefix of settings that are passed on to the base method


@dataclass(frozen=True)
class Run:
    """One run with the values of all its settings; its name contains a digest of everything that decides its result."""

    dataset: str
    protocol: str
    method: str
    data: dict[str, Any]  # from the card: the checksum of the data and the parameters of the split
    settings: CodeSettings
    identity: dict[str, Setting]  # the settings in the row: those the method declares and those that are not default
    budget: str
    seed: int
    base: "Run | None" = None  # the run of the base method, which is executed first
    split_seed: int | None = None  # the seed of the split if it is not the protocol's own

    @property
    def config(self) -> dict[str, Any]:
        """Everything that decides the result, except the seed and the code."""
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
        """Digest of ``config``: the same for all seeds of one cell of a table."""
        return digest(self.config)

    @property
    def config_hash(self) -> str:
        """Digest of ``config`` and seed."""
        return digest({**self.config, "seed": self.seed})

    @property
    def derived_seed(self) -> int:
        """The seed of all random numbers of the run, derived from its names and the settings the method declares.

        These include the bits, so that the columns of a table are independent. Other hyper-parameters are not included:
        a run with another learning rate starts from the same weights.
        """
        declared = METHODS.get(self.method).identity
        named = [f"{key}={self.identity[key]}" for key in sorted(declared)]
        named += [] if self.split_seed is None else [f"split={self.split_seed}"]
        return derive_seed(self.dataset, self.protocol, self.method, *named, self.seed)

    @property
    def n_classes(self) -> int:
        """The number of classes the run uses, the first ones of the data set; 0: all."""
        return int(getattr((self.base or self).settings, "n_classes", 0))

    @property
    def text(self) -> str:
        """``config`` and seed as JSON, the content of config.json in the run's folder."""
        return json.dumps({**self.config, "seed": self.seed}, indent=1, sort_keys=True) + "\n"

    @property
    def run(self) -> str:
        """The run's name."""
        head = f"{self.dataset}-{self.protocol}-{self.method}-{self.settings.size}"
        split = "" if self.split_seed is None else f"-split{self.split_seed}"
        return f"{head}{split}-s{self.seed}-{self.config_hash[:10]}"

    @staticmethod
    def resolve(
        dataset: str,
        protocol: str,
        method: str,
        settings: Mapping[str, Setting],
        *,
        seed: int = 0,
        budget: str | None = None,
        split_seed: int | None = None,
    ) -> "Run":
        """The specification of the run with these names.

        ``settings`` (at least the size of the codes) replace the values of the method's TOML file; ``base.KEY`` is a
        setting of its base method. ``budget`` is a budget in the method's TOML file, None its default. ``split_seed``
        draws another split than the protocol's own. Raises HashbenchError for an unknown name, a setting of a wrong
        type, or a protocol that has no other split. It does not import torch.
        """
        if seed < 0:
            raise HashbenchError(f"seed {seed}: a seed is 0 or more")
        card = load_card(dataset)
        own_split = card.protocol(protocol)
        split = own_split if split_seed is None else with_seed(own_split, split_seed, f"{dataset} {protocol}")
        other_seed = None if split is own_split else split.seed
        entry = METHODS.get(method)
        names = {"dataset": canonical(dataset), "protocol": canonical(protocol), "method": canonical(method)}
        file = hyperparameters.load(names["method"])
        names["budget"] = file.budget(budget)
        usual = {**names, "protocol": split.stands_for(names["protocol"])}
        own, of_base = _apart(settings, entry)
        given = _given(names["method"], own, entry)
        values = hyperparameters.resolve(file, usual, given)
        _require_all(values, entry, names)
        chosen = parse(entry.settings, values, f"{names['method']} on {names['dataset']}")
        return Run(
            **names,
            data={"content_sha256": card.content_sha256, "split": split.deciding()},
            settings=chosen,
            identity=_identity(chosen, entry, file, usual) | {f"{BASE}{key}": value for key, value in of_base.items()},
            seed=seed,
            base=_resolve_base(entry, chosen, of_base, names, seed, other_seed),
            split_seed=other_seed,
        )

    @staticmethod
    def from_row(row: Row) -> "Run":
        """The specification of the run whose result ``row`` is, from the configuration in the row."""
        settings = parse(METHODS.get(row.method).settings, row.config["settings"], row.run)
        return Run(
            dataset=row.dataset,
            protocol=row.protocol,
            method=row.method,
            data=row.config["data"],
            settings=settings,
            identity=row.settings,
            budget=row.budget,
            seed=row.seed,
            base=_of_config(row.config["base"], row) if "base" in row.config else None,
            split_seed=row.split_seed,
        )


def _require_all(values: Mapping[str, Any], entry: Method, names: Mapping[str, str]) -> None:
    """Raises HashbenchError, with the options, where a setting has no value from anywhere."""
    fields = entry.settings.model_fields.items()
    missing = [key for key, field in fields if field.is_required() and key not in values]
    if missing:
        options = " ".join(OPTIONS.get(key, f"--set {key}={key.upper()}") for key in missing)
        raise HashbenchError(f"{names['method']} on {names['dataset']} needs {' and '.join(missing)}: {options}")


def _resolve_base(
    entry: Method,
    chosen: CodeSettings,
    of_base: Mapping[str, Setting],
    names: Mapping[str, str],
    seed: int,
    split_seed: int | None,
) -> Run | None:
    """The run of the base method on the same split; None if the run starts from none."""
    following = None if entry.base is None else entry.base.settings(chosen)
    if entry.base is None or following is None:
        if of_base:
            raise HashbenchError(f"{BASE}{next(iter(of_base))}: this run starts from no base: --set head=trained")
        return None
    settings = {**following, **of_base}
    on = names["dataset"], names["protocol"]
    return Run.resolve(*on, entry.base.method, settings, seed=seed, budget=names["budget"], split_seed=split_seed)


def _apart(settings: Mapping[str, Setting], entry: Method) -> tuple[dict[str, Setting], dict[str, Setting]]:
    """The method's own settings, and those of its base method, without their prefix."""
    own = {key: value for key, value in settings.items() if entry.base is None or not key.startswith(BASE)}
    return own, {key.removeprefix(BASE): value for key, value in settings.items() if key not in own}


def _given(method: str, settings: Mapping[str, Setting], entry: Method) -> dict[str, Setting]:
    """``settings`` with canonical names of models and features; raises HashbenchError for an unknown key."""
    for key in settings:
        if key == "bits" and {"d", "k"} <= entry.settings.model_fields.keys():
            raise HashbenchError(f"{method} makes sparse codes, which have no bits: --set d=D --set k=K")
        if key not in entry.settings.model_fields:
            raise unknown(f"setting of {method}", key, entry.settings.model_fields)
    return {key: _NAMED[key](str(value)) if key in _NAMED else value for key, value in settings.items()}


def _model(name: str) -> str:
    if name not in MODELS:
        raise unknown("model", name, MODELS.names + MODELS.of_torchvision())
    return canonical(name)


def _features(name: str) -> str:
    if canonical(name) == PIXELS:
        return PIXELS
    from hashbench.features import check_name

    return check_name(name)


_NAMED = {"model": _model, "features": _features}  # settings whose values are names of a catalogue


def _identity(
    chosen: CodeSettings, entry: Method, file: hyperparameters.MethodFile, names: Mapping[str, str]
) -> dict[str, Setting]:
    """The settings that the method declares, and those that differ from the TOML files or the defaults."""
    values = chosen.model_dump()
    declared = {key: values[key] for key in sorted(entry.identity)}
    defaults = {key: field.default for key, field in entry.settings.model_fields.items()}
    usual = {**defaults, **hyperparameters.resolve(file, names, declared)}
    if "features" not in declared and chosen.features != usual["features"]:  # they may decide the recipe
        named = {**declared, "features": chosen.features}
        usual = {**defaults, **hyperparameters.resolve(file, names, named), "features": usual["features"]}
    return {key: value for key, value in sorted(values.items()) if key in declared or value != usual[key]}


def _of_config(config: Mapping[str, Any], row: Row) -> Run:
    """The specification of a base run, from its configuration in the ``row`` of the run that starts from it."""
    entry = METHODS.get(config["method"])
    settings = parse(entry.settings, config["settings"], "base")
    identity = {key: getattr(settings, key) for key in entry.identity}
    names = {key: config[key] for key in ("dataset", "protocol", "method", "data", "budget")}
    return Run(**names, settings=settings, identity=identity, seed=row.seed, split_seed=row.split_seed)

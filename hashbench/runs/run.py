"""A run: one method trained on one data set, with the card, the protocol, the method and the settings themselves."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hashbench.contract import PIXELS, CodeSettings
from hashbench.datasets.card import Card, load_card
from hashbench.datasets.protocol import Protocol, with_seed
from hashbench.foundation.config import Setting, parse
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.registry import canonical
from hashbench.methods import METHODS, Method
from hashbench.metrics import Metrics
from hashbench.models import MODELS
from hashbench.runs import settings as settings_files
from hashbench.runs.name import RunName
from hashbench.runs.row import Row
from hashbench.runs.settings import Sourced

OPTIONS = {"bits": "--bits BITS", "model": "--model MODEL"}  # of hashbench train; the others have --set
BASE = "base."  # the prefix of settings that are passed on to the base method


@dataclass(frozen=True)
class Run:
    """One run: its name, and what the name stands for.

    ``protocol`` has the seed of the run's own split. ``base`` is the run of the base method, which is executed first.
    """

    name: RunName
    card: Card
    protocol: Protocol
    method: Method
    settings: CodeSettings
    base: "Run | None" = None

    def __reduce__(self) -> tuple[Any, ...]:
        """The run as it is sent to another process: the method by its name, because its functions cannot be sent."""
        return _received, (self.name, self.card, self.protocol, self.settings, self.base)

    @property
    def derived_seed(self) -> int:
        """The seed of all random numbers of the run."""
        return self.name.derived_seed(self.method.identity)

    @property
    def n_classes(self) -> int:
        """The number of classes the run uses, the first ones of the data set; 0: all."""
        return int(getattr((self.base or self).settings, "n_classes", 0))

    @staticmethod
    def resolve(
        dataset: str,
        protocol: str | None,
        method: str,
        settings: Mapping[str, Setting],
        *,
        seed: int = 0,
        budget: str | None = None,
        split_seed: int | None = None,
    ) -> "Run":
        """The run with these names; without a ``protocol`` it is on the data set's only one.

        ``settings`` (at least the size of the codes) replace the values of the method's TOML file; ``base.KEY`` is a
        setting of its base method. ``budget`` is a budget in the method's TOML file, None its default. ``split_seed``
        draws another split than the protocol's own. Raises HashbenchError for an unknown name, a setting of a wrong
        type, or a protocol that has no other split. It does not import torch.
        """
        if seed < 0:
            raise HashbenchError(f"seed {seed}: a seed is 0 or more")
        card = load_card(dataset)
        protocol = card.protocol_name(protocol)
        split = _split(card, protocol, split_seed)
        Metrics.parse(split.metrics)  # an unknown one is met before hours of training
        entry = _method(method)
        names = {"dataset": card.name, "protocol": protocol, "method": canonical(method)}
        names["budget"] = settings_files.method_file(names["method"]).budget(budget)
        own = {key: value for key, value in settings.items() if entry.base is None or not key.startswith(BASE)}
        of_base = {key: value for key, value in settings.items() if key not in own}
        usual = {**names, "protocol": split.stands_for(names["protocol"])}
        values = settings_files.resolve(entry, usual, _checked(names["method"], entry, own))
        chosen = _parsed(values, entry, names)
        other_seed = None if split.seed == card.protocol(protocol).seed else split.seed
        base = _base(entry, chosen, of_base, names, seed, other_seed)
        name = RunName(
            **names,
            size=chosen.size,
            data={"content_sha256": card.content_sha256, "split": split.deciding()},
            settings=chosen.model_dump(exclude_defaults=True),
            identity=_identity(chosen, entry, usual) | of_base,
            seed=seed,
            split_seed=other_seed,
            base=None if base is None else base.name,
        )
        return Run(name, card, split, entry, chosen, base)

    @staticmethod
    def from_row(row: Row) -> "Run":
        """The run whose result ``row`` is, from the configuration in the row."""
        return _of_config(row.config, row, row.settings)

    def with_seed(self, seed: int) -> "Run":
        """The run with the same settings, on the same split, and another seed."""
        if seed == self.name.seed:
            return self
        base = None if self.base is None else self.base.with_seed(seed)
        return replace(self, name=replace(self.name, seed=seed, base=None if base is None else base.name), base=base)

    def sources(self, given: Mapping[str, Setting]) -> dict[str, Sourced]:
        """All settings with their sources; ``given`` are those that ``resolve`` had.

        The settings of the base begin with ``base.``; some of them follow from those of this run.
        """
        found = self._own_sources({key: value for key, value in given.items() if not key.startswith(BASE)})
        following = None if self.method.base is None else self.method.base.settings(self.settings)
        if following is None or self.base is None:
            return found
        of_base = {key.removeprefix(BASE): value for key, value in given.items() if key.startswith(BASE)}
        for key, own in self.base._own_sources({**following, **of_base}).items():
            is_given = key in of_base or key not in following
            found[f"{BASE}{key}"] = own if is_given else Sourced(own.value, "run")
        return found

    def _own_sources(self, given: Mapping[str, Setting]) -> dict[str, Sourced]:
        name = self.name
        names = {"dataset": name.dataset, "method": name.method, "budget": name.budget}
        known = settings_files.sourced(
            self.method, {**names, "protocol": self.protocol.stands_for(name.protocol)}, given
        )
        return {
            key: replace(known[key], value=value) if key in known else Sourced(value, "default")
            for key, value in self.settings.model_dump().items()
        }


def _method(name: str) -> Method:
    return METHODS.get(name)


def _split(card: Card, protocol: str, seed: int | None) -> Protocol:
    own = card.protocol(protocol)
    return own if seed is None else with_seed(own, seed, f"{card.name} {protocol}")


def _received(name: RunName, card: Card, protocol: Protocol, settings: CodeSettings, base: Run | None) -> Run:
    return Run(name, card, protocol, _method(name.method), settings, base)


def _parsed(values: Mapping[str, Any], entry: Method, names: Mapping[str, str]) -> CodeSettings:
    """The settings; raises HashbenchError, with the options, where one has no value from anywhere."""
    on = f"{names['method']} on {names['dataset']}"
    fields = entry.settings.model_fields.items()
    missing = [key for key, field in fields if field.is_required() and key not in values]
    if missing:
        options = " ".join(OPTIONS.get(key, f"--set {key}={key.upper()}") for key in missing)
        raise HashbenchError(f"{on} needs {' and '.join(missing)}: {options}")
    return parse(entry.settings, values, on)


def _base(
    entry: Method,
    chosen: CodeSettings,
    given: Mapping[str, Setting],
    names: Mapping[str, str],
    seed: int,
    split_seed: int | None,
) -> Run | None:
    """The run of the base method on the same split; None if the run starts from none."""
    following = None if entry.base is None else entry.base.settings(chosen)
    if entry.base is None or following is None:
        if given:
            raise HashbenchError(f"{next(iter(given))}: this run starts from no base: --set head=trained")
        return None
    settings = {**following, **{key.removeprefix(BASE): value for key, value in given.items()}}
    on = names["dataset"], names["protocol"]
    return Run.resolve(*on, entry.base.method, settings, seed=seed, budget=names["budget"], split_seed=split_seed)


def _checked(method: str, entry: Method, settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """``settings`` with canonical names of models and features; raises HashbenchError for an unknown key."""
    found = dict(settings)
    for key in settings:
        if key == "bits" and {"d", "k"} <= entry.settings.model_fields.keys():
            raise HashbenchError(f"{method} makes sparse codes, which have no bits: --set d=D --set k=K")
        if key not in entry.settings.model_fields:
            raise unknown(f"setting of {method}", key, entry.settings.model_fields)
        if key == "model":
            if (name := str(settings[key])) not in MODELS:
                raise unknown("model", name, MODELS.names + MODELS.of_torchvision())
            found[key] = canonical(name)
        if key == "features":
            found[key] = _features(str(settings[key]))
    return found


def _features(name: str) -> str:
    if canonical(name) == PIXELS:
        return PIXELS
    from hashbench.features import check_name

    return check_name(name)


def _identity(chosen: CodeSettings, entry: Method, names: Mapping[str, str]) -> dict[str, Setting]:
    """The settings that the method declares, and those that differ from the TOML files or the defaults."""
    values = chosen.model_dump()
    declared = {key: values[key] for key in sorted(entry.identity)}
    defaults = {key: field.default for key, field in entry.settings.model_fields.items()}
    usual = {**defaults, **settings_files.resolve(entry, names, declared)}
    if "features" not in declared and chosen.features != usual["features"]:  # they may decide the recipe
        named = {**declared, "features": chosen.features}
        usual = {**defaults, **settings_files.resolve(entry, names, named), "features": usual["features"]}
    return {key: value for key, value in sorted(values.items()) if key in declared or value != usual[key]}


def _of_config(config: Mapping[str, Any], row: Row, identity: dict[str, Setting] | None = None) -> Run:
    """The run with this configuration, that of ``row`` or of a run that it starts from."""
    card, entry = load_card(config["dataset"]), _method(config["method"])
    settings = parse(entry.settings, config["settings"], row.run)
    base = _of_config(config["base"], row) if "base" in config else None
    name = RunName(
        **{key: config[key] for key in ("dataset", "protocol", "method", "data", "budget")},
        size=settings.size,
        settings=settings.model_dump(exclude_defaults=True),
        identity={key: getattr(settings, key) for key in entry.identity} if identity is None else identity,
        seed=row.seed,
        split_seed=row.split_seed,
        base=None if base is None else base.name,
    )
    return Run(name, card, _split(card, config["protocol"], row.split_seed), entry, settings, base)

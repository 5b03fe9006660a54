"""A run: one method trained on one data set, with the card, the protocol, the method and the settings themselves."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NoReturn

from hashbench.foundation.config import BEYOND_INTEGERS, MOST_OF_TEXT, Setting, derive_seed, digest, parse
from hashbench.foundation.errors import HashbenchError, printable, retold, unknown
from hashbench.foundation.registry import canonical
from hashbench.learning.contract import PIXELS, BitSettings, CodeSettings
from hashbench.learning.methods import METHODS, Method
from hashbench.learning.models import MODELS, canonical_model
from hashbench.running.datasets.card import Card, load_card
from hashbench.running.datasets.protocol import HELD_OUT, HeldOut, Protocol, with_seed
from hashbench.running.features import check_name
from hashbench.running.runs import settings as settings_files
from hashbench.running.runs.row import IMPORTED, Row, provider_of
from hashbench.running.runs.settings import Sourced
from hashbench.scoring.metrics import Metrics

OPTIONS = {"bits": "--bits BITS", "model": "--model MODEL"}  # of hashbench train; the others have --set
MISFITS = KeyError, TypeError, AttributeError, ValueError  # of a configuration that somebody made for another method
UNFIT = "its configuration is not one of the method"
BASE = "base."  # the prefix of settings that are passed on to the base method


@dataclass(frozen=True)
class RunName:
    """The name of a run: all that decides its result, as strings and plain values; its files are named by a digest."""

    dataset: str
    protocol: str
    method: str
    budget: str
    size: str  # of the codes, such as 32b
    data: dict[str, Any]  # from the card: the checksum of the data and the parameters of the split
    settings: dict[str, Setting]  # those that are not at their default
    identity: dict[str, Setting]  # the settings in the row: those the method declares, and those that are not usual
    seed: int
    split_seed: int | None = None  # the seed of the split if it is not the protocol's own
    base: "RunName | None" = None  # the run of the base method

    @property
    def config(self) -> dict[str, Any]:
        """Everything that decides the result, except the seed and the code."""
        config = {key: getattr(self, key) for key in ("dataset", "protocol", "method", "data", "budget", "settings")}
        if self.base is not None:
            config["base"] = self.base.config
        return config

    @cached_property
    def cell_hash(self) -> str:
        """Digest of ``config``: the same for all seeds of one cell of a table."""
        return digest(self.config)

    @cached_property
    def config_hash(self) -> str:
        """Digest of ``config`` and seed."""
        return digest({**self.config, "seed": self.seed})

    def __str__(self) -> str:
        split = "" if self.split_seed is None else f"-split{self.split_seed}"
        head = f"{self.dataset}-{self.protocol}-{self.method}-{self.size}"
        return f"{head}{split}-s{self.seed}-{self.config_hash[:10]}"


@dataclass(frozen=True)
class Run:
    """One run: its name, and what the name stands for; ``base`` is the run of the base method, executed first."""

    name: RunName
    card: Card
    protocol: Protocol  # with the seed of the run's own split
    settings: CodeSettings
    base: "Run | None" = None
    stated: Mapping[str, Sourced] = field(default_factory=dict, compare=False)  # all but the program's defaults
    asymmetric: bool = False  # whether its row has the metrics by asymmetric distances too; this names no other run
    metrics: tuple[str, ...] = ()  # that its row has besides those of every row; they name no other run

    @property
    def method(self) -> Method:
        """The method, whose functions cannot be sent to another process."""
        return _entry(self.name.method, self.name.budget)

    @property
    def derived_seed(self) -> int:
        """The seed of all random numbers, from names and declared settings: the bits are one, no learning rate is."""
        name = self.name
        named = [f"{key}={name.identity[key]}" for key in sorted(self.method.identity)]
        if name.split_seed is not None:
            named.append(f"split={name.split_seed}")
        return derive_seed(name.dataset, name.protocol, name.method, *named, name.seed)

    @property
    def n_classes(self) -> int:
        """The number of classes, the first ones of the data set, that the run uses; 0: all."""
        return int(getattr((self.base or self).settings, "n_classes", 0))

    @staticmethod
    def resolve(
        dataset: str,
        protocol: str | HeldOut | None,
        method: str,
        settings: Mapping[str, Setting],
        *,
        seed: int = 0,
        budget: str | None = None,
        split_seed: int | None = None,
        recipe: str | None = None,
    ) -> "Run":
        """The run with these names, on the only ``protocol`` if it is None; HashbenchError for a wrong name or value.

        ``settings`` replace the values of the files, ``base.KEY`` that of the base; ``split_seed`` draws another split;
        the ``recipe`` is that of the task unless one is named, or ``OUR_DEFAULTS``, without what it tunes the method
        to. At the budget ``imported`` the codes were made elsewhere, by a ``method`` of any name.
        """
        for which, number in (("seed", seed), ("split", split_seed)):
            if number is not None and not 0 <= number < BEYOND_INTEGERS:
                raise HashbenchError(f"{which} {number}: a seed is 0 or more, and less than 2^63")
        card = load_card(dataset)
        entry = _entry(method, budget)
        on, rule, other_seed = _rule(card, protocol, split_seed)
        Metrics.parse(rule.metrics)  # an unknown one is met before hours of training
        names = {"dataset": card.name, "protocol": on, "method": canonical(method), "budget": IMPORTED}
        of_base = {key: value for key, value in settings.items() if entry.base is not None and key.startswith(BASE)}
        checked = _checked(names["method"], entry, {key: settings[key] for key in settings if key not in of_base})
        sources = {key: Sourced(value, "command line") for key, value in checked.items()}
        usual = {**names, "protocol": rule.stands_for(on), **settings_files.names_of_data(card)}
        if budget != IMPORTED:
            names["budget"] = settings_files.method_file(names["method"]).budget(budget)
            usual["budget"] = names["budget"]
            sources = settings_files.sourced(entry, usual, checked, recipe=recipe)
        values = {key: source.value for key, source in sources.items()}
        chosen = _parsed(values, entry, names)
        base = None
        following = None
        if entry.base is not None:
            following = entry.base.settings(chosen)
        if entry.base is not None and following is not None:
            own_of_base = {key.removeprefix(BASE): value for key, value in of_base.items()}
            base = Run.resolve(
                card.name,
                protocol,
                entry.base.method,
                following | own_of_base,
                seed=seed,
                budget=names["budget"],
                split_seed=other_seed,
                recipe=settings_files.recipe_of_base(sources, entry.base.method),
            )
            follows = {key: Sourced(value, "run") for key, value in following.items() if key not in own_of_base}
            base = replace(base, stated={**base.stated, **follows})
        elif of_base:
            raise HashbenchError(f"{next(iter(of_base))}: this run starts from no base: --set head=trained")
        is_usual = recipe is None and set(checked) <= set(entry.identity)
        as_usual = values if budget == IMPORTED or is_usual else None
        identity = _identity(chosen, entry, usual, as_usual) | of_base
        data = {"content_sha256": card.content_sha256, "split": rule.deciding()}
        named = {**names, "data": data, "seed": seed, "split_seed": other_seed}
        return Run(_name(named, identity, chosen, base), card, rule, chosen, base, sources)

    @staticmethod
    def from_row(row: Row, card: Card | None = None) -> "Run":
        """The run whose result ``row`` is, from the configuration in the row; HashbenchError without its method.

        ``card`` is that of its data set, where the folder of the run holds it; None: the card of this name here.
        """
        if row.method not in METHODS and not row.is_imported and (package := provider_of(row)) is not None:
            raise HashbenchError(f"{row.run}: its method is of the package {package}, which is not installed here")
        with retold(lambda cause: f"{row.run}: {UNFIT} {row.method}: {printable(cause)}", *MISFITS):
            return _of_config(row.config, row, row.settings, card)

    def with_seed(self, seed: int) -> "Run":
        """The run with the same settings, on the same split, and this seed."""
        if seed == self.name.seed:
            return self
        name = replace(self.name, seed=seed)
        if self.base is None:
            return replace(self, name=name)
        base = self.base.with_seed(seed)
        return replace(self, name=replace(name, base=base.name), base=base)

    def with_split(self, split_seed: int | None) -> "Run":
        """The run with the same settings and seed on another split, or with None on the protocol's own one."""
        name = self.name
        _, protocol, other_seed = _rule(self.card, name.protocol, split_seed)
        base = None if self.base is None else self.base.with_split(split_seed)
        of_base = None if base is None else base.name
        data = {**name.data, "split": protocol.deciding()}
        name = replace(name, data=data, split_seed=other_seed, base=of_base)
        return replace(self, name=name, protocol=protocol, base=base)

    def with_bits(self, bits: int) -> "Run | None":
        """The run that ``resolve`` gives with other bits alone; None where files may give it other settings."""
        has_other_files = self.name.budget == IMPORTED or settings_files.has_conditions_on_bits(self.name.method)
        if self.base is not None or has_other_files or "bits" not in self.method.identity:
            return None
        settings = _parsed({**self.settings.model_dump(), "bits": bits}, self.method, self.name.config)
        explicit = settings.model_dump(exclude_defaults=True)
        identity = {**self.name.identity, "bits": bits}
        name = replace(self.name, size=settings.size, settings=explicit, identity=identity)
        stated = {**self.stated, "bits": Sourced(bits, "command line")}
        return replace(self, name=name, settings=settings, stated=stated)

    def with_asymmetric(self) -> "Run":
        """The run whose row has asymmetric distances too; HashbenchError unless its codes are signs of activations."""
        if self.method.group == "quantisation":
            return self  # its row has no others
        if self.name.budget == IMPORTED or not isinstance(self.settings, BitSettings):
            fault = "its codes are not the signs of activations that are known here"
            raise HashbenchError(f"{self.name}: {fault}, so that it has no asymmetric distances")
        return replace(self, asymmetric=True)

    def with_metrics(self, names: Iterable[str]) -> "Run":
        """The run whose row has these metrics too; HashbenchError for one that the method's ranking does not have."""
        metrics = Metrics.parse(names)
        if self.asymmetric or self.method.main_search == "asymmetric":
            metrics.refuse_radii(f"the asymmetric distances of {self.name.method} do")
        return replace(self, metrics=tuple(metrics.names))

    def is_filled_by(self, row: Row) -> bool:
        """Whether its successful ``row`` has all searches that are asked for, and metrics that no histogram gives."""
        if not (self.asymmetric or self.method.main_search == "asymmetric"):
            return True
        return "asymmetric" in row.searches and row.searches["asymmetric"].keys() >= {*self.metrics}

    @property
    def sources(self) -> dict[str, Sourced]:
        """All settings with their sources, the base's as ``base.KEY``; without a recipe for a run of a row."""
        default = Sourced("", "default")
        values = self.settings.model_dump().items()
        sources = {key: replace(self.stated.get(key, default), value=value) for key, value in values}
        if self.base is not None:
            sources |= {f"{BASE}{key}": source for key, source in self.base.sources.items()}
        return sources


def _rule(card: Card, protocol: str | HeldOut | None, split_seed: int | None) -> tuple[str, Protocol, int | None]:
    """The name of the protocol, the protocol with the seed of the split, and this seed if it is not its own."""
    if isinstance(protocol, HeldOut):
        return f"{protocol.of}{HELD_OUT}", protocol, split_seed
    name = card.protocol_name(protocol)
    rule = card.protocol(name)
    if split_seed is None or split_seed == rule.seed:
        return name, rule, None
    return name, with_seed(rule, split_seed, f"{card.name} {name}"), split_seed


def _entry(method: str, budget: str | None) -> Method:
    """The method of this name; of codes made elsewhere one that only says so, for which any name is good."""
    if budget != IMPORTED:
        return METHODS.get(method)
    if not re.fullmatch(r"[a-z0-9_]+", canonical(method)):
        raise HashbenchError(f"method {method!r}: letters, digits, - and _ make a name of imported codes")

    def refuse(*_: Any) -> NoReturn:
        raise HashbenchError(f"{method}: its codes were made elsewhere: hashbench results import reads them")

    return Method(BitSettings, ("bits",), refuse, refuse, needs_torch=False)


def _name(named: Mapping[str, Any], identity: dict[str, Setting], settings: CodeSettings, base: Run | None) -> RunName:
    explicit = settings.model_dump(exclude_defaults=True)
    of_base = None if base is None else base.name
    return RunName(**named, size=settings.size, settings=explicit, identity=identity, base=of_base)


def _parsed(values: Mapping[str, Any], entry: Method, names: Mapping[str, str]) -> CodeSettings:
    on = f"{names['method']} on {names['dataset']}"
    fields = entry.settings.model_fields.items()
    missing = [key for key, field in fields if key not in values and field.is_required()]
    if missing:
        options = " ".join(OPTIONS.get(key, f"--set {key}={key.upper()}") for key in missing)
        raise HashbenchError(f"{on} needs {' and '.join(missing)}: {options}")
    return parse(entry.settings, values, on)


def _checked(method: str, entry: Method, settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """``settings`` with canonical names of models and features; raises HashbenchError for an unknown key."""
    checked = dict(settings)
    fields = entry.settings.model_fields
    for key, value in settings.items():
        if key == "bits" and {"d", "k"} <= fields.keys():
            raise HashbenchError(f"{method} makes sparse codes, which have no bits: --set d=D --set k=K")
        if key not in fields:
            raise unknown(f"setting of {method}", key, fields)
        name = str(value)
        is_large = isinstance(value, int) and abs(value) >= BEYOND_INTEGERS
        if len(name) > MOST_OF_TEXT or not name.isprintable() or is_large:  # no row can hold it
            expected = f"a number below 2^63, or at most {MOST_OF_TEXT} characters that can be printed"
            raise HashbenchError(f"{key}={printable(name)}: {expected}")
        if key == "model":
            if name not in MODELS:
                raise unknown("model", name, MODELS.like(name))
            checked[key] = canonical_model(name)
        if key == "features":
            checked[key] = PIXELS if canonical(name) == PIXELS else check_name(name)
    return checked


def _identity(
    chosen: CodeSettings, entry: Method, names: Mapping[str, str], known: Mapping[str, Any] | None
) -> dict[str, Setting]:
    """The settings that the method declares, and those that are not as its files (``known``) or defaults say."""
    values = chosen.model_dump()
    declared = {key: values[key] for key in sorted(entry.identity)}
    defaults = {key: field.default for key, field in entry.settings.model_fields.items()}

    def of_files(given: Mapping[str, Setting]) -> dict[str, Any]:
        return {key: source.value for key, source in settings_files.sourced(entry, names, given).items()}

    usual = {**defaults, **(of_files(declared) if known is None else known)}
    if "features" not in declared and chosen.features != usual["features"]:  # they may decide the recipe
        of_features = of_files({**declared, "features": chosen.features})
        usual = {**defaults, **of_features, "features": usual["features"]}
    return {key: value for key, value in sorted(values.items()) if key in declared or value != usual[key]}


def _of_config(
    config: Mapping[str, Any], row: Row, identity: dict[str, Setting] | None = None, card: Card | None = None
) -> Run:
    if card is None:
        card = load_card(config["dataset"])
    entry = _entry(config["method"], config["budget"])
    _, rule, _ = _rule(card, config["protocol"], row.split_seed)
    settings = parse(entry.settings, config["settings"], row.run)
    base = None
    if "base" in config:
        base = _of_config(config["base"], row, card=card)
    if identity is None:
        identity = {key: getattr(settings, key) for key in entry.identity}
    named = {key: config[key] for key in ("dataset", "protocol", "method", "data", "budget")}
    named |= {"seed": row.seed, "split_seed": row.split_seed}
    return Run(_name(named, identity, settings, base), card, rule, settings, base)

"""One cell, named: what is run, with everything that decides its result."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hashbench.config import Setting, digest, parse
from hashbench.datasets.card import load_card
from hashbench.errors import HashbenchError, unknown
from hashbench.hasher import BitSettings
from hashbench.methods import METHODS, _file
from hashbench.methods._method import Method
from hashbench.models import MODELS
from hashbench.registry import canonical
from hashbench.results import Row
from hashbench.seeding import derive


@dataclass(frozen=True)
class Experiment:
    """One run, fully resolved; its name holds the digest of all that decides its result."""

    dataset: str
    protocol: str
    method: str
    data: dict[str, Any]  # what the card says of the bytes and of the split
    settings: BitSettings
    identity: dict[str, Setting]  # the settings that name it: those the method declares and those given
    budget: str
    seed: int

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
        return derive(self.dataset, self.protocol, self.method, *named, self.seed)

    @property
    def run(self) -> str:
        """The run's name."""
        head = f"{self.dataset}-{self.protocol}-{self.method}-{self.settings.bits}b-s{self.seed}"
        return f"{head}-{self.config_hash[:10]}"


def resolve(
    dataset: str,
    protocol: str,
    method: str,
    settings: Mapping[str, Setting],
    *,
    seed: int = 0,
    budget: str = "full",
) -> Experiment:
    """The experiment of those names; ``settings`` (bits at least) go over what the method's TOML says.

    Raises HashbenchError for a name that does not exist or a setting of a wrong type. Imports nothing heavy.
    """
    card = load_card(dataset)
    split = card.protocol(protocol)
    entry = METHODS.get(method)
    names = {"dataset": canonical(dataset), "protocol": canonical(protocol), "method": canonical(method)}
    given = _given(names["method"], settings, entry)
    file = _file.load(names["method"])
    where = f"{_file.location(names['method'])} for {names['dataset']}, with what was given"
    chosen = parse(entry.settings, _file.resolve(file, names, given), where)
    if seed < 0:
        raise HashbenchError(f"seed {seed}: a seed is 0 or more")
    return Experiment(
        **names,
        data={"content_sha256": card.content_sha256, "split": split.deciding()},
        settings=chosen,
        identity=_identity(chosen, entry, file, names),
        budget=budget,
        seed=seed,
    )


def _given(method: str, settings: Mapping[str, Setting], entry: Method) -> dict[str, Setting]:
    """``settings``, each a key that the method has, the model by the name of its file."""
    for key in settings:
        if key not in entry.settings.model_fields:
            raise unknown(f"setting of {method}", key, entry.settings.model_fields)
    model = settings.get("model")
    if model is None:
        return dict(settings)
    if str(model) not in MODELS:
        raise unknown("model", str(model), MODELS.names)
    return {**settings, "model": canonical(str(model))}


def _identity(
    chosen: BitSettings, entry: Method, file: _file.MethodFile, names: Mapping[str, str]
) -> dict[str, Setting]:
    """The settings that the method declares, and any that differ from what its TOML says for them."""
    values = chosen.model_dump()
    declared = {key: values[key] for key in sorted(entry.identity)}
    usual = _file.resolve(file, names, declared)
    return {key: value for key, value in sorted(values.items()) if key in declared or value != usual[key]}


def of_row(row: Row) -> Experiment:
    """The experiment that a row is the result of, from the configuration the row holds."""
    settings = parse(METHODS.get(row.method).settings, row.config["settings"], row.run)
    data = row.config["data"]
    return Experiment(row.dataset, row.protocol, row.method, data, settings, row.settings, row.budget, row.seed)

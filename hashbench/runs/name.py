"""The name of a run: everything that decides its result as strings and plain values, with their digests."""

import json
from dataclasses import dataclass
from typing import Any

from hashbench.foundation.config import Setting, derive_seed, digest


@dataclass(frozen=True)
class RunName:
    """What a run is called; the name of its files contains a digest of everything that decides its result."""

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
        return {
            "dataset": self.dataset,
            "protocol": self.protocol,
            "method": self.method,
            "data": self.data,
            "budget": self.budget,
            "settings": self.settings,
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
    def json(self) -> str:
        """``config`` and seed as JSON, the content of config.json in the run's folder."""
        return json.dumps({**self.config, "seed": self.seed}, indent=1, sort_keys=True) + "\n"

    def derived_seed(self, declared: tuple[str, ...]) -> int:
        """The seed of all random numbers of the run, from its names and the ``declared`` settings of its method.

        These include the bits, so that the columns of a table are independent. Other hyper-parameters are not included:
        a run with another learning rate starts from the same weights.
        """
        named = [f"{key}={self.identity[key]}" for key in sorted(declared)]
        named += [] if self.split_seed is None else [f"split={self.split_seed}"]
        return derive_seed(self.dataset, self.protocol, self.method, *named, self.seed)

    def __str__(self) -> str:
        """The name of the run's folder and row."""
        split = "" if self.split_seed is None else f"-split{self.split_seed}"
        head = f"{self.dataset}-{self.protocol}-{self.method}-{self.size}"
        return f"{head}{split}-s{self.seed}-{self.config_hash[:10]}"

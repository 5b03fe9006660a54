"""The hyper-parameters of a method: experiments/methods/<method>.toml, each value with where it comes from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from hashbench import paths
from hashbench.config import Setting, Strict, parse, read_toml


class Parameter(Strict):
    """A hyper-parameter, who says so, and where."""

    value: Setting
    source: Literal["paper", "code", "ours"]
    note: str = ""


class Variant(Strict):
    """Values for some data set, protocol or model, over the general ones; later variants win."""

    dataset: str | None = None
    protocol: str | None = None
    model: str | None = None
    why: str
    parameters: dict[str, Parameter]

    def fits(self, names: Mapping[str, str]) -> bool:
        """Whether all the names this variant gives agree with ``names``."""
        asked = {"dataset": self.dataset, "protocol": self.protocol, "model": self.model}
        return all(value is None or names.get(key) == value for key, value in asked.items())


class MethodFile(Strict):
    """A file of experiments/methods/."""

    title: str
    paper: str
    summary: str
    parameters: dict[str, Parameter]
    variants: list[Variant] = []


def location(method: str) -> Path:
    """Where the method's hyper-parameters are."""
    return paths.root() / "experiments" / "methods" / f"{method}.toml"


def load(method: str) -> MethodFile:
    """The hyper-parameters of ``method``; raises HashbenchError when the file is not as it should be."""
    path = location(method)
    return parse(MethodFile, read_toml(path), str(path))


def resolve(file: MethodFile, names: Mapping[str, str], given: Mapping[str, Setting]) -> dict[str, Any]:
    """All values for a run: general, then the variants that fit, then ``given``.

    The model is settled first, because variants may depend on it.
    """
    values = {key: parameter.value for key, parameter in file.parameters.items()}
    for variant in file.variants:
        if variant.model is None and variant.fits(names) and "model" in variant.parameters:
            values["model"] = variant.parameters["model"].value
    values.update(given)
    settled = {**names, "model": str(values.get("model", ""))}
    for variant in file.variants:
        if variant.fits(settled):
            values.update({key: parameter.value for key, parameter in variant.parameters.items()})
    return {**values, **given}

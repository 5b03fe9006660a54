"""The hyper-parameters of a method: experiments/methods/<method>.toml, each value with where it comes from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from hashbench import paths
from hashbench.config import Setting, Strict, parse, read_toml
from hashbench.errors import unknown
from hashbench.methods._method import METHODS

SETTLED = ("model", "base")  # the settings that others of a method's file depend on


class Parameter(Strict):
    """A hyper-parameter, who says so, and where."""

    value: Setting
    source: Literal["paper", "code", "ours"]
    note: str = ""


class Variant(Strict):
    """Values for some data set, protocol, model, base or budget, over the general ones; later variants win."""

    dataset: str | None = None
    protocol: str | None = None
    model: str | None = None
    base: str | None = None  # of the methods that are built on a metric network: how that one was trained
    budget: str | None = None
    why: str
    parameters: dict[str, Parameter]

    def fits(self, names: Mapping[str, str]) -> bool:
        """Whether all the names this variant gives agree with ``names``."""
        return all(value is None or names.get(key) == value for key, value in self._asked().items())

    def _asked(self) -> dict[str, str | None]:
        return self.model_dump(include={"dataset", "protocol", *SETTLED, "budget"})


class MethodFile(Strict):
    """A file of experiments/methods/.

    ``budgets`` says what each budget that the method can be run at is; the first is the one that nobody has to name.
    """

    title: str
    paper: str
    summary: str
    budgets: dict[str, str] = Field({"full": "as the method's file says"}, min_length=1)
    parameters: dict[str, Parameter]
    variants: list[Variant] = []

    def budget(self, asked: str | None) -> str:
        """``asked``, or the usual budget; raises HashbenchError for one that the method does not have."""
        if asked is None:
            return next(iter(self.budgets))
        if asked not in self.budgets:
            raise unknown(f"budget of {self.title}", asked, self.budgets)
        return asked


def location(method: str) -> Path:
    """Where the method's hyper-parameters are: those of another package's method lie beside its module."""
    folder = METHODS.folder(method) or paths.root() / "experiments" / "methods"
    return folder / f"{method}.toml"


def load(method: str) -> MethodFile:
    """The hyper-parameters of ``method``; raises HashbenchError when the file is not as it should be."""
    path = location(method)
    return parse(MethodFile, read_toml(path), str(path))


def resolve(file: MethodFile, names: Mapping[str, str], given: Mapping[str, Setting]) -> dict[str, Any]:
    """All values for a run: general, then the variants that fit, then ``given``.

    Model and base are settled first, because variants may depend on them.
    """
    values = {key: parameter.value for key, parameter in file.parameters.items()}
    for variant in file.variants:
        if variant.model is None and variant.base is None and variant.fits(names):
            values.update({key: variant.parameters[key].value for key in SETTLED if key in variant.parameters})
    values.update(given)
    settled = {**names, **{key: str(values.get(key, "")) for key in SETTLED}}
    for variant in file.variants:
        if variant.fits(settled):
            values.update({key: parameter.value for key, parameter in variant.parameters.items()})
    return {**values, **given}

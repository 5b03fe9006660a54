"""``hashbench.load``: a run by its name, by its folder, or as it was exported, for encoding and searching."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.arguments import checked_arguments
from hashbench.foundation.errors import HashbenchError, retold
from hashbench.running.datasets.custom.encoder import Encoder, ItemForm
from hashbench.running.datasets.custom.expected import of_unit_norm
from hashbench.scoring.codes import Codes, binarize
from hashbench.showing.export import description as descriptions
from hashbench.showing.export import onnx_form, script
from hashbench.showing.export.description import Description
from hashbench.showing.export.numpy_form import read_steps

if TYPE_CHECKING:
    from hashbench.running.runs.trained import TrainedRun


class HashFunction(Protocol):
    """What an export computes."""

    def activations(self, items: NDArray[Any]) -> NDArray[np.float32]:
        """The activations float32[n, bits] of ``items`` [n, ...]."""


@dataclass(frozen=True, repr=False)
class ExportedRun(Encoder):
    """The hash function in a folder that ``hashbench export`` wrote, in the form numpy or onnx."""

    folder: Path
    description: Description

    def __repr__(self) -> str:
        return f"ExportedRun({self.description.run}, {self.description.form})"

    @cached_property
    def _function(self) -> HashFunction:
        if self.description.form == "numpy":
            return read_steps(self.folder, self.description)
        if self.description.form == "onnx":
            return onnx_form.Session(self.folder / onnx_form.FILE)
        advice = "torch.export.load opens it, as its README says; hashbench opens no program, for it could run anything"
        raise HashbenchError(f"{self.folder}: an export in the form torch: {advice}")

    @property
    def form(self) -> ItemForm:
        """The form of an item, as the description says it."""
        taken = self.description.input
        return ItemForm(tuple(taken.shape), taken.value_max)

    @property
    def n_bits(self) -> int:
        """The number of bits of a code, as the description says it."""
        return self.description.bits

    def codes_of(self, items: NDArray[Any]) -> Codes:
        """The packed codes of ``items``, by the function in the folder."""
        if self.description.input.unit_norm:
            items = of_unit_norm(items)
        if self.description.form == "onnx":
            taken = self.description.input
            stored = items.astype(taken.dtype, copy=False)
            if stored.dtype.kind == "u" and not np.array_equal(stored, items):
                expected = f"{script.values_of(taken, taken.dtype)} are expected"
                raise HashbenchError(f"items: values from {items.min():g} to {items.max():g}: {expected}")
            items = stored
        function = self._function
        with retold(lambda cause: f"{self.folder}: damaged: {cause}"):
            codes = binarize(function.activations(items))
        if codes.n_bits != self.description.bits:
            raise HashbenchError(f"{self.folder}: damaged: it gives {codes.n_bits} bits, not {self.description.bits}")
        return codes

    def database(self) -> Codes:
        """Raises HashbenchError: a hash function was exported, without codes."""
        raise HashbenchError(f"{self.folder}: has no codes to search: pass the codes that encode gave as database=")


@checked_arguments
def load(run: str | Path, *, device: str = "auto", results: str | Path | None = None) -> "TrainedRun | ExportedRun":
    """The stored run called ``run``, or whose name alone starts so; HashbenchError if there is none, or several.

    ``results`` is the folder of results, by default what ``hashbench --results`` would be. ``run`` may also be the path
    of a folder that ``hashbench export`` wrote, or of the folder of a run, which encodes on another machine too:
    without its row, its data and their card there.
    """
    folder = Path(run)
    if (folder / descriptions.FILE).is_file():
        return ExportedRun(folder, descriptions.read(folder))
    from hashbench.running.runs import trained

    return trained.load(run, device=device, results=results)

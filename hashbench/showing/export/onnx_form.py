"""A hash function as a model of ONNX, and its session of ONNX Runtime."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.extras import how_to_install, missing
from hashbench.learning.steps import Values, in_blocks
from hashbench.showing.export.script import Program

if TYPE_CHECKING:
    from torch import nn

FILE = "hash.onnx"
EXTRA = "onnx"
INPUT = "items"
OUTPUTS = ("bits", "activations")
PROGRAM = Program(
    imports="import onnxruntime\n",
    loaded='SESSION = onnxruntime.InferenceSession(FILE, providers=["CPUExecutionProvider"])',
    activations=f'SESSION.run(["{OUTPUTS[1]}"], {{"{INPUT}": block}})[0]',
)


def require_extra() -> None:
    """Raises HashbenchError unless the extra onnx is installed."""
    if lacking := missing(EXTRA):
        raise HashbenchError(
            f"{', '.join(lacking)}: not installed: ONNX needs the extra {EXTRA}: {how_to_install(EXTRA)}"
        )


def write(module: "nn.Module", example: Values, path: Path) -> None:
    """Writes the model, which takes any number of items such as those of ``example`` [n, ...]."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter's own calls
        torch.onnx.export(
            module,
            (torch.from_numpy(example),),
            path,
            dynamo=True,
            input_names=[INPUT],
            output_names=OUTPUTS,
            dynamic_shapes=({0: torch.export.Dim("items")},),
            external_data=False,
            verbose=False,
        )


class Session:
    """A model of ONNX as ONNX Runtime computes it, on the CPU."""

    def __init__(self, path: Path) -> None:
        with retold(lambda _: f"{path}: needs onnxruntime: pip install onnxruntime", ImportError):
            import onnxruntime

        with retold(lambda cause: f"{path}: ONNX Runtime cannot read it: {cause}"):
            self._session: Any = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])

    def activations(self, items: Values) -> NDArray[np.float32]:
        """The activations float32[n, bits] of ``items`` [n, ...]."""
        blocks = [self._session.run([OUTPUTS[1]], {INPUT: block})[0] for block in in_blocks(items)]
        return np.concatenate(blocks)

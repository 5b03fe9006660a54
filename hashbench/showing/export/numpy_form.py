"""The steps of a hash function as a file of arrays, and the script that runs them with NumPy alone."""

import inspect
import re
from collections.abc import Sequence
from pathlib import Path

from numpy.lib.npyio import NpzFile

from hashbench.foundation.arrays import open_arrays
from hashbench.foundation.errors import HashbenchError, retold
from hashbench.learning.steps import BLOCK, OPERATIONS, Step, Steps, Values, arguments_of
from hashbench.showing.export.description import Description, NamedStep
from hashbench.showing.export.script import Program, script

FILE = "hash.npz"
PROGRAM = Program(
    imports="",
    loaded="ARRAYS = dict(np.load(FILE))",
    activations="activations(block)",
    needs=", by NumPy alone",
    n_at_once=BLOCK,
)
ACTIVATIONS = '''\
def activations(x: np.ndarray) -> np.ndarray:
    """Activations [n, {bits}] of items [n, {shape}]."""
{steps}
    return x.astype(np.float32)
'''


def named_steps(steps: Steps) -> list[NamedStep]:
    """The steps as the description has them: an array is called after its step, which is counted from 1."""
    named = []
    for number, step in enumerate(steps.steps, 1):
        arrays = {name: _array_name(number, name) for name in step.arguments}
        named.append(NamedStep(operation=step.name, arrays=arrays))
    return named


def arrays_of(steps: Steps) -> dict[str, Values]:
    """The arrays of all steps by the names of ``named_steps``."""
    arrays: dict[str, Values] = {}
    for number, step in enumerate(steps.steps, 1):
        arrays |= {_array_name(number, name): array for name, array in step.arrays.items()}
    return arrays


def _array_name(number: int, name: str) -> str:
    return f"step{number}_{name}"


def read_steps(folder: Path, description: Description) -> Steps:
    """The steps of an export in the form numpy; HashbenchError if they do not fit the file of arrays."""
    path = folder / FILE
    if FILE not in description.sha256 or description.steps is None:
        raise HashbenchError(f"{folder}: damaged: an export in the form numpy has {FILE} and its steps")
    with retold(lambda cause: f"{path}: damaged: {cause}"), open_arrays(path) as file:
        return Steps([_step(file, step) for step in description.steps], description.arithmetic)


def _step(file: NpzFile, step: NamedStep) -> Step:
    if step.operation not in OPERATIONS:
        raise ValueError(f"unknown operation {step.operation!r}")
    operation = OPERATIONS[step.operation]
    expected = arguments_of(operation)
    if sorted(step.arrays) != sorted(expected):
        raise ValueError(f"{step.operation} takes the arrays {', '.join(expected) or 'none'}")
    return Step(operation, {name: file[key] for name, key in step.arrays.items()})


def script_of(description: Description, steps: Sequence[NamedStep], file: Path) -> str:
    """The text of encode.py: the source of the operations, and the steps in turn. ``file`` is the file of arrays."""
    functions: dict[str, str] = {}
    lines = []
    for step in steps:
        source = inspect.getsource(OPERATIONS[step.operation])
        functions[step.operation] = re.sub(r"\bValues\b", "np.ndarray", source)
        arrays = [f'{name}=ARRAYS["{key}"]' for name, key in step.arrays.items()]
        lines.append(f"    x = {step.operation}({', '.join(['x', *arrays])})")
    shape = ", ".join(map(str, description.input.shape))
    last = ACTIVATIONS.format(bits=description.bits, shape=shape, steps="\n".join(lines))
    text = "".join(f"{function.rstrip()}\n\n\n" for function in [*functions.values(), last])
    return script(description.run, PROGRAM, file, description.input, description.arithmetic, text)

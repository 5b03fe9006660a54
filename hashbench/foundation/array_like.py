"""Arrays as users of Python give them: NumPy arrays, lists, torch tensors, columns of pandas."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, retold

NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)


def as_array(name: str, values: Any) -> NDArray[Any]:
    """``values`` as a NumPy array; a torch tensor is detached and copied to the CPU, and bfloat16 becomes float32.

    Raises HashbenchError for rows of different lengths, values that are missing, and other forms than a dense array.
    """
    if hasattr(values, "detach"):
        require_values(name, values)
        # NumPy has no bfloat16; float64 stays as it is, for float32 would turn the smallest values into 0
        if values.is_floating_point() and values.element_size() < 4:
            values = values.float()
        values = values.numpy(force=True)
    if hasattr(values, "toarray"):  # of SciPy
        raise HashbenchError(f"{name}: a sparse matrix: an array is expected, as .toarray() makes one")
    parts = values
    if not isinstance(values, list | tuple):
        parts = [values]
    for part in parts:
        if isinstance(part, np.ma.MaskedArray) and (n_masked := int(np.ma.getmaskarray(part).sum())):
            raise HashbenchError(
                f"{name}: {n_masked} of {part.size} values are masked: each item needs all of its values"
            )
    with retold(lambda cause: f"{name}: not an array: {cause}", ValueError):  # rows of different lengths
        array = np.asarray(values)
    if array.dtype.kind == "O":
        return _of_objects(name, array)
    return array


def native(array: NDArray[Any]) -> NDArray[Any]:
    """The ``array`` in the byte order of this machine, long doubles as float64: PyTorch takes no others."""
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        return array.astype(np.float64)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def require_values(name: str, tensor: Any) -> None:
    """Raises HashbenchError for a tensor without values, or with another layout than NumPy's."""
    is_dense = str(tensor.layout) == "torch.strided" and not tensor.is_nested
    if not is_dense or tensor.is_meta or tensor.is_quantized:
        expected = "a dense one of plain numbers is expected, as .to_dense() or .dequantize() makes one"
        raise HashbenchError(f"{name}: a tensor that is sparse, nested, quantized or of the device meta: {expected}")


def _of_objects(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """The numbers in ``array`` if all its objects are numbers, as in pandas' nullable columns; else ``array``.

    Raises HashbenchError for a value that is missing: None, or NA of pandas.
    """
    kinds = {type(value) for value in array.ravel()}
    if any(kind.__name__ in ("NoneType", "NAType", "NaTType") for kind in kinds):
        raise HashbenchError(f"{name}: a value is missing (None or NA): each item needs all of its values")
    if array.size and all(issubclass(kind, NUMBERS) for kind in kinds):
        return np.array(array.tolist())
    return array

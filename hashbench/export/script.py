"""The part that every encode.py has: it refuses items that the run would not take."""

from hashbench.export.description import Input

CHECK = '''\
def checked(items: np.ndarray) -> np.ndarray:
    """The items; ValueError where they are not such as the run takes."""
    if items.shape[1:] != {shape} or not len(items):
        raise ValueError(f"items of shape {{items.shape}}: {expected} is expected")
    low, high = items.min(), items.max()
    if not ({fits}):
        raise ValueError(f"values from {{low:g}} to {{high:g}}: {values} are expected")
    return items.astype("{dtype}")
'''


def check(taken: Input, dtype: str) -> str:
    """The text of the function ``checked`` of encode.py, which gives items such as ``taken`` as ``dtype``."""
    shape, largest = tuple(taken.shape), taken.value_max
    fits, values = "np.isfinite([low, high]).all()", "finite numbers"
    if largest is not None:
        fits, values = f"low >= 0 and high <= {largest}", f"0 to {largest}"
    if dtype == "uint8":
        fits, values = f"{fits} and (items == np.round(items)).all()", f"whole numbers, {values},"
    expected = f"[n, {', '.join(map(str, shape))}]"
    return CHECK.format(shape=shape, expected=expected, fits=fits, values=values, dtype=dtype)

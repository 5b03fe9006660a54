"""The AP of each query of a run, as it is kept beside the rows."""

import numpy as np
from numpy.typing import NDArray


def load(row_run_name: str) -> NDArray[np.float32] | None:  # noqa: ARG001
    """The AP [q] of each query of the run's split by ascending id, NaN without a relevant item; None: not kept."""
    return None

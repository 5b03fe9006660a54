"""The error that ends a training run."""

from hashbench.foundation.errors import HashbenchError


class TrainingFailed(HashbenchError):  # noqa: N818  (a result, not a fault: it is stored as a failed row)
    """Training failed, for example because the loss is not finite; the run is stored as a failed row."""

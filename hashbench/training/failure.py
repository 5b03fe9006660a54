"""A training that cannot go on."""

from hashbench.errors import HashbenchError


class TrainingFailed(HashbenchError):  # noqa: N818  (what a failed row records)
    """The loss is not finite, or training cannot go on for a reason of its own."""

"""What a classifier predicts of the queries of a protocol, from which its accuracy is computed."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.files import atomic


@dataclass(frozen=True, eq=False)
class Predictions:
    """The class id that was predicted for each query, int64[q], and its own class id."""

    predicted: NDArray[np.int64]
    labels: NDArray[np.int64]

    @property
    def is_right(self) -> NDArray[np.bool_]:
        """Whether the predicted class is the query's own, bool[q]."""
        return self.predicted == self.labels

    def save(self, path: Path) -> None:
        """Writes ``predicted`` and ``labels`` as .npz, as a whole or not at all."""
        with atomic(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, predicted=self.predicted, labels=self.labels)

    def sha256(self) -> str:
        """SHA-256 (hex) of both."""
        return hashlib.sha256(np.stack([self.predicted, self.labels]).astype("<i8").tobytes()).hexdigest()

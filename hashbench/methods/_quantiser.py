"""Product quantisation: an item is the number of its nearest centroid in each sub-space, a query its features."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.codes import MAX_BITS
from hashbench.contract import NO_CODES, Floats, ItemRows, QuantisedOutput, SearchItems, TrainingData
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import write_arrays
from hashbench.foundation.progress import with_bar
from hashbench.methods._anchors import k_means
from hashbench.methods._method import Method
from hashbench.methods._shallow import FeatureHasher, FeatureSettings, FittedFunction, shallow_method, squared_distances

N_CENTROIDS = 256  # of a sub-space: their number is a byte


class QuantiserSettings(FeatureSettings):
    """There are ``bits`` / 8 sub-spaces; k-means takes ``kmeans_iterations`` in each. A query is no code."""

    bits: int = Field(ge=8, le=MAX_BITS, multiple_of=8)
    query: Literal["float"] = "float"
    kmeans_iterations: int = Field(ge=1)

    @property
    def size(self) -> str:
        """The size of a stored item, such as ``32b``."""
        return f"{self.bits}b"


@dataclass(frozen=True, eq=False)
class Quantiser(FittedFunction):
    """The sub-spaces are runs of equally many features, after a rotation [d, d] if there is one."""

    centroids: Floats  # [bytes, 256, d / bytes]
    rotation: Floats | None = None

    @property
    def n_features(self) -> int:
        return self.centroids.shape[0] * self.centroids.shape[2]

    def tables(self, features: Floats) -> Floats:
        """The squared distances float64[n, bytes, 256] of ``features`` [n, d] to the centroids of each sub-space."""
        turned = features if self.rotation is None else features @ self.rotation
        parts = np.split(turned, len(self.centroids), axis=1)
        return np.stack([squared_distances(*each) for each in zip(parts, self.centroids, strict=True)], axis=1)


@dataclass(frozen=True, eq=False)
class QuantisingHasher(FeatureHasher):
    """The hasher of a product quantiser."""

    function: Quantiser

    def output(self, data: SearchItems, *, progress: bool = False) -> QuantisedOutput:
        """The look-up tables of the queries and the bytes of the database."""
        tables = np.concatenate(list(self._tables(data.queries, progress=progress)))
        return QuantisedOutput(tables, self.numbers(data.database, progress=progress), data)

    def numbers(self, rows: ItemRows, *, progress: bool = False) -> NDArray[np.uint8]:
        """The numbers of the nearest centroids, uint8[n, bytes]; of two that are as near the first."""
        found = self._tables(rows, progress=progress)
        return np.concatenate([tables.argmin(axis=2).astype(np.uint8) for tables in found])

    def _tables(self, rows: ItemRows, *, progress: bool) -> Iterator[Floats]:
        found = (self.function.tables(each) for items in rows.blocks() for each in self.blocks(items))
        return with_bar(found, "encode", "item", len(rows), shown=progress, size=len)

    def export(self, data: SearchItems, path: Path) -> list[Path]:
        """Writes tables, bytes and labels into one file."""
        self.output(data, progress=True).save_as(path)
        return [path]

    def export_items(self, rows: ItemRows, names: Sequence[str], path: Path) -> None:
        """Writes ``centroids``, uint8[n, bytes], ``names`` [n], and ``labels`` if the items have any."""
        labels = {} if rows.labels is None else {"labels": rows.labels}
        write_arrays(path, centroids=self.numbers(rows, progress=True), names=np.array(names), **labels)

    def nearest(self, queries: NDArray[Any], folder: Path, top: int) -> NoReturn:  # noqa: ARG002
        """Raises HashbenchError: neighbours are shown by Hamming distance."""
        raise HashbenchError(f"{folder.name}: {NO_CODES}")


def codebooks(
    features: Floats, n_parts: int, iterations: int, seed: int, start: Floats | None = None
) -> tuple[Floats, Floats]:
    """The centroids [parts, 256, d / parts] of ``features`` [n, d], k-means from those at the ``start``; and Y [n, d].

    Y are the features with each part replaced by its nearest centroid.
    """
    from sklearn.exceptions import ConvergenceWarning

    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a part with fewer different rows has a centroid twice
        for n, part in enumerate(np.split(features, n_parts, axis=1)):
            found.append(k_means(part, N_CENTROIDS, iterations, seed + n, None if start is None else start[n]))
    centroids = np.stack([each.cluster_centers_ for each in found])
    return centroids, np.hstack([each.cluster_centers_[each.labels_] for each in found])


def quantising_method(
    settings: type[QuantiserSettings], fit: Callable[[Any, Floats, int], Quantiser], *identity: str
) -> Method:
    """The method whose ``fit(settings, features, seed)`` returns the quantiser; HashbenchError for other features."""

    def quantiser(chosen: QuantiserSettings, features: Floats, data: TrainingData) -> Quantiser:
        _require(chosen, features.shape[1], len(features))
        return fit(chosen, features, data.seed)

    more = ("query", *identity)
    return shallow_method(settings, quantiser, Quantiser, identity=more, hasher=QuantisingHasher, require=_require)


def _require(settings: QuantiserSettings, n_features: int, n_examples: int) -> None:
    n_parts = settings.bits // 8
    if n_features % n_parts:
        advice = f"{n_parts} must divide {n_features}"
        raise HashbenchError(f"{n_features} features in {n_parts} sub-spaces of 8 bits: {advice}")
    if n_examples < N_CENTROIDS:
        raise HashbenchError(
            f"{n_examples} training examples: a sub-space has {N_CENTROIDS} centroids, so as many are needed"
        )

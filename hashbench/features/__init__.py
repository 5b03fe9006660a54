"""Features of a data set's items, for the shallow methods: one file an extractor, and the pretrained networks."""

from hashbench.datasets.store import open_dataset, standing
from hashbench.errors import HashbenchError
from hashbench.features import _store
from hashbench.features._catalogue import FEATURES, known, named
from hashbench.features._extract import Extracted, extract
from hashbench.features._extractor import Built, Extractor
from hashbench.features._store import Features
from hashbench.registry import canonical

__all__ = ["FEATURES", "Built", "Extracted", "Extractor", "Features", "extract", "known", "named", "open_features"]


def open_features(dataset: str, name: str) -> Features:
    """The stored features of a data set; raises HashbenchError where they are absent, damaged or of other data.

    ``name`` is that of the extractor, ``vggf_random`` for random weights.
    """
    found = _store.read(dataset, canonical(name))
    sha256 = standing(dataset).sha256 or open_dataset(dataset).sha256
    if found.provenance["data_sha256"] != sha256:
        raise HashbenchError(
            f"{found.path}: features of other data than {dataset} is now: run hashbench features {dataset} again"
        )
    return found

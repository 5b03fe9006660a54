"""The histogram that a run has left in its folder, held against the row."""

from zipfile import BadZipFile

from hashbench.codes.files import arrays_in
from hashbench.contract import CODES
from hashbench.foundation.errors import HashbenchError, one_line
from hashbench.histogram import Histogram
from hashbench.relevance.labels import Labels
from hashbench.runs.store import Row, Store


def saved_histogram(row: Row, store: Store) -> Histogram | None:
    """The histogram that ``row`` was scored from; None if it is not in the run's folder.

    Raises HashbenchError if the file is damaged, or if it is not the histogram of the row.
    """
    path = store.run_folder(row.run) / "histogram.npz"
    if not path.is_file():
        return None
    try:
        histogram = Histogram.load(path)
        checksum = histogram.sha256()
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise HashbenchError(f"{path}: not a readable histogram: {one_line(error)}") from None
    if checksum != row.histogram_sha256:
        raise HashbenchError(f"{path}: not the histogram that the row was scored from (SHA-256 differs)")
    return histogram


def saved_labels(row: Row, store: Store) -> Labels | None:
    """The labels of the queries in the run's codes.npz; None where that file is not there or has none."""
    path = store.run_folder(row.run) / CODES
    if not path.is_file():
        return None
    arrays = arrays_in(path)
    return arrays["query_labels"]().whole().astype("int64") if "query_labels" in arrays else None

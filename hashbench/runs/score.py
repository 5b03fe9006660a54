"""What a run is scored by: its metrics, and the checksums of what they are closed forms of."""

import time
from dataclasses import dataclass, field
from pathlib import Path

from hashbench import metrics
from hashbench.datasets.protocol import Protocol
from hashbench.datasets.relevance import relevance_of
from hashbench.datasets.split import Split
from hashbench.datasets.store import Dataset
from hashbench.hasher import Hasher
from hashbench.histogram import Histogram
from hashbench.metrics import MetricValue
from hashbench.parallel import ALONE, ProcessGroup
from hashbench.runs.encode import encode_protocol

# Every row of codes holds these; the kept histogram gives any other metric later, without a new run.
OF_CODES = (
    "ap",
    "ap_worst",
    "ap_best",
    "ap(norm=retrieved)@1000",
    "ap(norm=retrieved)@5000",
    "ndcg",
    "ndcg@100",
    "precision@100",
    "precision@r2",
    "recall@100",
)
# And every row of a search by buckets these, from the kept retrieval.
OF_RETRIEVAL = ("suf", "suf@4", "suf@16", "rerank_precision@1", "rerank_precision@4", "rerank_precision@16")


@dataclass(frozen=True)
class Scores:
    """Metrics of the queries among the database and, of sparse codes, of the queries among each other (``of_test``).

    ``encode_s`` is how long it took to have the codes, before any was scored.
    """

    metrics: dict[str, MetricValue]
    encode_s: float
    histogram_sha256: str | None = None
    of_test: dict[str, MetricValue] = field(default_factory=dict)
    retrieval_sha256: str | None = None
    retrieval_of_test_sha256: str | None = None


def score_codes(
    hasher: Hasher,
    dataset: Dataset,
    ids: Split,
    protocol: Protocol,
    folder: Path,
    *,
    progress: bool = False,
    group: ProcessGroup = ALONE,
) -> Scores:
    """The scores of the codes that ``hasher`` gives to a protocol; codes and histogram are kept in ``folder``."""
    started = time.perf_counter()
    encoded = encode_protocol(hasher, dataset, ids, progress=progress, group=group)
    encoded.save(folder / "codes.npz", dataset, ids, protocol)
    encode_s = time.perf_counter() - started
    counted = encoded.count(relevance_of(dataset, ids, protocol), progress=progress)
    counted.save(folder / "histogram.npz")
    return Scores(means(counted), encode_s, histogram_sha256=counted.sha256())


def means(counted: Histogram) -> dict[str, MetricValue]:
    """The metrics that every row of codes holds."""
    return {name: metrics.summarise(values) for name, values in metrics.evaluate(counted, OF_CODES).items()}

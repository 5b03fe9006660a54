"""The type of a metric's mean and standard deviation over the queries of a run."""

from hashbench.foundation.config import Strict


class MetricValue(Strict):
    """Mean and standard deviation of a metric over the queries of a run; None if every query is empty.

    They are fractions, except for a speed-up. A metric that is a single number for all queries has a mean and no std.
    """

    mean: float | None
    std: float | None
    n_queries: int  # all queries
    n_empty: int  # queries without a relevant item, left out of the mean

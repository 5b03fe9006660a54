"""A metric over the queries of a run."""

from hashbench.config import Strict


class MetricValue(Strict):
    """A metric over the queries of a run, as a fraction; mean and std are null when every query is empty.

    A metric that is one number of all queries together (a speed-up, which is no fraction) has a mean and no std.
    """

    mean: float | None
    std: float | None
    n_queries: int  # all of them
    n_empty: int  # queries without a relevant item, left out of the mean

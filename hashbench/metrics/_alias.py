"""Names that metrics have elsewhere: accepted where they mean exactly one metric, else refused with the choices."""

from dataclasses import replace

from hashbench.foundation.errors import HashbenchError
from hashbench.metrics._name import MetricName

SAME = {"map": "ap", "p": "precision", "rr": "mrr"}


def own_name(name: MetricName) -> MetricName:
    """``name`` with the name that the metric has here.

    Raises HashbenchError, which says what to write, for ``map@k`` without a norm and for ``r@k``: other code means
    different metrics by them.

    >>> str(own_name(MetricName("map")))
    'ap'
    """
    cutoff = str(name.cutoff or "@k")
    if name.metric == "map" and name.cutoff is not None and not name.parameters:
        raise HashbenchError(
            f"metric '{name}': divided by what? ap(norm=retrieved){cutoff} divides by the relevant items retrieved, as "
            f"most hashing papers do, ap{cutoff} by all relevant items, as trec_eval does"
        )
    if name.metric == "r":
        raise HashbenchError(
            f"metric '{name}': recall{cutoff} is the share of the relevant items that is retrieved; the share of "
            "queries whose first item is relevant (R@1 of metric learning) is precision@1"
        )
    return replace(name, metric=SAME.get(name.metric, name.metric))

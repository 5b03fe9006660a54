"""The largest average precision over the orders of tied items."""

from dataclasses import replace

import numpy as np

from hashbench.scoring.metrics import ap
from hashbench.scoring.metrics._formula import Cut, Floats, Groups, Histogram, MetricName


def evaluate(histogram: Histogram, name: MetricName) -> Floats:
    """The largest average precision over the orders of tied items, float64[q].

    Relevant items come first in every tie group (the upper end of the range in He et al. 2018, fig. 3), also in the
    group that contains rank k. With norm ``retrieved`` a late relevant item can lower the mean: there that group has
    as many relevant items before the cutoff as possible, or as few as possible, whichever gives more. Precision grows
    from one relevant item to the next if only relevant items follow each other, so more of them first lower and then
    raise the mean, and the largest value is at one of the two ends.
    """
    groups = Groups.of(histogram)
    ranks = groups.ranks(name.cutoff)
    norm = METRIC.setting(name, "norm")
    if norm == "retrieved":
        cut = Cut.of(groups, ranks, groups.precision_in_a_row(groups.n_before, groups.p))
        return np.maximum(cut.over_retrieved(cut.min_relevant, 0), cut.over_retrieved(cut.max_relevant, 0))
    n_first = np.minimum(groups.p, groups.inside(ranks))
    return groups.average(groups.precision_in_a_row(groups.n_before, n_first), ranks, norm)


METRIC = replace(
    ap.METRIC, summary="average precision with the relevant items first in every tie", evaluate=evaluate, is_bound=True
)

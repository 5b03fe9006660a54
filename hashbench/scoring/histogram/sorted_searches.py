"""The searches whose distances are sorted: by learned weights of the bits, and by activations of the queries."""

from hashbench.scoring.codes import Codes, magnitudes
from hashbench.scoring.histogram.estimates import by_activations
from hashbench.scoring.histogram.ranking import Array, Distances, Ranked, Rankings, weighted_hamming
from hashbench.scoring.relevance.labels import Relevance
from hashbench.scoring.relevance.neighbours import NeighbourRelevance


def sorted_searches(
    query: Codes,
    database: Codes,
    relevance: Relevance,
    *,
    weights: Array | None = None,
    activations: Array | None = None,
    progress: bool = False,
) -> dict[Ranked, Rankings]:
    """The rankings by the distances that are sorted: by learned ``weights`` [bits], and by ``activations`` [q, bits].

    The asymmetric distance of a query with activations z to an item with the code b in {-1, +1}^bits is -<z, b>, up to
    a constant of the query [Gordo et al. 2014]. That is -sum |z_k| + 2 sum |z_k| over the bits that differ from the
    signs of z, so it ranks as the weighted Hamming distance with the weights |z_k| of each query. Sums of float32
    activations are exact. Where neighbours are relevant, and codes of hundreds of bits are compared, they are rounded
    to 52 bits, in about a tenth of the time. HashbenchError if they have other signs.
    """
    by_search: dict[Ranked, Distances] = {}
    if weights is not None:
        by_search["weighted"] = weighted_hamming(query, database, weights)
    if activations is not None and isinstance(relevance, NeighbourRelevance):
        by_search["asymmetric"] = by_activations(activations, query, database)
    elif activations is not None:
        by_search["asymmetric"] = weighted_hamming(query, database, magnitudes(activations, query))
    return {search: Rankings(distances, relevance, progress) for search, distances in by_search.items()}

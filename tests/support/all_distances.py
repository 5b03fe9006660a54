"""All distances of vectors, as the definitions have them: what the nearest are compared with."""

import numpy as np


def all_distances(queries: np.ndarray, items: np.ndarray, metric: str) -> np.ndarray:
    """float64[q, n]: Euclidean ("l2"), 1 - cosine ("cosine"), or minus the inner product ("ip")."""
    queries = queries.astype(np.float64)
    items = items.astype(np.float64)
    if metric == "ip":
        return -np.einsum("qd,nd->qn", queries, items)
    if metric == "cosine":
        queries, items = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (queries, items))
    squared = ((queries[:, None] - items) ** 2).sum(axis=2)
    return squared / 2 if metric == "cosine" else np.sqrt(squared)

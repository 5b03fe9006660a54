"""k-sparse hash codes [Jeong and Song 2018]: the optimal codes of a batch, an index of buckets, and its search.

A code sets k of d bits, so an item is in k of d buckets. A query retrieves the items in its own k buckets and ranks
them by the Euclidean distance to it in the base embedding.
"""

"""k-sparse hash codes [Jeong and Song 2018]: the best codes of a batch, an index of buckets, and its search.

An item sets k of d bits and stands in k of d buckets. A query retrieves the items of its own k buckets, and these are
put in order of their Euclidean distance to it in the base embedding.
"""

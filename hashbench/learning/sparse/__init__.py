"""k-sparse hash codes [Jeong and Song 2018]: the optimal codes of a batch, an index of buckets, and its search."""

"""Relevance: how relevant each database item is to each query, from labels or from distances."""

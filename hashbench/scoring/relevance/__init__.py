"""Relevance: how relevant each database item is to each query, by labels or by distances."""

"""How good codes are: codes, relevance, the histogram of distances and levels, metrics, and scores."""

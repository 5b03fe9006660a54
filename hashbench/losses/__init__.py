"""Training objectives: one file each, functions of (relaxed codes, relevance) that return a scalar to minimise."""

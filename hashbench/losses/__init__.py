"""Training objectives: one file each, functions of (relaxed codes, affinity) that return a scalar to minimise."""

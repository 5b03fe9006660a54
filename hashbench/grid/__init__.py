"""The grid: many runs, several at the same time, on this machine or on a Ray cluster."""

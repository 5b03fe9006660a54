"""The grid: many runs, several at the same time, in processes of this machine."""

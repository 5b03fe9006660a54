"""hashbench benchmarks learning to hash: exact under ties, every number with the run that proves it."""

__version__ = "0.1.0"

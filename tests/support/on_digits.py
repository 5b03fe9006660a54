"""Runs on the data set that comes with scikit-learn."""

from typing import Any

from hashbench.running.runs.run import Run


def on_digits(method: str, settings: Any, **more: Any) -> Run:
    """The run of a method on the digits, under protocol s1."""
    return Run.resolve("digits", "s1", method, settings, **more)

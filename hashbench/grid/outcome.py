"""How a run of a grid ended."""

from dataclasses import dataclass

from hashbench.runs.run import Run
from hashbench.runs.store import Row


@dataclass(frozen=True)
class Outcome:
    """How one run ended: with a row, which may say that it failed, or with an error before there was a result."""

    spec: Run
    row: Row | None
    error: str | None = None

    @property
    def failure(self) -> str | None:
        """Why there is no measurement; None where there is one."""
        return self.error if self.row is None else self.row.reason

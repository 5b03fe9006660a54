"""What a kind of figure declares, and a figure of that kind: one file of this folder exports one ``KIND``."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hashbench.figures._drawing import Drawing
from hashbench.figures._file import FigureFile
from hashbench.foundation.errors import HashbenchError
from hashbench.runs.store import Row, Store
from hashbench.tables.spec import TableSpec


@dataclass(frozen=True)
class FigureSpec:
    """A declared figure; ``name`` is the stem of its file.

    ``cells`` are what must be run for it; None where it is drawn without runs of its own.
    """

    name: str
    path: Path
    file: FigureFile
    kind: "Kind"
    cells: TableSpec | None

    def fill(self, rows: Sequence[Row], store: Store) -> Drawing:
        """The figure filled in from stored ``rows``."""
        return self.kind.fill(self, rows, store)

    def error(self, message: str) -> HashbenchError:
        """An error in the declaration."""
        return HashbenchError(f"{self.path}: {message}")


def _nothing(_: FigureSpec) -> None:
    pass


@dataclass(frozen=True)
class Kind:
    """A kind of figure: the keys of its file, and the function that fills it from stored rows.

    ``check`` raises HashbenchError for a declaration that this kind cannot draw.
    """

    summary: str
    file: type[FigureFile]
    fill: Callable[[FigureSpec, Sequence[Row], Store], Drawing]
    check: Callable[[FigureSpec], None] = _nothing

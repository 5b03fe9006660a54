"""The lines of a file of rows, and the names in them, which a shell completes: nothing heavy is imported for them."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashbench.runs.row import Outcome, Row

REPEAT = "~"  # in the name of a row, between the run and a digest: the same run with other values, from another machine
_NAME = re.compile(r'\{"run":"([^"\\]+)"')


@dataclass(frozen=True)
class Line:
    """One row in a file; it is parsed when it is needed.

    ``name`` is the run. A further row of the same run has the run, ``~`` and the start of its digest; a line that names
    no run has its place.
    """

    path: Path
    number: int
    name: str
    text: str

    @property
    def place(self) -> str:
        """The file and the line, for errors."""
        return f"{self.path}:{self.number}"

    @property
    def run(self) -> str:
        """The run of the row."""
        return self.name.partition(REPEAT)[0]

    def row(self) -> "Row":
        """The row; raises HashbenchError, with what to do, if it is damaged."""
        from hashbench.runs.row import from_line

        return from_line(self.text, self.place)

    def outcome(self) -> "Outcome":
        """How the run ended; raises HashbenchError, with what to do, if the row is damaged."""
        from hashbench.runs.row import outcome_from_line

        return outcome_from_line(self.text, self.place)


def lines_in(text: str, path: Path) -> list[Line]:
    """The lines of a file of rows, in their order."""
    found: list[Line] = []
    known: set[str] = set()  # names, and whole lines: two branches in git may have added the same one
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and line not in known:
            start = _NAME.match(line)
            name = f"line {number}" if start is None else start[1]
            name = repeat_name(name, line) if name in known else name
            known |= {name, line}
            found.append(Line(path, number, name, line))
    return found


def repeat_name(run: str, line: str) -> str:
    """The name of a row that is kept beside another row of the same ``run``: it has the start of the row's digest."""
    return f"{run}{REPEAT}{line[-66:-58]}"  # the line ends with the digest and "}

"""Progress on standard error: bars on a terminal, a plain line now and then elsewhere, nothing with ``--quiet``."""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tqdm import tqdm

QUIET = "HASHBENCH_QUIET"  # set by --quiet, in the environment so that worker processes see it


def bar(
    description: str, unit: str, total: int | None = None, *, shown: bool = True, scaled: bool = False, done: int = 0
) -> "tqdm[None]":
    """A bar for ``total`` units of work (None: unknown), which its ``update(n)`` moves and its ``with`` block closes.

    On a terminal it appears after two seconds, even if no unit is finished by then, and is wiped out at the end. Where
    standard error is a file or a pipe, there is a plain line a minute instead. There is nothing where ``shown`` is
    false or with ``--quiet``. ``scaled`` writes numbers as 1.2M, ``done`` is what an earlier process has finished.
    """
    from hashbench.foundation.progress import _bars

    kind = _bars.TerminalBar if sys.stderr.isatty() else _bars.Lines
    return kind(
        total=total,
        desc=description,
        unit=unit,
        unit_scale=scaled,
        initial=done,
        leave=False,
        disable=not shown or is_quiet(),
        delay=_bars.DELAY_S,
    )


def note(line: str) -> None:
    """Prints a line on standard error, above the bars; nothing with ``--quiet``."""
    from tqdm import tqdm

    if not is_quiet():
        tqdm.write(line, file=sys.stderr)


def is_quiet() -> bool:
    """Whether the user asked for no bars and no notes (``--quiet``, or HASHBENCH_QUIET in the environment)."""
    return bool(os.environ.get(QUIET))

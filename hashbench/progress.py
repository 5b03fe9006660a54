"""Progress bars on standard error, all of one kind."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tqdm import tqdm


def bar(
    description: str, unit: str, total: int | None, *, shown: bool = True, scaled: bool = False, done: int = 0
) -> "tqdm[None]":
    """A bar for ``total`` units of work (None: unknown), which its ``update(n)`` moves and its ``with`` block closes.

    It appears after two seconds and is wiped out at the end. There is none where ``shown`` is false, or where standard
    error is not a terminal. ``scaled`` writes numbers as 1.2M, ``done`` is what an earlier process has finished.
    """
    from tqdm import tqdm

    return tqdm(
        total=total,
        desc=description,
        unit=unit,
        unit_scale=scaled,
        initial=done,
        leave=False,
        disable=None if shown else True,  # None: shown on a terminal only
        delay=2,
    )

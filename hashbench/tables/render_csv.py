"""A table as CSV: one line a cell, for machines and spreadsheets."""

import csv
import io
from collections.abc import Mapping

from hashbench.config import Setting
from hashbench.tables.notation import number
from hashbench.tables.table import Measured, Table, TableCell

HEADER = (
    "section",
    "row",
    "column",
    "dataset",
    "protocol",
    "method",
    "settings",
    "budget",
    "metric",
    "evaluation",
    "published",
    "published_tie_aware",
    "citation",
    "measured",
    "std",
    "n_seeds",
    "worst",
    "best",
    "difference",
)
# six decimals: the last bits of a mean may depend on the machine that summed it, this text may not
DECIMALS = 6


def render_csv(table: Table) -> str:
    """The table in long format, a header and one line a cell in order of appearance.

    Values are as the metric gives them (fractions, never percent) with six decimals; what is missing is blank,
    never 0 and never NaN. ``settings`` is ``key=value`` pairs, sorted, with ``;`` between them.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(_line(cell) for cell in table.cells())
    return text.getvalue()


def _line(cell: TableCell) -> list[str]:
    declared = cell.declared
    names = [declared.section, declared.row, declared.column, declared.dataset, declared.protocol, declared.method]
    asked = [settings_text(declared.settings), declared.budget, declared.metric, declared.evaluation]
    published = [_text(declared.published), _yes_or_no(declared.tie_aware), declared.citation]
    if declared.published is None:
        published = ["", "", ""]
    return [*names, *asked, *published, *_measured(cell.measured), _text(cell.difference)]


def _measured(measured: Measured | None) -> list[str]:
    if measured is None:
        return [""] * 5
    ends = (_text(measured.worst), _text(measured.best))
    return [_text(measured.mean), _text(measured.std), str(measured.n_seeds), *ends]


def settings_text(settings: Mapping[str, Setting]) -> str:
    """The settings as sorted ``key=value`` pairs.

    >>> settings_text({"model": "vggf", "bits": 32, "bias": True})
    'bias=true;bits=32;model=vggf'
    """
    return ";".join(f"{key}={_setting(settings[key])}" for key in sorted(settings))


def _setting(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _text(value: float | None) -> str:
    return "" if value is None else number(value, DECIMALS)


def _yes_or_no(value: bool | None) -> str:
    return "" if value is None else str(value).lower()

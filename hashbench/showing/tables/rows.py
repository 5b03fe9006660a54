"""The stored rows as a pandas DataFrame: one line for each run."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from hashbench.foundation.arguments import checked_arguments
from hashbench.foundation.errors import CheckFailed, HashbenchError, counted
from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Store
from hashbench.scoring.metrics import MetricValue

if TYPE_CHECKING:
    from pandas import DataFrame

HARDWARE = ("system", "cpu", "cores", "device", "gpu")
# the columns that are there whatever is stored, with pandas' type of each
NAMES = {"run": "string", "dataset": "string", "protocol": "string", "method": "string"}
STATE = {"budget": "string", "seed": "Int64", "split_seed": "Int64", "status": "string", "reason": "string"}
COUNTS = {"n_queries": "Int64", "n_empty": "Int64", "distinct_queries": "Int64", "distinct_database": "Int64"}
PROVENANCE = {
    **{"train_s": "float64", "encode_s": "float64", "score_s": "float64", "utc": "datetime64[ns, UTC]"},
    **{"version": "string", "commit": "string", "dirty": "boolean", "maker": "string"},
    **{"system": "string", "cpu": "string", "cores": "Int64", "device": "string", "gpu": "string"},
    **dict.fromkeys(("cell_hash", "config_hash", "data_sha256", "ids_sha256", "histogram_sha256"), "string"),
}
FIXED = NAMES | STATE | COUNTS | PROVENANCE


@checked_arguments
def rows(results: str | Path | None = None) -> "DataFrame":
    """The stored rows as a pandas DataFrame: one line for each run, successful or failed, ordered by file name.

    The columns, in this order:

    - ``run``, ``dataset``, ``protocol``, ``method``, then each setting that names a run (``bits``, ``model``, ...); a
      default, or what a method's files decide, is none of them, so runs at different rates may look alike: the
      ``config`` of a row in its file has all settings;
    - ``budget``, ``seed``, ``split_seed`` (missing on the protocol's own split), ``status`` (``ok`` or ``failed``) and
      ``reason`` (of a failure);
    - ``n_queries``, and ``n_empty``: queries without a relevant item, which no mean counts;
    - ``distinct_queries`` and ``distinct_database``: the number of distinct codes; missing in older rows;
    - for each metric (``ap``, ``ndcg@100``, ...) its mean over queries, as a fraction, and its standard deviation over
      queries (``ap_std``, ...); ``weighted.`` and ``asymmetric.`` begin metrics by such distances, ``test.`` those of
      sparse codes whose queries search each other;
    - ``train_s``, ``encode_s``, ``score_s``: seconds of wall time; ``utc``: when the run ended; ``version``, ``commit``
      and ``dirty``: hashbench's code; ``maker``: who contributed the row, if somebody did; ``system``, ``cpu``,
      ``cores``, ``device`` and ``gpu``: the machine;
    - ``cell_hash``, the same for all seeds of one cell; ``config_hash``; checksums of the data, of the split's ids and
      of the histogram.

    A missing number is NaN or NA. A setting whose name another column has is called ``settings.NAME``. Without rows,
    the columns that do not depend on the runs are there.

    Args:
        results: The folder of results; by default what ``hashbench --results`` would be (``results/`` of the
            repository, or of the current folder).

    Raises:
        HashbenchError: ``results`` is not a folder, or a row in it is damaged. The error names the first such line and
            says how many others there are: means over rows of which some are missing would look like any others.
            ``hashbench list runs`` prints each damaged line, lists the rest and ends with exit code 1.
    """
    import pandas as pd

    if results is None:
        store = Store.default()
    elif Path(results).is_dir():
        store = Store(Path(results))
    else:
        raise HashbenchError(f"{results}: not a folder of results: there is no such folder")
    damaged: list[HashbenchError] = []
    stored = list(store.rows(damaged.append))
    if damaged:
        fault = str(damaged[0])
        if others := damaged[1:]:
            fault += f" (and {counted(len(others), 'other fault')}: hashbench list runs)"
        raise CheckFailed(fault)
    fixed = pd.DataFrame([_fixed(row) for row in stored], columns=list(FIXED)).astype(FIXED)
    metrics = _metrics(stored)
    settings = {}
    for name in _names(row.settings for row in stored):
        column = f"settings.{name}" if name in FIXED | metrics else name
        settings[column] = pd.array([row.settings.get(name) for row in stored])
    of_settings = pd.DataFrame(settings, index=fixed.index)
    of_metrics = pd.DataFrame(metrics, index=fixed.index, dtype="float64")
    parts = [fixed[list(NAMES)], of_settings, fixed[list(STATE | COUNTS)], of_metrics, fixed[list(PROVENANCE)]]
    return pd.concat(parts, axis="columns")


def _fixed(row: Row) -> dict[str, object]:
    values = _values(row).values()
    return {
        **row.model_dump(include=set(FIXED)),
        **{key: row.hardware.get(key) for key in HARDWARE},
        "histogram_sha256": row.artefacts.get("histogram"),
        "n_queries": max((value.n_queries for value in values), default=None),
        "n_empty": max((value.n_empty for value in values), default=None),
        **{f"distinct_{part}": getattr(row.distinct_codes, part, None) for part in ("queries", "database")},
        **{f"{part}_s": getattr(row.seconds, part, None) for part in ("train", "encode", "score")},
        **row.code.model_dump(include={"version", "commit", "dirty"}),
    }


def _metrics(stored: list[Row]) -> dict[str, list[float | None]]:
    of_rows = [_values(row) for row in stored]
    columns: dict[str, list[float | None]] = {}
    for name in _names(of_rows):
        values = [values.get(name) for values in of_rows]
        columns[name] = [value.mean if value else None for value in values]
        columns[f"{name}_std"] = [value.std if value else None for value in values]
    return columns


def _values(row: Row) -> dict[str, MetricValue]:
    values: dict[str, MetricValue] = {}
    for search, by_metric in row.searches.items():
        prefix = "" if search == "database" else f"{search}."
        values |= {prefix + name: value for name, value in by_metric.items()}
    return values


def _names(of_rows: Iterable[Iterable[str]]) -> list[str]:
    return sorted({name for names in of_rows for name in names})

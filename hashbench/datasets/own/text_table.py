"""A text file of numbers with a column of labels: .csv or .tsv."""

import csv
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.own.arrays import LABELS
from hashbench.datasets.own.data import OwnData, read_labels
from hashbench.foundation.errors import HashbenchError, printable, quietly, unknown
from hashbench.foundation.progress import bar

if TYPE_CHECKING:
    from pandas import DataFrame

SUFFIXES = (".csv", ".tsv")
CELLS = 1 << 22  # that are read at once


def read(path: Path, labels: str | None, header: bool | None) -> OwnData:
    """The items and labels of a file of rows: each column of numbers is a feature, and one column holds the labels.

    ``labels`` names that column, or with commas several columns of 0 and 1. Without it, it is the column called label,
    class, ... or the last one. ``header`` says whether the first row holds names; None: it does if it names the
    labels, or if a feature in it is no number.
    """
    separator, first = quietly(str(path), lambda: _first_row(path))
    chosen, has_header = _label_columns(path, first, labels, header)
    if len(chosen) == len(first):
        raise HashbenchError(f"{path}: {len(first)} column: columns of numbers and one of labels are expected")
    features, cells = quietly(str(path), lambda: _table(path, separator, len(first), chosen, has_header), "no table")
    names = [first[column].strip() for column in chosen] if has_header else []
    raw = cells[:, 0] if len(chosen) == 1 else cells.astype(np.float64)
    found = read_labels(str(path), raw, len(features), names)
    return OwnData(path, features.shape[1:], found, lambda: iter([features]))


def _first_row(path: Path) -> tuple[str, list[str]]:
    """The separator and the cells of the first row."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        line = file.readline()
    separator = next((each for each in "\t,;" if each in line), ",")
    cells = next(csv.reader([line], delimiter=separator), [])
    if not cells:
        raise HashbenchError(f"{path}: an empty file")
    return separator, cells


def _label_columns(path: Path, first: list[str], labels: str | None, header: bool | None) -> tuple[list[int], bool]:
    """The columns of the labels, and whether the first row holds names."""
    names = [cell.strip() for cell in first]
    if labels is not None:
        asked = [name.strip() for name in labels.split(",")]
        for name in asked:
            if header is False or name not in names:
                raise HashbenchError(f"{path}: {unknown('column', name, names if header is not False else ())}")
        return [names.index(name) for name in asked], True
    known = [column for column, name in enumerate(names) if name.lower() in LABELS]
    if len(known) == 1 and header is not False:
        return known, True
    last = len(names) - 1
    return [last], not all(map(_is_number, names[:last])) if header is None else header


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _table(
    path: Path, separator: str, n_columns: int, labels: list[int], header: bool
) -> tuple[NDArray[np.float32], NDArray[np.str_]]:
    """The features [n, d] and the cells of the label columns [n, labels] of all rows."""
    import pandas as pd

    parts = []
    with (
        warnings.catch_warnings(),
        path.open("rb") as file,
        bar(f"read {path.name}", "B", path.stat().st_size, scaled=True) as done,
    ):
        warnings.simplefilter("error", pd.errors.ParserWarning)  # a row that is longer than the first
        for rows in pd.read_csv(
            file,
            sep=separator,
            header=None,
            skiprows=int(header),
            names=range(n_columns),
            index_col=False,
            dtype=str,
            keep_default_na=False,
            skipinitialspace=True,
            encoding="utf-8-sig",
            chunksize=max(1, CELLS // n_columns),
        ):
            parts.append(_numbers_and_labels(path, rows, labels, header))
            done.update(file.tell() - done.n)
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _numbers_and_labels(
    path: Path, rows: "DataFrame", labels: list[int], header: bool
) -> tuple[NDArray[np.float32], NDArray[np.str_]]:
    """The same for some rows; raises HashbenchError for a cell that is missing or is no finite number."""
    import pandas as pd

    numbers = rows.drop(columns=labels)
    with np.errstate(over="ignore"):
        features = numbers.apply(pd.to_numeric, errors="coerce").to_numpy(np.float32)
    faults = np.argwhere(~np.isfinite(features)), np.argwhere(rows[labels].isna().to_numpy())
    for found, columns in zip(faults, (list(numbers.columns), labels), strict=True):
        if found.size:
            row, column = int(found[0][0]), columns[int(found[0][1])]
            where = f"{path}: line {rows.index[row] + 1 + header}, column {column + 1}"
            cell = rows.iat[row, column]  # NaN, a float, if it is missing
            there = printable(cell) if isinstance(cell, str) and cell else "nothing"
            raise HashbenchError(f"{where}: {there}: a finite number or a label is expected")
    return features, rows[labels].to_numpy(np.str_)

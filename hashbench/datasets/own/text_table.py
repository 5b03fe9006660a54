"""A text file of numbers with a column of labels: .csv or .tsv."""

import csv
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hashbench.datasets.own import labels as own_labels
from hashbench.datasets.own.arrays import LABELS, as_features
from hashbench.datasets.own.data import OwnData
from hashbench.errors import HashbenchError, quietly, unknown
from hashbench.progress import bar

if TYPE_CHECKING:
    from pandas import DataFrame

SUFFIXES = (".csv", ".tsv")
ROWS = 1 << 16  # that are read at once


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
    table = quietly(str(path), lambda: _table(path, separator, len(first), chosen, has_header), "not rows of numbers")
    if table.isna().to_numpy().any():
        row = int(table.isna().any(axis=1).to_numpy().argmax())
        raise HashbenchError(f"{path}: row {row + 1 + has_header}: a value is missing or NaN")
    features = as_features(str(path), table.drop(columns=chosen).to_numpy())
    names = [first[column].strip() for column in chosen] if has_header else []
    found = own_labels.read(str(path), _raw_labels(table[chosen]), len(table), names)
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


def _table(path: Path, separator: str, n_columns: int, labels: list[int], header: bool) -> "DataFrame":
    """All rows: features as float64, labels as strings."""
    import pandas as pd

    types = {column: str if column in labels else np.float64 for column in range(n_columns)}
    with (
        warnings.catch_warnings(),
        path.open("rb") as file,
        bar(f"read {path.name}", "B", path.stat().st_size, scaled=True) as done,
    ):
        warnings.simplefilter("error", pd.errors.ParserWarning)  # a row that is longer than the first
        chunks = []
        for chunk in pd.read_csv(
            file,
            sep=separator,
            header=None,
            skiprows=int(header),
            names=range(n_columns),
            index_col=False,
            dtype=types,
            na_filter=True,
            keep_default_na=False,
            skipinitialspace=True,
            encoding="utf-8-sig",
            chunksize=ROWS,
        ):
            chunks.append(chunk)
            done.update(file.tell() - done.n)
    return pd.concat(chunks)


def _raw_labels(columns: "DataFrame") -> np.ndarray:
    values = columns.to_numpy(dtype=np.str_)
    return values[:, 0] if values.shape[1] == 1 else values.astype(np.float64)

"""Arrays in the files of vectors: .fvecs, .bvecs, .ivecs; .fbin, .u8bin, .i8bin, .ibin; .parquet; and all others."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files import Arrays, StoredArray, arrays_in
from hashbench.foundation.errors import HashbenchError, printable, quietly
from hashbench.foundation.parallel import slices

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, Field
    from pyarrow.parquet import ParquetFile

# a row is its length, int32, and so many values (http://corpus-texmex.irisa.fr)
VECS: dict[str, np.dtype[Any]] = {".fvecs": np.dtype("<f4"), ".bvecs": np.dtype("u1"), ".ivecs": np.dtype("<i4")}
# the number of rows and their length, uint32 each, and the values (https://big-ann-benchmarks.com)
BINS: dict[str, np.dtype[Any]] = {
    ".fbin": np.dtype("<f4"),
    ".u8bin": np.dtype("u1"),
    ".i8bin": np.dtype("i1"),
    ".ibin": np.dtype("<i4"),
}
PARQUET = ".parquet"


def arrays_of(path: Path) -> Arrays:
    """The arrays in the file at ``path`` by key; a file of one array has its stem as the key."""
    kind = path.suffix.lower()
    if kind not in (*VECS, *BINS, PARQUET):
        return arrays_in(path)
    if not path.is_file():
        raise HashbenchError(f"{path}: no such file")
    if kind == PARQUET:
        return quietly(str(path), lambda: _columns(path), "not a readable .parquet file")
    if kind in VECS:
        return {path.stem: lambda: quietly(str(path), lambda: _vecs(path))}
    return quietly(str(path), lambda: _bins(path))


def _vecs(path: Path) -> StoredArray:
    size, values = path.stat().st_size, VECS[path.suffix.lower()]
    length = np.fromfile(path, "<i4", 1)
    d = int(length[0]) if length.size else 0
    row_bytes = 4 + d * values.itemsize
    if d < 1 or size % row_bytes:
        raise HashbenchError(f"{path}: {size:,} bytes are not whole rows of {d:,} values, as its first row says")
    row = np.dtype([("length", "<i4"), ("values", values, (d,))])

    def read(n: int) -> Iterator[NDArray[Any]]:
        for rows in slices(size // row_bytes, n):
            block = np.fromfile(path, row, rows.stop - rows.start, offset=rows.start * row_bytes)
            if (block["length"] != d).any():
                raise HashbenchError(f"{path}: a row among {rows.start} to {rows.stop - 1} is not of {d:,} values")
            yield np.ascontiguousarray(block["values"])

    return StoredArray(str(path), path.stem, (size // row_bytes, d), values, read)


def _bins(path: Path) -> Arrays:
    """The one array in the file, or the ids of neighbours and their distances, float32, behind them."""
    size, values = path.stat().st_size, BINS[path.suffix.lower()]
    header = np.fromfile(path, "<u4", 2).astype(np.int64).tolist()
    n, d = header if len(header) == 2 else (0, 0)
    n_bytes = n * d * values.itemsize
    has_distances = path.suffix.lower() == ".ibin" and size == 8 + 2 * n_bytes
    if not n_bytes or size not in (8 + n_bytes, 8 + 2 * n_bytes * has_distances):
        raise HashbenchError(f"{path}: {size:,} bytes are not {n:,} rows of {d:,} {values.name}, as its header says")
    if not has_distances:
        return {path.stem: lambda: _bin(path, path.stem, (n, d), values, 8)}
    return {
        "neighbours": lambda: _bin(path, "neighbours", (n, d), values, 8),
        "distances": lambda: _bin(path, "distances", (n, d), BINS[".fbin"], 8 + n_bytes),
    }


def _bin(path: Path, name: str, shape: tuple[int, int], values: np.dtype[Any], offset: int) -> StoredArray:
    n, d = shape

    def read(step: int) -> Iterator[NDArray[Any]]:
        for rows in slices(n, step):
            start = offset + rows.start * d * values.itemsize
            yield np.fromfile(path, values, (rows.stop - rows.start) * d, offset=start).reshape(-1, d)

    return StoredArray(f"{path}: {name}" if name != path.stem else str(path), name, shape, values, read)


def _columns(path: Path) -> Arrays:
    """The columns of a .parquet file that hold a vector, a number or a text in each row."""
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        from hashbench.foundation.extras import how_to_install

        raise HashbenchError(f"{path}: pyarrow is needed to read this: {how_to_install('parquet')}") from None
    file = ParquetFile(path)
    return {field.name: partial(_column, path, file, field) for field in file.schema_arrow}


def _column(path: Path, file: "ParquetFile", field: "Field") -> StoredArray:
    from pyarrow import types

    where = f"{path}: {printable(field.name)}"
    n_rows, kind = file.metadata.num_rows, field.type
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    of_value = kind.value_type if is_list else kind
    if types.is_string(of_value) or types.is_large_string(of_value):
        texts = np.array(file.read([field.name])[field.name].to_pylist(), np.str_)
        return StoredArray(
            where, field.name, texts.shape, texts.dtype, lambda n: (texts[at] for at in slices(n_rows, n))
        )
    if not (types.is_floating(of_value) or types.is_integer(of_value) or types.is_boolean(of_value)):
        raise HashbenchError(f"{where}: {printable(str(kind))}: a list of numbers in each row is expected")
    dtype = np.dtype(of_value.to_pandas_dtype())
    if not is_list:
        return StoredArray(where, field.name, (n_rows,), dtype, lambda n: _batches(file, field.name, n, ()))
    first = next(file.iter_batches(1, columns=[field.name]), None)
    d = 0 if first is None or first[0][0].as_py() is None else len(first[0][0])
    return StoredArray(where, field.name, (n_rows, d), dtype, lambda n: _batches(file, field.name, n, (d,)))


def _batches(file: "ParquetFile", name: str, n: int, of_row: tuple[int, ...]) -> Iterator[NDArray[Any]]:
    for batch in file.iter_batches(n, columns=[name]):
        column: ChunkedArray = batch[0]
        values = column.flatten() if of_row else column
        if column.null_count or values.null_count or len(values) != len(column) * int(np.prod(of_row)):
            raise ValueError(
                f"a row is empty or has another number of values than the first, {of_row[0] if of_row else 1}"
            )
        yield values.to_numpy(zero_copy_only=False).reshape(-1, *of_row)


def vector_columns(path: Path, arrays: Arrays) -> list[str]:
    """The keys of the columns of a .parquet file that hold vectors."""
    if path.suffix.lower() != PARQUET:
        return []
    from pyarrow.parquet import ParquetFile

    schema = ParquetFile(path).schema_arrow
    return [key for key in arrays if "list" in str(schema.field(key).type)]

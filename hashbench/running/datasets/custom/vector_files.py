"""Arrays in the files of vectors: .parquet, and all that files of codes can be."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, printable, quietly
from hashbench.foundation.extras import how_to_install
from hashbench.foundation.parallel import slices
from hashbench.scoring.codes.files import Arrays, StoredArray, arrays_in

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, Field
    from pyarrow.parquet import ParquetFile

PARQUET = ".parquet"


def arrays_of(path: Path) -> Arrays:
    """The arrays in the file at ``path`` by key; a file of one array has its stem as the key."""
    if path.suffix.lower() != PARQUET:
        return arrays_in(path)
    return quietly(str(path), lambda: _columns(path), "not a readable .parquet file")


def _columns(path: Path) -> Arrays:
    """The columns of a .parquet file that hold a vector, a number or a text in each row."""
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise HashbenchError(f"{path}: pyarrow is needed to read this: {how_to_install('parquet')}") from None
    file = ParquetFile(path)
    return {field.name: partial(_column, path, file, field) for field in file.schema_arrow}


def _column(path: Path, file: "ParquetFile", field: "Field") -> StoredArray:
    from pyarrow import types

    where = f"{path}: {printable(field.name)}"
    n_rows = file.metadata.num_rows
    kind = field.type
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    value_type = kind
    if is_list:
        value_type = kind.value_type
    if types.is_string(value_type) or types.is_large_string(value_type):
        texts = np.array(file.read([field.name])[field.name].to_pylist(), np.str_)
        return StoredArray(
            where, field.name, texts.shape, texts.dtype, lambda n: (texts[at] for at in slices(n_rows, n))
        )
    if not (types.is_floating(value_type) or types.is_integer(value_type) or types.is_boolean(value_type)):
        raise HashbenchError(f"{where}: {printable(str(kind))}: a list of numbers in each row is expected")
    dtype = np.dtype(value_type.to_pandas_dtype())
    if not is_list:
        return StoredArray(where, field.name, (n_rows,), dtype, lambda n: _batches(file, field.name, n, ()))
    first = next(file.iter_batches(1, columns=[field.name]), None)
    d = 0
    if first is not None and first[0][0].as_py() is not None:
        d = len(first[0][0])
    return StoredArray(where, field.name, (n_rows, d), dtype, lambda n: _batches(file, field.name, n, (d,)))


def _batches(file: "ParquetFile", name: str, n: int, of_row: tuple[int, ...]) -> Iterator[NDArray[Any]]:
    n_values = int(np.prod(of_row))
    for batch in file.iter_batches(n, columns=[name]):
        column: ChunkedArray = batch[0]
        values = column
        if of_row:
            values = column.flatten()
        if column.null_count or values.null_count or len(values) != len(column) * n_values:
            raise ValueError(f"a row is empty or has another number of values than the first, {n_values}")
        yield values.to_numpy(zero_copy_only=False).reshape(-1, *of_row)


def vector_columns(path: Path, arrays: Arrays) -> list[str]:
    """The keys of the columns of a .parquet file that hold vectors."""
    if path.suffix.lower() != PARQUET:
        return []
    from pyarrow.parquet import ParquetFile

    schema = ParquetFile(path).schema_arrow
    return [key for key in arrays if "list" in str(schema.field(key).type)]

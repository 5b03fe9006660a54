"""``.pt`` and ``.pth``: tensors that ``torch.save`` wrote, alone or in a flat dictionary; only with PyTorch.

Read through ``torch.load(weights_only=True)``, which makes tensors and nothing else. ``.pkl`` is refused, because
reading a pickle runs whatever code it holds; the error says how to convert it.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hashbench.codes.files._stored import Arrays, Format, StoredArray
from hashbench.foundation.errors import HashbenchError, printable

LEGACY = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19"


PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")


def _is_of_torch(head: bytes) -> bool:
    return head.startswith(LEGACY) or (head.startswith(b"PK\x03\x04") and b"/data.pkl" in head[:256])


def _arrays(path: Path) -> Arrays:
    with path.open("rb") as file:
        if not _is_of_torch(file.read(256)):
            raise HashbenchError(
                f"{path}: a pickle, which can run code when it is read and is never opened here; in a sandbox: "
                f"import numpy; from pickle import load; saved = load(open({path.name!r}, 'rb')); "
                "numpy.savez('codes.npz', query_codes=saved['qB'], database_codes=saved['rB']) (keys as in that file)"
            )
    try:
        import torch
    except ImportError:
        from hashbench.foundation.extras import how_to_install

        raise HashbenchError(f"{path}: PyTorch is needed to read this: {how_to_install('train')}") from None
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception:  # its own words advise to load it all the same
        raise HashbenchError(
            f"{path}: damaged, or a pickle of more than plain tensors, which can run code and is never opened here: "
            "save tensors, alone or in a dictionary"
        ) from None
    tensors = content if isinstance(content, dict) else {path.stem: content}
    return {str(name): partial(_stored, path, str(name), tensor) for name, tensor in tensors.items()}


def _stored(path: Path, name: str, tensor: Any) -> StoredArray:
    import torch

    where = f"{path}: {printable(name)}"
    if not isinstance(tensor, torch.Tensor) or tensor.layout != torch.strided or tensor.device.type != "cpu":
        raise HashbenchError(f"{where}: not a plain tensor: one of numbers is expected")
    if tensor.numel() > path.stat().st_size:  # strides of 0 can make much of one number
        raise HashbenchError(f"{where}: cannot be read: the file does not hold shape {tuple(tensor.shape)}")
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.float()
    array = tensor.detach().resolve_conj().resolve_neg().numpy()
    return StoredArray(where, name, array.shape, array.dtype, partial(_slabs, array))


def _slabs(array: NDArray[Any], n: int) -> Iterator[NDArray[Any]]:
    rows = array.reshape(array.shape or (1,))
    for start in range(0, len(rows), n):
        yield rows[start : start + n]


FORMAT = Format(lambda head: _is_of_torch(head) or head[:2] in PICKLES, _arrays, suffixes=(".pkl", ".pickle"))

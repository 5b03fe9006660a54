"""``.pt`` and ``.pth``: tensors of ``torch.save``, alone or in a flat dictionary; no pickle, which can run code."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile, is_zipfile

from hashbench.foundation.errors import HashbenchError, printable
from hashbench.foundation.lazy import Lazy
from hashbench.scoring.codes.files._stored import Arrays, StoredArray, in_memory

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")

LEGACY = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19"
PICKLES = tuple(bytes([0x80, protocol]) for protocol in range(2, 6))


def recognises(head: bytes) -> bool:
    """True where a file that begins with ``head`` is one of PyTorch, or a pickle."""
    return _is_of_torch(head) or head.startswith(PICKLES)


def _is_of_torch(head: bytes) -> bool:
    return head.startswith(LEGACY) or (head.startswith(b"PK\x03\x04") and b"/data.pkl" in head[:256])


def arrays(path: Path) -> Arrays:
    """The tensors in the file; raises HashbenchError for a pickle of anything else."""
    with path.open("rb") as file:
        if not _is_of_torch(file.read(256)):
            raise HashbenchError(
                f"{path}: a pickle, which can run code when it is read and is never opened here; in a sandbox: "
                f"import numpy; from pickle import load; saved = load(open({path.name!r}, 'rb')); "
                "numpy.savez('codes.npz', query_codes=saved['qB'], database_codes=saved['rB']) (keys as in that file)"
            )
    content = load(path, "save tensors, alone or in a dictionary")
    if not isinstance(content, dict):
        content = {path.stem: content}
    return {str(name): partial(_stored, path, str(name), tensor) for name, tensor in content.items()}


def load(path: Path, advice: str) -> Any:
    """Reads what ``torch.save`` wrote; raises HashbenchError where it is damaged, or holds more than plain tensors."""
    try:
        import torch
    except ImportError:
        from hashbench.foundation.extras import how_to_install  # here: it reads metadata of packages, which is slow

        raise HashbenchError(f"{path}: PyTorch is needed to read this: {how_to_install('train')}") from None
    damaged = "damaged, or a pickle of more than plain tensors, which can run code and is never opened here"
    try:
        if not is_zipfile(path):
            return torch.load(path, map_location="cpu", weights_only=True)
        with ZipFile(path) as archive:
            if (member := archive.testzip()) is None:  # PyTorch does not compare the checksums
                return torch.load(path, map_location="cpu", weights_only=True)
            damaged = f"damaged: {printable(member)} is not as its checksum says"
    except Exception:  # noqa: S110  (PyTorch's own words advise to load it all the same)
        pass
    raise HashbenchError(f"{path}: {damaged}: {advice}")


def plain(tensor: Any, where: str, path: Path) -> "torch.Tensor":
    """``tensor`` of the file ``path``; HashbenchError, at ``where``, unless it is dense with all its values there."""
    if not isinstance(tensor, torch.Tensor) or tensor.layout != torch.strided or tensor.device.type != "cpu":
        raise HashbenchError(f"{where}: not a plain tensor: one of numbers is expected")
    if tensor.numel() > path.stat().st_size:  # strides of 0 can make gigabytes of one number
        raise HashbenchError(f"{where}: cannot be read: the file does not hold shape {tuple(tensor.shape)}")
    return tensor


def _stored(path: Path, name: str, tensor: Any) -> StoredArray:
    where = f"{path}: {printable(name)}"
    tensor = plain(tensor, where, path)
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.float()
    array = tensor.detach().resolve_conj().resolve_neg().numpy()
    return in_memory(where, name, array)

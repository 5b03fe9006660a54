"""``.pkl``: refused, because reading a pickle runs whatever code it holds; the error says how to convert it."""

from pathlib import Path

from hashbench.codes.files import pt
from hashbench.codes.files._stored import Arrays, Format
from hashbench.foundation.errors import HashbenchError


def _recognises(head: bytes) -> bool:
    return head[:2] in (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05") and not head.startswith(pt.LEGACY)


def _arrays(path: Path) -> Arrays:
    raise HashbenchError(
        f"{path}: a pickle, which can run code when it is read and is never opened here; in a sandbox: "
        f"import numpy; from pickle import load; saved = load(open({path.name!r}, 'rb')); "
        "numpy.savez('codes.npz', query_codes=saved['qB'], database_codes=saved['rB']) (keys as in that file)"
    )


FORMAT = Format(_recognises, _arrays, suffixes=(".pkl", ".pickle"))

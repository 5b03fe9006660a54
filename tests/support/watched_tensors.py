"""What a computation asks of tensors: how large the largest array is, and which operations there are."""

from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Watched(TorchDispatchMode):
    """While it is entered, ``largest`` is the values of the largest array made, ``operations`` the names so far."""

    def __init__(self) -> None:
        super().__init__()
        self.largest = 0
        self.operations: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        sizes = [leaf.numel() for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
        self.largest = max([self.largest, *sizes])
        self.operations.add(func.overloadpacket.__name__)
        return result

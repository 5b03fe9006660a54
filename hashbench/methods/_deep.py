"""What the deep methods share: they are an encoder, an objective and a schedule, trained by one loop."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from hashbench.errors import HashbenchError
from hashbench.methods._method import BitSettings, Fit, Hasher, Method

if TYPE_CHECKING:
    from torch import Tensor

    Objective = Callable[[Tensor, Tensor], Tensor]


class DeepSettings(BitSettings):
    """Settings of the encoder, the optimiser and the relaxation; facts and sources are in the method's TOML."""

    model: str
    epochs: int = Field(ge=1)
    batch_size: int = Field(ge=2)
    lr: float = Field(gt=0)
    lr_decay: float = Field(gt=0, le=1)  # the learning rate is multiplied by it
    lr_decay_every: int = Field(ge=0)  # every so many epochs; 0: constant
    momentum: float = Field(ge=0, lt=1)
    weight_decay: float = Field(ge=0)
    backbone_lr: float = Field(ge=0)  # multiplier of the layers before the hash layer
    hash_init: float = Field(ge=0)  # standard deviation of the hash layer's weights; 0: He's sqrt(2 / inputs)
    clip_norm: float = Field(ge=0)  # of the gradient; 0: off
    augment: Literal["none", "flip", "crop_flip"]
    precision: Literal["auto", "float32", "bfloat16"]  # auto: bfloat16 autocast on a GPU, float32 on a CPU
    relaxation: Literal["tanh", "identity"]
    tanh_scale: float = Field(gt=0)  # alpha of tanh(alpha f(x)) at the first step
    tanh_schedule: Literal["fixed", "power", "doubling"]
    tanh_rate: float = Field(ge=0)  # power: alpha sqrt(1 + rate * step); doubling: epochs between doublings


def deep_method(
    settings: type[DeepSettings], objective: Callable[[Any], "Objective"], identity: tuple[str, ...] = ()
) -> Method:
    """A method that minimises ``objective(settings)``, a function of (relaxed codes, affinity levels)."""

    def fit(chosen: Any, data: Fit) -> Hasher:
        _require_torch()
        from hashbench.training.loop import train

        return train(chosen, objective(chosen), data)

    def load(chosen: Any, folder: Path, device: str) -> Hasher:
        _require_torch()
        from hashbench.training.hasher import DeepHasher

        return DeepHasher.load(chosen, folder, device)

    return Method(settings, ("bits", "model", *identity), fit, load, needs_torch=True)


def _require_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError:
        raise HashbenchError(
            "torch is not installed: deep methods need the extra train (pip install 'hashbench[train]')"
        ) from None

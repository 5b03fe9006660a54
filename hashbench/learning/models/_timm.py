"""timm's image networks without their classifier: ``timm:vit_small_patch16_224``, ``timm:convnext_atto.d2_in1k``."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

from hashbench.foundation.errors import HashbenchError, one_line
from hashbench.foundation.extras import how_to_install
from hashbench.foundation.files import write_bytes
from hashbench.learning.models._input import Input
from hashbench.learning.models._lazy import layers, nn
from hashbench.learning.models._model import Backbone, Model, Pretrained, Weights

PREFIX = "timm_"  # of a name in settings and files, where ``timm:`` may be written


@cache
def names() -> list[str]:
    """The names in timm, with and without those of their weights; raises HashbenchError if timm is not installed."""
    timm = _timm()
    return sorted({*timm.list_models(), *timm.list_pretrained()})


@cache
def model(stem: str) -> Model:
    """The model ``timm_NAME`` of ``names``, with the weights of timm's default, or those that NAME ends in (.in1k)."""
    name = stem.removeprefix(PREFIX)
    config = _timm().get_pretrained_cfg(name)
    _, height, width = config.input_size
    file = f"{stem}.safetensors"
    weights = Weights(file, str(config.url))
    if config.hf_hub_id:
        weights = Weights(file, f"https://huggingface.co/{config.hf_hub_id}", fetch=partial(_fetch, stem, config))
    summary = f"{name} of timm, up to its classifier; {height} pixels"
    if config.license:  # of the weights
        summary += f"; {config.license}"
    pretrained = Pretrained(Input((height, width), 1.0, tuple(config.mean), tuple(config.std)), weights)
    return Model(summary, partial(_backbone, name), pretrained)


def _timm() -> Any:
    try:
        import timm
    except ImportError:
        raise HashbenchError(f"networks of timm need the extra timm: {how_to_install('timm')}") from None
    return timm


def _backbone(name: str, shape: tuple[int, ...]) -> Backbone:
    network: nn.Module = _timm().create_model(name, pretrained=False, num_classes=0)
    # timm's own attributes do not say the number for every network
    return network, layers.n_features(f"timm:{name}", network, shape)


def _fetch(stem: str, config: Any, path: Path) -> None:
    """Downloads the official weights to ``path``; raises HashbenchError where there is no internet."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.utils import logging

    advice = f"get model.safetensors from https://huggingface.co/{config.hf_hub_id} and put it at {path}"
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # it retries for half a minute, with two lines each time
    try:
        downloaded = hf_hub_download(config.hf_hub_id, config.hf_hub_filename or "model.safetensors")
    except Exception as error:  # the hub's own errors, those of its HTTP library, OSError
        why = f"({type(error).__name__}: {one_line(error).partition('. ')[0]})"
        raise HashbenchError(f"weights of {stem} cannot be downloaded {why}: {advice}, or --weights FILE") from None
    write_bytes(path, Path(downloaded).read_bytes())

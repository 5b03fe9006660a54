"""Networks of timm: features are those of timm's own model, on its own input, and what cannot be is one line."""

from pathlib import Path

import numpy as np
import pytest

from hashbench.foundation import paths

torch = pytest.importorskip("torch")
timm = pytest.importorskip("timm", reason="timm is not installed")

from safetensors.torch import save_file  # noqa: E402
from support.one_line import one_line  # noqa: E402

from hashbench.learning.models import MODELS, canonical_model  # noqa: E402
from hashbench.running.features import named  # noqa: E402

ITEMS = np.random.default_rng(0).integers(0, 256, (2, 32, 32, 3), dtype=np.uint8)


@pytest.mark.parametrize("name, side", [("vit_tiny_patch16_224", 224), ("convnext_atto", 96)])
def test_features_are_those_of_timms_network(tmp_path: Path, name: str, side: int) -> None:
    torch.manual_seed(1)
    theirs = timm.create_model(name, pretrained=False).eval()  # with its classifier, as in a file of weights
    save_file(theirs.state_dict(), tmp_path / "own.safetensors")
    sized = f"timm:{name}" if side == 224 else f"timm:{name}_{side}px"
    stored, extractor = named(sized, str(tmp_path / "own.safetensors"))
    assert stored.startswith(f"{canonical_model(sized)}_")
    built = extractor.build((32, 32, 3), 255.0)
    config = timm.get_pretrained_cfg(name)
    assert built.constants["input"] == {"size": (side, side), "value_max": 1.0, "mean": config.mean, "std": config.std}
    with torch.inference_mode():
        images = built.module.prepared(torch.from_numpy(ITEMS))
        expected = theirs.forward_head(theirs.forward_features(images), pre_logits=True)
        torch.testing.assert_close(built.module(torch.from_numpy(ITEMS)), expected, atol=1e-5, rtol=1e-5)
    assert built.width == expected.shape[1]


@pytest.mark.parametrize(
    "name, fault",
    [
        ("timm:vit_tiny_patch16_223", "did you mean timm_vit_tiny_patch16_224"),
        ("timm:vit_tiny_patch16_224_96px", "does not take images of shape"),
    ],
)
def test_what_timm_does_not_have_is_one_line(name: str, fault: str) -> None:
    with one_line(fault):
        model = MODELS.get(name)
        assert model.pretrained is not None
        model.backbone((3, *model.pretrained.input.size))


def test_weights_that_the_hub_does_not_give_name_the_file_to_get(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def offline(*_: object) -> str:
        raise OSError("no route\nto host")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", offline)
    with one_line() as error:
        named("timm:convnext_atto")[1].build((32, 32, 3), 255.0)
    text = str(error.value)
    assert "weights of timm_convnext_atto cannot be downloaded (OSError: no route to host)" in text
    assert f"https://huggingface.co/timm/convnext_atto.d2_in1k and put it at {paths.weights()}" in text
    assert "\n" not in text


def test_weights_of_the_hub_are_kept_where_they_are_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    names_asked = []

    def download(repository: str, file: str) -> str:
        names_asked.append((repository, file))
        save_file(timm.create_model("convnext_atto").state_dict(), tmp_path / "hub.safetensors")
        return str(tmp_path / "hub.safetensors")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    for _ in range(2):
        name, extractor = named("timm:convnext_atto")
        assert extractor.build((32, 32, 3), 255.0).constants["weights_official"]
    assert name == "timm_convnext_atto"
    assert names_asked == [("timm/convnext_atto.d2_in1k", "model.safetensors")]
    assert (paths.weights() / "timm_convnext_atto.safetensors").is_file()


def test_without_timm_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "timm", None)
    with one_line(r"need the extra timm: .*\[timm\]"):
        MODELS.get("timm:resnet10t")

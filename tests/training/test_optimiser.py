"""The update against MatConvNet's and Caffe's, written out by hand."""

import pytest
import torch
from support.on_digits import on_digits
from torch import Tensor, nn

from hashbench.learning.training import optimiser
from hashbench.learning.training.settings import DeepSettings

RATES = [0.1, 0.1, 0.02, 0.02, 0.5]


def settings(**changes: object) -> DeepSettings:
    chosen = on_digits("talr_ap", {"bits": 3}).settings
    assert isinstance(chosen, DeepSettings)
    return chosen.model_copy(update={"momentum": 0.9, "weight_decay": 0.01, **changes})


def encoder() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Sequential(nn.Linear(4, 5), nn.ReLU()), nn.Linear(5, 3)).double()


def trained(chosen: DeepSettings) -> dict[str, Tensor]:
    """The weights after a step at each of RATES, the gradient of step t being t + 1 everywhere."""
    model = encoder()
    sgd = optimiser.build(chosen, model)
    for step, lr in enumerate(RATES):
        optimiser.set_learning_rate(sgd, chosen, lr)
        for values in model.parameters():
            values.grad = torch.full_like(values, step + 1.0)
        sgd.step()
    return {name: values.detach() for name, values in model.named_parameters()}


def by_hand(chosen: DeepSettings, multiplier: dict[str, float], decayed: set[str]) -> dict[str, Tensor]:
    """The published updates, a parameter at a time."""
    weights = {}
    for name, start in encoder().named_parameters():
        weight = start.detach().clone()
        velocity = torch.zeros_like(start)
        for step, base in enumerate(RATES):
            lr = base * multiplier[name]
            gradient = (step + 1.0) + (chosen.weight_decay if name in decayed else 0) * weight
            if chosen.momentum_form == "lr_inside":  # Caffe: V <- m V + lr g, W <- W - V
                velocity = chosen.momentum * velocity + lr * gradient
                weight = weight - velocity
            else:  # MatConvNet: v <- m v - g, w <- w + lr v, or + lr (m v - g) with Nesterov
                velocity = chosen.momentum * velocity - gradient
                ahead = chosen.momentum * velocity - gradient if chosen.nesterov else velocity
                weight = weight + lr * ahead
        weights[name] = weight
    return weights


ALL = {"0.0.weight", "0.0.bias", "1.weight", "1.bias"}


@pytest.mark.parametrize("changes", [{}, {"nesterov": True}, {"momentum_form": "lr_inside"}, {"momentum": 0.0}])
def test_the_update_is_the_published_one(changes: dict[str, object]) -> None:
    chosen = settings(backbone_lr=0.1, **changes)
    multiplier = {"0.0.weight": 0.1, "0.0.bias": 0.1, "1.weight": 1.0, "1.bias": 1.0}
    torch.testing.assert_close(trained(chosen), by_hand(chosen, multiplier, ALL))


def test_biases_have_their_own_rates_and_no_decay() -> None:
    chosen = settings(backbone_lr=0.1, bias_lr=2.0, hash_bias_lr=0.5, decay_biases=False)
    multiplier = {"0.0.weight": 0.1, "0.0.bias": 0.2, "1.weight": 1.0, "1.bias": 0.5}
    torch.testing.assert_close(trained(chosen), by_hand(chosen, multiplier, {"0.0.weight", "1.weight"}))


@pytest.mark.parametrize(
    "changes",
    [
        {"momentum_form": "lr_inside", "bias_lr": 2.0},
        {"optimiser": "adam", "momentum": 0.0, "backbone_lr": 0.1},
    ],
)
def test_a_resumed_optimiser_goes_on_as_if_nothing_happened(changes: dict[str, object]) -> None:
    chosen = settings(**changes)
    model = encoder()
    updates = optimiser.build(chosen, model)
    for step, lr in enumerate(RATES):
        if step == 2:  # killed just before the rate falls
            again = optimiser.build(chosen, model)
            again.load_state_dict(updates.state_dict())
            updates = again
        optimiser.set_learning_rate(updates, chosen, lr)
        for values in model.parameters():
            values.grad = torch.full_like(values, step + 1.0)
        updates.step()
    for name, values in trained(chosen).items():
        assert torch.equal(dict(model.named_parameters())[name], values)


def test_adam_has_rates_and_decay_by_layer() -> None:
    chosen = settings(optimiser="adam", momentum=0.0, backbone_lr=0.1, hash_weight_decay=0.2, decay_biases=False)
    decay = {"0.0.weight": 0.01, "1.weight": 0.2}
    actual = trained(chosen)
    for name, values in encoder().named_parameters():
        alone = torch.optim.Adam([values], weight_decay=decay.get(name, 0.0))
        for step, lr in enumerate(RATES, 1):
            alone.param_groups[0]["lr"] = lr * (0.1 if name.startswith("0") else 1.0)
            values.grad = torch.full_like(values, step)
            alone.step()
        torch.testing.assert_close(actual[name], values.detach())

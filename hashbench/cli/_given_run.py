"""The run that the arguments of ``train`` and of ``speed`` name."""

from dataclasses import dataclass

from hashbench.cli._options import parse_settings
from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError
from hashbench.learning.methods import require_torch
from hashbench.running.runs.run import Run


@dataclass(frozen=True)
class GivenRun:
    """The run, the settings that the user gave, and the file of the weights that it starts from, if one was named."""

    run: Run
    settings: dict[str, Setting]
    weights: str | None


def given_run(
    method: str,
    dataset: str,
    protocol: str | None,
    *,
    bits: int | None,
    model: str | None,
    settings: list[str] | None,
    weights: str | None,
    seed: int,
    budget: str | None,
    split_seed: int | None,
) -> GivenRun:
    """The run of these arguments; raises HashbenchError for a wrong one."""

    def run_with(values: dict[str, Setting]) -> Run:
        return Run.resolve(dataset, protocol, method, values, seed=seed, budget=budget, split_seed=split_seed)

    chosen = parse_settings(settings or [])
    for key in ("bits", "model"):
        if key in chosen:
            raise HashbenchError(f"--set {key}=... cannot be used: use --{key}")
    options = {"bits": bits, "model": model, **chosen}
    named_settings = {key: value for key, value in options.items() if value is not None}
    file = None
    if weights is not None:
        usual = {key: value for key, value in named_settings.items() if key != "head" and not key.startswith("base.")}
        of_weights, file = _start(run_with(usual), weights)
        named_settings = {**of_weights, **named_settings, "weights": of_weights["weights"]}
    return GivenRun(run_with(named_settings), named_settings, file)


def _start(run: Run, weights: str) -> tuple[dict[str, Setting], str | None]:
    """The settings that the weights decide, and the path of the file that holds them."""
    model = getattr(run.settings, "model", None)
    if model is None:
        raise HashbenchError(f"--weights cannot be used with {run.name.method}, which has no network")

    require_torch()
    from hashbench.learning.training.weights import weights_settings

    return weights_settings(model, weights)

"""Which GPUs of the machine each worker of a grid sees."""

import os
from importlib.util import find_spec

VISIBLE = "CUDA_VISIBLE_DEVICES"


def environments(jobs: int, device: str, per_run: int) -> list[dict[str, str]]:
    """The environment variables of each of ``jobs`` workers: the ``per_run`` GPUs that it sees, in turn.

    Empty ones where there is no GPU, where the ``device`` names one or none, or where a single worker sees all.
    """
    found = _visible() if device in ("auto", "cuda") and jobs > 1 else []
    if not found:
        return [{} for _ in range(jobs)]
    return [{VISIBLE: ",".join(_in_turn(found, worker * per_run, per_run))} for worker in range(jobs)]


def _in_turn(names: list[str], start: int, n: int) -> list[str]:
    return list(dict.fromkeys(names[(start + place) % len(names)] for place in range(n)))


def _visible() -> list[str]:
    """The names of the GPUs that this process may use, as CUDA_VISIBLE_DEVICES has them."""
    chosen = os.environ.get(VISIBLE)
    if chosen is not None:
        return [name.strip() for name in chosen.split(",") if name.strip() not in ("", "-1")]
    if find_spec("torch") is None:
        return []
    import torch

    return [str(number) for number in range(torch.cuda.device_count())]

"""Images a second while resnet9 trains on a CPU, in float32 and in bfloat16, for some widths.

Run `python benchmarks/backbone.py [--channels C ...]`. A step is forward and backward on random images of 32 x 32
pixels, channels last; the two precisions take turns, and the fastest of some steps counts. Writes
results/benchmarks/backbone-MACHINE.json.
"""

import argparse

import _record
import torch

from hashbench.learning.training.settings import TrainingSettings
from hashbench.learning.training.speed import images_a_second
from hashbench.running.datasets.card import load_card
from hashbench.running.runs.pretrain import classifier_run

CHANNELS, BATCHES = (16, 32, 64), (50, 250)
SHAPE, VALUE_MAX = (32, 32, 3), 255.0


def measured(channels: int, batch: int) -> dict[str, float]:
    """Images a second in each precision."""
    settings = classifier_run(load_card("cifar100"), None, "resnet9", {"width": channels / 64}, seed=0).settings
    assert isinstance(settings, TrainingSettings)
    found = images_a_second(settings, SHAPE, VALUE_MAX, batch=batch)
    return {precision: round(images, 1) for precision, images in found.items()}


def main() -> None:
    """Measures and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--channels", type=int, nargs="+", default=CHANNELS, help="of the first layer")
    parser.add_argument("--note", default="", help="what else the machine did")
    given = parser.parse_args()
    figures = [
        {"channels": channels, "batch": batch, "images_per_s": measured(channels, batch)}
        for channels in given.channels
        for batch in BATCHES
    ]
    _record.write("backbone", {"threads": torch.get_num_threads(), "note": given.note, "figures": figures})


if __name__ == "__main__":
    main()

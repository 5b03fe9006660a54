"""``hashbench features`` extracts the features that methods hash or train on."""

from typing import Annotated

from typer import Option

from hashbench.cli import _interrupts
from hashbench.cli._command import lines
from hashbench.cli._options import Dataset, Device
from hashbench.running.features import extract
from hashbench.showing.sheet import Sheet


def command(
    dataset: Dataset,
    model: Annotated[
        str,
        Option(
            help="efficientnet_lite0_128px, vggf, resnet18 (of torchvision), timm:NAME, one of pretrain, gist, pixels."
        ),
    ],
    weights: Annotated[
        str | None,
        Option(
            metavar="FILE|NAME|none", help="A file, a name of pretrain, or none: random. Default: the official file."
        ),
    ] = None,
    device: Device = "auto",
    batch: Annotated[int | None, Option(min=1, help="Number of images in a batch.")] = None,
) -> Sheet:
    """Extract the features of all items of a data set and store them, with a record of how they were made.

    The features of a network are the inputs of its last layer (fc7 after its ReLU). An interrupted extraction
    continues where it stopped. Features that are stored are not made again.
    """
    _interrupts.say_that_it_continues()
    done = extract(dataset, model, weights, device=device, batch=batch, progress=True)
    n_items, width = done.shape
    name = done.path.stem
    how = "there already, of the same data, weights and constants"
    if done.n_made:
        how = f"{done.n_made:,} items in {done.seconds:.1f} s: {60 * done.n_made / done.seconds:,.0f} a minute"
    texts = [str(done.path), f"{n_items:,} items x {width:,}, {done.stored}: --set features={name}", how]
    values = {"path": texts[0], "features": name, "n_items": n_items, "width": width}
    return lines(texts, lambda: {**values, "n_made": done.n_made, "seconds": done.seconds})

"""``hashbench features`` extracts the features that methods hash or train on."""

from typing import Annotated

from typer import Option, echo

from hashbench.cli import _interrupts
from hashbench.cli._options import Dataset, Device
from hashbench.features import extract


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
) -> None:
    """Extract the features of all items of a data set and store them, with a record of how they were made.

    The features of a network are the inputs of its last layer (fc7 after its ReLU). An interrupted extraction
    continues where it stopped. Features that are stored are not made again.
    """
    _interrupts.say_that_it_continues()
    done = extract(dataset, model, weights, device=device, batch=batch, progress=True)
    echo(f"{done.path}\n{done.shape[0]:,} items x {done.shape[1]:,}, {done.stored}: --set features={done.path.stem}")
    if done.n_made == 0:
        echo("there already, of the same data, weights and constants")
    else:
        echo(f"{done.n_made:,} items in {done.seconds:.1f} s: {60 * done.n_made / done.seconds:,.0f} a minute")

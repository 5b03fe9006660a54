"""``hashbench features`` extracts the features that the shallow methods use."""

from typing import Annotated

import typer

from hashbench.cli._options import DatasetName, Device


def command(
    dataset: DatasetName,
    model: Annotated[
        str,
        typer.Option(
            help="vggf, alexnet, alexnet-caffe, a torchvision classifier (resnet18, ...), a network that `hashbench "
            "pretrain` trained (with --weights), gist or pixels."
        ),
    ],
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|NAME|none",
            help="File with the network's weights, or none for random weights; by default the official file. Or the "
            "name, or the file, of weights that `hashbench pretrain` made.",
        ),
    ] = None,
    device: Device = "auto",
    batch: Annotated[int | None, typer.Option(min=1, help="Number of images in a batch.")] = None,
) -> None:
    """Extract the features of all items of a data set and store them, with a record of how they were made.

    The features of a network are the inputs of its last layer (fc7 after its ReLU). An interrupted extraction
    continues where it stopped. Finished features of the same data, weights and constants are not made again.
    """
    from hashbench.datasets.card import load_card
    from hashbench.features import extract
    from hashbench.foundation import provenance

    made_by = {"code": provenance.code().model_dump(), "utc": provenance.utc()}
    done = extract(load_card(dataset), model, weights, device=device, batch=batch, made_by=made_by, progress=True)
    typer.echo(str(done.path))
    typer.echo(f"{done.shape[0]:,} items x {done.shape[1]:,}, float32: --set features={done.path.stem}")
    if done.n_made == 0:
        typer.echo("there already, of the same data, weights and constants")
    else:
        typer.echo(f"{done.n_made:,} items in {done.seconds:.1f} s: {60 * done.n_made / done.seconds:,.0f} a minute")

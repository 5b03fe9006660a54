"""``hashbench features``: features of a data set's items, for the shallow methods."""

from typing import Annotated

import typer


def command(
    dataset: Annotated[str, typer.Argument(help="A data set, as hashbench list datasets shows.")],
    model: Annotated[
        str,
        typer.Option(help="vggf, alexnet, alexnet-caffe, a classifier of torchvision (resnet18, ...), gist or pixels."),
    ],
    weights: Annotated[
        str | None,
        typer.Option(metavar="FILE|none", help="A network's weights; none: random ones. Default: the official file."),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
    batch: Annotated[int | None, typer.Option(min=1, help="Images at once.")] = None,
) -> None:
    """Extract features of all items of a data set, and store them with what made them.

    Of a network they are the activations that its last layer sees (fc7, after its ReLU). An interrupted extraction
    goes on where it was; finished features of the same data, weights and constants are left alone.
    """
    from hashbench.features import extract
    from hashbench.runs import provenance

    made_by = {"code": provenance.code().model_dump(), "utc": provenance.utc()}
    done = extract(dataset, model, weights, device=device, batch=batch, made_by=made_by, progress=True)
    typer.echo(str(done.path))
    typer.echo(f"{done.shape[0]:,} items x {done.shape[1]:,}, float32")
    if done.n_made == 0:
        typer.echo("there already, of the same data, weights and constants")
    else:
        typer.echo(f"{done.n_made:,} items in {done.seconds:.1f} s: {60 * done.n_made / done.seconds:,.0f} a minute")

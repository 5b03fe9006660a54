"""VGG-F (CNN-F of Chatfield et al. 2014), the network of TALR's, MIHash's, DPSH's and DTSH's papers, up to fc7.

The features are 4,096 activations of fc7 after its ReLU, as the papers' hash layer sees them. The weights are
MatConvNet's; the other VGG-F there (imagenet-matconvnet-vgg-f, trained with batch normalisation) is another network.
"""

from hashbench.learning.models._matconvnet import Conv, Full, Layer, Norm, Pool, model_of

SIZE = (224, 224)
WIDTHS = (64, 256, 256, 256, 256, 4096, 4096)


def layers(widths: tuple[int, ...] = WIDTHS) -> tuple[Layer, ...]:
    """The layers up to fc7, of so many channels; 224 pixels become 54, 27, 13 and 6."""
    one, two, three, four, five, six, seven = widths
    return (
        Conv("conv1", one, 11, stride=4),
        Norm("norm1", 5, 2.0, 1e-4),
        Pool("pool1"),
        Conv("conv2", two, 5, pad=2),
        Norm("norm2", 5, 2.0, 1e-4),
        Pool("pool2"),
        Conv("conv3", three, 3, pad=1),
        Conv("conv4", four, 3, pad=1),
        Conv("conv5", five, 3, pad=1),
        Pool("pool5"),
        Full("fc6", six, 6),
        Full("fc7", seven),
    )


MODEL = model_of(
    "VGG-F, fc7 of 4,096; 224 pixels",
    "vggf",
    layers(),
    SIZE,
    "imagenet-vgg-f.mat",
    md5="f666c61dc968c413ef664a7e17b01144",
)

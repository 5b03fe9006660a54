"""CaffeNet, Caffe's reference network (AlexNet with pooling before normalisation), the network of HashNet.

As HashNet trains it, it has dropout after fc6 and fc7. The weights are MatConvNet's conversion of Caffe's
bvlc_reference_caffenet. MatConvNet's alpha is Caffe's alpha divided by the window: 1e-4 / 5.
"""

from hashbench.models._matconvnet import Conv, Drop, Full, Layer, Norm, Pool, model_of

SIZE = (227, 227)
LAYERS: tuple[Layer, ...] = (
    Conv("conv1", 96, 11, stride=4),
    Pool("pool1"),
    Norm("norm1", 5, 1.0, 2e-5, 0.75),
    Conv("conv2", 256, 5, pad=2, groups=2),
    Pool("pool2"),
    Norm("norm2", 5, 1.0, 2e-5, 0.75),
    Conv("conv3", 384, 3, pad=1),
    Conv("conv4", 384, 3, pad=1, groups=2),
    Conv("conv5", 256, 3, pad=1, groups=2),
    Pool("pool5"),
    Full("fc6", 4096, 6),
    Drop("drop6"),
    Full("fc7", 4096),
    Drop("drop7"),
)

MODEL = model_of(
    "CaffeNet, the reference network of Caffe, with dropout, fc7 of 4,096; 227 pixels",
    "caffenet",
    LAYERS,
    SIZE,
    "imagenet-caffe-ref.mat",
    md5="6d69dfa6e549012c94546658737c5885",
)

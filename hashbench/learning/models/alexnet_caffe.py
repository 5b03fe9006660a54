"""AlexNet as Caffe trained it (two groups, normalisation before pooling), the network of TALR's ImageNet runs.

The weights are MatConvNet's conversion. torchvision's AlexNet is another network, with one group, other widths and no
normalisation. MatConvNet's alpha is Caffe's alpha divided by the window: 1e-4 / 5.
"""

from hashbench.learning.models._matconvnet import Conv, Full, Layer, Norm, Pool, model_of

SIZE = (227, 227)
LAYERS: tuple[Layer, ...] = (
    Conv("conv1", 96, 11, stride=4),
    Norm("norm1", 5, 1.0, 2e-5),
    Pool("pool1"),
    Conv("conv2", 256, 5, pad=2, groups=2),
    Norm("norm2", 5, 1.0, 2e-5),
    Pool("pool2"),
    Conv("conv3", 384, 3, pad=1),
    Conv("conv4", 384, 3, pad=1, groups=2),
    Conv("conv5", 256, 3, pad=1, groups=2),
    Pool("pool5"),
    Full("fc6", 4096, 6),
    Full("fc7", 4096),
)

MODEL = model_of(
    "AlexNet of Caffe, fc7 of 4,096; 227 pixels",
    "alexnet_caffe",
    LAYERS,
    SIZE,
    "imagenet-caffe-alex.mat",
    md5="ed49ef44caf18496291ce0c3257b0596",
)

"""CaffeNet, Caffe's reference network (AlexNet with pooling before normalisation), the network of HashNet.

As HashNet trains it, it has dropout after fc6 and fc7. The weights are MatConvNet's conversion of Caffe's
bvlc_reference_caffenet. MatConvNet's alpha is Caffe's alpha divided by the window: 1e-4 / 5.
"""

from hashbench.learning.models._matconvnet import Drop, Layer, model_of
from hashbench.learning.models.alexnet_caffe import LAYERS as PLAIN
from hashbench.learning.models.alexnet_caffe import SIZE

conv1, norm1, pool1, conv2, norm2, pool2, *middle, fc7 = PLAIN
LAYERS: tuple[Layer, ...] = (conv1, pool1, norm1, conv2, pool2, norm2, *middle, Drop("drop6"), fc7, Drop("drop7"))

MODEL = model_of(
    "CaffeNet, the reference network of Caffe, with dropout, fc7 of 4,096; 227 pixels",
    "caffenet",
    LAYERS,
    SIZE,
    "imagenet-caffe-ref.mat",
    md5="6d69dfa6e549012c94546658737c5885",
)

"""torchvision's AlexNet ("one weird trick", Krizhevsky 2014: one tower, no normalisation), up to fc7 after its ReLU."""

from functools import partial

from hashbench.learning.models._input import Input
from hashbench.learning.models._model import Model, Pretrained, Weights
from hashbench.learning.models._torchvision import backbone

MODEL = Model(
    "AlexNet of torchvision, fc7 of 4,096; 224 pixels",
    partial(backbone, "alexnet"),
    Pretrained(
        Input((224, 224), 1.0, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)),
        Weights(
            "alexnet-owt-7be5be79.pth",
            "https://download.pytorch.org/models/alexnet-owt-7be5be79.pth",
            sha256="7be5be79",
        ),
    ),
)

"""The values of HashNet's Caffe version: as ``hashnet``, but a query whose relevant items are all behind R scores 0."""

from functools import partial

from hashbench.evaluation.conventions import Convention, hashnet

CONVENTION = Convention(
    summary="mAP over the relevant retrieved, queries with none in the top R score 0, unstable order of ties",
    source="thuml/HashNet, caffe/models/predict/nuswide_81/predict_parallel.py, mean_average_precision",
    evaluate=partial(hashnet.evaluate, name="hashnet-caffe", counts_misses=True),
)

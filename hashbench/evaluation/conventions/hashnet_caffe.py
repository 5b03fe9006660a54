"""The values that the Caffe version of HashNet prints for codes.

They are those of the PyTorch version (``hashnet``), except for a query that has relevant items but none among the first
R: here it scores 0 and is counted. A query without a relevant item in the whole database is left out by both.
"""

from functools import partial

from hashbench.evaluation.conventions import Convention, hashnet

CONVENTION = Convention(
    summary="mAP over the relevant retrieved, queries with none in the top R score 0, unstable order of ties",
    source="thuml/HashNet, caffe/models/predict/nuswide_81/predict_parallel.py, mean_average_precision",
    evaluate=partial(hashnet.evaluate, name="hashnet-caffe", counts_misses=True),
)

"""A database in many files (shards), each counted by itself: their histograms add up to that of the whole."""

from hashbench.shards._driver import How, count_shards
from hashbench.shards._index_build import IndexSource, build_index, index_sources
from hashbench.shards._shard import Shard, shards_of
from hashbench.shards._task import Source
from hashbench.shards._total import Total

__all__ = [
    "How",
    "IndexSource",
    "Shard",
    "Source",
    "Total",
    "build_index",
    "count_shards",
    "index_sources",
    "shards_of",
]

"""``hashbench eval --neighbours``: the nearest items by floats are relevant, in place of labels."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from support.command_line import CommandLine

import hashbench as library

RNG = np.random.default_rng(0)
QUERY = RNG.normal(size=(20, 24))
DATABASE = RNG.normal(size=(300, 24))
NEAR = np.argsort(((QUERY[:, None] - DATABASE) ** 2).sum(axis=2), axis=1)[:, :100].astype(np.int32)


@pytest.fixture(autouse=True)
def files(here: None) -> None:
    """codes.npz and other.npz without labels, and the ids of the nearest items in several files and keys."""
    for name, threshold in (("codes", 0), ("other", 0.1)):
        np.savez(f"{name}.npz", query_codes=threshold < QUERY, database_codes=threshold < DATABASE)
    np.savez("near.npz", three=NEAR[:, :3])
    np.save("near.npy", NEAR)
    np.c_[np.full(len(QUERY), 100), NEAR].astype("<i4").tofile("near.ivecs")
    parts = (np.array(NEAR.shape, "<u4"), NEAR.astype("<i4"), np.zeros(NEAR.shape, "<f4"))
    Path("near.ibin").write_bytes(b"".join(part.tobytes() for part in parts))
    with h5py.File("near.hdf5", "w") as file:
        file.update({"train": DATABASE, "neighbors": NEAR})


@pytest.mark.parametrize(
    "options, k",
    [
        ("near.npy", 10),
        ("near.hdf5:neighbors", 10),
        ("near.ivecs", 10),
        ("near.ibin", 10),
        ("near.npz:three", 3),
        ("near.npy --k 100", 100),
    ],
)
def test_recalls_are_those_of_score(options: str, k: int, hashbench: CommandLine) -> None:
    answer = hashbench.done(f"eval codes.npz --neighbours {options} --json")
    due = library.score(QUERY > 0, DATABASE > 0, neighbours=NEAR[:, :k]).to_dict()
    assert answer.json["metrics"] == due["metrics"]
    assert answer.json["neighbours"] == k
    assert list(answer.json["metrics"]) == [f"recall@{factor * k}" for factor in (1, 2, 4, 10)]
    assert f"relevant are the first {k} of " in answer.err
    shown = hashbench.done(f"eval codes.npz --neighbours {options}").out
    assert "label" not in shown and "class" not in shown


def test_several_files_are_scored_against_the_same_neighbours(hashbench: CommandLine) -> None:
    printed = hashbench.json("eval codes.npz other.npz --neighbours near.npy --metric recall@20,ap")
    due = library.score(QUERY > 0.1, DATABASE > 0.1, neighbours=NEAR[:, :10], metrics="recall@20,ap")
    assert printed["files"][1]["metrics"] == due.to_dict()["metrics"]

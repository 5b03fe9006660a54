"""``hashbench features``."""

import sys
from contextlib import closing

import numpy as np
import pytest
from support.terminal import Terminal

from hashbench.foundation import paths, progress
from hashbench.foundation.provenance import code as code_version
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.store import open_dataset
from hashbench.running.features import open_features


def test_features_says_where_what_and_how_fast(hashbench):
    code, out, err = hashbench("features digits --model pixels --batch 300 --device cpu")
    path, shape, rate = out.splitlines()
    assert code == 0
    assert err == ""
    assert path == str(paths.data() / "digits" / "features" / "pixels.h5")
    assert shape == "1,797 items x 64, float32: --set features=pixels"
    assert rate.startswith("1,797 items in ")
    assert rate.endswith(" a minute")
    features = open_features(load_card("digits"), "pixels")
    data = open_dataset(load_card("digits"))
    np.testing.assert_array_equal(features.array, data.items.reshape(1797, 64))
    assert features.provenance["data_sha256"] == data.sha256
    assert features.provenance["code"] == code_version().model_dump()
    code, out, err = hashbench("features digits --model pixels")
    assert code == 0
    assert out.splitlines()[2] == "there already, of the same data, weights and constants"


@pytest.mark.parametrize("arguments", [(), ("--quiet",)])
def test_a_terminal_shows_the_extraction_unless_it_is_quiet(hashbench, monkeypatch, arguments):
    monkeypatch.setenv("HASHBENCH_QUIET", "")
    monkeypatch.setattr(progress, "DELAY_S", 0)
    with closing(Terminal()) as terminal:
        monkeypatch.setattr(sys, "stderr", terminal.side)
        hashbench.done(*arguments, "features digits --model gist --batch 100")
        assert terminal.shown() == "" if arguments else terminal.until(r"features: .*/1797 \[")

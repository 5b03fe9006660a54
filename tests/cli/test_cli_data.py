import json

import numpy as np
import pytest
from toy_dataset import make_toy

from hashbench import paths
from hashbench.cli._app import main

DIGITS_S1 = "fd9d2da3b32a2450bb0c6f70a3c76e41645d7eb45ed80e892320bdbc0de8e110"


@pytest.fixture
def hashbench(capsys):
    """Runs the command line: (exit code, stdout, stderr)."""

    def run(*arguments):
        with pytest.raises(SystemExit) as done:
            main([str(argument) for argument in arguments])
        return done.value.code, *capsys.readouterr()

    return run


@pytest.fixture
def toy(tmp_path, monkeypatch):
    monkeypatch.setenv("HASHBENCH_ROOT", str(tmp_path / "root"))
    return make_toy(tmp_path / "root")


def test_split_writes_the_lists_and_prints_their_checksum(hashbench):
    code, out, err = hashbench("split", "digits", "--protocol", "s1")
    path = paths.data() / "digits" / "splits" / "s1-seed0.npz"
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == str(path)
    assert f"sha256 {DIGITS_S1}" in out
    with np.load(path, allow_pickle=False) as file:
        assert file["sha256"].item() == DIGITS_S1
        assert [len(file[f"{role}_ids"]) for role in ("query", "database", "train")] == [500, 1297, 500]


def test_split_json_is_one_object_and_check_adds_its_findings(hashbench):
    code, out, err = hashbench("split", "DIGITS", "--protocol", "S1", "--seed", 1, "--check", "--json")
    report = json.loads(out)
    assert (code, err) == (0, "")
    assert report["path"] == str(paths.data() / "digits" / "splits" / "s1-seed1.npz")
    assert (report["dataset"], report["protocol"], report["seed"]) == ("digits", "s1", 1)
    assert report["sizes"] == {"query": 500, "database": 1297, "train": 500}
    assert report["sha256"] != DIGITS_S1
    assert report["check"]["n_duplicates"] == 0
    assert list(report["check"]["checksums"]) == ["query", "database", "train"]


def test_split_check_that_fails_exits_1_and_writes_nothing(hashbench, toy, tmp_path):
    toy.card.write_text(toy.card.read_text() + f'ids_sha256 = "{"0" * 64}"\n')
    hashbench("download", "toy", "--from-dir", toy.write_files(tmp_path / "given"))
    code, out, err = hashbench("split", "toy", "--protocol", "s1", "--check")
    assert (code, out) == (1, "")
    assert err.startswith("error: toy: the ids have checksum")
    assert not (paths.data() / "toy" / "splits").exists()


def test_download_from_a_folder_then_again(hashbench, toy, tmp_path):
    expected = (0, f"toy: 24 items, in {paths.data() / 'toy' / 'toy.h5'}\n", "")
    assert hashbench("download", "toy", "--from-dir", toy.write_files(tmp_path / "given")) == expected
    assert hashbench("download", "toy") == expected


def test_download_of_an_embedded_set_says_so(hashbench):
    code, out, _ = hashbench("download", "digits")
    assert (code, out) == (0, "digits: 1,797 items, ships with an installed package, nothing to download\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["split", "digit", "--protocol", "s1"], "unknown dataset 'digit': did you mean digits?"),
        (["split", "digits", "--protocol", "s9"], "unknown protocol of digits 's9': did you mean s1?"),
        (["split", "digits"], "Missing option '--protocol'"),
        (["split", "digits", "--protocol", "s1", "--seed", "-1"], "Invalid value for '--seed'"),
        (["split", "cifar10", "--protocol", "s1"], "cifar10 is not downloaded: run hashbench download cifar10"),
        (["download", "digits", "cifra10"], "unknown dataset 'cifra10': did you mean cifar10?"),
        (["download", "cifar10", "--from-dir", "nowhere"], "nowhere: not a folder; name the one that holds"),
        (["download"], "Missing argument"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(hashbench, arguments, message):
    code, out, err = hashbench(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {message}")
    assert err.count("\n") == 1

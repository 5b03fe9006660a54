"""Exported hash functions give the bits of ``hashbench encode``, without hashbench; damaged ones are refused."""

import json
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.command_line import CommandLine
from support.hash_steps import BITS, D, OfSteps, hashers, items
from support.one_line import one_line
from support.python import python
from support.small_training import settings

from hashbench import TrainedRun, load, train
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.extras import missing
from hashbench.learning import steps
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.store import open_dataset
from hashbench.running.runs.guard import load_hasher
from hashbench.running.runs.store import Store
from hashbench.scoring.codes import binarize
from hashbench.showing.export import numpy_form, onnx_form, script
from hashbench.showing.export.description import Form, Input
from hashbench.showing.export.load import ExportedRun
from hashbench.showing.export.write import export

HASHERS = hashers()
needs_onnx = pytest.mark.skipif(bool(missing("onnx")), reason="the extra onnx is not installed")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def trained(results: Path) -> TrainedRun:
    return train("itq", "digits", bits=12, results=results)


@pytest.fixture(scope="module")
def exported(trained: TrainedRun, results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "numpy"
    export(trained.row, load_hasher(trained.row, Store(results)), "numpy", folder)
    return folder


def digits(n: int = 1000) -> NDArray[np.uint8]:
    """Noisy copies of digits."""
    random = np.random.default_rng(0)
    stored = open_dataset(load_card("digits")).items
    noisy = stored[random.integers(0, len(stored), n)].astype(int) + random.integers(-2, 3, (n, 8, 8, 1))
    return noisy.clip(0, 16).astype(np.uint8)


def numpy_alone(folder: Path) -> Path:
    """A folder of packages in which NumPy is the only one."""
    place = Path(np.__file__).parent
    for package in (place, place.with_name("numpy.libs")):
        if package.is_dir():
            (folder / package.name).symlink_to(package)
    return folder


def test_the_hashers_of_the_tests_have_every_operation() -> None:
    used = {step.operation.__name__ for hasher in HASHERS.values() for step in hasher.as_steps().steps}
    assert used == set(steps.OPERATIONS)


def test_the_script_gives_the_bits_of_encode_with_numpy_alone(
    trained: TrainedRun, exported: Path, results: Path, tmp_path: Path, hashbench: CommandLine
) -> None:
    np.save(tmp_path / "items.npy", digits())
    run = trained.row.run
    inputs = tmp_path / "items.npy"
    out = tmp_path / "codes.npz"
    hashbench.done("--results", results, "encode", run, inputs, "--out", out)
    (tmp_path / "packages").mkdir()
    packages = str(numpy_alone(tmp_path / "packages"))
    command = [sys.executable, "-S", str(exported / "encode.py"), str(inputs), str(tmp_path / "codes.npy")]
    subprocess.run(command, check=True, cwd=tmp_path, env={"PYTHONPATH": packages})
    with np.load(out) as saved:
        assert np.array_equal(np.load(tmp_path / "codes.npy"), saved["codes"])
    script = (exported / "encode.py").read_text()
    assert "hashbench" not in script.replace(run, "")


@pytest.mark.parametrize("dtype", ["float64", "uint8"])
@pytest.mark.parametrize(
    "items, complaint",
    [
        (np.zeros((2, 5)), r"float64 items of shape \(2, 5\): numbers \[n, 2, 2\] are expected"),
        (np.zeros((2, 2, 2), complex), r"complex128 items of shape \(2, 2, 2\): numbers \[n, 2, 2\] are expected"),
        (np.zeros((0, 2, 2)), "no items: one or more are expected"),
        (np.full((1, 2, 2), 17), "values from 17 to 17: .*0 to 16"),
        (np.full((1, 2, 2), -1), "values from -1 to -1"),
        (np.full((1, 2, 2), np.nan), "a value is NaN: .*0 to 16"),
    ],
)
def test_the_script_refuses_what_the_run_would_not_take(items: np.ndarray, complaint: str, dtype: str) -> None:
    names: dict[str, Any] = {"np": np}
    exec(script.check(Input(shape=[2, 2], dtype="uint8", value_max=16), dtype), names)
    with pytest.raises(ValueError, match=complaint):
        names["checked"](items)
    assert names["checked"](np.full((1, 2, 2), 3.0)).dtype == dtype


def test_a_model_of_whole_numbers_refuses_fractions_as_its_script_does(exported: Path) -> None:
    run = load(exported)
    assert isinstance(run, ExportedRun)
    of_onnx = ExportedRun(exported, run.description.model_copy(update={"form": "onnx"}))
    names: dict[str, Any] = {"np": np}
    exec(script.check(run.description.input, "uint8"), names)
    for encode, error in ((of_onnx.encode, HashbenchError), (names["checked"], ValueError)):
        with pytest.raises(error, match=r"values from 0 to 2\.5: whole numbers, 0 to 16, are expected"):
            encode(np.array([0, 2.5]).repeat(64).reshape(2, 8, 8, 1))


def written_and_read(trained: TrainedRun, hasher: OfSteps, folder: Path) -> steps.Steps:
    """The steps of a hasher of items [D] as they come back from the ``folder`` that they are written to."""
    description = export(trained.row, hasher, "numpy", folder)
    of_vectors = description.input.model_copy(update={"shape": [D]})
    return numpy_form.read_steps(folder, description.model_copy(update={"input": of_vectors}))


@pytest.mark.parametrize("name", HASHERS)
def test_the_arrays_of_all_steps_come_back(name: str, tmp_path: Path, trained: TrainedRun) -> None:
    function = HASHERS[name].as_steps()
    read = written_and_read(trained, HASHERS[name], tmp_path / "numpy")
    np.testing.assert_array_equal(read.activations(items()), function.activations(items()))
    written = runpy.run_path(str(tmp_path / "numpy" / "encode.py"))["activations"]
    np.testing.assert_array_equal(written(items().astype(function.arithmetic)), function.activations(items()))
    assert 0.02 < (function.activations(items()) > 0).mean() < 0.98


@pytest.mark.parametrize("name", HASHERS)
def test_the_operations_of_pytorch_are_those_of_numpy(name: str) -> None:
    torch = pytest.importorskip("torch")
    from hashbench.showing.export.torch_form import WholeHashFunction

    bits, activations = WholeHashFunction(HASHERS[name], None)(torch.from_numpy(items()))
    expected = HASHERS[name].encode(items())
    np.testing.assert_allclose(activations.numpy(), expected, rtol=1e-5, atol=1e-12)
    assert np.array_equal(bits.numpy(), binarize(expected).bits())


def of_equal_anchors() -> tuple[OfSteps, NDArray[np.float32]]:
    """A hasher of 40 anchors, each there four times, and items: small whole numbers, so that all distances are exact.

    The anchor of the lowest number decides, because copies have other weights.
    """
    random = np.random.default_rng(4)
    anchors = np.tile(random.integers(-3, 4, (10, D)).astype(float), (4, 1))
    nearest = {"nearest": np.asarray(3), "bandwidth": np.asarray(4.0)}
    steps_of_anchors = [
        steps.Step(steps.squared_distances, {"others": anchors}),
        steps.Step(steps.anchor_weights, nearest),
        steps.Step(steps.project, {"weights": random.standard_normal((40, BITS))}),
    ]
    return OfSteps(steps.Steps(steps_of_anchors, "float64")), random.integers(-3, 4, (300, D)).astype(np.float32)


def test_all_forms_take_the_same_of_equal_anchors(trained: TrainedRun, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from hashbench.showing.export.torch_form import WholeHashFunction

    hasher, inputs = of_equal_anchors()
    expected = hasher.encode(inputs) > 0
    read = written_and_read(trained, hasher, tmp_path / "numpy")
    assert np.array_equal(read.activations(inputs) > 0, expected)
    assert np.array_equal(WholeHashFunction(hasher, None)(torch.from_numpy(inputs))[0].numpy(), expected)


def test_a_model_of_onnx_is_read_by_onnxruntime_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with one_line(r"hash\.onnx: needs onnxruntime: pip install onnxruntime$"):
        onnx_form.Session(tmp_path / "hash.onnx")


@needs_onnx
@pytest.mark.slow
@pytest.mark.parametrize("name", HASHERS)
def test_a_model_of_onnx_gives_the_same_bits(name: str, tmp_path: Path) -> None:
    from hashbench.showing.export.torch_form import WholeHashFunction

    onnx_form.write(WholeHashFunction(HASHERS[name], None), items(2), tmp_path / "hash.onnx")
    activations = onnx_form.Session(tmp_path / "hash.onnx").activations(items())
    assert np.array_equal(activations > 0, HASHERS[name].encode(items()) > 0)


@pytest.mark.slow
def test_a_program_of_pytorch_gives_the_same_bits(trained: TrainedRun, results: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    export(trained.row, load_hasher(trained.row, Store(results)), "torch", tmp_path / "torch")
    bits, _ = torch.export.load(tmp_path / "torch" / "hash.pt2").module()(torch.from_numpy(digits()))
    assert np.array_equal(bits.numpy(), trained.encode(digits()))
    assert "items, a uint8 tensor" in (tmp_path / "torch" / "README.md").read_text()
    with one_line(r"in the form torch: torch\.export\.load opens it"):
        load(tmp_path / "torch").encode(digits(3))


@pytest.mark.parametrize("form", ["numpy", "torch"])
def test_what_the_script_refuses_is_one_line(form: Form, trained: TrainedRun, results: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    folder = tmp_path / form
    export(trained.row, load_hasher(trained.row, Store(results)), form, folder)
    np.save(tmp_path / "items.npy", digits(9))
    np.savez(tmp_path / "items.npz", items=digits(9))
    command = [sys.executable, str(folder / "encode.py"), str(tmp_path / "items.npy"), str(tmp_path / "codes.npy")]
    subprocess.run(command, check=True, capture_output=True)
    assert np.array_equal(np.load(tmp_path / "codes.npy"), trained.encode(digits(9)))
    (tmp_path / "codes.npy").unlink()
    for words, says in (
        (command[:2], f"Codes of {trained.row.run}.*: python encode.py ITEMS.npy CODES.npy"),
        ([*command[:2], "none.npy", "codes.npy"], "No such file or directory: 'none.npy'"),
        ([*command[:2], "items.npz", "codes.npy"], "the magic string is not correct"),
        (command, "damaged: its SHA-256 is another"),
    ):
        if words is command:
            flip_a_byte(folder / ("hash.npz" if form == "numpy" else "hash.pt2"))
        done = subprocess.run(words, check=False, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 1
        assert len(done.stderr.splitlines()) == 1
        assert re.search(says, done.stderr)
    assert not (tmp_path / "codes.npy").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "linear", "normalise": "channel_unit_norm"},
        {"model": "mlp", "normalise": "pixel_mean"},
        {"model": "kernel", "normalise": "unit_norm"},
        {"model": "mlp", "hash_norm": "batch", "normalise": "channel"},
    ],
)
def test_small_encoders_have_steps(changes: dict[str, str]) -> None:
    torch = pytest.importorskip("torch")
    from hashbench.learning.training.hasher import DeepHasher

    torch.manual_seed(0)
    hasher = DeepHasher(settings(**changes), (8, 8, 3), 16.0)
    inputs = np.random.default_rng(0).integers(0, 17, (400, 8, 8, 3), np.uint8)
    hasher.start(torch.from_numpy(inputs))
    hasher.train()(hasher.normalised(torch.from_numpy(inputs)))  # statistics for batch normalisation
    function = hasher.as_steps()
    assert function is not None and function.arithmetic == "float32"
    expected = hasher.encode(inputs)
    np.testing.assert_allclose(function.activations(inputs), expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("form", ["numpy", "torch", pytest.param("onnx", marks=[needs_onnx, pytest.mark.slow])])
def test_the_script_refuses_them_too(
    form: Form, trained: TrainedRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hasher = replace(load_hasher(trained.row, trained.store), value_max=1e-38)
    export(trained.row, hasher, form, tmp_path / form)
    inputs = digits(2001)
    inputs[:2000] = 0
    with pytest.raises(ValueError, match=r"^row 2000: an activation is not finite \(NaN or inf\)"):
        runpy.run_path(str(tmp_path / form / "encode.py"))["encode"](inputs)
    assert capsys.readouterr().err == ""


def test_an_export_encodes_and_searches(trained: TrainedRun, exported: Path, tmp_path: Path) -> None:
    loaded = load(exported)
    inputs = digits(60)
    codes = trained.encode(inputs)
    assert repr(loaded) == f"ExportedRun({trained.row.run}, numpy)"
    assert np.array_equal(loaded.encode(inputs), codes) and np.array_equal(loaded.encode(inputs.tolist()), codes)
    np.save(tmp_path / "items.npy", inputs)
    assert np.array_equal(loaded.encode(tmp_path / "items.npy"), codes)
    assert np.array_equal(trained.encode(str(tmp_path / "items.npy")), codes)
    nearest = loaded.search(inputs[:7], 5, database=codes).arrays
    distances = (codes[:7, None] != codes).sum(axis=2)
    assert np.array_equal(nearest["distances"], np.sort(distances, axis=1)[:, :5])
    assert np.array_equal(np.take_along_axis(distances, nearest["ids"], axis=1), nearest["distances"])
    with one_line("has no codes to search: pass the codes that encode gave as database="):
        loaded.search(inputs)
    packed = np.packbits(codes, axis=1)
    np.save(tmp_path / "codes.npy", packed)
    np.savez(tmp_path / "codes.npz", codes=codes)
    for place in (tmp_path / "codes.npy", str(tmp_path / "codes.npz"), f"{tmp_path / 'codes.npz'}:codes"):
        of_file = loaded.search(inputs[:7], 5, database=place).arrays
        assert all(np.array_equal(of_file[name], nearest[name]) for name in nearest)
    unpacked = r"numpy\.unpackbits\(database, axis=1, count=12\) unpacks bytes"
    for database in (codes.astype(int) * 2 - 1, packed, codes[:, :11], codes[0]):
        with one_line(rf"bits of 0 and 1 are expected, \[n, 12\], .*; {unpacked}"):
            loaded.search(inputs, database=database)
    with one_line(r"codes of n_bits = 12 are expected"):
        np.save(tmp_path / "other.npy", packed[:, :1])
        loaded.search(inputs, database=tmp_path / "other.npy")
    with one_line(r"^k = 0, .* k of 1 or more is expected"):
        loaded.search(inputs, 0, database=codes)


def test_the_command_encodes_by_the_folder(
    trained: TrainedRun, exported: Path, results: Path, tmp_path: Path, hashbench: CommandLine
) -> None:
    inputs = digits(60)
    codes = trained.encode(inputs)
    np.savez(tmp_path / "items.npz", items=inputs, labels=np.arange(60))
    for folder in (exported, results / "runs" / trained.row.run):
        for name in ("whole.npz", "pieces.npy"):
            written = hashbench("encode", folder, tmp_path / "items.npz", "--out", tmp_path / name)
            assert written == (0, f"{tmp_path / name}\n", "")
        assert np.array_equal(np.load(tmp_path / "pieces.npy"), np.packbits(codes, axis=1))
        with np.load(tmp_path / "whole.npz") as whole:
            assert np.array_equal(whole["codes"], codes) and whole["labels"].shape == (60,)
    status, _, error = hashbench("encode", exported, "--out", tmp_path / "none.npz")
    assert status == 2 and error == "error: the folder of a hash function has no items: name your own after it\n"
    np.save(tmp_path / "no_items.npy", inputs[:0])
    for name in ("none.npz", "none.npy"):
        status, _, error = hashbench("encode", exported, tmp_path / "no_items.npy", "--out", tmp_path / name)
        assert status == 2 and error.endswith("no_items.npy: no items: one or more are expected\n")
    status, _, error = hashbench("encode", tmp_path, tmp_path / "items.npz", "--out", tmp_path / "none.npz")
    assert status == 2 and "run.json is missing" in error and len(error.splitlines()) == 1


def test_none_items_and_bfloat16(trained: TrainedRun, exported: Path) -> None:
    torch = pytest.importorskip("torch")
    inputs = digits(5)
    half = torch.from_numpy(inputs).to(torch.bfloat16)
    for encoder in (trained, load(exported)):
        assert encoder.encode(inputs[:0]).shape == (0, 12) and encoder.encode(inputs[:0]).dtype == np.uint8
        assert np.array_equal(encoder.encode(half), encoder.encode(inputs))


def test_images_are_read_where_items_are_images(exported: Path, tmp_path: Path) -> None:
    from PIL import Image

    (tmp_path / "images").mkdir()
    inputs = (digits(3)[..., 0] > 8).astype(np.uint8)  # dark enough for values to 16
    paths = [tmp_path / "images" / f"{number}.png" for number in range(3)]
    for image, path in zip(inputs, paths, strict=True):
        Image.fromarray(image).save(path)
    loaded = load(exported)
    codes = loaded.encode(inputs[..., None])
    assert np.array_equal(loaded.encode(tmp_path / "images"), codes)
    assert np.array_equal(loaded.encode(paths), codes) and np.array_equal(loaded.encode(paths[1]), codes[1:2])


def flip_a_byte(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def edit(key: str, value: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "hashbench.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))

    return change


@pytest.mark.parametrize(
    "damage, complaint",
    [
        (
            lambda folder: flip_a_byte(folder / "hash.npz"),
            r"hash\.npz: missing or damaged: .*hashbench\.json says its SHA-256: export the run again",
        ),
        (lambda folder: (folder / "hash.npz").unlink(), r"hash\.npz: missing or damaged: .*hashbench\.json says"),
        (edit("version", 2), r"format version 2 of hashbench .*; 1 is read here: export the run again"),
        (edit("format", "other"), r"hashbench\.json: damaged: format: "),
        (edit("bits", 0), r"hashbench\.json: damaged: bits: "),
        (edit("bits", 13), "damaged: it gives 12 bits, not 13"),
        (edit("steps", [{"operation": "eval", "arrays": {}}]), r"hash\.npz: damaged: unknown operation 'eval'"),
        (edit("steps", [{"operation": "add", "arrays": {"by": "away"}}]), r"hash\.npz: damaged: 'away is not a file"),
        (edit("steps", [{"operation": "add", "arrays": {}}]), r"hash\.npz: damaged: add takes the arrays by"),
        (edit("version", 1.0), r"hashbench\.json: damaged: version: "),
        (edit("input", {"shape": [1 << 15, 1 << 15], "dtype": "uint8"}), r"json: damaged: input\.shape: at most"),
        (edit("sha256", {}), r"damaged: an export in the form numpy has hash\.npz"),
        (lambda folder: (folder / "hashbench.json").write_text("{"), r"hashbench\.json: damaged: "),
    ],
)
def test_a_damaged_export_is_one_line(
    damage: Callable[[Path], object], complaint: str, exported: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(exported, folder)
    with np.errstate(all="ignore"):
        damage(folder)
    with one_line(complaint) as raised:
        load(folder).encode(digits(3))
    assert str(raised.value).startswith(str(folder))


@pytest.mark.parametrize(
    "inputs, complaint",
    [
        (np.zeros((8, 8, 1)), r"items: shape \(8, 8, 1\) is that of one item: give \[1, 8, 8, 1\], as x\[None\]"),
        ([[1.0, 2.0], [3.0]], "items: not an array: "),
        ([[None]], "items: a value is missing"),
        (np.zeros((2, 64)), r"items: shape \(2, 64\); the hasher takes \[n, 8, 8, 1\]"),
        (np.full((2, 8, 8, 1), np.nan), "items: a value is NaN; 0 to 16 are expected"),
        (np.full((2, 8, 8, 1), 17), "items: values from 17 to 17; 0 to 16 are expected"),
        (["a", "b"], "a: no such file or folder"),
    ],
)
def test_other_items_are_refused(inputs: object, complaint: str, exported: Path) -> None:
    with one_line(complaint):
        load(exported).encode(inputs)


def test_the_command_writes_a_folder_or_nothing(
    trained: TrainedRun, results: Path, tmp_path: Path, hashbench: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    run = trained.row.run
    first = ["--results", results, "export"]
    status, out, _ = hashbench(*first, run, "--to numpy --json")
    folder = tmp_path / f"{run}-numpy"
    assert status == 0 and json.loads(out) == json.loads((folder / "hashbench.json").read_text())
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "encode.py", "hash.npz", "hashbench.json"]
    assert len((folder / "README.md").read_text().splitlines()) == 10
    assert "4 bits of 0 fill the last byte" in (folder / "README.md").read_text()
    before = sorted(tmp_path.rglob("*"))
    status, _, error = hashbench(*first, run, "--to numpy")
    assert status == 2 and f"{run}-numpy: exists and is no empty folder: remove it, or name another with --out" in error
    for words, says in (
        ([run, "--to", "faiss"], "unknown form 'faiss': one of numpy, onnx, torch"),
        ([folder, "--to", "numpy"], f"{folder}: an export already: name the run, {run}"),
        ([folder, "--to", "faiss", "--codes"], f"{folder}: an export already: name the run, {run}"),
    ):
        assert hashbench(*first, *words, "--out", tmp_path / "new") == (2, "", f"error: {says}\n")
    monkeypatch.setattr("hashbench.showing.export.onnx_form.missing", lambda extra: ["onnxruntime"])
    status, _, error = hashbench(*first, run, "--to onnx --out", tmp_path / "new")
    assert status == 2 and "onnxruntime: not installed: ONNX needs the extra onnx: " in error
    shutil.move(results / "runs" / run, tmp_path / "away")
    status, _, error = hashbench(*first, run, "--to numpy --out", tmp_path / "new")
    shutil.move(tmp_path / "away", results / "runs" / run)
    assert status == 2 and "the working files of this run are not here: this trains it again: " in error
    assert sorted(tmp_path.rglob("*")) == before


def test_a_hash_function_without_steps_is_one_line(trained: TrainedRun, tmp_path: Path) -> None:
    from hashbench.learning.methods import HashFunction

    class Own(HashFunction):
        pass

    hasher = replace(load_hasher(trained.row, trained.store), function=Own())  # type: ignore[type-var]
    with one_line("Own: it says no steps from features to activations, so no file has it"):
        export(trained.row, hasher, "numpy", tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_an_operation_of_somebody_else_is_one_line(trained: TrainedRun, tmp_path: Path) -> None:
    def add(x: steps.Values) -> steps.Values:
        return x

    other = OfSteps(steps.Steps([steps.Step(add, {})], "float64"))
    with one_line(r"add: no operation of hashbench\.learning\.steps, so no file has it"):
        export(trained.row, other, "numpy", tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_the_loader_of_an_export_imports_little(exported: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "items.npy", digits(5))
    code = f"import sys, hashbench; hashbench.load({str(exported)!r}).encode({str(tmp_path / 'items.npy')!r})"
    heavy = "print([name for name in ('torch', 'scipy', 'sklearn', 'numba', 'pandas') if name in sys.modules])"
    assert python(f"{code}; {heavy}").strip() == "[]"


def test_vectors_of_cosine_are_scaled_as_the_data_set_is(tmp_path: Path, hashbench: CommandLine) -> None:
    vectors = 5 * np.random.default_rng(0).standard_normal((400, 12)).astype(np.float32) + 1
    np.save(tmp_path / "raw.npy", vectors)
    added = ("dataset", "add", "own_cosine", tmp_path / "raw.npy", "--metric", "cosine", "--queries", "40")
    hashbench.done(*added)
    trained = train("itq", "own_cosine", bits=8)
    folder = tmp_path / "exported"
    hashbench.done("export", trained.row.run, "--to numpy --out", folder)
    codes = trained.encode(vectors)
    assert np.array_equal(load(folder).encode(vectors), codes)
    assert np.array_equal(runpy.run_path(str(folder / "encode.py"))["encode"](vectors), codes)
    of_database = trained.database().bits()
    written = tmp_path / "codes"
    hashbench.done("export", trained.row.run, "--codes --to numpy --out", written)
    assert np.array_equal(codes[np.load(written / "ids.npy")], of_database)
    with one_line("row 1 has norm 0, and no cosine"):
        trained.encode(np.array([vectors[0], vectors[0] * 0]))
    with pytest.raises(ValueError, match="row 1 has norm 0, and no cosine"):
        runpy.run_path(str(folder / "encode.py"))["encode"](np.array([vectors[0], vectors[0] * 0]))

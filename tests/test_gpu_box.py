"""docs/gpu-box.md, followed literally: its commands in order, on small files of the official layouts, for one epoch.

Networks are narrow, with drawn weights in files of MatConvNet's layout; tables have their shortest codes, and some of
their methods: test_declared_cells_train has them all.
"""

import hashlib
import io
import json
import re
import shlex
import shutil
import tarfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from support.command_line import call
from support.tiny_matconvnet import backbone_of, cell, read
from support.toy_lists import write_image

from hashbench.foundation import paths
from hashbench.learning.models import alexnet_caffe, caffenet, vggf
from hashbench.learning.models._matconvnet import Conv, Drop, Full, Layer, Norm, Pool
from hashbench.learning.training import log
from hashbench.running.runs.store import Store

ROOT = Path(__file__).resolve().parent.parent
NETWORKS = {"vggf": (vggf, vggf.layers()), "alexnet_caffe": (alexnet_caffe, alexnet_caffe.LAYERS)}
NETWORKS |= {"caffenet": (caffenet, caffenet.LAYERS)}
BY_OTHERS = {"python3 -m venv .venv", ".venv/bin/pip install '.[train]'", ". .venv/bin/activate"}
TABLES = "sparse_hash_table1", "sparse_hash_table2", "sparse_hash_table5", "talr_table1", "talr_table2", "talr_table3"
CARD = """
title = "Small"
citation = "none"
licence = "none"
homepage = "none"
"""
LEFT_OUT = r"\bk = [234]\b|bits = (24|32|48|64) \}|method = .(machash|fasthash|structhash|dpsh|dtsh)\b"
NOTE = 'note = "made anew by each test"'
rng = np.random.default_rng(0)


def commands() -> list[str]:
    text = (ROOT / "docs" / "gpu-box.md").read_text()
    return re.findall(r"^    (\S.*)$", text, re.MULTILINE)


def source(file: str, members: list[str], how: str = 'urls = ["http://127.0.0.1:9/none"]') -> str:
    parts = "".join(f'[[sources.members]]\npath = "{path}"\n{NOTE}\n' for path in members)
    return f'[[sources]]\n{how}\nfile = "{file}"\n{NOTE}\n{"" if members else "images = true"}\n{parts}'


def images(n_items: int, side: int, n_classes: int, more: str) -> str:
    shape = f'kind = "images"\nitem_shape = [{side}, {side}, 3]\nvalue_max = 255\n'
    return f"{CARD}{shape}n_items = {n_items}\nn_classes = {n_classes}\n{more}\n"


def put_archive(dataset: str, file: str, members: dict[str, bytes]) -> None:
    """An archive as ``hashbench download`` keeps it."""
    path = paths.data() / dataset / "sources" / file
    path.parent.mkdir(parents=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def records(n: int, side: int, n_classes: int, label_bytes: int) -> bytes:
    """CIFAR's binary layout: the labels of an image, then its three planes."""
    labels = np.repeat((np.arange(n) % n_classes)[:, None], label_bytes, axis=1)
    return np.concatenate([labels, rng.integers(0, 256, (n, 3 * side**2))], axis=1).astype(np.uint8).tobytes()


def cifar10(root: Path) -> None:
    rules = '[protocols.s1]\ntitle = "s1"\ncitation = "none"\nqueries_per_class = 2\ntrain_per_class = 5\n'
    rules += '[protocols.s2]\ntitle = "s2"\ncitation = "none"\nqueries_per_class = 2\ntrain_per_class = 0\n'
    members = ["cifar-10-batches-bin/data_batch_1.bin", "cifar-10-batches-bin/test_batch.bin"]
    text = images(120, 8, 10, 'reader = "cifar10_binary"') + source("cifar-10-binary.tar.gz", members) + rules
    (root / "datasets" / "cifar10.toml").write_text(text)
    put_archive("cifar10", "cifar-10-binary.tar.gz", {member: records(60, 8, 10, 1) for member in members})


def cifar100(root: Path) -> None:
    rule = '[protocols.sparse_hash]\ntitle = "as published"\ncitation = "none"\ndraw = "stratified"\n'
    rule += "query = [640, 896]\npool = [0, 640]\nvalidation = 64\nseed = 40\n"
    members = {"cifar-100-binary/train.bin": 640, "cifar-100-binary/test.bin": 256}  # as many as there are buckets
    text = images(896, 32, 64, 'reader = "cifar100_binary"') + source("cifar-100-binary.tar.gz", [*members]) + rule
    (root / "datasets" / "cifar100.toml").write_text(text)
    put_archive("cifar100", "cifar-100-binary.tar.gz", {name: records(n, 32, 64, 2) for name, n in members.items()})


def nuswide21(root: Path, home: Path) -> None:
    """Forty photographs of 21 concepts, in the order of NUS-WIDE's list, with backslashes and all."""
    n_items = 126
    labels = np.eye(21, dtype=int)[np.arange(n_items) % 21]
    labels[::4, 0] = 1
    names = [f"{row % 7}_{1000 + row}.jpg" for row in range(n_items)]
    folder = home / "nuswide"
    folder.mkdir()
    (folder / "Imagelist.txt").write_text("".join(f"C:\\ImageData\\Flickr\\actor\\{name} \r\n" for name in names))
    (folder / "AllLabels81.txt").write_text("".join(" ".join(map(str, row)) + " \n" for row in labels))
    for name in names:
        write_image(folder / "Flickr" / "actor" / name, rng.integers(0, 256, (8, 8, 3)).astype(np.uint8))
    text = images(n_items, 8, 21, 'labels = "multi"\nreader = "nuswide"')
    text += source("Imagelist.txt", ["ImageList/Imagelist.txt"])
    text += source("AllLabels81.txt", ["Groundtruth/AllLabels/AllLabels81.txt"])
    text += source("NUS-WIDE-images.zip", [], 'manual = ["ask"]')
    text += '[protocols.s1]\ntitle = "s1"\ncitation = "none"\ndraw = "per_label"\n'
    text += "queries_per_label = 1\ntrain_per_label = 3\n"
    (root / "datasets" / "nuswide21.toml").write_text(text)


def imagenet100(root: Path, home: Path) -> None:
    """Two cards of one folder of images, of four classes, and HashNet's three lists as they are downloaded."""
    names = [f"n0{row % 4}_{row}.JPEG" for row in range(40)]
    for name in names:
        write_image(home / "ILSVRC2012" / "train" / name, rng.integers(0, 256, (8, 8, 3)).astype(np.uint8))
    lines = [f"train/{name} {' '.join(map(str, np.eye(4, dtype=int)[row % 4]))}\n" for row, name in enumerate(names)]
    lists = {"train": lines[:16], "database": lines[:32], "test": lines[32:]}
    for name, side in (("imagenet100", 8), ("imagenet100_256", 256)):  # 227 pixels are cut out of the second
        text = images(40, side, 4, 'reader = "image_lists"')
        for role, listed in lists.items():
            text += source(f"{role}.txt", [f"lists/imagenet100/{role}.txt"])
            kept = paths.data() / name / "sources" / f"{role}.txt"
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text("".join(listed))
        text += source("imagenet.tar.gz", [], 'manual = ["take it"]')
        text += '[protocols.hashnet]\ntitle = "lists"\ncitation = "none"\ndraw = "parts"\n'
        text += "train = [0, 16]\ndatabase = [0, 32]\nquery = [32, 40]\n"
        (root / "datasets" / f"{name}.toml").write_text(text)


def labelme(root: Path) -> None:
    text = (
        f'{CARD}kind = "features"\nitem_shape = [70]\nn_items = 90\nn_classes = 0\nlabels = "none"\nreader = "matrix"\n'
    )
    text += source("LabelMe_gist.mat", ["LabelMe_gist.mat"])
    text += '[protocols.s1]\ntitle = "s1"\ncitation = "none"\ndraw = "random"\nqueries = 10\ntrain = 40\n'
    text += '[protocols.s1.relevance]\nkind = "percentiles"\npercent = [20, 10, 5, 2]\nlevels = [1, 2, 5, 10]\n'
    (root / "datasets" / "labelme.toml").write_text(text)
    kept = paths.data() / "labelme" / "sources" / "LabelMe_gist.mat"
    kept.parent.mkdir(parents=True)
    savemat(kept, {"gist": rng.random((90, 70))})


def experiments(root: Path) -> None:
    """The methods train for one epoch of two steps; the tables have the first code length, k = 1, and some rows."""
    shutil.copytree(ROOT / "experiments" / "methods", root / "experiments" / "methods")
    for path in (root / "experiments" / "methods").glob("*.toml"):
        text = re.sub(r"^epochs = \{ value = \d+", "epochs = { value = 1", path.read_text(), flags=re.MULTILINE)
        text = re.sub(r"^steps_per_epoch = \{ value = 500", "steps_per_epoch = { value = 2", text, flags=re.MULTILINE)
        path.write_text(re.sub(r"^width = \{ value = 1.0", "width = { value = 0.125", text, flags=re.MULTILINE))
    (root / "experiments" / "tables").mkdir()
    for name in TABLES:
        lines = (ROOT / "experiments" / "tables" / f"{name}.toml").read_text().splitlines()
        lines = [line for line in lines if not re.search(LEFT_OUT, line)]
        kept = [re.sub(r"(values = \[[\d.]+)[^\]]*", r"\1", line) if "talr" in name else line for line in lines]
        (root / "experiments" / "tables" / f"{name}.toml").write_text("\n".join(kept))


def thin(layer: Layer) -> Layer:
    if isinstance(layer, Conv):
        return layer._replace(out=layer.out // 16)
    return layer._replace(out=64) if isinstance(layer, Full) else layer


def in_a_file(layers: tuple[Layer, ...]) -> list[dict[str, object]]:
    """The layers as MatConvNet writes them, with drawn weights."""
    written: list[dict[str, object]] = []
    channels = 3
    for layer in layers:
        if isinstance(layer, Conv | Full):
            groups = layer.groups if isinstance(layer, Conv) else 1
            shape = (layer.kernel, layer.kernel, channels // groups, layer.out)
            filters = rng.normal(0, 1.5 / np.sqrt(np.prod(shape[:3])), shape).astype(np.float32)
            weights = cell([filters, rng.normal(0, 0.3, (1, layer.out)).astype(np.float32)])
            written.append({"name": layer.name, "type": "conv", "weights": weights})
            written.append({"name": f"relu_{layer.name}", "type": "relu"})
            channels = layer.out
        elif isinstance(layer, Norm):
            written.append({"name": layer.name, "type": "lrn", "param": np.array([layer[1:]])})
        elif isinstance(layer, Pool):
            written.append({"name": layer.name, "type": "pool"})
        else:
            assert isinstance(layer, Drop)
    return written


def weights(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Files of the narrow networks by the address of the official ones, which they are here."""
    files = {}
    for name, (module, layers) in NETWORKS.items():
        few = tuple(map(thin, layers))
        official = module.MODEL.pretrained
        assert official is not None
        side = official.input.size[0]
        average = rng.uniform(90, 130, (side, side, 3)).astype(np.float32)
        path = folder / official.weights.file
        savemat(path, {"layers": cell(in_a_file(few)), "meta": {"normalization": {"averageImage": average}}})
        md5 = hashlib.md5(path.read_bytes()).hexdigest()
        known = replace(official, weights=replace(official.weights, md5=md5, read_mat=partial(read, few)))
        backbone = backbone_of(name, few, official.input.size)
        monkeypatch.setattr(module, "MODEL", replace(module.MODEL, backbone=backbone, pretrained=known))
        files[official.weights.url] = path
    return files


def test_the_page_lists_what_the_first_table_needs(capsys: pytest.CaptureFixture[str]) -> None:
    """The rows of its table of data and weights are the inputs that ``show`` lists, with the sizes that it has."""
    _, out, _ = call(capsys, "show", "talr_table1", "--json")
    inputs = json.loads(out)["table"]["needs"]["inputs"]
    rows = re.findall(r"^\| `([\w/]+)`.* \| ([\d.]+) GB \|$", (ROOT / "docs" / "gpu-box.md").read_text(), re.MULTILINE)
    assert {name for name, _ in rows} == {need["name"] for need in inputs}
    sizes = {need["name"]: f"{need['size_bytes'] / 1e9:.1f}" for need in inputs if need["size_bytes"]}
    assert sizes == {name: size for name, size in rows if name in sizes}


@pytest.mark.slow
def test_the_page_makes_every_table_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root, home = tmp_path / "root", tmp_path / "home"
    for folder in (root / "datasets", root / "experiments", home, tmp_path / "web"):
        folder.mkdir(parents=True)
    for name, value in {"HOME": home, "HASHBENCH_ROOT": root, "HASHBENCH_DATA": home / ".cache" / "hashbench"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    experiments(root)
    cifar10(root)
    cifar100(root)
    nuswide21(root, home)
    imagenet100(root, home)
    labelme(root)
    files = weights(tmp_path / "web", monkeypatch)
    lists = home / "nuswide"
    assert (lists / "Imagelist.txt").is_file()
    done = set()
    for line in commands():
        words = [word.replace("~", str(home), 1) if word.startswith("~/") else word for word in shlex.split(line)]
        if words[0] == "curl":
            (*_, path, url) = words
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(files[url], path)
        elif words[0] == "hashbench":
            if words[1:] == ["status"]:
                words += TABLES[:1]  # the cards of this test lack the protocols of other tables
            code, out, err = call(capsys, *words[1:])
            assert code == 0, f"{line}: {out}{err}"
            done.add(words[1])
        else:
            assert line in BY_OTHERS
    assert done == {"doctor", "download", "show", "speed", "run", "table", "results", "status"}
    rows = list(Store.default().rows())
    assert {(row.dataset, row.status) for row in rows} == {
        (name, "ok") for name in ("cifar10", "cifar100", "nuswide21", "imagenet100", "imagenet100_256", "labelme")
    }
    trained = [row for row in rows if row.arithmetic is not None]
    assert len(trained) >= 17
    assert all(log.read(Store.default().run_folder(row.run)) for row in trained)

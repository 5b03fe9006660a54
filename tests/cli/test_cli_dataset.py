"""``hashbench dataset``: data of one's own in one command, then used like any other from any folder."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from PIL import Image
from support.command_line import CommandLine
from support.limits import file_size_limit
from support.toy_root import REPOSITORY, table_of

from hashbench.foundation import paths
from hashbench.running.datasets import store
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.split import split
from hashbench.running.runs.store import Store

RNG = np.random.default_rng(5)
CLASSES = ("rose", "sun flower", "tulip")
N = 60
D = 6
FEATURES = RNG.standard_normal((N, D)) + np.repeat(np.arange(3), 20)[:, None]
IDS = np.repeat(np.arange(3), 20)
WORDS = np.array(CLASSES)[IDS]

pytestmark = pytest.mark.usefixtures("here")


def draw(size: tuple[int, int] = (5, 4), shade: int = 0) -> Image.Image:
    values = np.clip(RNG.normal(60 + 70 * shade, 20, (*size, 3)), 0, 255)
    return Image.fromarray(values.astype(np.uint8))


@pytest.fixture
def flowers(here: Path) -> Path:
    """The folder flowers, of three classes of ten images each."""
    for shade, name in enumerate(CLASSES):
        (here / "flowers" / name).mkdir(parents=True)
        for number in range(10):
            draw(shade=shade).save(here / "flowers" / name / f"{number}.png")
    return here / "flowers"


def test_a_folder_is_added_with_one_command(flowers: Path, hashbench: CommandLine) -> None:
    (flowers / CLASSES[0] / "notes.txt").write_text("no image")
    (flowers / ".DS_Store").write_text("")
    out = hashbench.printed("dataset add My-Flowers flowers")
    rule = "own: 1 queries a class; the whole database is trained on: 3 queries, 27 in the database, 27 to train"
    facts = [
        "my_flowers 30 images of 5 x 4 x 3",
        "ignored 1 files that are no images",
        "classes 3: rose (10), sun flower (10), tulip (10)",
        f"protocol {rule}",
        f"data {paths.data()}/my_flowers/my_flowers.h5",
        f"card {paths.data()}/cards/my_flowers.toml",
        "next hashbench train itq my_flowers --protocol own --bits 32",
    ]
    assert " ".join(out.split()) == " ".join(facts)
    card = load_card("my-flowers")
    data = store.verify(card)
    assert card.class_names == list(CLASSES)
    assert card.class_counts == [10, 10, 10]
    assert card.custom is True
    assert card.citation == ""
    assert card.licence == ""
    assert card.sources == []
    assert card.content_sha256 == data.sha256
    assert card.protocols["own"].ids_sha256 == split(data.labels, card.protocols["own"], "my_flowers", "own").sha256
    files = sorted(flowers.rglob("*.png"))
    assert data.names is not None
    assert [name.decode() for name in data.names] == [str(path.relative_to(flowers)) for path in files]
    np.testing.assert_array_equal(data.items, [np.asarray(Image.open(path)) for path in files])
    np.testing.assert_array_equal(data.labels, np.repeat(np.arange(3), 10))


def test_then_everything_works_as_for_any_other_from_any_folder(
    flowers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashbench: CommandLine
) -> None:
    hashbench.done(f"dataset add flowers {flowers} --queries 3/class")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    row = hashbench.json("train itq flowers --protocol own --bits 8")
    assert row["status"] == "ok"
    assert row["dataset"] == "flowers"
    ap = row["searches"]["database"]["ap"]
    assert ap["n_queries"] == 9
    hashbench.done(f"encode {row['run']} --out run.npz")
    assert hashbench.json("eval run.npz --metric ap")["metrics"]["ap"]["mean"] == pytest.approx(ap["mean"], abs=1e-12)
    hashbench.done("split flowers --protocol own --check")
    hashbench.done("features flowers --model pixels")
    hashbench.done(f"search {row['run']} --out near.npz")
    assert "flowers  custom data set, from flowers [own]" in re.sub("  +", "  ", hashbench.done("list datasets").out)
    shown = hashbench.done("doctor").out
    assert re.search(r"^flowers +30 items, .*, the checksum that the card states$", shown, re.MULTILINE)


def test_codes_of_custom_items_keep_their_labels(flowers: Path, hashbench: CommandLine, here: Path) -> None:
    hashbench.done("dataset add flowers flowers")
    run = hashbench.json("train itq flowers --protocol own --bits 8")["run"]

    def encoded(items: str = "flowers") -> Any:
        hashbench.done(f"encode {run} {items} --out codes.npz")
        return np.load("codes.npz")

    (flowers / "rose").rename(here / "gone")  # the ids are those of the data set, not of this folder
    codes = encoded()
    assert codes["labels"].tolist() == [1] * 10 + [2] * 10
    assert codes["names"][0] == "sun flower/0.png"
    assert hashbench.json("eval codes.npz --metric ap")["n_queries"] == 20
    (flowers / "tulip").rename(flowers / "lily")  # a class that the data set does not have: classes keep their names
    assert encoded()["labels"].tolist() == ["lily"] * 10 + ["sun flower"] * 10
    np.savez("items.npz", items=store.open_dataset(load_card("flowers")).items, labels=np.arange(30) % 3)
    assert encoded("items.npz")["labels"].tolist() == list(range(3)) * 10
    draw().save(flowers / "0.png")  # in no subfolder
    assert "labels" not in encoded()


def write_npz(**arrays: np.ndarray) -> str:
    np.savez("file.npz", **arrays)
    return "file.npz"


def write_h5(**arrays: object) -> str:
    with h5py.File("file.h5", "w") as file:
        file.update(arrays)
    return "file.h5"


def write_npy(**arrays: np.ndarray) -> str:
    for name, array in arrays.items():
        np.save(f"{name}.npy", array)
    return "items.npy"


def write_labels() -> None:
    """Labels in files of their own."""
    Path("words.txt").write_text("\n".join(WORDS) + "\n")
    write_npz(a=IDS, b=IDS)


NAMES = [*CLASSES]
FILES: dict[str, tuple[Callable[[], str], str, list[str]]] = {
    "npz": (lambda: write_npz(features=FEATURES, labels=IDS), "", []),
    "other names": (lambda: write_npz(X=FEATURES, y=IDS[:, None], z=IDS), "", []),
    "named": (lambda: write_npz(a=FEATURES, b=IDS), "--items a --labels b", []),
    "words": (lambda: write_npz(data=FEATURES, target=WORDS), "", NAMES),
    "gaps": (lambda: write_npz(items=FEATURES, labels=3.0 * IDS + 1), "", ["1", "4", "7"]),
    "one-hot": (lambda: write_npz(items=FEATURES, labels=np.eye(3)[IDS]), "", []),
    "h5": (lambda: write_h5(items=FEATURES, labels=IDS), "", []),
    "h5 words": (lambda: write_h5(items=FEATURES, labels=WORDS.tolist()), "", NAMES),
    "h5 bytes": (lambda: write_h5(items=FEATURES, labels=WORDS.astype("S")), "", NAMES),
    "npy": (lambda: write_npy(items=FEATURES, ids=IDS), "--labels ids.npy", []),
    "npy of another file": (lambda: write_npy(items=FEATURES), "--labels file.npz:a", []),
    "npy and text": (lambda: write_npy(items=FEATURES), "--labels words.txt", NAMES),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_file_of_features_is_added(kind: str, hashbench: CommandLine) -> None:
    make, options, names = FILES[kind]
    write_labels()
    out = hashbench.printed(f"dataset add mine {make()} {options}")
    card = load_card("mine")
    data = store.verify(card)
    np.testing.assert_array_equal(data.items, FEATURES.astype(np.float32))
    np.testing.assert_array_equal(data.labels, IDS)
    assert card.kind == "features"
    assert card.class_names == names
    assert card.class_counts == [20, 20, 20]
    assert out.endswith("hashbench train itq mine --protocol own --bits 6\n")


def test_images_of_a_file_are_added(hashbench: CommandLine) -> None:
    images = RNG.integers(0, 17, (N, 4, 5))
    assert hashbench.done("dataset add mine", write_npz(images=images, labels=IDS)).err == ""
    np.testing.assert_array_equal(store.verify(load_card("mine")).items, images[..., None])
    assert load_card("mine").value_max == 255


def test_several_labels_are_kept_and_split_at_random_or_by_label(hashbench: CommandLine) -> None:
    labels = (RNG.random((N, 3)) < 0.5).astype(np.uint8)
    labels[:, 0] |= 1 - labels.any(1).astype(np.uint8)
    text = hashbench.done("dataset add mine", write_npz(items=FEATURES, labels=labels)).text
    assert "6 queries, 54 in the database, 54 to train" in text
    np.testing.assert_array_equal(store.verify(load_card("mine")).labels, labels)
    without = write_npz(items=FEATURES, labels=np.where(np.arange(N)[:, None] < 7, 0, labels))
    note = "note: file.npz: labels: 7 items of 60 have no label, and are relevant to nothing\n"
    assert hashbench.done("dataset add without", without).err == note
    assert load_card("without").protocols["own"].draw == "random"
    hashbench.done("train lsh mine --protocol own --bits 8")
    text = hashbench.done("dataset add mine file.npz --replace --queries 2/class --train 3/class").text
    assert "6 queries, 54 in the database, 9 to train" in text


def test_the_protocol_is_as_asked_for(hashbench: CommandLine) -> None:
    add_mine = f"dataset add mine {write_npz(items=FEATURES, labels=IDS)} --replace"
    drawn = set()
    for seed in (0, 1):
        hashbench.done(f"{add_mine} --queries 4/class --train 5/class --seed {seed}")
        rule = load_card("mine").protocols["own"]
        assert rule.seed == seed
        assert rule.n_queries == 12
        assert rule.n_database == 48
        assert rule.n_train == 15
        drawn.add(rule.ids_sha256)
    assert len(drawn) == 2
    hashbench.done(f"{add_mine} --queries 7 --train 11")
    rule = load_card("mine").protocols["own"]
    assert rule.draw == "random"
    assert rule.n_queries == 7
    assert rule.n_database == 53
    assert rule.n_train == 11
    write_npz(items=FEATURES, labels=np.r_[IDS[:-1], 3])  # a class of one item
    hashbench.done(f"{add_mine} --queries 10")


NO_CLASS = {
    "negative ids": (np.where(IDS == 1, -7, IDS), "a negative number"),
    "numbers as texts": (np.where(IDS == 1, -1, IDS).astype(str), "a negative number or an empty text"),
    "empty texts": (np.where(IDS == 1, "", WORDS), "an empty text"),
}


@pytest.mark.parametrize("kind", NO_CLASS)
def test_items_without_a_class_are_relevant_to_nothing_as_in_eval(kind: str, hashbench: CommandLine) -> None:
    labels, note = NO_CLASS[kind]
    err = hashbench.done("dataset add mine", write_npz(x=FEATURES, y=labels)).err
    without = "20 items of 60 are without one, and relevant to nothing"
    assert err == f"note: file.npz: y: {note} is no class: {without}\n"
    assert load_card("mine").n_classes == 2
    np.testing.assert_array_equal(store.open_dataset(load_card("mine")).labels, np.where(IDS == 1, -1, IDS // 2))
    row = hashbench.json("train itq mine --protocol own --bits 4")
    assert row["searches"]["database"]["ap"]["n_empty"] == 0


def test_a_note_says_how_labels_and_features_are_read(hashbench: CommandLine) -> None:
    words = np.array(["cat", "sky cat", "sky"])[IDS]
    err = hashbench.done("dataset add mine", write_npz(x=np.c_[FEATURES, np.ones((N, 2))], y=words)).err
    assert err == "note: file.npz: 2 of 8 features are the same for all items, and tell none apart\n"
    signed = np.where(np.eye(3)[IDS] + np.roll(np.eye(3), 1, 0)[IDS] > 0, 1, -1)
    err = hashbench.done("dataset add hot", write_npz(x=FEATURES, y=signed)).err
    assert err == "note: file.npz: y: 60 labels are -1, read as absent\n"


def test_images_of_several_sizes_need_a_size_and_grey_ones_stay_grey(flowers: Path, hashbench: CommandLine) -> None:
    draw((9, 7)).save(flowers / "rose" / "x.png")
    hashbench.done("dataset add mine flowers --size 8")
    assert store.open_dataset(load_card("mine")).items.shape == (31, 8, 8, 3)
    (flowers / "rose" / "x.png").unlink()
    for path in flowers.rglob("*.png"):
        Image.open(path).convert("L").save(path)
    hashbench.done("dataset add mine flowers --replace")
    assert load_card("mine").item_shape == [5, 4, 1]
    draw().save(flowers / "rose" / "0.png")
    hashbench.done("dataset add mine flowers --replace")
    assert load_card("mine").item_shape == [5, 4, 3]


def test_a_broken_image_leaves_an_old_data_set_as_it_was_and_a_full_disk_nothing(
    flowers: Path, hashbench: CommandLine
) -> None:
    with file_size_limit(8192):
        assert "mine.h5: cannot be written" in hashbench.refused("dataset add mine flowers --size 64")
    assert not (paths.data() / "mine").exists()
    hashbench.done("dataset add mine flowers")
    before = store.verify(load_card("mine")).sha256
    (flowers / "tulip" / "9.png").write_bytes(b"no image")
    line = hashbench.refused("dataset add mine flowers --replace")
    assert "flowers/tulip/9.png: not an image that can be read" in line
    assert store.verify(load_card("mine")).sha256 == before


def test_missing_data_are_added_again_by_the_command_that_is_shown(flowers: Path, hashbench: CommandLine) -> None:
    hashbench("dataset add mine flowers")
    again = f"hashbench dataset add mine {flowers} --replace"
    path = paths.data() / "mine" / "mine.h5"
    path.write_bytes(path.read_bytes()[:-50])
    train = "train lsh mine --protocol own --bits 8"
    assert again in hashbench.refused(train)
    path.unlink()
    for command in (train, "download mine"):
        assert again in hashbench.refused(command)
    assert f"missing: {again}" in hashbench.done("doctor").out
    hashbench.done(again.removeprefix("hashbench "))
    assert store.verify(load_card("mine")).labels.shape == (30,)


def test_the_card_keeps_the_arguments(here: Path, hashbench: CommandLine) -> None:
    odd = Path(os.fsdecode(b"it \xff's.npy"))
    Path(write_npy(items=FEATURES, ids=IDS)).rename(odd)
    hashbench.done("dataset add mine", odd, "--labels ids.npy --queries 5 --seed 2")
    words = shlex.split(load_card("mine").made_from)
    assert words == [f"{here}/it \ufffd's.npy", "--queries", "5", "--seed", "2", "--labels", f"{here}/ids.npy"]
    hashbench.done("list datasets")
    write_labels()
    hashbench.done("dataset add mine", write_npy(items=FEATURES), "--labels file.npz:a --replace")
    before = load_card("mine")
    assert before.how_to_get == f"hashbench dataset add mine {here}/items.npy --labels {here}/file.npz:a --replace"
    hashbench.done(before.how_to_get.removeprefix("hashbench "))
    assert load_card("mine") == before


def test_a_killed_add_does_not_stop_the_next(flowers: Path, hashbench: CommandLine) -> None:
    folder = paths.data() / "mine"
    folder.mkdir(parents=True)
    (folder / "mine.h5").write_bytes(b"of a process that was killed before it wrote the card")
    (folder / ".mine.h5.abc.part").write_bytes(b"half")
    paths.custom_cards().mkdir()
    (paths.custom_cards() / ".mine.toml.abc.part").write_text("half")
    hashbench.done("dataset add mine flowers")
    assert [path.name for path in folder.iterdir()] == ["mine.h5"]
    assert {path.name for path in paths.custom_cards().iterdir()} == {"mine.toml", ".lock"}


def test_tables_of_one_s_own_take_it(flowers: Path, hashbench: CommandLine, here: Path) -> None:
    hashbench("dataset add mine flowers")
    table = table_of({"lsh": []}, [8]).replace('"digits"', '"mine"').replace('"s1"', '"own"')
    (here / "experiments" / "tables").mkdir(parents=True)
    (here / "experiments" / "tables" / "tiny.toml").write_text(table)
    hashbench.done("--root . run tiny")
    (row,) = Store.default().rows()
    assert f"{row.metrics['ap'].mean:.4f}"[:5] in hashbench.done("--root . table tiny --format csv").out


def test_the_page_shows_what_is_printed(hashbench: CommandLine) -> None:
    page = (REPOSITORY / "docs" / "images.md").read_text()
    (block,) = re.findall(r"```text\n\$ (python -c .*?)```", page, re.DOTALL)
    make, command, *shown = block.splitlines()
    exec(shlex.split(make)[2], {})
    answer = hashbench.done(command.removeprefix("$ hashbench "))
    assert answer.err == ""
    assert answer.out.replace(str(paths.data()), "~/.cache/hashbench").splitlines() == shown


@pytest.mark.slow
def test_two_processes_may_add_at_once(flowers: Path) -> None:
    command = [sys.executable, "-m", "hashbench", "dataset", "add", "mine", str(flowers)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    both = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [process.communicate(timeout=60)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2]
    assert sum("mine is there already: give --replace" in text for text in errors) == 1
    assert store.verify(load_card("mine")).labels.shape == (30,)

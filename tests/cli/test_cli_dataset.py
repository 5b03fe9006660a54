"""``hashbench dataset``: data of one's own in one command, then used like any other from any folder."""

import json
import os
import re
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image
from support.command_line import CommandLine
from support.limits import file_size_limit

from hashbench.datasets import store
from hashbench.datasets.card import cards, load_card
from hashbench.datasets.split import split
from hashbench.foundation import paths
from hashbench.runs.store import Store

REPOSITORY = Path(__file__).resolve().parent.parent.parent
RNG = np.random.default_rng(5)
CLASSES = ("rose", "sun flower", "tulip")
N, D = 60, 6
FEATURES = RNG.standard_normal((N, D)) + np.repeat(np.arange(3), 20)[:, None]
IDS = np.repeat(np.arange(3), 20)


@pytest.fixture
def hashbench(capsys: pytest.CaptureFixture[str]) -> Call:
    return partial(call, capsys)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, in which nothing is but what the test makes."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def draw(size: tuple[int, int] = (5, 4), mode: str = "RGB", shade: int = 0) -> Image.Image:
    values = np.clip(RNG.normal(60 + 70 * shade, 20, (*size, 3)), 0, 255).astype(np.uint8)
    return Image.fromarray(values).convert(mode)


@pytest.fixture
def flowers(here: Path) -> Path:
    """A folder of three classes of ten images each."""
    for shade, name in enumerate(CLASSES):
        (here / "flowers" / name).mkdir(parents=True)
        for number in range(10):
            draw(shade=shade).save(here / "flowers" / name / f"{number}.png")
    return here / "flowers"


def test_a_folder_is_added_with_one_command(flowers: Path, hashbench: CommandLine) -> None:
    (flowers / CLASSES[0] / "notes.txt").write_text("no image")
    (flowers / ".DS_Store").write_text("")
    code, out, err = hashbench("dataset add My-Flowers flowers")
    assert (code, err) == (0, "")
    rule = "own: 1 queries a class; the whole database is trained on: 3 queries, 27 in the database, 27 to train"
    assert (
        out.split()
        == " ".join(
            [
                "my_flowers 30 images of 5 x 4 x 3",
                "ignored 1 files that are no images",
                "classes 3: rose (10), sun flower (10), tulip (10)",
                f"protocol {rule}",
                f"data {paths.data()}/my_flowers/my_flowers.h5",
                f"card {paths.data()}/cards/my_flowers.toml",
                "next hashbench train itq my_flowers --protocol own --bits 32",
            ]
        ).split()
    )
    card, data = load_card("my-flowers"), store.verify(load_card("my_flowers"))
    assert (card.class_names, card.class_counts) == (list(CLASSES), [10, 10, 10])
    assert (card.custom, card.citation, card.licence, card.sources) == (True, "", "", [])
    assert card.content_sha256 == data.sha256
    assert card.protocols["own"].ids_sha256 == split(data.labels, card.protocols["own"], "my_flowers", "own").sha256
    files = sorted(path for path in flowers.rglob("*.png"))
    assert [name.decode() for name in data.names] == [str(path.relative_to(flowers)) for path in files]
    np.testing.assert_array_equal(data.items, [np.asarray(Image.open(path)) for path in files])
    np.testing.assert_array_equal(data.labels, np.repeat(np.arange(3), 10))


def test_then_everything_works_as_for_any_other_from_any_folder(
    flowers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashbench: CommandLine
) -> None:
    assert hashbench(f"dataset add flowers {flowers} --queries 3/class").code == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    train = ("train", "itq", "flowers", "--protocol", "own", "--bits", 8, "--json")
    code, out, _ = hashbench(*train)
    row = json.loads(out)
    assert (code, row["status"], row["dataset"]) == (0, "ok", "flowers")
    assert row["searches"]["database"]["ap"]["n_queries"] == 9
    assert hashbench(f"encode {row['run']} --out run.npz").code == 0
    code, out, _ = hashbench("eval run.npz --json --metric ap")
    assert code == 0
    assert json.loads(out)["metrics"]["ap"]["mean"] == pytest.approx(
        row["searches"]["database"]["ap"]["mean"], abs=1e-12
    )
    assert hashbench("split flowers --protocol own --check").code == 0
    assert hashbench("features flowers --model pixels").code == 0
    assert hashbench(f"search {row['run']} --out near.npz").code == 0
    code, out, _ = hashbench("list datasets")
    assert re.search(r"^flowers +custom data set, from flowers \[own\]$", out, re.MULTILINE)
    code, out, _ = hashbench("doctor")
    assert re.search(r"^flowers +30 items, .*, the checksum that the card states$", out, re.MULTILINE)


def test_codes_of_own_items_keep_their_labels(flowers: Path, hashbench: CommandLine, here: Path) -> None:
    assert hashbench(f"dataset add flowers {flowers}").code == 0
    assert hashbench("train itq flowers --protocol own --bits 8").code == 0
    (row,) = Store.default().rows()
    (flowers / "rose").rename(here / "gone")  # the ids are those of the data set, not of this folder
    assert hashbench(f"encode {row.run} {flowers} --out own.npz").code == 0
    with np.load("own.npz", allow_pickle=False) as file:
        assert file["labels"].tolist() == [1] * 10 + [2] * 10
        assert file["names"][0] == "sun flower/0.png"
    code, out, _ = hashbench("eval own.npz --json --metric ap")
    assert (code, json.loads(out)["n_queries"]) == (0, 20)
    (flowers / "tulip").rename(flowers / "lily")
    assert hashbench(f"encode {row.run} {flowers} --out own.npz").code == 0
    with np.load("own.npz", allow_pickle=False) as file:  # classes that the data set does not have keep their names
        assert file["labels"].tolist() == ["lily"] * 10 + ["sun flower"] * 10
    np.savez("items.npz", items=store.open_dataset(load_card("flowers")).items, labels=np.arange(30) % 3)
    assert hashbench(f"encode {row.run} items.npz --out own.npz").code == 0
    with np.load("own.npz", allow_pickle=False) as file:
        assert file["labels"].tolist() == list(range(3)) * 10
    image = flowers / "lily" / "0.png"
    for command, reason in (("encode", "named twice"), ("search", "name a FILE.npz")):  # no item is replaced
        code, out, err = hashbench(f"{command} {row.run} {image} --out {image}")
        assert (code, out, reason in err) == (2, "", True)
    Image.open(flowers / "lily" / "0.png").save(flowers / "0.png")
    assert hashbench(f"encode {row.run} {flowers} --out own.npz").code == 0
    with np.load("own.npz", allow_pickle=False) as file:  # an image is in no subfolder: no labels
        assert "labels" not in file


def write_npz(**arrays: np.ndarray) -> str:
    np.savez("file.npz", **arrays)
    return "file.npz"


def write_h5(**arrays: object) -> str:
    with h5py.File("file.h5", "w") as file:
        for name, array in arrays.items():
            file[name] = array
    return "file.h5"


def write_npy(**arrays: np.ndarray) -> str:
    for name, array in arrays.items():
        np.save(f"{name}.npy", array)
    return "items.npy"


WORDS = np.array(CLASSES)[IDS]
NAMED = {
    "npz": (lambda: write_npz(features=FEATURES, labels=IDS), (), []),
    "other names": (lambda: write_npz(X=FEATURES, y=IDS[:, None], z=IDS), (), []),
    "named": (lambda: write_npz(a=FEATURES, b=IDS), ("--items", "a", "--labels", "b"), []),
    "words": (lambda: write_npz(data=FEATURES, target=WORDS), (), list(CLASSES)),
    "gaps": (lambda: write_npz(items=FEATURES, labels=3.0 * IDS + 1), (), ["1", "4", "7"]),
    "one-hot": (lambda: write_npz(items=FEATURES, labels=np.eye(3)[IDS]), (), []),
    "h5": (lambda: write_h5(items=FEATURES, labels=IDS), (), []),
    "h5 words": (lambda: write_h5(items=FEATURES, labels=WORDS.tolist()), (), list(CLASSES)),
    "h5 bytes": (lambda: write_h5(items=FEATURES, labels=WORDS.astype("S")), (), list(CLASSES)),
    "npy": (lambda: write_npy(items=FEATURES, ids=IDS), ("--labels", "ids.npy"), []),
    "npy of another file": (
        lambda: write_npz(a=IDS, b=IDS) and write_npy(items=FEATURES),
        ("--labels", "file.npz:a"),
        [],
    ),
    "npy and text": (
        lambda: [Path("words.txt").write_text("\n".join(WORDS) + "\n"), write_npy(items=FEATURES)][1],
        ("--labels", "words.txt"),
        list(CLASSES),
    ),
}


@pytest.mark.parametrize("case", NAMED)
def test_a_file_of_features_is_added(case: str, here: Path, hashbench: CommandLine) -> None:
    make, options, names = NAMED[case]
    code, out, err = hashbench("dataset add own", make(), *options)
    assert (code, err) == (0, "")
    data, card = store.verify(load_card("own")), load_card("own")
    np.testing.assert_array_equal(data.items, FEATURES.astype(np.float32))
    np.testing.assert_array_equal(data.labels, IDS)
    assert (card.kind, card.class_names, card.class_counts) == ("features", names, [20, 20, 20])
    assert out.endswith("hashbench train itq own --protocol own --bits 6\n")


def test_images_of_a_file_are_added(here: Path, hashbench: CommandLine) -> None:
    images = RNG.integers(0, 17, (N, 4, 5))
    code, _, err = hashbench("dataset add own", write_npz(images=images, labels=IDS))
    assert code == 0
    assert err == (
        "note: the first images have values up to 16, and 255 is white: if 16 is, give --value-max 16 --replace\n"
    )
    assert hashbench("dataset add own file.npz --value-max 16 --replace")[::2] == (0, "")
    np.testing.assert_array_equal(store.verify(load_card("own")).items, images[..., None])
    assert load_card("own").value_max == 255


def test_several_labels_are_kept_and_split_at_random_or_by_label(here: Path, hashbench: CommandLine) -> None:
    labels = (RNG.random((N, 3)) < 0.5).astype(np.uint8)
    labels[:, 0] |= 1 - labels.any(1).astype(np.uint8)
    code, out, _ = hashbench("dataset add own", write_npz(items=FEATURES, labels=labels))
    assert code == 0 and "6 queries, 54 in the database, 54 to train" in " ".join(out.split())
    np.testing.assert_array_equal(store.verify(load_card("own")).labels, labels)
    without = np.where(np.arange(N)[:, None] < 7, 0, labels)
    np.savez("without.npz", items=FEATURES, labels=without)
    err = hashbench("dataset add without without.npz").err
    assert err == "note: without.npz: labels: 7 items of 60 have no label, and are relevant to nothing\n"
    assert load_card("own").protocols["own"].draw == "random"
    code, out, _ = hashbench("train lsh own --protocol own --bits 8")
    assert code == 0
    options = ("--replace", "--queries", "2/class", "--train", "3/class")
    code, out, _ = hashbench("dataset add own file.npz", *options)
    assert code == 0 and "6 queries, 54 in the database, 9 to train" in " ".join(out.split())
    rows = "\n".join(",".join(map(str, [*row, *own])) for row, own in zip(FEATURES, labels, strict=True))
    Path("file.csv").write_text(f"a,b,c,d,e,f,red,green,blue\n{rows}\n")
    assert hashbench("dataset add own file.csv --labels red,green,blue --replace").code == 0
    np.testing.assert_array_equal(store.verify(load_card("own")).labels, labels)
    assert load_card("own").class_names == ["red", "green", "blue"]


def test_the_protocol_is_as_asked_for(here: Path, hashbench: CommandLine) -> None:
    file = write_npz(items=FEATURES, labels=IDS)
    drawn = {}
    for seed in (0, 1):
        options = ("--queries", "4/class", "--train", "5/class", "--seed", seed, "--replace")
        assert hashbench(f"dataset add own {file}", *options).code == 0
        rule = load_card("own").protocols["own"]
        assert (rule.seed, rule.n_queries, rule.n_database, rule.n_train) == (seed, 12, 48, 15)
        drawn[seed] = rule.ids_sha256
    assert drawn[0] != drawn[1]
    assert hashbench(f"dataset add own {file} --queries 7 --train 11 --replace").code == 0
    rule = load_card("own").protocols["own"]
    assert (rule.draw, rule.n_queries, rule.n_database, rule.n_train) == ("random", 7, 53, 11)


def refused(hashbench: CommandLine, message: str, *arguments: object, name: str = "own") -> None:
    """Asserts that the command is refused with one line that holds ``message``, and that nothing is stored."""
    known = cards()
    code, out, err = hashbench(f"dataset add {name}", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ") and err.count("\n") == 1
    assert message in err
    assert cards() == known
    left = {path.name for path in paths.data().rglob("*") if path.is_file()} - {".lock"}
    assert left == {f"{each}.{end}" for each in known if load_card(each).custom for end in ("toml", "h5")}


def test_photographs_that_no_memory_holds_are_refused_with_what_they_need(
    here: Path, hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(add, "MOST_IMAGE_BYTES", 100_000_000)
    for number in range(4):
        (here / "photos" / "ab"[number % 2]).mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4096, 4096)).save(here / "photos" / "ab"[number % 2] / f"{number}.png")
    refused(hashbench, "4 images of 4096 x 4096 pixels need 0.2 GB of memory: give --size N", "photos")
    assert hashbench("dataset add own photos --size 8").code == 0


WITHOUT = "20 items of 60 are without one, and relevant to nothing"
NO_CLASS = {
    "negative ids": (np.where(IDS == 1, -1, IDS), "a negative number"),
    "other negative ids": (np.where(IDS == 1, -7, IDS), "a negative number"),
    "numbers as texts": (np.where(IDS == 1, -1, IDS).astype(str), "a negative number or an empty text"),
    "empty texts": (np.where(IDS == 1, "", np.array(CLASSES)[IDS]), "an empty text"),
}


@pytest.mark.parametrize("case", NO_CLASS)
def test_items_without_a_class_are_relevant_to_nothing_as_in_eval(
    case: str, here: Path, hashbench: CommandLine
) -> None:
    labels, note = NO_CLASS[case]
    code, out, err = hashbench("dataset add own", write_npz(x=FEATURES, y=labels))
    assert (code, err) == (0, f"note: file.npz: y: {note} is no class: {WITHOUT}\n")
    assert load_card("own").n_classes == 2
    np.testing.assert_array_equal(store.open_dataset(load_card("own")).labels, np.where(IDS == 1, -1, IDS // 2))
    code, out, _ = hashbench("train itq own --protocol own --bits 4 --json")
    assert code == 0
    assert json.loads(out)["searches"]["database"]["ap"]["n_empty"] == 0


def test_what_was_chosen_is_said(here: Path, hashbench: CommandLine) -> None:
    words = np.array(["cat", "sky cat", "sky"])[IDS]
    features = np.c_[FEATURES, np.ones((N, 2))]
    code, _, err = hashbench("dataset add own", write_npz(x=features, y=words))
    assert code == 0
    assert err.splitlines() == [
        (
            "note: file.npz: y: names such as sky cat are read as one class each; "
            "for several labels an item, give a column of 0 and 1 a label"
        ),
        "note: file.npz: 2 of 8 features are the same for all items, and tell none apart",
    ]
    signed = np.where(np.eye(3)[IDS] + np.roll(np.eye(3), 1, 0)[IDS] > 0, 1, -1)
    code, _, err = hashbench("dataset add hot", write_npz(x=FEATURES, y=signed))
    assert (code, err) == (0, "note: file.npz: y: 60 labels are -1, read as absent\n")


def test_a_data_set_is_removed_and_nothing_else(flowers: Path, hashbench: CommandLine) -> None:
    hashbench(f"dataset add own {flowers}")
    hashbench(f"dataset add other {flowers}")
    hashbench("features own --model pixels")
    hashbench("split own --protocol own")
    removed = add.remove("OWN")
    folder = paths.data() / "own"
    gone = [paths.data() / "cards" / "own.toml", folder / "own.h5", folder / "features", folder / "splits"]
    assert removed == gone
    assert not folder.exists() and "own" not in cards() and store.verify(load_card("other")).name == "other"
    for name in ("digits", "own", "../other"):
        with pytest.raises(HashbenchError, match=rf"^{name}: not a data set that .* these are: other$"):
            add.remove(name)
    code, out, err = hashbench("dataset remove other")
    assert (code, out) == (2, "") and err.startswith("error: hashbench dataset remove is gone: remove NAME/ and cards/")


def test_images_of_several_sizes_need_a_size(flowers: Path, hashbench: CommandLine) -> None:
    draw((9, 7)).save(flowers / "rose" / "x.png")
    refused(
        hashbench,
        "flowers: images of 2 sizes, from 4 x 5 to 7 x 9 pixels: give --size N to resize each to N x N "
        "(32 for small networks, 224 for pretrained ones)",
        "flowers",
    )
    assert hashbench("dataset add own flowers --size 8").code == 0
    assert store.open_dataset(load_card("own")).items.shape == (31, 8, 8, 3)


def test_grey_images_stay_grey(flowers: Path, hashbench: CommandLine) -> None:
    for path in flowers.rglob("*.png"):
        Image.open(path).convert("L").save(path)
    assert hashbench("dataset add own flowers").code == 0
    assert load_card("own").item_shape == [5, 4, 1]
    draw().save(flowers / "rose" / "0.png")
    assert hashbench("dataset add own flowers --replace").code == 0
    assert load_card("own").item_shape == [5, 4, 3]


def test_a_broken_image_leaves_nothing_and_an_old_data_set_as_it_was(flowers: Path, hashbench: CommandLine) -> None:
    whole = (flowers / "tulip" / "9.png").read_bytes()
    (flowers / "tulip" / "9.png").write_bytes(whole[: len(whole) // 2])  # its header is right
    refused(hashbench, "flowers/tulip/9.png: not an image that can be read", "flowers")
    assert not (paths.data() / "own").exists()
    (flowers / "tulip" / "9.png").write_bytes(whole)
    assert hashbench("dataset add own flowers").code == 0
    before = store.verify(load_card("own")).sha256
    (flowers / "tulip" / "9.png").write_bytes(b"no image")
    refused(hashbench, "flowers/tulip/9.png: not an image that can be read", "flowers", "--replace")
    assert store.verify(load_card("own")).sha256 == before


def test_a_full_disk_leaves_nothing(flowers: Path, hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    with file_size_limit(8192):
        refused(hashbench, "own.h5: cannot be written", "flowers", "--size", 64)
    assert not (paths.data() / "own").exists()


def test_missing_data_are_added_again_by_the_command_that_is_shown(flowers: Path, hashbench: CommandLine) -> None:
    hashbench("dataset add own flowers")
    again = f"hashbench dataset add own {flowers} --replace"
    path = paths.data() / "own" / "own.h5"
    path.write_bytes(path.read_bytes()[:-50])
    code, _, err = hashbench("train lsh own --protocol own --bits 8")
    assert code == 2 and again in err
    path.unlink()
    for command in (["train", "lsh", "own", "--protocol", "own", "--bits", "8"], ["download", "own"]):
        code, _, err = hashbench(*command)
        assert code == 2 and again in err and err.count("\n") == 1
    assert f"missing: {again}" in hashbench("doctor").out
    assert hashbench(*again.split()[1:]).code == 0
    assert store.verify(load_card("own")).labels.shape == (30,)


def test_the_card_keeps_the_arguments(here: Path, hashbench: CommandLine) -> None:
    write_npy(items=FEATURES, ids=IDS)
    Path("items.npy").rename(os.fsdecode(b"it \xff's.npy"))
    command = (
        "dataset",
        "add",
        "own",
        os.fsdecode(b"it \xff's.npy"),
        "--labels",
        "ids.npy",
        "--queries",
        5,
        "--seed",
        2,
    )
    assert hashbench(*command).code == 0
    words = shlex.split(load_card("own").made_from)
    assert words == [f"{here}/it \ufffd's.npy", "--queries", "5", "--seed", "2", "--labels", f"{here}/ids.npy"]
    assert hashbench("list datasets").code == 0
    file = write_csv("1,2,3,4,5,6,7", IDS)
    assert hashbench(f"dataset add own {file} --header --replace").code == 0
    assert load_card("own").how_to_get == f"hashbench dataset add own {here}/file.csv --header --replace"
    before = load_card("own")
    assert hashbench(*shlex.split(before.how_to_get)[1:]).code == 0
    assert load_card("own") == before
    assert hashbench("dataset add own", write_csv("", IDS), "--no-header --replace").code == 0
    assert load_card("own").made_from == f"{here}/file.csv --no-header"
    options = ("--labels", f"{write_npz(a=IDS, b=IDS)}:a", "--replace")
    assert hashbench("dataset add own", write_npy(items=FEATURES), *options).code == 0
    assert load_card("own").made_from == f"{here}/items.npy --labels {here}/file.npz:a"


def test_a_killed_add_does_not_stop_the_next(flowers: Path, hashbench: CommandLine) -> None:
    folder = paths.data() / "own"
    folder.mkdir(parents=True)
    (folder / "own.h5").write_bytes(b"of a process that was killed before it wrote the card")
    (folder / ".own.h5.abc.part").write_bytes(b"half")
    (paths.custom_cards()).mkdir()
    (paths.custom_cards() / ".own.toml.abc.part").write_text("half")
    assert hashbench(f"dataset add own {flowers}").code == 0
    assert [path.name for path in folder.iterdir()] == ["own.h5"]
    assert {path.name for path in paths.custom_cards().iterdir()} == {"own.toml", ".lock"}


def test_tables_of_one_s_own_take_it(flowers: Path, hashbench: CommandLine, tmp_path: Path) -> None:
    hashbench(f"dataset add own {flowers}")
    tables = tmp_path / "root" / "experiments" / "tables"
    tables.mkdir(parents=True)
    (tables / "mine.toml").write_text(
        'title = "Mine"\npaper = "hashbench"\nsource = "a test"\n'
        'defaults = { dataset = "own", protocol = "own", metric = "ap" }\n'
        '[[groups]]\ncolumns = [{ label = "8 bits", settings = { bits = 8 } }]\n'
        'rows = [{ label = "LSH", method = "lsh" }]\n'
    )
    assert hashbench("--root", tmp_path / "root", "run mine").code == 0
    code, out, _ = hashbench("--root", tmp_path / "root", "table mine --format csv")
    (row,) = Store.default().rows()
    assert code == 0 and f"{row.metrics['ap'].mean:.4f}"[:5] in out


def test_the_page_shows_what_is_printed(here: Path, hashbench: CommandLine) -> None:
    page = (REPOSITORY / "docs" / "datasets.md").read_text()
    make, command, *shown = re.search(r"```text\n\$ (python -c .*?)```", page, re.DOTALL).group(1).splitlines()
    exec(shlex.split(make)[2], {})
    code, out, err = hashbench(*shlex.split(command.removeprefix("$ hashbench ")))
    assert (code, err) == (0, "")
    assert out.replace(str(paths.data()), "~/.cache/hashbench").splitlines() == shown


@pytest.mark.slow
def test_two_processes_may_add_at_once(flowers: Path) -> None:
    command = [sys.executable, "-m", "hashbench", "dataset", "add", "own", str(flowers)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    both = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [each.communicate(timeout=60)[1] for each in both]
    assert sorted(each.returncode for each in both) == [0, 2]
    assert sum("own is there already: give --replace" in text for text in said) == 1
    assert store.verify(load_card("own")).labels.shape == (30,)

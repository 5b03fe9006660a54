"""Image files: where they are looked for, and what of all that a file may hold is decoded."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image
from support.one_line import one_line
from support.toy_lists import ORDER, SHAPE, make_lists, pixels, write_image

from hashbench.running.datasets import images, store
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.download import download
from hashbench.running.datasets.images import decode, find

LAYOUTS = [
    "{name}",
    "image/{name}",
    "data/lists/image/{name}",
    "train/{name}",
    "val/{group}/{name}",
    "images/{name}",
    "val_image/{name}",
    "{group}/{name}",
    "ILSVRC2012_img_train/{group}/{name}",
]


@pytest.fixture
def lists(tmp_path, monkeypatch):
    monkeypatch.setenv("HASHBENCH_ROOT", str(tmp_path / "root"))
    return make_lists(tmp_path / "root", before="./data/lists/image/")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_images_are_found_in_every_layout_and_stored_by_id(lists, tmp_path, monkeypatch, layout):
    monkeypatch.setattr(images, "BLOCK", 3)  # the last block is not full
    folder = lists.write_images(lists.write(tmp_path / "given"), layout)
    download(load_card("lists"), folder)
    data = store.open_dataset(load_card("lists"))
    assert np.array_equal(data.items, [pixels(row) for row in range(7)])
    assert [name.decode() for name in data.names] == ORDER


def test_the_path_of_the_list_comes_before_a_namesake(lists, tmp_path):
    folder = lists.write_images(lists.write(tmp_path / "given"), "data/lists/image/{name}")
    write_image(folder / ORDER[0], pixels(99))
    download(load_card("lists"), folder)
    assert np.array_equal(store.open_dataset(load_card("lists")).items[0], pixels(0))


def test_one_missing_image_is_counted_before_any_is_decoded(lists, tmp_path, refused, monkeypatch):
    monkeypatch.setattr(images, "decode", None)
    folder = lists.write_images(lists.write(tmp_path / "given"))
    (folder / ORDER[3]).unlink()
    refused("lists", f"1 of 7 images are not in .*, the first is .*{ORDER[3]}: ", folder)


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n"])
def test_one_bad_image_puts_nothing_in_place(lists, tmp_path, refused, content):
    folder = lists.write_images(lists.write(tmp_path / "given"))
    (folder / ORDER[3]).write_bytes(content)
    refused("lists", f"{ORDER[3]}: not an image that can be read", folder)


@pytest.mark.parametrize(
    "name", ["../secret.png", "a/../../secret.png", "..", "C:\\..\\secret.png", "a\\..\\..\\secret.png"]
)
def test_no_name_leads_upward(tmp_path, name):
    write_image(tmp_path / "secret.png", pixels(0))
    (tmp_path / "images" / "a").mkdir(parents=True)
    with one_line(r"not the path of an image below a folder"):
        find(tmp_path / "images", name.encode())


def test_an_absolute_name_is_looked_for_below_the_folder(tmp_path):
    outside = tmp_path / "secret.png"
    folder = tmp_path / "images"
    write_image(outside, pixels(0))
    folder.mkdir()
    assert find(folder, str(outside).encode()) is None
    write_image(folder / "secret.png", pixels(1))
    assert find(folder, str(outside).encode()) == folder / "secret.png"
    assert find(folder, b"D:\\pictures\\secret.png") == folder / "secret.png"


@pytest.mark.parametrize(
    "name", [b"x\0.png", b"\xff\xfe.png", b"x" * 5000, b"x/" * 3000 + b"x", b"x\n.png", b"C:..\\a.png"]
)
def test_a_strange_name_is_found_nowhere(tmp_path, name):
    write_image(tmp_path / "a" / "b.png", pixels(0))
    assert find(tmp_path, name) is None


def test_a_link_may_lead_about_in_the_folder_and_not_out_of_it(tmp_path):
    folder = (tmp_path / "images").resolve()
    write_image(folder / "kept" / "a.png", pixels(0))
    write_image(tmp_path / "secret.png", pixels(0))
    (folder / "a.png").symlink_to(folder / "kept" / "a.png")
    (folder / "b.png").symlink_to(tmp_path / "secret.png")
    (folder / "out").symlink_to(tmp_path)
    assert find(folder, b"a.png") == folder / "a.png"
    for name in (b"b.png", b"out/secret.png"):
        with one_line("a link that leads out of"):
            find(folder, name)


def saved(path, image, **options):
    image.save(path, **options)
    return path


SCENE = np.linspace(0, 255, 40 * 30 * 3).reshape(40, 30, 3).astype(np.uint8)


def test_an_image_is_resized_as_a_whole_by_bicubic_interpolation(tmp_path):
    path = saved(tmp_path / "a.png", Image.fromarray(SCENE))
    expected = Image.fromarray(SCENE).resize((6, 4), Image.Resampling.BICUBIC)  # width before height there
    assert np.array_equal(decode(path, SHAPE), np.asarray(expected))
    assert decode(path, (9, 5, 1)).shape == (9, 5, 1)


@pytest.mark.parametrize("mode, form", [("L", "JPEG"), ("L", "PNG"), ("1", "PNG"), ("LA", "PNG"), ("L", "GIF")])
def test_grey_is_repeated_in_all_channels(tmp_path, mode, form):
    path = saved(tmp_path / "grey.JPEG", Image.fromarray(SCENE).convert(mode), format=form)
    image = decode(path, SHAPE)
    assert (image == image[..., :1]).all()
    assert image.std() > 10


@pytest.mark.parametrize(
    "mode, form", [("CMYK", "JPEG"), ("RGB", "JPEG"), ("RGBA", "PNG"), ("P", "PNG"), ("P", "GIF"), ("RGB", "BMP")]
)
def test_every_common_kind_of_colour_becomes_rgb(tmp_path, mode, form):
    red = Image.new("RGB", (30, 40), (250, 10, 20)).convert(mode)
    image = decode(saved(tmp_path / "red.jpg", red, format=form), SHAPE)
    assert np.abs(image.astype(int) - [250, 10, 20]).max() <= 30  # a palette and JPEG are not exact


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "BMP"])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_a_truncated_image_is_refused(tmp_path, form, share):
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    whole = io.BytesIO()
    Image.fromarray(noise).save(whole, format=form)
    path = tmp_path / "cut.jpg"
    path.write_bytes(whole.getvalue()[: int(share * len(whole.getvalue()))])
    with one_line(r"cut.jpg: not an image that can be read \(.+\)"):
        decode(path, SHAPE)


def test_more_than_8_bits_a_channel_are_refused(tmp_path):
    path = saved(tmp_path / "deep.png", Image.fromarray(SCENE[..., 0].astype(np.uint16) * 256))
    with one_line(r"pixels of kind I;16; at most .* of 8 bits a channel"):
        decode(path, SHAPE)


def png_of(width, height):
    """A header that promises any size, before next to no bytes."""

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("size", [(10_001, 10_000), (30_000, 30_000), (2**31 - 1, 2**31 - 1)])
def test_a_bomb_is_refused_by_its_header(tmp_path, size):
    (tmp_path / "bomb.png").write_bytes(png_of(*size))
    with one_line(r"bomb.png: (\d+ x \d+ pixels of kind RGB; at most|not an image that can be read)"):
        decode(tmp_path / "bomb.png", SHAPE)


def test_other_formats_are_not_even_opened(tmp_path):
    path = saved(tmp_path / "a.jpg", Image.fromarray(SCENE), format="TIFF")
    with one_line(r"a.jpg: not an image that can be read"):
        decode(path, SHAPE)

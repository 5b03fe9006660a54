"""Archives and folders as they should be, and as an enemy or a bad disk would have them."""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import stat
import struct
import tarfile
import tracemalloc
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.lzw_writer import bomb, compress
from support.one_line import one_line

from hashbench.foundation.config import parse
from hashbench.foundation.errors import HashbenchError
from hashbench.running.datasets.card import Source
from hashbench.running.datasets.members import locate, open_members

CONTENT = {"in/one.bin": b"first " * 500, "in/two.bin": bytes(range(256)) * 40}
PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".Z": compress}


def source(file: str = "a.tar", packed: str | None = None, limit_bytes: int = 1 << 20, **keys) -> Source:
    """A source with the two members, each compressed by itself where ``packed`` is a suffix."""
    members = [
        {"path": path, "note": "none", "limit_bytes": limit_bytes, "packed": packed and path + packed}
        for path in CONTENT
    ]
    return parse(Source, {"urls": ["http://none"], "file": file, "note": "none", "members": members, **keys}, "source")


def single(file: str, path: str, packed: str | None = None, **keys) -> Source:
    """A source that is its own only member, compressed where it is ``packed``."""
    member = {"path": path, "packed": packed, "note": "none", "limit_bytes": 1 << 20, **keys}
    return source(file, members=[member])


def tar(files: dict[str, bytes], mode: str = "w") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def zipped(files: dict[str | zipfile.ZipInfo, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def contents(place: Path, of: Source) -> dict[str, bytes]:
    return {member.path: file.read() for member, file in open_members(place, of)}


def saved(folder: Path, data: bytes, name: str = "a.tar") -> Path:
    (folder / name).write_bytes(data)
    return folder / name


def refusal(place: Path, of: Source) -> str:
    with one_line() as caught:
        contents(place, of)
    assert str(caught.value).startswith(str(place))
    return str(caught.value)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("prefix", ["", "./"])
def test_any_tar(tmp_path, mode, prefix):
    files = {"readme": b"hello", **{prefix + name: data for name, data in reversed(CONTENT.items())}}
    assert contents(saved(tmp_path, tar(files, mode)), source()) == CONTENT


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_any_zip(tmp_path, compression):
    assert contents(saved(tmp_path, zipped(CONTENT, compression), "a.zip"), source("a.zip")) == CONTENT


def test_members_without_their_folder(tmp_path):
    flat = {Path(name).name: data for name, data in CONTENT.items()}
    assert contents(saved(tmp_path, tar(flat)), source()) == CONTENT
    assert contents(saved(tmp_path, zipped(flat), "a.zip"), source("a.zip")) == CONTENT


@pytest.mark.parametrize("suffix", PACK)
def test_members_compressed_by_themselves(tmp_path, suffix):
    packed = {name + suffix: PACK[suffix](data) for name, data in CONTENT.items()}
    assert contents(saved(tmp_path, zipped(packed), "a.zip"), source("a.zip", suffix)) == CONTENT
    assert contents(saved(tmp_path, tar(packed)), source("a.tar", suffix)) == CONTENT
    for name, data in packed.items():
        saved(tmp_path, data, Path(name).name)
    assert contents(tmp_path, source("a.zip", suffix)) == CONTENT


def test_a_member_that_lies_plain_wins_over_its_compressed_form(tmp_path):
    for name, data in CONTENT.items():
        saved(tmp_path, b"stale", Path(name).name + ".gz")
        saved(tmp_path, data, Path(name).name)
    assert contents(tmp_path, source(packed=".gz")) == CONTENT


def test_a_source_that_is_no_archive_is_its_own_member(tmp_path):
    data = CONTENT["in/one.bin"]
    its_source = single("one.bin.gz", "in/one.bin", "one.bin.gz", size_bytes=len(data))
    assert contents(saved(tmp_path, gzip.compress(data), "one.bin.gz"), its_source) == {"in/one.bin": data}
    assert contents(saved(tmp_path, data, "plain"), single("plain", "plain")) == {"plain": data}
    assert locate(tmp_path, its_source) == tmp_path


def test_where_a_source_lies(tmp_path):
    archive = saved(tmp_path, tar(CONTENT))
    assert locate(tmp_path, source()) == archive
    (tmp_path / "in").mkdir()
    saved(tmp_path / "in", b"", "two.bin")
    assert locate(tmp_path, source()) == tmp_path  # a folder that holds one of them is meant to hold all
    assert "one.bin: missing; a.tar holds it" in refusal(tmp_path, source())


def test_images_are_where_the_user_says(tmp_path):
    assert locate(tmp_path, source("images.zip", images=True, members=[])) == tmp_path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.sampled_from(["tar", "tar.gz", "zip", ".gz", ".bz2", ".xz", ".Z"]), st.floats(0, 1))
def test_nothing_cut_short_is_taken_for_whole(tmp_path, form, share):
    whole, its_source = {
        "tar": (tar(CONTENT), source()),
        "tar.gz": (tar(CONTENT, "w:gz"), source()),
        "zip": (zipped(CONTENT), source()),
    }.get(form) or (PACK[form](CONTENT["in/two.bin"]), single("a.tar", "a", "a.tar"))
    if form in PACK:
        its_source = single("a" + form, "a", "a" + form, size_bytes=len(CONTENT["in/two.bin"]))
    cut = saved(tmp_path, whole[: int(share * (len(whole) - 1))], its_source.file)
    try:
        read = contents(cut, its_source)
    except HashbenchError:
        return
    assert read == CONTENT  # what a tar or gzip has after the last member is padding


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.sampled_from(["tar.gz", "zip", "tar"]), st.data())
def test_a_flipped_bit_is_one_line_or_does_no_harm(tmp_path, form, data):
    whole = bytearray({"tar.gz": tar(CONTENT, "w:gz"), "zip": zipped(CONTENT), "tar": tar(CONTENT)}[form])
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    checked = source()
    for member in checked.members:
        object.__setattr__(member, "sha256", hashlib.sha256(CONTENT[member.path]).hexdigest())
    with suppress(HashbenchError):
        assert contents(saved(tmp_path, bytes(whole)), checked) == CONTENT


@pytest.mark.parametrize("name", ["../../outside", "/tmp/outside", "in/../../outside"])
def test_a_name_that_leads_outside_leads_nowhere(tmp_path, name):
    """Nothing is written where an archive says, whatever it says."""
    inside = tmp_path / "x" / "y"
    inside.mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    for pack in (tar, zipped):
        place = saved(inside, pack({name: b"evil", **CONTENT}))
        assert contents(place, source()) == CONTENT
        assert "in/one.bin: missing" in refusal(saved(inside, pack({name: b"evil"})), source())
        place.unlink()
    assert sorted(tmp_path.rglob("*")) == before


def tar_entry(kind: bytes) -> bytes:
    info = tarfile.TarInfo("in/one.bin")
    info.type = kind
    info.linkname = "/etc/passwd"
    return info.tobuf() + bytes(1024)


def zip_entry(kind: int) -> bytes:
    info = zipfile.ZipInfo("in/one.bin")
    info.external_attr = (kind | 0o644) << 16
    return zipped({info: b"/etc/passwd"})


NO_FILES = [tar_entry(kind) for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE)]
NO_FILES += [zip_entry(kind) for kind in (stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR)]


@pytest.mark.parametrize("archive", NO_FILES)
def test_a_link_or_device_in_an_archive_is_not_followed(tmp_path, archive):
    assert "in/one.bin: not a regular file" in refusal(saved(tmp_path, archive), source())


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "one.bin")
    with one_line("holds neither"):
        locate(tmp_path, source())


@pytest.mark.parametrize(
    "value, of_file, of_directory, message", [(1, 6, 8, "encrypted"), (9, 8, 10, "damaged or truncated")]
)
def test_a_zip_that_is_encrypted_or_of_an_unknown_compression_is_refused(
    tmp_path, value, of_file, of_directory, message
):
    whole = bytearray(zipped(CONTENT))
    for signature, offset in ((b"PK\x03\x04", of_file), (b"PK\x01\x02", of_directory)):
        struct.pack_into("<H", whole, whole.find(signature) + offset, value)
    assert message in refusal(saved(tmp_path, bytes(whole)), source())


def zeros(n_mib: int) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([*(packer.compress(bytes(1 << 20)) for _ in range(n_mib)), packer.flush()])


@pytest.mark.parametrize("form", ["tar.gz", "zip", ".gz", ".bz2", ".xz", ".Z"])
def test_a_bomb_is_stopped_at_the_limit(tmp_path, form):
    limit = 1 << 16
    name = "in/one.bin"
    if form in PACK:
        evil = {".Z": bomb(20_000), ".gz": zeros(32)}.get(form) or PACK[form](bytes(32 << 20))
        place = saved(tmp_path, evil, "a" + form)
        its_source = single("a" + form, "a", "a" + form, limit_bytes=limit)
    else:
        files = {name: bytes(32 << 20), "in/two.bin": b""}
        place = saved(tmp_path, tar(files, "w:gz") if form == "tar.gz" else zipped(files))
        its_source = source(limit_bytes=limit)
        del files
    tracemalloc.start()
    assert f"more than the {limit:,} bytes" in refusal(place, its_source)
    assert tracemalloc.get_traced_memory()[1] < 24 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("content", [b"", b"\x1f\x9d", b"\x1f\x9d\x91" + bytes(9), b"\x1f\x9d\x90\xff\xff"])
def test_what_compress_does_not_write_is_refused(tmp_path, content):
    """Empty, cut, codes of 17 bits, whose table could fill the memory, and a first code that is no literal."""
    place = saved(tmp_path, content, "a.Z")
    assert "a.Z: damaged or truncated (" in refusal(place, single("a.Z", "a", "a.Z"))


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_a_tar_whose_name_would_fill_the_memory_is_refused(tmp_path, kind):
    header = tarfile.TarInfo("x")
    header.type = kind
    header.size = 64 << 20
    evil = gzip.compress(header.tobuf(tarfile.GNU_FORMAT)) + zeros(64)
    members = tar(CONTENT)[: 512 + 3072 + 512 + 10240]  # without the zeros that end it
    tracemalloc.start()
    assert "not a tar or zip" in refusal(saved(tmp_path, evil), source())
    assert "a header of 67,108,864 bytes" in refusal(saved(tmp_path, gzip.compress(members) + evil), source())
    assert tracemalloc.get_traced_memory()[1] < 24 << 20
    tracemalloc.stop()


def test_a_tar_of_endless_entries_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("hashbench.running.datasets.members.MAX_ENTRIES", 100)
    files = {str(n): b"" for n in range(200)}
    assert "more than any archive" in refusal(saved(tmp_path, tar({**files, **CONTENT})), source())
    monkeypatch.setattr("hashbench.running.datasets.members.MAX_UNPACKED_BYTES", 1 << 10)
    assert "more than any archive" in refusal(saved(tmp_path, tar(CONTENT)), source())


def test_a_full_disk_is_not_called_damage(tmp_path, monkeypatch):
    class Full(io.BytesIO):
        def write(self, _data):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", lambda dir: Full())  # noqa: A006
    assert "no room to unpack it (No space left on device)" in refusal(saved(tmp_path, tar(CONTENT)), source())


def test_copies_lie_where_the_caller_has_room_and_vanish(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    members = open_members(saved(tmp_path, tar(CONTENT)), source(), scratch)
    member, file = next(members)
    assert file.read() == CONTENT[member.path]
    assert os.fstat(file.fileno()).st_dev == scratch.stat().st_dev
    next(members)
    assert file.closed
    members.close()
    assert list(scratch.iterdir()) == []


def test_a_copy_can_be_mapped(tmp_path):
    for _, file in open_members(saved(tmp_path, tar(CONTENT, "w:gz")), source()):
        assert np.memmap(file, np.uint8, "r").size in (3000, 10240)


def test_a_plain_file_is_not_copied(tmp_path, monkeypatch):
    for name, data in CONTENT.items():
        saved(tmp_path, data, Path(name).name)
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: pytest.fail("copied"))
    assert contents(tmp_path, source()) == CONTENT


@pytest.mark.parametrize("keys", [{"size_bytes": 2999}, {"md5": "0" * 32}, {"sha256": "0" * 64}, {"sha512": "0" * 128}])
@pytest.mark.parametrize("packed", [False, True])
def test_other_bytes_than_the_card_states_are_refused(tmp_path, keys, packed):
    data = CONTENT["in/one.bin"]
    its_source = single("one.bin.gz", "in/one.bin", "one.bin.gz", **keys)
    place = saved(tmp_path, gzip.compress(data), "one.bin.gz") if packed else tmp_path
    if not packed:
        saved(tmp_path, data, "one.bin")
    assert "should" in refusal(place, its_source)


def test_an_archive_that_cannot_be_read_is_one_line(tmp_path):
    place = saved(tmp_path, b"")
    assert "not a tar or zip" in refusal(place, source())
    (tmp_path / "folder.tar").mkdir()
    assert "missing" in refusal(tmp_path / "folder.tar", source())
    with one_line(r"gone.tar: cannot be read \(No such file"):
        contents(tmp_path / "gone.tar", source())

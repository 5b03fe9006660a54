"""Files of Unix compress (.Z), as members of a source: what they hold, and which are refused."""

import io
import shutil
import subprocess
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import unlzw3
from hypothesis import given
from hypothesis import strategies as st
from support.lzw_writer import bomb, compress
from support.together import together

from hashbench.datasets.card import Member, Source
from hashbench.datasets.members import PIECE, UNPACK, open_members
from hashbench.foundation.errors import HashbenchError

SOURCE = Source(file="a.Z", manual=["none"], note="none", members=[Member(path="a", packed="a.Z", note="none")])


def unpack(packed: bytes) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.Z").write_bytes(packed)
        return b"".join(file.read() for _, file in open_members(Path(folder), SOURCE))


TEXTS = st.one_of(st.binary(max_size=3000), st.text("ab", max_size=3000).map(str.encode))


@given(TEXTS, st.integers(10, 16), st.sampled_from([0, 7, 300]))
def test_gives_back_what_compress_packed(data, max_bits, clear_every):
    assert unpack(compress(data, max_bits, clear_every=clear_every)) == data


@together("max_bits", [10, 12, 16])
def test_equals_a_library_where_codes_grow_and_the_table_fills(max_bits):
    data = b"".join(b"%d," % word for word in np.random.default_rng(3).integers(0, 40, 60_000))
    packed = compress(data, max_bits)
    assert unpack(packed) == unlzw3.unlzw(packed) == data


@pytest.mark.skipif(not shutil.which("gzip"), reason="needs gzip, which unpacks .Z too")
def test_the_writer_of_these_tests_writes_what_gzip_reads():
    data = b"-0.4394, -0.0930, 0.1718\n" * 4000
    for packed in (compress(data), compress(data, clear_every=50)):
        assert subprocess.run(["gzip", "-dc"], input=packed, capture_output=True, check=True).stdout == data


def test_pieces_come_before_the_end_is_unpacked():
    packed = io.BytesIO(bomb(4000))  # 8 MB out of 6 KB
    tracemalloc.start()
    with UNPACK[".Z"](packed) as unpacked:
        assert unpacked.read(PIECE) == b"a" * PIECE
    assert tracemalloc.get_traced_memory()[1] < 8 * PIECE
    tracemalloc.stop()
    assert not packed.closed


REFUSED = {
    "empty": b"",
    "cut in its header": b"\x1f\x9d",
    "gzip": b"\x1f\x8b\x08" + b"\0" * 20,
    "16 bits, an unknown flag": b"\x1f\x9d\xb0" + b"\0" * 9,
    "codes of 8 bits": b"\x1f\x9d\x88" + b"\0" * 9,
    "codes of 17 bits": b"\x1f\x9d\x91" + b"\0" * 9,
    "cut within a code of full width": b"\x1f\x9d\x89" + b"a",  # of narrower ones uncompresspy does not tell
    "the first code is no literal": b"\x1f\x9d\x90" + b"\xff\xff",
    "a code that stands for nothing yet": b"\x1f\x9d\x90" + (97 | 300 << 9).to_bytes(3, "little"),
}


@together("fault", REFUSED)
def test_what_compress_does_not_write_is_refused(fault):
    with pytest.raises(HashbenchError, match=r"a\.Z: damaged or truncated \("):
        unpack(REFUSED[fault])


@given(st.binary(min_size=1, max_size=200))
def test_rubbish_gives_bytes_or_one_line(rubbish):
    try:
        content = unpack(b"\x1f\x9d\x90" + rubbish)
    except HashbenchError as error:
        assert "\n" not in str(error)
        return
    assert len(content) <= len(rubbish) ** 2

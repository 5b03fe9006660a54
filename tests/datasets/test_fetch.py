"""Every way of failing ends in the right file or in one clear line, and never in a wrong file in place."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fault_server import Answer, FaultServer, FtpServer
from support.one_line import one_line
from support.waiting import until

from hashbench import __version__
from hashbench.foundation.errors import HashbenchError
from hashbench.running.datasets import fetch as fetching
from hashbench.running.datasets.card import Member, Source
from hashbench.running.datasets.fetch import fetch

BODY = random.Random(7).randbytes(50_000)
WRONG = bytes([BODY[0] ^ 1]) + BODY[1:]
PAGE = b'\n<!DOCTYPE html>\n<html><body>Google Drive: quota exceeded, "Download anyway"</body></html>' + b" " * 600


@contextmanager
def running(server):
    with server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def server():
    with running(FaultServer()) as started:
        yield started
        started.closing.set()


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Loopback needs no patience, and no proxy."""
    monkeypatch.setattr(fetching, "STALL_S", 0.2)
    monkeypatch.setattr(fetching, "PIECE", 1 << 10)
    monkeypatch.setattr(fetching, "BACKOFF_S", 0.001)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "sources"


def source(*urls, file="toy.bin", **known):
    if not {"size_bytes", "md5", "sha256", "sha512", "note"} & set(known):
        known |= {"size_bytes": len(BODY), "sha256": hashlib.sha256(BODY).hexdigest()}
    known.setdefault("manual", [] if urls else ["Log in at the site.", "Accept the licence."])
    return Source(urls=list(urls), file=file, members=[Member(path=file, note="a toy")], **({"note": "a toy"} | known))


def left(folder):
    return sorted(path.name for path in folder.iterdir())


def fetched(server, folder, *urls, **known):
    """The right file is in place, and nothing else; gives back what the server was asked."""
    assert fetch([source(*urls, **known)], folder) == [folder / "toy.bin"]
    assert (folder / "toy.bin").read_bytes() == BODY
    assert left(folder) == ["toy.bin"]
    return server.requests


def refused(folder, message, *urls, **known):
    """One line; what was there before is there still. A part may be kept, to go on from."""
    before = (folder / "toy.bin").read_bytes() if (folder / "toy.bin").exists() else None
    with one_line(message) as caught:
        fetch([source(*urls, **known)], folder)
    assert str(caught.value).isprintable()
    assert ((folder / "toy.bin").read_bytes() if (folder / "toy.bin").exists() else None) == before
    return str(caught.value)


def test_a_good_server_is_asked_once_and_then_never_again(server, folder, capfd):
    url = server.serve("/toy.bin", BODY)
    requests = fetched(server, folder, url)
    assert [(one.range, one.agent) for one in requests] == [(None, f"hashbench/{__version__}")]
    fetched(server, folder, url)
    assert len(requests) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err == "toy.bin: 50.0 kB from 127.0.0.1\n"  # no bar where nobody looks


PASSING = {
    "cut": [Answer(cut_after=20_000)],
    "cut again and again": [Answer(cut_after=9_000)] * 5,
    "stall": [Answer(stall_after=20_000)],
    "busy": [Answer(status=429), Answer(status=503)],
    "broken": [Answer(status=500, body=PAGE)] * 2,
    "cut, then ignores ranges": [Answer(cut_after=20_000), Answer(ranges=False)],
    "cut, then another version": [Answer(cut_after=20_000, body=WRONG), *[Answer(etag='"2"')] * 2],
    "cut, then the whole as the rest": [Answer(cut_after=20_000), Answer(whole_as_range=True)],
    "cut, then shorter": [Answer(cut_after=20_000), Answer(body=BODY[:10_000])],
    "cut in a wrong body of the same mark": [Answer(cut_after=20_000, body=WRONG)],
    "no length": [Answer(chunked=True), Answer(until_closed=True)],
}


@pytest.mark.parametrize("fault", PASSING)
def test_what_passes_is_outlasted(server, folder, fault):
    fetched(server, folder, server.serve("/toy.bin", BODY, *PASSING[fault]))


def test_a_byte_before_each_stall_is_no_progress(server, folder):
    url = server.serve("/toy.bin", BODY, always=Answer(stall_after=20))
    refused(folder, r"not downloaded \(timed out, 3 times in a row\)", url)
    assert len(server.requests) == 3


NO = Answer(status=403)
SIZE = {"size_bytes": len(BODY)}  # all that a card without a checksum says
# the answers of each mirror, the last of which it gives from then on; what the card says; and the ranges asked for
RESUMED = {
    "a cut connection": ([[Answer(cut_after=20_000), Answer(cut_after=10_000), Answer()]], {}, [0, 20_000, 30_000]),
    "at the next mirror": ([[Answer(cut_after=30_000), NO], [Answer()]], {}, [0, 30_000, 30_000]),
    "past a mirror of another length": (
        [[Answer(cut_after=30_000), NO], [Answer(body=BODY + b"x")], [Answer()]],
        {},
        [0, 30_000, 30_000, 30_000],
    ),
    "not without a checksum": ([[Answer(cut_after=20_000), Answer()]], SIZE, [0, 0]),
    "not from a wrong beginning": ([[Answer(body=WRONG, cut_after=20_000), Answer()]], {}, [0, 20_000, 0]),
}


@pytest.mark.parametrize("case", RESUMED)
def test_a_download_goes_on_where_the_same_file_was_cut(server, folder, case):
    mirrors, known, starts = RESUMED[case]
    urls = [server.serve(f"/{n}", BODY, *answers, always=answers[-1]) for n, answers in enumerate(mirrors)]
    before = len(server.requests)
    requests = fetched(server, folder, *urls, **known)[before:]
    assert [one.range for one in requests] == [f"bytes={start}-" if start else None for start in starts]
    if case == "a cut connection":  # no byte comes twice
        assert sum(one.sent for one in requests) == len(BODY)


def test_the_next_call_goes_on_where_the_last_gave_up(server, folder):
    url = server.serve("/toy.bin", BODY, Answer(cut_after=30_000), *[Answer(cut_after=0)] * 3)
    refused(folder, r"3 times in a row\)", url)
    assert left(folder) == ["toy.bin.part"]
    assert fetched(server, folder, url)[-1].range == "bytes=30000-"


@pytest.mark.parametrize("body", [WRONG, WRONG[:30_000], WRONG + b"more"])
def test_a_part_that_is_wrong_is_given_up_for_a_right_file(server, folder, body):
    folder.mkdir()
    (folder / "toy.bin.part").write_bytes(body)
    assert fetched(server, folder, server.serve("/toy.bin", BODY))[-1].range is None


SHORT = r"49,999 bytes; it should have 50,000\)"
FINAL = {
    "forbidden": (Answer(status=403), r"\(403 Forbidden\)"),
    "not found": (Answer(status=404, body=PAGE), r"\(404 Not Found\)"),
    "broken": (Answer(status=500), r"\(500 Internal Server Error, 3 times in a row\)"),
    "page": (Answer(body=PAGE), r"\(announces 690 bytes; it should have 50,000\)"),
    "page by its type": (
        Answer(body=b"Sorry!", headers={"Content-Type": "text/html; charset=utf-8"}),
        r"\(a web page came in place of the file\)",
    ),
    "wrong bytes": (Answer(body=WRONG), r"\(sha256 is [0-9a-f]{64}; it should be [0-9a-f]{64}\)"),
    "shorter": (Answer(body=BODY[:-1]), SHORT),
    "longer": (Answer(body=BODY + b"x"), r"\(announces 50,001 bytes; it should have 50,000\)"),
    "longer, unannounced": (Answer(body=BODY + b"x", chunked=True), r"sends more than the 50,000 bytes"),
    "announces too much, always": (
        Answer(body=BODY[:-1], announced=len(BODY), ranges=False),
        r"3 times in a row\)",
    ),
    "stalls for ever": (Answer(stall_after=0), r"\(timed out, 3 times in a row\)"),
    "wrong and cut for ever": (Answer(cut_after=20_000, body=WRONG), r"3 times in a row\)"),
    "cut for ever": (Answer(cut_after=0), r"3 times in a row\)"),
    "part of it unasked": (
        Answer(status=206, headers={"Content-Range": "bytes 5-9/50000"}),
        r"\(0 bytes; it should have 50,000\)",
    ),
}


@pytest.mark.parametrize("fault", FINAL)
def test_what_does_not_pass_is_one_line(server, folder, fault):
    answer, message = FINAL[fault]
    url = server.serve("/toy.bin", BODY, always=answer)
    n_before = len(server.requests)
    error = refused(folder, message, url)
    assert error.startswith(f"{url}: not downloaded (")
    assert error.endswith("): fetch it by other means and name its folder with --from-dir")
    assert "toy.bin" not in left(folder)
    if answer.body == WRONG and answer.cut_after is None:
        assert left(folder) == []
    if answer.status in (403, 404):  # who says no is not asked again
        assert len(server.requests) == n_before + 1
    fetched(server, folder, url, server.serve("/good.bin", BODY))


def test_every_mirror_is_named_with_its_reason(server, folder):
    urls = [
        server.serve("/one", BODY, always=Answer(status=404)),
        server.serve("/two", PAGE, always=Answer(headers={"Content-Type": "text/html"})),
        server.serve("/three", WRONG),
        "http://127.0.0.1:9/four",
        "gopher://127.0.0.1/five",
        "http://[x/six",
    ]
    error = refused(folder, "404 Not Found", *urls, manual=["Ask the authors."])
    wanted = [
        "404 Not Found",
        "a web page",
        "sha256 is",
        "[Errno 111] Connection refused",
        "No connection",
        "Failed to",
    ]
    for url, reason in zip(urls, wanted, strict=True):
        assert f"{url}: not downloaded ({reason}" in error
    assert error.endswith(": Ask the authors and name its folder with --from-dir")


def test_a_file_that_is_wrong_stays_until_the_right_one_is_whole(server, folder):
    folder.mkdir()
    (folder / "toy.bin").write_bytes(WRONG)
    refused(folder, "404", server.address("/toy.bin"))
    fetched(server, folder, server.serve("/toy.bin", BODY))


def test_a_set_behind_a_login_says_what_to_do(server, folder):
    message = (
        "^toy.bin: no address serves it; to get it, Log in at the site; Accept the licence and name .* --from-dir$"
    )
    other = source(server.serve("/other.bin", BODY), file="other.bin")
    with one_line(message):
        fetch([other, source()], folder)
    assert server.requests == []  # it is said before gigabytes of the others come
    folder.mkdir()
    (folder / "toy.bin").write_bytes(WRONG)
    refused(folder, "sha256 is .*; to get it, Log in at the site; Accept")
    (folder / "toy.bin").write_bytes(BODY)
    assert fetch([source()], folder) == [folder / "toy.bin"]


def test_what_came_stays_where_others_failed(server, folder):
    good = source(server.serve("/good.bin", BODY), file="good.bin")
    bad = [source(server.address(f"/{name}"), file=name) for name in ("a.bin", "b.bin")]
    with one_line(r"a.bin: not downloaded .404 .*; http.*b.bin: not downloaded .404"):
        fetch([bad[0], good, bad[1]], folder)
    assert left(folder) == ["good.bin"]


def test_a_full_disk_is_no_fault_of_the_mirror(server, folder):
    folder.mkdir()
    (folder / "toy.bin.part").symlink_to("/dev/full")
    urls = [server.serve("/one", BODY), server.serve("/two", BODY)]
    refused(folder, "toy.bin: .* after 0 bytes: make room or name another folder with --data$", *urls)
    assert len(server.requests) == 1  # another mirror does not empty a disk


def test_room_is_asked_for_before_anything_comes(server, folder, monkeypatch):
    url = server.serve("/toy.bin", BODY, always=Answer(announced=1 << 50))
    refused(folder, "MiB free: make room or name another with --data", url, size_bytes=1 << 50)
    assert server.requests == []
    refused(folder, "MiB free: make room or name another with --data", url, note="its size is not known")


FETCH = """
import sys
from pathlib import Path
from hashbench.running.datasets.card import Source
from hashbench.running.datasets import fetch as fetching
from hashbench.running.datasets.fetch import fetch
fetching.PIECE = 1 << 10
Path(sys.argv[1]).mkdir()
fetch([Source.model_validate_json(sys.argv[2])], Path(sys.argv[1]))
"""


def test_an_end_in_the_middle_is_quick_and_resumed(server, folder):
    toy = source(server.serve("/toy.bin", BODY, Answer(stall_after=1 << 15)))
    part = folder / "toy.bin.part"
    command = [sys.executable, "-c", FETCH, str(folder), toy.model_dump_json()]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert until(lambda: part.exists() and part.stat().st_size)
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=20)  # a stalled server would hold it for a minute
    come = part.stat().st_size
    assert 0 < come <= 1 << 15
    fetch([toy], folder)
    assert server.requests[-1].range == f"bytes={come}-"
    assert left(folder) == ["toy.bin"]


def test_ftp_is_spoken_and_begins_anew_after_a_cut(folder):
    with running(FtpServer("/pub/toy.bin", BODY, 20_000)) as server:
        fetch([source(server.address)], folder)
    assert (folder / "toy.bin").read_bytes() == BODY and left(folder) == ["toy.bin"]


ANSWERS = {f"{name} {n}": answer for name, answers in PASSING.items() for n, answer in enumerate(answers)}
ANSWERS |= {name: answer for name, (answer, _) in FINAL.items()}
NAMES = st.sampled_from([name for name in ANSWERS if "stall" not in name])  # a stall takes its time


@settings(max_examples=20)
@given(st.lists(NAMES, max_size=6), st.lists(NAMES, max_size=6), NAMES, NAMES)
def test_whatever_servers_do_no_wrong_file_is_in_place(tmp_path_factory, first, second, first_then, second_then):
    folder = tmp_path_factory.mktemp("any")
    with running(FaultServer()) as server:
        mirrors = {"/toy.bin": (first, first_then), "/two": (second, second_then)}
        for path, (names, then) in mirrors.items():
            server.serve(path, BODY, *(ANSWERS[name] for name in names), always=ANSWERS[then])
        urls = [server.address(path) for path in mirrors]
        try:
            fetched(server, folder, *urls)
        except HashbenchError:
            assert "toy.bin" not in left(folder)
            server.serve("/two", BODY)  # one good mirror is enough, whatever was left behind
            fetched(server, folder, *urls)

"""The working state of runs in files of limited size, with which another machine goes on; read without being trusted.

A packed state is a folder. Its parts, one after the other, are the bytes of the files that state.json lists. A part is
named by its checksum, and state.json is written last. So a new state can be packed over an old one, and a process that
is killed meanwhile leaves the old one whole.
"""

import hashlib
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from math import inf
from pathlib import Path
from shutil import copyfile
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from hashbench.foundation import provenance
from hashbench.foundation.config import Count, Strict, canonical_json, digest, json_object, parse, read_text
from hashbench.foundation.errors import HashbenchError, counted, printable, retold
from hashbench.foundation.files import all_or_none, atomic, locked, require_writable, write_bytes, write_text
from hashbench.foundation.progress import note
from hashbench.foundation.provenance import Code
from hashbench.foundation.registry import each_usable
from hashbench.learning.training import checkpoint_files
from hashbench.running.runs.execute import FITTED
from hashbench.running.runs.interrupted import CONFIG, DAMAGES, epochs_done, row_without_results
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store, files_of_run
from hashbench.showing.bundle.archive import NAME, Sha256

STATE = "state.json"
ROWS = "rows"  # in the packed state as in a folder of results
RUNS = "runs"
SCHEMA: Literal[1] = 1
MEGABYTE = 1_000_000
MOST_PARTS = 9999
LOCK = ".lock"  # of the process that packs
PIECE = 1 << 20
PART = re.compile(r"part-\d{4}-[0-9a-f]{12}\.bin")
_FILE = rf"^({ROWS}/{NAME}\.jsonl|{RUNS}/{NAME}/{NAME})$"


class PackedFile(Strict):
    """A file of a results folder: its path there and its size."""

    name: Annotated[str, StringConstraints(pattern=_FILE, max_length=400)]
    n_bytes: Count


class Part(Strict):
    """A part: its size and its checksum."""

    n_bytes: Count
    sha256: Sha256

    def name(self, number: int) -> str:
        """The name of its file, as the one of this ``number`` in the state."""
        return f"part-{number:04d}-{self.sha256[:12]}.bin"


class State(Strict):
    """The content of state.json; ``sha256`` is the digest of all the rest."""

    schema_version: Literal[1] = Field(alias="schema")
    code: Code
    sources: Sha256  # of the code that packed it
    files: list[PackedFile]
    parts: Annotated[list[Part], Field(max_length=MOST_PARTS)]
    sha256: Sha256


@dataclass(frozen=True)
class PackedRuns:
    """The runs that were packed, those of them that are unfinished, and the number and bytes of the parts."""

    runs: list[str]
    unfinished: list[str]
    n_parts: int
    n_bytes: int


def pack(store: Store, begins: Sequence[str], folder: Path, part_bytes: int) -> PackedRuns:
    """Packs the runs in ``store`` whose names begin so (empty: all) into ``folder``, with those that they start from.

    A packed state that is there is replaced. HashbenchError where there is no such run, where a process executes one of
    them at this moment, and where ``folder`` holds something else.
    """
    _require_own(folder)
    runs = _chosen(store, begins)
    with ExitStack() as locks:
        busy = f"{folder}: another process packs into it: name another folder"
        locks.enter_context(locked(folder / LOCK, wait=False, busy=busy, instead="--out"))
        for run in runs:
            locks.enter_context(store.run_lock(run, wait=False))
        writer = _Parts(folder, part_bytes)
        files = [writer.add(name, source) for name, source in _sources(store, runs)]
        writer.end()
        _finish(folder, files, writer.parts)
    finished = {line.run for line in store.lines()}
    unfinished = [run for run in runs if run not in finished]
    return PackedRuns(runs, unfinished, len(writer.parts), sum(part.n_bytes for part in writer.parts))


def _finish(folder: Path, files: Sequence[PackedFile], parts: Sequence[Part]) -> None:
    """Writes state.json, which makes the parts a state, and removes the parts of others."""
    values = {
        "schema": SCHEMA,
        "code": provenance.code().model_dump(),
        "sources": provenance.sources(),
        "files": [file.model_dump() for file in files],
        "parts": [part.model_dump() for part in parts],
    }
    write_text(folder / STATE, canonical_json({**values, "sha256": digest(values)}) + "\n")
    names = {part.name(number) for number, part in enumerate(parts, 1)}
    for path in folder.iterdir():
        if PART.fullmatch(path.name) and path.name not in names:
            path.unlink()  # of an older state, or of a packing that was killed


def _require_own(folder: Path) -> None:
    """Raises HashbenchError unless ``folder`` can hold a packed state, and holds nothing else."""
    require_writable(folder, instead="--out")
    for path in sorted(folder.iterdir()):
        if not path.name.startswith(".") and path.name != STATE and not PART.fullmatch(path.name):
            raise HashbenchError(
                f"{folder}: holds {printable(path.name)}, which is no packed state: name another folder"
            )


def _chosen(store: Store, begins: Sequence[str]) -> list[str]:
    """The runs to pack, those that others start from first; HashbenchError if there are none."""
    folders = sorted(path.parent for path in store.run_folder("").glob(f"*/{CONFIG}"))
    there = [folder.name for folder in folders]
    chosen: list[str] = []
    named = [folder for folder in folders if not begins or folder.name.startswith(tuple(begins))]
    for _, run in each_usable(named, _run_of, lambda error: note(f"left out: {error}")):
        chain: Run | None = run
        first = len(chosen)
        while chain is not None:
            chosen.insert(first, str(chain.name))
            chain = chain.base
    absent = [begin for begin in begins if not any(name.startswith(begin) for name in there)]
    if absent or not chosen:
        fault = "no working state of a run"
        if absent:
            fault += f" that begins with {absent[0]!r}"
        raise HashbenchError(f"{store.run_folder('')}: {fault}: hashbench run TABLE makes it")
    return [name for name in dict.fromkeys(chosen) if name in there]


def _run_of(folder: Path) -> Run:
    """The run whose working state is in ``folder``; HashbenchError if it is another one, or none that is known here."""
    where = f"{folder.name}: {CONFIG}"
    with retold(lambda cause: f"{where}: damaged: {printable(cause)}", *DAMAGES):
        row = row_without_results(folder)
    with retold(lambda cause: f"{folder.name}: {printable(cause, 200)}: --root names where its files are"):
        run = Run.from_row(row)
    if str(run.name) != folder.name:
        raise HashbenchError(f"{where}: the configuration of {run.name}, which is another run")
    return run


def _sources(store: Store, runs: Sequence[str]) -> Iterator[tuple[str, bytes | Path]]:
    """What is packed, by its path in the folder of results: rows first, and the files of the runs."""
    rows: dict[str, list[str]] = {}
    for line in store.lines():
        if line.run in runs:
            rows.setdefault(line.path.name, []).append(line.text)
    for name, lines in rows.items():
        yield f"{ROWS}/{name}", "".join(f"{line}\n" for line in lines).encode()
    for run in runs:
        folder = store.run_folder(run)
        for path in files_of_run(folder):
            if re.fullmatch(NAME, path.name) and not path.name.startswith("checkpoint"):
                yield f"{RUNS}/{run}/{path.name}", path
        if (last := checkpoint_files.last_whole(folder)) is not None:
            yield f"{RUNS}/{run}/{checkpoint_files.FILE}", last


@dataclass
class _Parts:
    """Writes files one after the other into parts of ``part_bytes``."""

    folder: Path
    part_bytes: int
    parts: list[Part] = field(default_factory=list)
    buffer: bytearray = field(default_factory=bytearray)

    def add(self, name: str, source: bytes | Path) -> PackedFile:
        """Adds the bytes, or those of a file."""
        n_bytes = 0
        with BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
            while piece := file.read(PIECE):
                n_bytes += len(piece)
                self.buffer += piece
                self._write(self.part_bytes)
        return PackedFile(name=name, n_bytes=n_bytes)

    def end(self) -> None:
        """Writes the last part."""
        self._write(1)

    def _write(self, least: int) -> None:
        while len(self.buffer) >= least:
            content = bytes(self.buffer[: self.part_bytes])
            del self.buffer[: self.part_bytes]
            part = Part(n_bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
            self.parts.append(part)
            if len(self.parts) > MOST_PARTS:
                raise HashbenchError(f"--part-size: more than {MOST_PARTS:,} parts: a larger size is needed")
            write_bytes(self.folder / part.name(len(self.parts)), content)


def is_packed_state(folder: Path) -> bool:
    """Whether ``folder`` holds a packed state, or the parts of one."""
    return folder.is_dir() and ((folder / STATE).exists() or any(folder.glob("part-*.bin")))


@contextmanager
def results_in(folder: Path) -> Iterator[Path]:
    """A folder of results with the rows and runs of a packed state, as long as the block runs.

    HashbenchError, before anything is written elsewhere, where a part is missing or damaged, or other code packed it.
    """
    state = _read(folder)
    place = tempfile.gettempdir()
    advice = "make room there, or name another folder with the variable TMPDIR"
    with ExitStack() as on_exit:
        with retold(lambda cause: f"{place}: the state cannot be unpacked ({cause}): {advice}", OSError):
            scratch = on_exit.enter_context(tempfile.TemporaryDirectory(prefix="hashbench-state-"))
            _extract(state, folder, Path(scratch))
        for folder_of_run in sorted(Path(scratch).glob(f"{RUNS}/*")):
            _run_of(folder_of_run)
        (Path(scratch) / ROWS).mkdir(exist_ok=True)
        yield Path(scratch)


def _read(folder: Path) -> State:
    where = folder / STATE
    with retold(lambda _: f"{where}: missing: the state was not packed to its end: pack it again", FileNotFoundError):
        text = read_text(where, "packed state")
    with retold(lambda cause: f"{where}: damaged: {printable(cause, 200)}", ValueError, RecursionError):
        values = json_object(text)
    state = parse(State, values, str(where))
    if digest({key: value for key, value in values.items() if key != "sha256"}) != state.sha256:
        raise HashbenchError(f"{where}: damaged: its content does not have its checksum: copy it again")
    names = {file.name.casefold() for file in state.files}
    n_bytes = sum(file.n_bytes for file in state.files)
    if len(names) < len(state.files) or n_bytes != sum(part.n_bytes for part in state.parts):
        raise HashbenchError(f"{where}: not a state that hashbench packed: its files are not what its parts hold")
    if state.sources != provenance.sources():
        theirs = _shown(state.code, state.sources)
        ours = _shown(provenance.code(), provenance.sources())
        raise HashbenchError(
            f"{where}: packed by hashbench {theirs}, here is {ours}: install the same on both machines"
        )
    return state


def _shown(code: Code, sources: str) -> str:
    commit = (code.commit or "no commit")[:10]
    return f"{printable(code.version)} ({printable(commit)}, sources {sources[:10]})"


def _extract(state: State, folder: Path, into: Path) -> None:
    """Writes the files of a state; HashbenchError for a part that is not as it was packed."""
    contents = _contents(state, folder)
    held = memoryview(b"")
    for packed in state.files:
        path = into / packed.name
        left = packed.n_bytes
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            while left:
                held = held or memoryview(next(contents))
                piece = held[:left]
                held = held[left:]
                left -= file.write(piece)


def _contents(state: State, folder: Path) -> Iterator[bytes]:
    """The bytes of each part; HashbenchError, before the first is read, if one is missing or of another size."""
    paths = [folder / part.name(number) for number, part in enumerate(state.parts, 1)]
    if missing := [path for path in paths if not path.is_file()]:
        fault = f"{counted(len(missing), 'part')} of {len(paths)} missing, or of another state: copy all of them"
        raise HashbenchError(f"{missing[0]}: {fault}")
    for path, part in zip(paths, state.parts, strict=True):
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != part.sha256:
            raise HashbenchError(f"{path}: damaged: it does not have its checksum: copy it again")
        yield content


def take_up(source: Store, into: Store, *, dry_run: bool = False) -> dict[str, bool]:
    """Copies the state of each run of ``source`` that came further than here, whole; whether it did, by its name.

    HashbenchError, before anything is copied, where a process executes one of the runs at this moment.
    """
    taken: dict[str, bool] = {}
    folders = sorted(source.run_folder("").glob("*"))
    with ExitStack() as locks:
        for folder in [] if dry_run else folders:
            locks.enter_context(into.run_lock(folder.name, wait=False))
        for folder in folders:
            here = into.run_folder(folder.name)
            taken[folder.name] = _progress(folder) > _progress(here)
            if taken[folder.name] and not dry_run:
                _copy(folder, here)
    return taken


def _progress(folder: Path) -> float:
    """How far the run in ``folder`` came: its finished epochs, infinity if it is fitted, and -1 if there is none."""
    if not (folder / CONFIG).is_file():
        return -1.0
    if (folder / FITTED).is_file():
        return inf
    return float(epochs_done(folder))


def _copy(folder: Path, into: Path) -> None:
    """Copies the files of a run; what says that the others are there comes last. A fitted run keeps no checkpoint."""
    files = sorted(files_of_run(folder), key=lambda path: path.name in (checkpoint_files.FILE, FITTED))
    with all_or_none():
        for path in files:
            with atomic(into / path.name) as temporary:
                copyfile(path, temporary)
    if (into / FITTED).is_file():
        checkpoint_files.remove(into)

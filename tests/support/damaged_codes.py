"""Damaged files of codes, from a seed: each must end in one line, none in a traceback and none in a number.

A kind of damage is a generator in ``KINDS`` that writes its files into a folder. Bits are flipped only where a checksum
or a signature must tell: a flip that leaves a valid file is no damage.
"""

import io
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.io
import scipy.sparse

ROLES = ("query_codes", "database_codes", "query_labels", "database_labels")
N_QUERY = 6
N_DATABASE = 40
N_BITS = 16
N_CLASSES = 5

Arrays = dict[str, Any]
Rng = np.random.Generator
Writer = Callable[[Path, Arrays], Path]


def sound(rng: Rng, multi_hot: bool = False) -> Arrays:
    """Codes and labels with nothing wrong in them."""
    shapes = {"query_codes": (N_QUERY, N_BITS), "database_codes": (N_DATABASE, N_BITS)}
    arrays: Arrays = {role: 2.0 * rng.integers(0, 2, shape) - 1 for role, shape in shapes.items()}
    for side, size in (("query", N_QUERY), ("database", N_DATABASE)):
        ids = rng.integers(0, N_CLASSES, size)
        arrays[f"{side}_labels"] = np.eye(N_CLASSES)[ids] if multi_hot else ids.astype(float)
    return arrays


def npz(path: Path, arrays: Arrays) -> Path:
    np.savez(path.with_suffix(".npz"), **arrays)
    return path.with_suffix(".npz")


def npz_deflated(path: Path, arrays: Arrays) -> Path:
    np.savez_compressed(path.with_suffix(".npz"), **arrays)
    return path.with_suffix(".npz")


def npy(path: Path, arrays: Arrays) -> Path:
    path.mkdir(parents=True)
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array)
    return path


def mat(path: Path, arrays: Arrays) -> Path:
    scipy.io.savemat(path.with_suffix(".mat"), arrays)
    return path.with_suffix(".mat")


def mat_deflated(path: Path, arrays: Arrays) -> Path:
    scipy.io.savemat(path.with_suffix(".mat"), arrays, do_compression=True)
    return path.with_suffix(".mat")


def h5(path: Path, arrays: Arrays) -> Path:
    with h5py.File(path.with_suffix(".h5"), "w", libver="latest") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array, fletcher32=np.ndim(array) > 0)
    return path.with_suffix(".h5")


def mat_73(path: Path, arrays: Arrays) -> Path:
    """As MATLAB writes v7.3: HDF5 behind a block of text, matrices transposed, their class beside them; in chunks."""
    with h5py.File(path.with_suffix(".mat"), "w", userblock_size=512) as file:
        for name, array in arrays.items():
            dataset = file.create_dataset(name, data=np.atleast_2d(array).T, chunks=np.ndim(array) > 0 or None)
            kinds = {"u": "uint8", "b": "logical"}
            dataset.attrs["MATLAB_class"] = np.bytes_(kinds.get(np.asarray(array).dtype.kind, "double"))
    with path.with_suffix(".mat").open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(128))
    return path.with_suffix(".mat")


def pt(path: Path, arrays: Arrays) -> Path:
    import torch

    torch.save({name: torch.tensor(array) for name, array in arrays.items()}, path.with_suffix(".pt"))
    return path.with_suffix(".pt")


FILES: tuple[Writer, ...] = (npz, npz_deflated, mat, mat_deflated, h5)
EVERY: tuple[Writer, ...] = (*FILES, npy)


def truncated(folder: Path, rng: Rng) -> Iterator[Path]:
    for write in FILES:
        for n in range(8):
            path = write(folder / f"{write.__name__}_{n}", sound(rng))
            content = path.read_bytes()
            path.write_bytes(content[: rng.integers(1, len(content))])
            yield path
    for n in range(6):
        path = npy(folder / f"npy_{n}", sound(rng))
        victim = path / f"{rng.choice(ROLES)}.npy"
        victim.write_bytes(victim.read_bytes()[: rng.integers(0, victim.stat().st_size)])
        yield path


def flip(path: Path, at: int, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << bit
    path.write_bytes(content)


def flip_what_is_checked(path: Path, rng: Rng, start: int, size: int, check: Callable[[Path], Any]) -> Path:
    """Flips one bit of ``size`` bytes that ``check`` minds: a deflated stream has bits that mean nothing."""
    while True:
        at = start + int(rng.integers(size))
        bit = int(rng.integers(8))
        flip(path, at, bit)
        try:
            check(path)
        except (zlib.error, zipfile.BadZipFile):
            return path
        flip(path, at, bit)


def flipped_in_zip_data(folder: Path, rng: Rng) -> Iterator[Path]:
    for n in range(40):
        path = (npz, npz_deflated)[n % 2](folder / f"{n}", sound(rng))
        with zipfile.ZipFile(path) as archive:
            member = archive.getinfo(f"{rng.choice(ROLES)}.npy")
        header = path.read_bytes()[member.header_offset :][:30]
        start = member.header_offset + 30 + sum(struct.unpack("<HH", header[26:30]))

        def check(path: Path, name: str = member.filename) -> None:
            with zipfile.ZipFile(path) as archive:
                archive.read(name)

        yield flip_what_is_checked(path, rng, start, member.compress_size, check)


def flipped_in_mat_data(folder: Path, rng: Rng) -> Iterator[Path]:
    for n in range(12):
        path = mat_deflated(folder / f"{n}", sound(rng))
        (size,) = struct.unpack("<I", path.read_bytes()[132:136])

        def check(path: Path, end: int = 136 + size) -> None:
            zlib.decompress(path.read_bytes()[136:end])

        yield flip_what_is_checked(path, rng, 136, size, check)


def flipped_in_hdf5_data(folder: Path, rng: Rng) -> Iterator[Path]:
    for n in range(12):
        path = h5(folder / f"{n}", sound(rng))
        with h5py.File(path) as file:
            chunk = file[rng.choice(ROLES)].id.get_chunk_info(0)
        flip(path, chunk.byte_offset + int(rng.integers(chunk.size)), int(rng.integers(8)))
        yield path


def flipped_signatures(folder: Path, rng: Rng) -> Iterator[Path]:
    for n in range(8):
        for write in (npz, mat, h5):
            path = write(folder / f"{write.__name__}_{n}", sound(rng))
            flip(path, int(rng.integers(4)), n)
            yield path
        path = npy(folder / f"npy_{n}", sound(rng))
        flip(path / f"{ROLES[n % 4]}.npy", int(rng.integers(6)), n)
        yield path


def not_finite(folder: Path, rng: Rng) -> Iterator[Path]:
    for write in EVERY:
        for role in ROLES:
            arrays = sound(rng)
            kind = rng.choice(["f4", "f8"] if write in (mat, mat_deflated) else ["f2", "f4", "f8"])
            spoilt = arrays[role].astype(kind)
            spoilt.flat[rng.integers(spoilt.size)] = rng.choice([np.nan, np.inf, -np.inf])
            yield write(folder / f"{write.__name__}_{role}", arrays | {role: spoilt})


def objects(folder: Path, rng: Rng) -> Iterator[Path]:
    for write in (npz, npz_deflated, npy):
        for role in ROLES:
            arrays = sound(rng)
            yield write(folder / f"{write.__name__}_{role}", arrays | {role: arrays[role].astype(object)})


def header(shape: tuple[int, ...], kind: str = "|u1") -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": shape})
    return file.getvalue()


def with_member(path: Path, rng: Rng, role: str, head: bytes, n_zeros: int) -> Path:
    arrays = sound(rng)
    del arrays[role]
    path = npz_deflated(path, arrays)
    with (
        zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(f"{role}.npy", "w", force_zip64=True) as member,
    ):
        member.write(head)
        for start in range(0, n_zeros, 1 << 20):
            member.write(bytes(min(1 << 20, n_zeros - start)))
    return path


def zip_bombs(folder: Path, rng: Rng) -> Iterator[Path]:
    million = 1 << 20
    yield with_member(folder / "as_it_says", rng, "database_codes", header((20 * million, N_BITS)), 320 * million)
    for n, role in enumerate(ROLES):
        shape = (N_DATABASE, N_BITS) if role.endswith("codes") else (N_DATABASE,)
        yield with_member(folder / f"more_{n}", rng, role, header(shape), 40 * million)
        yield with_member(folder / f"less_{n}", rng, role, header((1 << 40, *shape[1:])), 1000)
        path = npz_deflated(folder / f"lie_{n}", sound(rng))
        content = bytearray(path.read_bytes())
        at = content.index(f"{role}.npy".encode(), content.index(b"PK\x01\x02")) - 46
        content[at + 24 : at + 28] = struct.pack("<I", int(rng.integers(1 << 31, (1 << 32) - 2)))
        path.write_bytes(content)
        yield path


def other_bombs(folder: Path, rng: Rng) -> Iterator[Path]:
    for n, role in enumerate(ROLES):
        path = folder / f"never_written_{n}.h5"
        with h5py.File(path, "w") as file:
            for name, array in sound(rng).items():
                if name == role:
                    file.create_dataset(name, (1 << 33, *array.shape[1:]), "u1", chunks=(1 << 20, *array.shape[1:]))
                else:
                    file[name] = array
        yield path
    path = folder / "one_chunk.h5"
    with h5py.File(path, "w") as file:
        file.update(sound(rng))
        del file["database_codes"]
        shape = (17 * (1 << 20), N_BITS)
        dataset = file.create_dataset("database_codes", shape, "u1", chunks=shape, compression="gzip")
        dataset.id.write_direct_chunk((0, 0), zlib.compress(bytes(1 << 20)) * 8)
    yield path
    path = mat_deflated(folder / "inflates", {name: array for name, array in sound(rng).items() if name[0] == "q"})
    deflater = zlib.compressobj(1)
    body = b"".join([*(deflater.compress(bytes(1 << 20)) for _ in range(300)), deflater.flush()])
    path.write_bytes(path.read_bytes() + struct.pack("<II", 15, len(body)) + body)
    yield path


def hdf5_that_leads_elsewhere(folder: Path, rng: Rng) -> Iterator[Path]:
    other = h5(folder / "other", sound(rng))
    for role in ROLES:
        arrays = sound(rng)
        shape = arrays.pop(role).shape
        (folder / "raw.bin").write_bytes(np.ones(shape).tobytes())
        layout = h5py.VirtualLayout(shape, "f8")
        layout[...] = h5py.VirtualSource(other, role, shape)
        contents = {
            "external": h5py.ExternalLink(str(other), role),
            "soft": h5py.SoftLink(f"/elsewhere/{role}"),
            "null": h5py.Empty("f8"),
        }
        datasets: dict[str, dict[str, Any]] = {
            "raw": {"dtype": "f8", "external": [(str(folder / "raw.bin"), 0, h5py.h5f.UNLIMITED)]},
            "reference": {"dtype": h5py.ref_dtype},
            "vlen": {"dtype": h5py.vlen_dtype("f8")},
        }
        for way in (*contents, *datasets, "virtual", "group"):
            path = h5(folder / f"{role}_{way}", arrays)
            with h5py.File(path, "r+", libver="latest") as file:
                if way in contents:
                    file[role] = contents[way]
                elif way in datasets:
                    file.create_dataset(role, shape, **datasets[way])
                elif way == "virtual":
                    file.create_virtual_dataset(role, layout)
                else:
                    file.create_group(role)
            yield path


class Harm:
    """What a hostile pickle does: if it were read, there would be a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return open, (str(self.path), "w")


def pickles(folder: Path, rng: Rng) -> Iterator[Path]:
    harm = Harm(folder / "HARM")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        for suffix in (".pkl", ".npz", ".npy", ".mat", ".pt"):
            path = folder / f"{protocol}{suffix}"
            path.write_bytes(pickle.dumps([harm, sound(rng)], protocol))
            yield path
    for n, role in enumerate(ROLES):
        path = npz(folder / f"inside_{n}", {name: array for name, array in sound(rng).items() if name != role})
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(f"{role}.npy", header((N_QUERY,), "|O") + pickle.dumps(harm))
        yield path
    for n in range(4):
        path = folder / f"torch_{n}.pt"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", pickle.dumps(harm, 2 + n % 2))
            archive.writestr("archive/version", "3\n")
        yield path


def no_codes_at_all(folder: Path, rng: Rng) -> Iterator[Path]:
    contents = {
        "empty.npz": b"",
        "text.npz": b"query_codes = 1, 0, 1\n",
        "page.mat": b"<!DOCTYPE html><html>Google Drive - Virus scan warning</html>",
        "image.npy": b"\x89PNG\r\n\x1a\n" + bytes(64),
        "gzip.npz": zlib.compress(b"codes", wbits=31),
        "empty_zip.npz": b"PK\x05\x06" + bytes(18),
        "head_only.h5": b"\x89HDF\r\n\x1a\n",
        "head_only.mat": b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM",
        "half_head.mat": b"MATLAB 5.0 MAT-file",
        "huge_element.mat": b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + struct.pack("<II", 14, 0xFFFFFFF0),
        "lines.npy": b"\x93NUMPY\x01\x00\x05\x00a\nb\rc",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
        yield folder / name
    for suffix in (".npz", ".npy", ".mat", ".h5", ".pt"):
        path = folder / f"noise{suffix}"
        path.write_bytes(b"\xff" + rng.bytes(2000))
        yield path
    (folder / "empty_folder").mkdir()
    yield folder / "empty_folder"
    yield folder / "missing.npz"
    yield npz(folder / "two_lines", {"a\nb": np.eye(3)})


KINDS: dict[str, Callable[[Path, Rng], Iterator[Path]]] = {
    kind.__name__: kind
    for kind in (
        truncated,
        flipped_in_zip_data,
        flipped_in_mat_data,
        flipped_in_hdf5_data,
        flipped_signatures,
        not_finite,
        objects,
        zip_bombs,
        other_bombs,
        hdf5_that_leads_elsewhere,
        pickles,
        no_codes_at_all,
    )
}


def write(kind: str, folder: Path, seed: int = 0) -> list[Path]:
    """The files of one kind of damage, the same for the same seed."""
    folder.mkdir(parents=True, exist_ok=True)
    return list(KINDS[kind](folder, np.random.default_rng([seed, *kind.encode()])))

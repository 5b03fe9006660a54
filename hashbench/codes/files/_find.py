"""Finds codes and labels among the arrays of files: where the user says, else by the names of known code bases."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hashbench.codes.files._names import CODE_ROLES, IDS, LAYOUT, N_BITS, NAMINGS, ROLES, Naming
from hashbench.codes.files._stored import Arrays, Format, StoredArray
from hashbench.foundation.errors import HashbenchError, printable, quietly, unknown
from hashbench.foundation.registry import Catalogue

FORMATS = Catalogue("format", "hashbench.codes.files", "FORMAT", Format)
KNOWN = {name for naming in NAMINGS for role in ROLES for name in naming.names(role)}


def arrays_in(path: Path) -> Arrays:
    """The arrays in the file at ``path``, of any known format, by key; the array of an .npy by the file's stem.

    Nothing but a list of arrays is read. Raises HashbenchError for a file that is damaged or of no known format.
    """
    if not path.is_file():
        raise HashbenchError(f"{path}: no such file")
    name, form = quietly(str(path), lambda: _format(path))
    arrays = quietly(str(path), lambda: form.arrays(path), f"not a readable .{name} file")
    return {key: _quiet(path, key, one) for key, one in arrays.items()}


def _format(path: Path) -> tuple[str, Format]:
    with path.open("rb") as file:
        head = file.read(4096)
    formats = [(name, FORMATS.get(name)) for name in FORMATS.names]
    known = [one for one in formats if one[1].recognises(head)]
    known = known or [one for one in formats if path.suffix in one[1].suffixes]
    if not known:
        raise HashbenchError(f"{path}: not a readable .npz, .npy, .mat, .h5 or .pt file: it begins like none of them")
    return known[0]


def _quiet(path: Path, key: str, one: Callable[[], StoredArray]) -> Callable[[], StoredArray]:
    return lambda: quietly(f"{path}: {printable(key)}", one)


@dataclass(frozen=True)
class NamedArrays:
    """Codes and labels by role (query_codes, ...), and what else the files hold: code length, layout, ids."""

    roles: Mapping[str, StoredArray]
    n_bits: StoredArray | None
    layout: StoredArray | None
    ids: Mapping[str, StoredArray]


def find(sources: Sequence[Path], explicit: Mapping[str, str | None], roles: Sequence[str] = ROLES) -> NamedArrays:
    """The arrays of ``roles`` that ``explicit`` gives (role: FILE or FILE:KEY); the others in ``sources``, by name."""
    given = {role: array_at(place, role) for role, place in explicit.items() if place is not None}
    said = {role: array for role, array in given.items() if role in roles}
    files = [file for source in sources for file in files_of(source)] if len(said) < len(roles) else []
    beside: dict[str, Arrays] = {str(file): arrays_in(file) for file in files}
    names = _one_namespace(beside)
    needed = [role for role in roles if role not in said]
    guessed = _guess(", ".join(map(str, sources)), names, needed) if needed else {}
    found = said | {role: names[name]() for role, name in guessed.items()}
    others = {name: names[name]() for name in (N_BITS, LAYOUT, *IDS) if name in names}
    ids = {name: given.get(name) or others[name] for name in IDS if name in given or name in others}
    return NamedArrays(found, others.get(N_BITS), others.get(LAYOUT), ids)


def array_at(place: str, role: str, option: str | None = None) -> StoredArray:
    """The array at ``place``, FILE or FILE:KEY.

    Without a key it is the only array of the file, or the only one with a known name of the ``role``. ``option`` is
    the option of the command line that errors name; it is --ROLE if not given.
    """
    path, key = parted(place)
    arrays = arrays_in(path)
    if key is not None:
        if key not in arrays:
            raise HashbenchError(f"{path}: {unknown('key', key, map(printable, arrays))}")
        return arrays[key]()
    own = {role} if role in IDS else {name for naming in NAMINGS for name in naming.names(role)}
    fitting = list(arrays) if len(arrays) == 1 else [name for name in arrays if name in own]
    if len(fitting) != 1:
        option = option or f"--{role.replace('_', '-')}"
        raise HashbenchError(f"{path}: which array is it? say {option} {path}:KEY; it holds {listed(arrays)}")
    return arrays[fitting[0]]()


def parted(place: str) -> tuple[Path, str | None]:
    """The file and the key, if there is one, of FILE or FILE:KEY."""
    if not Path(place).is_file() and ":" in place:
        before, _, key = place.rpartition(":")
        return Path(before), key
    return Path(place), None


def files_of(source: Path) -> list[Path]:
    """The files that ``find`` reads of a file or a folder."""
    if not source.is_dir():
        return [source]
    files = [path for path in sorted(source.iterdir()) if path.is_file()]
    named = [path for path in files if _known_end(path.stem) is not None]
    if named:
        return named
    containers = [path for path in files if path.suffix in (".npz", ".mat", ".h5", ".hdf5")]
    if len(containers) == 1:
        return containers
    raise HashbenchError(
        f"{source}: no file in it is named as a known code base names codes, such as tst_binary.npy or "
        f"database_code.npy: name the files with --query-codes, --database-codes and so on"
    )


def _known_end(stem: str) -> tuple[str, str] | None:
    """(prefix, known name) of a file's stem: the longest known name that it ends with, after no letter or digit."""
    for name in sorted(KNOWN, key=len, reverse=True):
        prefix = stem.removesuffix(name)
        if stem.endswith(name) and not prefix[-1:].isalnum():
            return prefix, name
    return None


def _one_namespace(files: Mapping[str, Arrays]) -> Arrays:
    names: dict[str, tuple[str, Arrays]] = {}
    for file, arrays in files.items():
        for key in arrays:
            single = len(arrays) == 1 and key == Path(file).stem
            end = _known_end(key) if single else None
            name = end[1] if end else key
            if name in names and name in KNOWN:
                raise HashbenchError(
                    f"{file}: {name} is in {names[name][0]} too: name the files of one run, "
                    "or each array with --query-codes, --database-codes and so on"
                )
            names[name] = file, {name: arrays[key]}
    return {name: arrays[name] for name, (_, arrays) in names.items()}


def _guess(where: str, names: Arrays, needed: Sequence[str]) -> dict[str, str]:
    """The name of each role that is ``needed``, in the only naming that has all its codes among ``names``."""
    fitting = [one for one in NAMINGS if _codes_of(one, needed) <= names.keys()]
    if not fitting or (not _codes_of(fitting[0], needed) and not names):
        raise _missing(where, names, needed, needed)
    complete = [one for one in fitting if all(set(one.names(role)) & names.keys() for role in needed)]
    guesses = {tuple(_named(where, one, role, names) for role in needed): one.origin for one in complete}
    if len(guesses) == 1:
        (chosen,) = guesses
        return dict(zip(needed, chosen, strict=True))
    if guesses:
        origins = " and of ".join(guesses.values())
        raise HashbenchError(
            f"{where}: the names are those of {origins}: say which with --query-codes, --database-codes and so on"
        )
    missing = [role for role in needed if not set(fitting[0].names(role)) & names.keys()]
    raise _missing(where, names, needed, missing, fitting[0])


def _codes_of(naming: Naming, needed: Iterable[str]) -> set[str]:
    return {naming.names(role)[0] for role in needed if role.endswith("codes")}


def _named(where: str, naming: Naming, role: str, names: Arrays) -> str:
    found = [name for name in naming.names(role) if name in names]
    if len(found) > 1:
        raise HashbenchError(
            f"{where}: {' and '.join(found)} could all be {role}: say which with --{role.replace('_', '-')}"
        )
    return found[0]


def _missing(
    where: str, names: Iterable[str], needed: Sequence[str], missing: Sequence[str], naming: Naming | None = None
) -> HashbenchError:
    roles = ROLES if set(needed) - set(CODE_ROLES) else CODE_ROLES
    expected = ", ".join(naming.names(role)[0] if naming else role for role in roles)
    option = missing[0].replace("_", "-")
    return HashbenchError(
        f"{where or 'codes'}: {missing[0]} is missing: {expected} are expected, or --{option} FILE:KEY; "
        f"there is {listed(names)}"
    )


def listed(names: Iterable[str]) -> str:
    """Some keys of a file, for one line."""
    shown = sorted(map(printable, names))
    return ", ".join(shown[:12]) + (", ..." if len(shown) > 12 else "") or "nothing"

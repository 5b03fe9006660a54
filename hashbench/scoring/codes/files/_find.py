"""Finds codes and labels among the arrays of files: where the user says, else by the names of known code bases."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from pathlib import Path

from hashbench.foundation.errors import HashbenchError, printable, quietly, unknown
from hashbench.scoring.codes.files import faiss, h5, mat, npy, npz, pt, txt, vecs
from hashbench.scoring.codes.files._layout import CODE_ROLES, LABEL_ROLES
from hashbench.scoring.codes.files._stored import Arrays, StoredArray

FORMATS = {"faiss": faiss, "h5": h5, "mat": mat, "npy": npy, "npz": npz, "pt": pt, "txt": txt}
SUFFIXES = (".npz", ".npy", ".mat", ".h5", ".hdf5", ".pt", ".pth", ".txt", ".faiss")  # of files of codes
NAME_EACH = "name each array, as in --array query-codes=FILE:KEY"
# arrays that may be beside the codes
N_BITS = "n_bits"
LAYOUT = "layout"
IDS = ("query_ids", "database_ids")
ROLES = (*CODE_ROLES, *LABEL_ROLES)


@dataclass(frozen=True)
class Naming:
    """The names of the four arrays in one code base; of several names for labels, a file has at most one."""

    origin: str
    query_codes: str
    database_codes: str
    query_labels: tuple[str, ...]
    database_labels: tuple[str, ...]

    def names(self, role: str) -> tuple[str, ...]:
        """The names of one of the ``ROLES``."""
        if role == "query_codes":
            return (self.query_codes,)
        if role == "database_codes":
            return (self.database_codes,)
        if role == "query_labels":
            return self.query_labels
        return self.database_labels


MATLAB_QUERY = ("Ytest", "Y_tst", "Ltest", "L_tst", "testL", "test_labels", "test_label", "tstlabel")
MATLAB_DATABASE = ("Ytrain", "Y_trn", "Ltrain", "L_trn", "trainL", "train_labels", "train_label", "trnlabel")

NAMINGS = (
    Naming("hashbench", "query_codes", "database_codes", ("query_labels",), ("database_labels",)),
    # trn is the database, not the training set
    Naming(
        "DeepHash-pytorch",
        "tst_binary",
        "trn_binary",
        ("tst_label", "L_tst", "testL"),
        ("trn_label", "L_trn", "trainL"),
    ),
    Naming("HashNet (PyTorch)", "test_code", "database_code", ("test_labels",), ("database_labels",)),
    Naming("HashNet (Caffe)", "validation_code", "database_code", ("validation_label",), ("database_label",)),
    Naming("ADSH", "qB", "rB", ("queryL", "query_labels", "qL"), ("retrievalL", "database_labels", "rL")),
    Naming(
        "ADSH (.mat)",
        "test_bit",
        "database_bit",
        ("test_label", "test_labels", "queryL"),
        ("database_label", "database_labels", "retrievalL"),
    ),
    Naming("TALR, MIHash", "Htest", "Htrain", MATLAB_QUERY, MATLAB_DATABASE),
    Naming("MATLAB hashing", "B_tst", "B_trn", MATLAB_QUERY, MATLAB_DATABASE),
    Naming("MATLAB deep hashing", "testB", "trainB", MATLAB_QUERY, MATLAB_DATABASE),
    Naming("pytorch_deephash", "test_binary", "train_binary", ("test_label",), ("train_label",)),
    # the user's own items, which are then both the queries and the database
    Naming("hashbench encode RUN ITEMS", "codes", "codes", ("labels",), ("labels",)),
)

KNOWN = set(chain.from_iterable(naming.names(role) for naming, role in product(NAMINGS, ROLES)))


def arrays_in(path: Path) -> Arrays:
    """The arrays in the file at ``path`` by key, of which no value is read; an .npy has its stem as its key."""
    if not path.is_file():
        raise HashbenchError(f"{path}: no such file")
    if path.suffix.lower() in vecs.SUFFIXES:
        vectors = quietly(str(path), lambda: vecs.arrays(path))
        return {key: partial(quietly, str(path), one) for key, one in vectors.items()}
    name = quietly(str(path), lambda: _format(path))
    arrays = quietly(str(path), lambda: FORMATS[name].arrays(path), f"not a readable .{name} file")
    return {key: partial(quietly, f"{path}: {printable(key)}", one) for key, one in arrays.items()}


def attributes_of(path: Path) -> dict[str, str]:
    """The texts among the attributes of a file, which only HDF5 has."""
    if quietly(str(path), lambda: _format(path)) != "h5":
        return {}
    return quietly(str(path), lambda: h5.attributes(path))


def _format(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(4096)
    for name, form in FORMATS.items():
        if form.recognises(head):
            return name
    if path.suffix in pt.SUFFIXES:
        return "pt"
    raise HashbenchError(
        f"{path}: not a readable .npz, .npy, .mat, .h5, .pt, .txt or .faiss file: it begins like none of them"
    )


def find(sources: Sequence[Path], places: Mapping[str, str], roles: Sequence[str]) -> dict[str, StoredArray]:
    """The arrays of ``roles`` in their ``places``, else by name in ``sources``; and code length, layout and ids."""
    beside = [*sources, *(path for path, _ in map(parted, places.values()) if path.is_file())]
    explicit_arrays = {role: array_at(place, role, beside=beside) for role, place in places.items()}
    needed = [role for role in roles if role not in explicit_arrays]
    if not needed:
        return explicit_arrays
    files = chain.from_iterable(map(files_of, sources))
    names = _one_namespace({str(file): arrays_in(file) for file in files})
    name_of_role = _guess(", ".join(map(str, sources)), names, needed)
    others = {name: names[name]() for name in (N_BITS, LAYOUT, *IDS) if name in names}
    return others | explicit_arrays | {role: names[name]() for role, name in name_of_role.items()}


def array_at(place: str, role: str, option: str | None = None, beside: Sequence[Path] = ()) -> StoredArray:
    """The array at ``place``: FILE:KEY, FILE, whose only array or only one named as the ``role`` it is, or KEY.

    A KEY alone is that of one of the files or folders ``beside`` it, the first that has it.
    """
    path, key = parted(place)
    is_key = key is None and path.name == place and path.suffix not in SUFFIXES and not path.exists()
    if is_key and (file := _file_with(place, beside)) is not None:
        path = file
        key = place
    arrays = arrays_in(path)
    if key is not None:
        return array_of(arrays, key, path)
    fitting = list(arrays)
    if len(arrays) > 1:
        names_of_role = {role}
        if role in ROLES:
            names_of_role.update(*(naming.names(role) for naming in NAMINGS))
        fitting = [name for name in arrays if name in names_of_role]
    if len(fitting) != 1:
        option = option or f"--array {role.replace('_', '-')}="
        raise HashbenchError(f"{path}: which array is it? say {option}{path}:KEY; it holds {_listed(arrays)}")
    return arrays[fitting[0]]()


def _file_with(key: str, sources: Sequence[Path]) -> Path | None:
    """The first file that has the array ``key``, else the first of all, which an error names; None without files."""
    files = list(chain.from_iterable(files_of(source) for source in sources if source.exists()))
    for file in files:
        if key in arrays_in(file):
            return file
    return next(iter(files), None)


def array_of(arrays: Arrays, key: str, path: Path) -> StoredArray:
    """The array called ``key`` among the ``arrays`` of the file at ``path``; raises HashbenchError if there is none."""
    if key not in arrays:
        raise HashbenchError(f"{path}: {unknown('key', key, map(printable, arrays))}")
    return arrays[key]()


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
    if named := [path for path in files if _known_end(path.stem)]:
        return named
    containers = [path for path in files if path.suffix in (".npz", ".mat", ".h5", ".hdf5")]
    if len(containers) == 1:
        return containers
    known = "as a known code base names codes, such as tst_binary.npy or database_code.npy"
    raise HashbenchError(f"{source}: no file in it is named {known}: {NAME_EACH}")


def _known_end(stem: str) -> str | None:
    """The longest known name that a file's stem ends with, after no letter or digit."""
    # anything may come before a known name: cifar10-0.79-trn_binary.npy is a trn_binary
    ends = [name for name in KNOWN if stem.endswith(name) and not stem.removesuffix(name)[-1:].isalnum()]
    return max(ends, key=len, default=None)


def _one_namespace(files: Mapping[str, Arrays]) -> Arrays:
    """The arrays of all files by name; the array of a file of one by the known name at the end of the file's."""
    names: dict[str, tuple[str, Callable[[], StoredArray]]] = {}
    for file, arrays in files.items():
        for key, one in arrays.items():
            name = key
            if len(arrays) == 1 and key == Path(file).stem:
                name = _known_end(key) or key
            if name in names and name in KNOWN:
                raise HashbenchError(f"{file}: {name} is in {names[name][0]} too: {NAME_EACH}")
            names[name] = file, one
    return {name: one for name, (_, one) in names.items()}


def _guess(where: str, names: Arrays, needed: Sequence[str]) -> dict[str, str]:
    """The name of each role that is ``needed``, in the only naming that has all its codes among ``names``."""
    code_roles = [role for role in needed if role in CODE_ROLES]
    fitting = [naming for naming in NAMINGS if all(naming.names(role)[0] in names for role in code_roles)]
    if not fitting or not (code_roles or names):
        raise _missing(where, names, needed, needed[0])
    complete = [naming for naming in fitting if not _lacking(naming, needed, names)]
    if not complete:
        raise _missing(where, names, needed, _lacking(fitting[0], needed, names)[0], fitting[0])
    origins: dict[tuple[str, ...], str] = {}
    for naming in complete:
        names_of_roles = tuple(_named(where, naming, role, names) for role in needed)
        origins[names_of_roles] = naming.origin
    if len(origins) > 1:
        raise HashbenchError(f"{where}: these names are used by {' and by '.join(origins.values())}: {NAME_EACH}")
    (names_of_roles,) = origins
    return dict(zip(needed, names_of_roles, strict=True))


def _lacking(naming: Naming, needed: Sequence[str], names: Arrays) -> list[str]:
    """The roles of which no name of the ``naming`` is there."""
    return [role for role in needed if not names.keys() & set(naming.names(role))]


def _named(where: str, naming: Naming, role: str, names: Arrays) -> str:
    present = [name for name in naming.names(role) if name in names]
    if len(present) > 1:
        raise HashbenchError(f"{where}: {' and '.join(present)} could all be {role}: {NAME_EACH}")
    return present[0]


def _missing(
    where: str, names: Iterable[str], needed: Sequence[str], missing: str, naming: Naming = NAMINGS[0]
) -> HashbenchError:
    roles = ROLES if set(needed) - set(CODE_ROLES) else CODE_ROLES
    expected = ", ".join(naming.names(role)[0] for role in roles)
    option = f"--array {missing.replace('_', '-')}=FILE:KEY; there is {_listed(names)}"
    return HashbenchError(f"{where or 'codes'}: {missing} is missing: {expected} are expected, or {option}")


def _listed(names: Iterable[str]) -> str:
    shown = sorted(map(printable, names))
    if len(shown) > 12:
        shown[12:] = ["..."]
    return ", ".join(shown) or "nothing"

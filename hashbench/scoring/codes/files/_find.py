"""Finds codes and labels among the arrays of files: where the user says, else by the names of known code bases."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, product
from pathlib import Path

from hashbench.foundation.errors import HashbenchError, printable, quietly, unknown
from hashbench.scoring.codes.files import faiss, h5, mat, npy, npz, pt, txt, vecs
from hashbench.scoring.codes.files._layout import CODE_ROLES, LABEL_ROLES
from hashbench.scoring.codes.files._stored import Arrays, StoredArray

FORMATS = {"faiss": faiss, "h5": h5, "mat": mat, "npy": npy, "npz": npz, "pt": pt, "txt": txt, "vecs": vecs}
SUFFIXES = (".npz", ".npy", ".mat", ".h5", ".hdf5", ".pt", ".pth", ".txt", ".faiss")  # of files of codes
BY_HEAD = ("faiss", "h5", "mat", "npy", "npz", "pt")  # of which the first bytes tell
BY_SUFFIX = {".txt": "txt", ".pkl": "pt", ".pickle": "pt", **dict.fromkeys(vecs.SUFFIXES, "vecs")}
NAME_EACH = "name each array, as in --array query-codes=FILE:KEY"
# arrays that may be beside the codes
N_BITS = "n_bits"
LAYOUT = "layout"
IDS = ("query_ids", "database_ids")
ROLES = (*CODE_ROLES, *LABEL_ROLES)


MATLAB_QUERY = ("Ytest", "Y_tst", "Ltest", "L_tst", "testL", "test_labels", "test_label", "tstlabel")
MATLAB_DATABASE = ("Ytrain", "Y_trn", "Ltrain", "L_trn", "trainL", "train_labels", "train_label", "trnlabel")

# by code base: the names of the query codes and the database codes, and of the labels of both
NAMINGS: dict[str, tuple[tuple[str, ...], ...]] = {
    "hashbench": (("query_codes",), ("database_codes",), ("query_labels",), ("database_labels",)),
    # trn is the database, not the training set
    "DeepHash-pytorch": (
        ("tst_binary",),
        ("trn_binary",),
        ("tst_label", "L_tst", "testL"),
        ("trn_label", "L_trn", "trainL"),
    ),
    "HashNet (PyTorch)": (("test_code",), ("database_code",), ("test_labels",), ("database_labels",)),
    "HashNet (Caffe)": (("validation_code",), ("database_code",), ("validation_label",), ("database_label",)),
    "ADSH": (("qB",), ("rB",), ("queryL", "query_labels", "qL"), ("retrievalL", "database_labels", "rL")),
    "ADSH (.mat)": (
        ("test_bit",),
        ("database_bit",),
        ("test_label", "test_labels", "queryL"),
        ("database_label", "database_labels", "retrievalL"),
    ),
    "TALR, MIHash": (("Htest",), ("Htrain",), MATLAB_QUERY, MATLAB_DATABASE),
    "MATLAB hashing": (("B_tst",), ("B_trn",), MATLAB_QUERY, MATLAB_DATABASE),
    "MATLAB deep hashing": (("testB",), ("trainB",), MATLAB_QUERY, MATLAB_DATABASE),
    "pytorch_deephash": (("test_binary",), ("train_binary",), ("test_label",), ("train_label",)),
    # the user's own items, which are then both the queries and the database
    "hashbench encode RUN ITEMS": (("codes",), ("codes",), ("labels",), ("labels",)),
}

KNOWN = set(chain.from_iterable(chain.from_iterable(NAMINGS.values())))


def arrays_in(path: Path) -> Arrays:
    """The arrays in the file at ``path`` by key, of which no value is read; an .npy has its stem as its key."""
    if not path.is_file():
        raise HashbenchError(f"{path}: no such file")
    name = quietly(str(path), lambda: _format(path))
    arrays = quietly(str(path), lambda: FORMATS[name].arrays(path), f"not a readable .{name} file")
    return {key: partial(quietly, f"{path}: {printable(key)}", one) for key, one in arrays.items()}


def attributes_of(path: Path) -> dict[str, str]:
    """The texts among the attributes of a file, which only HDF5 has."""
    if quietly(str(path), lambda: _format(path)) != "h5":
        return {}
    return quietly(str(path), lambda: h5.attributes(path))


def _format(path: Path) -> str:
    if (name := BY_SUFFIX.get(path.suffix.lower())) is not None:
        return name
    with path.open("rb") as file:
        head = file.read(4096)
    for name in BY_HEAD:
        if FORMATS[name].recognises(head):
            return name
    raise HashbenchError(
        f"{path}: not a readable .npz, .npy, .mat, .h5, .pt, .txt or .faiss file: it begins like none of them"
    )


def find(sources: Sequence[Path], places: Mapping[str, str], roles: Sequence[str]) -> dict[str, StoredArray]:
    """The arrays of ``roles`` in their ``places``, else by name in ``sources``; and code length, layout and ids."""
    explicit_arrays = {role: array_at(place, role) for role, place in places.items()}
    needed = [role for role in roles if role not in explicit_arrays]
    if not needed:
        return explicit_arrays
    files = chain.from_iterable(map(files_of, sources))
    names = _one_namespace({str(file): arrays_in(file) for file in files})
    name_of_role = _guess(", ".join(map(str, sources)), names, needed)
    others = {name: names[name]() for name in (N_BITS, LAYOUT, *IDS) if name in names}
    return others | explicit_arrays | {role: names[name]() for role, name in name_of_role.items()}


def array_at(place: str, role: str, option: str | None = None) -> StoredArray:
    """The array at ``place``: FILE:KEY, or FILE, whose only array or only one named as the ``role`` it is."""
    path, key = parted(place)
    arrays = arrays_in(path)
    if key is not None:
        if key not in arrays:
            raise HashbenchError(f"{path}: {unknown('key', key, map(printable, arrays))}")
        return arrays[key]()
    fitting = list(arrays)
    if len(arrays) > 1:
        names_of_role = {role}
        if role in ROLES:
            names_of_role.update(*(names[ROLES.index(role)] for names in NAMINGS.values()))
        fitting = [name for name in arrays if name in names_of_role]
    if len(fitting) != 1:
        option = option or f"--array {role.replace('_', '-')}="
        raise HashbenchError(f"{path}: which array is it? say {option}{path}:KEY; it holds {_listed(arrays)}")
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
    """The name of each role that is ``needed``, in the only naming that has all of them among ``names``."""
    roles = [ROLES.index(role) for role in needed]
    choices: dict[tuple[str, ...], str] = {}
    for origin, naming in NAMINGS.items():
        for chosen in product(*([name for name in naming[role] if name in names] for role in roles)):
            choices.setdefault(chosen, origin)
    if len(choices) > 1:
        ways = " or ".join(f"{', '.join(chosen)} ({origin})" for chosen, origin in choices.items())
        raise HashbenchError(f"{where}: {ways} could be meant: {NAME_EACH}")
    for chosen in choices:
        return dict(zip(needed, chosen, strict=True))
    lacking = {
        origin: [role for role in needed if not names.keys() & set(naming[ROLES.index(role)])]
        for origin, naming in NAMINGS.items()
    }
    closest = min(lacking, key=lambda origin: len(lacking[origin]))
    missing = lacking[closest][0]
    expected = ", ".join(NAMINGS[closest][role][0] for role in roles)
    option = f"--array {missing.replace('_', '-')}=FILE:KEY; there is {_listed(names)}"
    raise HashbenchError(f"{where or 'codes'}: {missing} is missing: {expected} are expected, or {option}")


def _listed(names: Iterable[str]) -> str:
    shown = sorted(map(printable, names))
    if len(shown) > 12:
        shown[12:] = ["..."]
    return ", ".join(shown) or "nothing"

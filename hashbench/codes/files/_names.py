"""The names under which known code bases save codes and labels: keys of one file, or files of one folder.

A file's name may have anything before it: ``cifar10-0.79-trn_binary.npy`` is a ``trn_binary``.
"""

from dataclasses import dataclass

CODE_ROLES = ("query_codes", "database_codes")
ROLES = (*CODE_ROLES, "query_labels", "database_labels")


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
        found: str | tuple[str, ...] = getattr(self, role)
        return (found,) if isinstance(found, str) else found


MATLAB_QUERY = ("Ytest", "Y_tst", "Ltest", "test_labels", "test_label", "tstlabel")
MATLAB_DATABASE = ("Ytrain", "Y_trn", "Ltrain", "train_labels", "train_label", "trnlabel")

NAMINGS = (
    Naming("hashbench", "query_codes", "database_codes", ("query_labels",), ("database_labels",)),
    # trn is the database, not the training set
    Naming("DeepHash-pytorch", "tst_binary", "trn_binary", ("tst_label",), ("trn_label",)),
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
    Naming("pytorch_deephash", "test_binary", "train_binary", ("test_label",), ("train_label",)),
    # the user's own items, which are then both the queries and the database
    Naming("hashbench encode RUN ITEMS", "codes", "codes", ("labels",), ("labels",)),
)

# What may stand beside the codes, in one file with them.
N_BITS, LAYOUT = "n_bits", "layout"
IDS = ("query_ids", "database_ids")

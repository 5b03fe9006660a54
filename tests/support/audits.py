"""What the tests read off an audit."""

from hashbench.datasets.audit import Audit


def n_duplicates(found: Audit) -> int:
    """How many queries the database holds byte for byte under another id."""
    return sum(leak.n for leak in found.leaks if (leak.role, leak.inside, leak.by) == ("query", "database", "bytes"))

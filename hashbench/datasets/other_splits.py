"""Other splits of a protocol: the same draw with another seed than the protocol's own."""

from hashbench.datasets.protocol import Protocol
from hashbench.foundation.errors import HashbenchError


def with_seed(protocol: Protocol, seed: int, title: str) -> Protocol:
    """The protocol with another seed, and without the checksum of its ids, which is that of its own seed.

    ``title`` names the protocol in the error. Raises HashbenchError if nothing is drawn at random.
    """
    if seed == protocol.seed:
        return protocol
    if protocol.draw == "parts":
        raise HashbenchError(f"split {seed}: nothing is drawn in {title}, its ids are published: it has one split")
    return protocol.model_copy(update={"seed": seed, "ids_sha256": None})


def split_seeds(protocol: Protocol, n: int, title: str) -> list[int | None]:
    """The seeds of the first ``n`` splits of a protocol: None, which is its own seed, and the numbers that follow it.

    Raises HashbenchError if ``n`` is more than 1 and nothing is drawn at random.
    """
    others = [with_seed(protocol, protocol.seed + place, title).seed for place in range(1, n)]
    return [None, *others]

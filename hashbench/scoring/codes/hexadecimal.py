"""Codes as texts, as image hashes are printed: a hexadecimal digit for four bits, or a 0 or 1 for each bit."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, printable, retold

ZEROS_AND_ONES = re.compile("[01]*")
DIGITS = b"0123456789abcdef"
NO_DIGIT = 255
VALUE = np.full(256, NO_DIGIT, np.uint8)  # of a character
VALUE[list(DIGITS)] = VALUE[list(DIGITS.upper())] = range(16)


def n_bits_of(where: str, texts: Iterable[NDArray[Any]], n_characters: int, n_bits: int | None) -> int:
    """The code length of ``texts``, which come in parts: four bits a character, or one, or as ``n_bits`` says.

    The digits may be those of whole bytes, with some bits more than ``n_bits``. HashbenchError where ``n_bits`` fits
    neither, and where it is None and all characters are 0 and 1: both could be.
    """
    if n_bits is None:
        if all(ZEROS_AND_ONES.fullmatch("".join(part.astype(np.str_).ravel())) for part in texts):
            which = f"{n_characters} bits, or {4 * n_characters} as hexadecimal digits: say which (bits=N, --layout N)"
            raise HashbenchError(f"{where}: texts of 0 and 1 could be {which}")
        return 4 * n_characters
    if n_characters not in (n_bits, -(-n_bits // 4), 2 * -(-n_bits // 8)):
        due = f"{4 * n_characters} bits as hexadecimal digits, or {n_characters} as 0 and 1"
        raise HashbenchError(f"{where}: texts of {n_characters} characters hold {due}, not {n_bits}")
    return n_bits


def bits_of(where: str, texts: NDArray[Any], n_characters: int, n_bits: int) -> NDArray[np.uint8]:
    """The codes [n, n_bits], of 0 and 1, in ``texts`` [n] of ``n_characters`` each.

    HashbenchError for other texts, and for bits that are set beyond ``n_bits``, as in packed bytes.
    """
    if not (np.strings.str_len(texts) == n_characters).all():
        other = printable(str(texts[np.argmax(np.strings.str_len(texts) != n_characters)]))
        raise HashbenchError(f"{where}: {other!r} is not of {n_characters} characters, as another is: all must agree")
    with retold(lambda _: f"{where}: texts with other characters than 0 to 9 and a to f", UnicodeEncodeError):
        characters = np.ascontiguousarray(texts, f"S{n_characters}").view(np.uint8)
    values = VALUE[characters].reshape(len(texts), n_characters)
    is_binary = n_bits == n_characters
    largest = 15
    expected = "hexadecimal digits"
    if is_binary:
        largest = 1
        expected = f"{n_bits} characters 0 and 1"
    if (values > largest).any():
        text = printable(str(texts[np.argmax((values > largest).any(axis=1))]))
        raise HashbenchError(f"{where}: {text!r}: {expected} are expected in texts of codes")
    if is_binary:
        return values
    bits = np.unpackbits(values[:, :, None], axis=2)[:, :, 4:].reshape(len(texts), 4 * n_characters)
    if (padding := bits[:, n_bits:].any(axis=1)).any():
        text = printable(str(texts[np.argmax(padding)]))
        raise HashbenchError(f"{where}: {text!r}: bits beyond n_bits = {n_bits} are set: the last ones must be 0")
    return bits[:, :n_bits]

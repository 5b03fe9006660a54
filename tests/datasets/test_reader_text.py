"""The formats of text: LIBSVM's, zip.train's, ISOLET's."""

import numpy as np
import pytest
from support.reader_inputs import card, read, refusal

USPS = card("usps", [4], 3, 10)
ISOLET = card("isolet", [3], 4, 26)

ROWS = np.array([[-1, 0.631, 0, 1], [0, 0, 0, 0], [-0.999, -1, 0.002, 0.5]], np.float32)
DIGITS = [9, 0, 4]
SPARSE = b"10 1:-1 2:0.631 4:1\n1 \n5 1:-0.999 2:-1 3:0.002 4:0.5\n"
DENSE = b"9.0000 -1.0000 0.6310 -0.0000 1.0000 \n0 0 0 0 0\n4.0 -.999 -1 2e-3 0.5\n"


@pytest.mark.parametrize("of, text", [(USPS, SPARSE), (USPS, DENSE)])
def test_rows_and_classes(tmp_path, of, text):
    items, labels, _ = read(of, tmp_path, {"x": text})
    assert items.dtype == np.float32
    assert items.tobytes() == ROWS.tobytes()  # a minus zero is a zero
    assert labels.tolist() == DIGITS
    assert labels.dtype == np.int64


def test_every_value_of_three_decimals_is_told_from_one_of_six(tmp_path):
    values = np.arange(-1000, 1001)
    texts = [f"1 {value / 1000:.4f} 0 0 0" for value in values]
    items, _, _ = read(USPS, tmp_path, {"x": "\n".join(texts).encode()})
    np.testing.assert_array_equal(items[:, 0], (values / 1000).astype(np.float32))
    smoothed = SPARSE.replace(b"0.631", b"0.631001")
    assert "LIBSVM's smoothed copy" in refusal(USPS, tmp_path, {"x": smoothed})


FAULTS = {
    "empty": (b"", "rows"),
    "a page": (b"<!DOCTYPE html>\n<html>", "damaged or truncated"),
    "a feature too many": (b"1 5:0.5\n", "damaged or truncated"),
    "a class too many": (b"11 1:0.5\n", "row 0 has label 11; 1 to 10 exist"),
    "half a class": (b"1.5 1:0.5\n", "row 0 has label 1.5"),
    "not a number": (b"1 1:nan\n", "not a finite number"),
    "cut within a number": (b"1 1:0.5 2:", "damaged or truncated"),
    "dense: cut": (b"1 0 0 0 0\n2 0 0", "damaged or truncated"),
    "dense: short rows": (b"1 0 0\n2 0 0", "2 rows of 3 numbers; rows of 5 are expected"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faulty_text_is_one_line(tmp_path, fault):
    text, message = FAULTS[fault]
    error = refusal(USPS, tmp_path, {"x": text})
    assert message in error
    assert error.startswith("x: ")


SPOKEN = [b"0.1234, -1.0000, 1.0000, 2.\n", b"-0.5000, 0.2500, 0.0000, 1.\n", b"0.5000, 0.2500, 0.0000, 1.\n"]


def test_isolet_has_one_order_whatever_the_copy(tmp_path):
    orders = [SPOKEN, SPOKEN[::-1], [SPOKEN[1], SPOKEN[0], SPOKEN[2]]]
    both_orders = [read(ISOLET, tmp_path, {"x": b"".join(rows), "y": SPOKEN[0]}) for rows in orders]
    for items, labels, _ in both_orders:
        np.testing.assert_array_equal(items, both_orders[0][0])
        assert labels.tolist() == [0, 0, 1, 1]
    assert sorted(both_orders[0][0][:2, 0].tolist()) == [-0.5, 0.5]
    assert both_orders[0][0][3].tolist() == np.float32([0.1234, -1, 1]).tolist()


ISOLET_FAULTS = {
    "cut within a row": (b"".join(SPOKEN)[:-12], "damaged or truncated"),
    "a 27th letter": (b"0, 0, 0, 27.\n", "row 0 has label 27; 1 to 26 exist"),
    "empty": (b"", "0 rows"),
}


@pytest.mark.parametrize("fault", ISOLET_FAULTS)
def test_faulty_isolet_is_one_line(tmp_path, fault):
    text, message = ISOLET_FAULTS[fault]
    assert message in refusal(ISOLET, tmp_path, {"x": text})

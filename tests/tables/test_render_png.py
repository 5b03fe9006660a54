"""The picture: of what was measured only, the same bytes each time, nothing written over anything."""

import struct
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fake_rows import fake_resolve, fake_row, sample_spec, sample_table

from hashbench.tables.collect import collect
from hashbench.tables.render_png import apart, code_lengths, render_png
from hashbench.tables.table import Table


def lines_table(*means: float) -> Table:
    """A table over code lengths, a row a mean."""
    rows = [{"label": f"row {i}", "method": "lsh", "settings": {"row": i}} for i in range(len(means))]
    columns = [{"label": f"{bits} bits", "settings": {"bits": bits}} for bits in (12, 24)]
    spec = sample_spec(groups=[{"section": "AP", "columns": columns, "rows": rows}])
    values = [mean for mean in means for _ in columns]
    filled = [fake_row(cell, seed, ap=mean) for cell, mean in zip(spec.cells, values, strict=True) for seed in range(2)]
    return collect(spec, filled, None, resolve=fake_resolve)


def test_nothing_measured_gives_no_picture() -> None:
    assert render_png(collect(sample_spec(), [], None, resolve=fake_resolve)) is None


@pytest.mark.parametrize("table", [sample_table(), lines_table(0.0, 0.5, 0.5)], ids=["dots", "lines"])
def test_picture_is_1200_pixels_wide_and_the_same_each_time(table: Table) -> None:
    picture = render_png(table)
    assert picture is not None and picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">I", picture[16:20]) == (1200,)
    assert b"Software" not in picture
    assert render_png(table) == picture


def test_settings_of_the_user_change_nothing() -> None:
    import matplotlib

    table = lines_table(0.5)
    plain = render_png(table)
    with matplotlib.rc_context({"lines.linewidth": 9.0, "savefig.dpi": 30.0}):
        assert render_png(table) == plain


def test_code_lengths_are_seen_in_the_settings() -> None:
    bits, sparse = sample_table().sections
    assert code_lengths(bits) == [12, 24, 48]
    assert code_lengths(sparse) == []


def test_matplotlib_is_imported_only_to_draw() -> None:
    code = (
        "import hashbench.tables.render_png, hashbench.tables.collect, hashbench.cli.table, hashbench.cli.status, sys"
    )
    heavy = "{'torch', 'sklearn', 'pandas', 'scipy', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", f"{code}\nassert not {heavy}, {heavy}"], check=True, timeout=60)


heights = st.lists(st.floats(-1, 2), min_size=1, max_size=12).map(lambda v: {str(i): x for i, x in enumerate(v)})


@given(heights, st.floats(0.001, 0.08))
def test_labels_are_apart_and_inside(values: dict[str, float], gap: float) -> None:
    moved = sorted(apart(values, 0.0, 1.0, gap).values())
    assert moved[0] >= -1e-9 and moved[-1] <= 1 + 1e-9
    assert all(upper - lower >= gap - 1e-9 for lower, upper in pairwise(moved))


@given(heights)
def test_labels_keep_the_order_of_their_values(values: dict[str, float]) -> None:
    moved = apart(values, 0.0, 1.0, 0.05)
    assert set(moved) == set(values)
    assert all(moved[a] < moved[b] for a in values for b in values if values[a] < values[b])


def test_labels_with_room_stay_where_they_are() -> None:
    assert apart({"a": 0.9, "b": 0.1}, 0.0, 1.0, 0.1) == pytest.approx({"a": 0.9, "b": 0.1})

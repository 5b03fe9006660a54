"""The picture: of what was measured only, the same bytes each time, every row named and told apart."""

import struct
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.fake_rows import fake_hash, fake_row, sample_spec, sample_table
from support.python import python

from hashbench.showing.figures import drawing_of_table, picture
from hashbench.showing.figures._drawing import _drawn
from hashbench.showing.figures._looks import looks_of
from hashbench.showing.tables.collect import collect
from hashbench.showing.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def lines_table(*means: float, tie_range: float = 0.0, more: str = "") -> Table:
    """A table over code lengths, a row a mean; the best AP of the first row is ``tie_range`` above the worst.

    All labels and titles end in ``more``.
    """
    rows = [{"label": f"row {i}{more}", "method": "lsh", "settings": {"row": i}} for i in range(len(means))]
    columns = [{"label": f"{bits} bits", "settings": {"bits": bits}} for bits in (12, 24)]
    groups = [{"section": f"AP{more}", "columns": columns, "rows": rows}]
    spec = sample_spec(groups=groups, title=f"Tiny{more}", notes=[more])
    values = [mean for mean in means for _ in columns]
    filled = [
        fake_row(cell, seed, ap=mean, ap_worst=mean, ap_best=mean + (tie_range if cell.row == "row 0" else 0.0))
        for cell, mean in zip(spec.cells, values, strict=True)
        for seed in range(2)
    ]
    return collect(spec, filled, None, hash_of=fake_hash)


def png(table: Table) -> bytes:
    drawing = drawing_of_table(table)
    assert drawing is not None
    return picture(drawing, "stamp")


def test_nothing_measured_gives_no_picture() -> None:
    assert drawing_of_table(collect(sample_spec(), [], None, hash_of=fake_hash)) is None


def test_pictures_have_the_width_of_a_page_and_the_same_bytes_whatever_the_settings_of_the_user_are() -> None:
    import matplotlib

    for table in (sample_table(), lines_table(0.0, 0.5)):
        picture = png(table)
        assert picture[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">I", picture[16:20]) == (1035,)
        assert b"Software" not in picture
        with matplotlib.rc_context({"lines.linewidth": 9.0, "savefig.dpi": 30.0}):
            assert png(table) == picture


def test_what_users_write_is_no_mathematics() -> None:
    assert png(lines_table(0.5, 0.5, more=r" $\frac$ of $x_i$"))  # matplotlib fails where it reads this as such


def test_matplotlib_is_imported_only_to_draw() -> None:
    modules = ("showing.figures", "showing.report.files", "cli.table", "cli.status")
    code = "\n".join(["import sys", *(f"import hashbench.{module}" for module in modules)])
    heavy = "{'torch', 'sklearn', 'pandas', 'scipy.linalg', 'matplotlib'} & set(sys.modules)"
    python(f"{code}\nassert not {heavy}, {heavy}")


def test_no_two_rows_of_one_method_look_alike() -> None:
    looks = looks_of({f"row {i}": "lsh" for i in range(20)})
    assert len({(look["marker"], look["linestyle"]) for look in looks.values()}) == 20
    assert len({look["color"] for look in looks.values()}) == 1


def drawn(table: Table) -> "Figure":
    """The figure that the picture of ``table`` is saved from, laid out."""
    drawing = drawing_of_table(table)
    assert drawing is not None
    with _drawn(drawing) as figure:
        return figure


def test_panels_of_dots_name_their_rows_beside_the_axes() -> None:
    figure = drawn(sample_table())
    assert figure.legends == []
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["DPSH*", "MIHash", "TALR_AP", "Not run"]


@pytest.mark.parametrize("table", [sample_table(), lines_table(0.5, 0.6, tie_range=0.2)])
def test_tie_dependent_values_have_a_sign_and_the_text_below_fits(table: Table) -> None:
    figure = drawn(table)
    signs = [text.xy for ax in figure.axes for text in ax.texts if text.get_text() == "‡"]
    marked = [cell.measured.mean for cell in table.cells() if cell.measured and cell.measured.is_tie_dependent]
    assert len(signs) == len(marked) == (1 if len(table.sections) == 2 else 2)
    assert set(marked) <= {x for sign in signs for x in sign}
    below = figure.get_supxlabel()
    assert "of one split: the spread of training" in " ".join(below.split())
    assert "‡ tie-dependent: the worst and the best mAP" in " ".join(below.split())
    box = figure._supxlabel.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.x1


def test_the_best_values_are_large_and_those_of_every_seed_have_a_sign() -> None:
    figure = drawn(sample_table())
    large = [line.get_xdata()[0] for ax in figure.axes for line in ax.lines if line.get_markersize() == 5]
    assert sorted(large) == pytest.approx([0.72333, 0.72333, 0.7569, 0.7571, 0.79, 61.34], abs=1e-4)
    assert [text.xy[0] for ax in figure.axes for text in ax.texts if text.get_text() == "="] == [0.79]
    below = " ".join(figure.get_supxlabel().split())
    assert "; large: the highest mean; no test over splits;" in below
    assert "; = the same for every seed. Processors: AMD $x (17 of the runs), " in below and "≠" not in below


def test_no_sign_without_a_tie_dependent_value() -> None:
    figure = drawn(lines_table(0.5, 0.6, tie_range=0.1))
    assert [text for ax in figure.axes for text in ax.texts] == []
    assert "‡" not in figure.get_supxlabel()


@pytest.mark.parametrize("table", [sample_table(), lines_table(0.5, 0.6)])
def test_a_long_title_goes_on_in_another_line(table: Table) -> None:
    title = "AP on CIFAR-10 S2, with a network that was trained on CIFAR-100: frozen, and with all its layers trained"
    figure = drawn(replace(table, title=title))
    assert " ".join(figure.get_suptitle().split()) == title
    assert figure._suptitle.get_window_extent().x1 <= figure.bbox.x1

"""Table files: what is refused, what is inherited, what a value becomes; and the names that cells may use."""

import os
from pathlib import Path
from typing import Any

import pytest
from support.one_line import one_line
from support.python import python

from hashbench.foundation.config import parse
from hashbench.showing.tables import spec
from hashbench.showing.tables.cell import Cell, TableFile
from hashbench.showing.tables.spec import TableSpec, check_names

KEYS = {"dataset": "digits", "protocol": "s1", "method": "lsh", "metric": "ap"}


def table(*groups: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"title": "t", "paper": "p", "source": "s", "defaults": KEYS, "groups": list(groups), **keys}


def group(*rows: dict[str, Any], columns: tuple[str, ...] = ("a", "b"), **keys: Any) -> dict[str, Any]:
    return {"columns": [{"label": label} for label in columns], "rows": list(rows), **keys}


def expand(values: dict[str, Any]) -> TableSpec:
    return spec.from_file("x", parse(TableFile, values, "x.toml"), Path("x.toml"))


def cells(values: dict[str, Any]) -> list[Cell]:
    return expand(values).cells


ROW = {"label": "r", "values": [0.25, 0.5]}


@pytest.mark.parametrize(
    "damaged",
    [
        table(group(ROW), colour="red"),
        table(group(ROW, colour="red")),
        table(group({**ROW, "colour": "red"})),
        table({**group(ROW), "columns": [{"label": "a", "colour": "red"}]}),
        table(group(ROW), defaults={**KEYS, "colour": "red"}),
    ],
)
def test_unknown_key_is_refused_wherever_it_stands(damaged: dict[str, Any]) -> None:
    with one_line(r"^x\.toml: unknown key .*colour"):
        expand(damaged)


@pytest.mark.parametrize(
    "damaged, key",
    [
        (table(group(ROW), title=3), "title"),
        (table(group(ROW, tolerance="0.02")), "tolerance"),
        (table(group(ROW, settings={"bits": [12]})), "settings.bits"),
        (table(group(ROW, evaluation="everything")), "evaluation"),
        (table(group({"label": "r", "values": [0.25, "n/a"]})), "values"),
        (table(group(columns=("a",))), "rows"),
        (table(group(ROW, columns=())), "columns"),
        (table(), "groups"),
    ],
)
def test_wrong_type_is_one_line_that_names_the_key(damaged: dict[str, Any], key: str) -> None:
    with one_line(rf"^x\.toml: .*{key}"):
        expand(damaged)


@pytest.mark.parametrize("values", [[0.25], [0.25, 0.5, 0.75]])
def test_wrong_number_of_values_names_the_row(values: list[float]) -> None:
    with one_line(rf"row 'r' has {len(values)} values for 2 columns"):
        expand(table(group({"label": "r", "values": values})))


@pytest.mark.parametrize("key", sorted(KEYS))
def test_cell_without_a_needed_key_names_cell_and_key(key: str) -> None:
    short = {name: value for name, value in KEYS.items() if name != key}
    with one_line(rf"cell \(r, a\): key '{key}' is missing"):
        expand(table(group(ROW), defaults=short))


def test_row_wins_over_column_over_group_over_defaults() -> None:
    layers = {
        "defaults": {**KEYS, "metric": "of defaults"},
        "group": {"metric": "of group"},
        "column": {"metric": "of column"},
        "row": {"metric": "of row"},
    }

    def metric(*given: str) -> str:
        chosen = {name: keys if name in (*given, "defaults") else {} for name, keys in layers.items()}
        columns = [{"label": "a", **chosen["column"]}]
        rows = [{"label": "r", **chosen["row"]}]
        return cells(table({"columns": columns, "rows": rows, **chosen["group"]}, defaults=chosen["defaults"]))[
            0
        ].metric

    assert metric() == "of defaults"
    assert metric("group") == "of group"
    assert metric("group", "column") == "of column"
    assert metric("group", "column", "row") == "of row"
    assert metric("row", "group") == "of row"


def test_asymmetric_distances_have_a_column_of_their_own() -> None:
    asymmetric = {"evaluation": "asymmetric"}
    columns = [{"label": "a"}, {"label": "b", **asymmetric}]
    apart = cells(table({**group(ROW, {**ROW, "label": "s"}), "columns": columns}))
    assert [cell.evaluation for cell in apart] == ["database", "asymmetric"] * 2
    same = table(group(ROW, {**ROW, "label": "s"}, **asymmetric))
    assert {cell.evaluation for cell in cells(same)} == {"asymmetric"}
    for mixed in (
        table(group(ROW, {**ROW, "label": "s", **asymmetric})),
        table(group(ROW), group({**ROW, "label": "s"}, **asymmetric)),
    ):
        with one_line(r"x\.toml: column 'a' has asymmetric distances and others"):
            cells(mixed)


def test_a_group_has_a_section_for_each_of_its_views() -> None:
    views = {"top": {"section": "first 10", "metric": "recall@10", "settings": {"d": 1}}, "all": {"metric": "ndcg"}}
    shown = group({"label": "r"}, views=["top", "all"], section="S", settings={"bits": 8}, columns=("a",))
    top, whole = cells(table(shown, views=views))
    assert top.section == "S: first 10"
    assert top.metric == "recall@10"
    assert top.settings == {"bits": 8, "d": 1}
    assert whole.section == "S"
    assert whole.metric == "ndcg"
    assert whole.settings == {"bits": 8}
    with one_line(r"x\.toml: views of 'S': unknown view 'tip': did you mean top"):
        cells(table({**shown, "views": ["tip"]}, views=views))


def test_settings_are_merged_key_by_key() -> None:
    columns = [{"label": "a", "settings": {"bits": 16, "d": 1}}]
    rows = [{"label": "r", "settings": {"d": 2}}]
    block = {"columns": columns, "rows": rows, "settings": {"bits": 12, "k": 3}}
    assert cells(table(block))[0].settings == {"bits": 16, "k": 3, "d": 2}


@pytest.mark.parametrize(
    "printed_as, printed, published",
    [
        ("fraction", 0.732, 0.732),
        ("percent", 62.64, 0.6264),
        ("percent", 56.01, 0.5601),  # a division gives 0.5600999999999999
        ("percent", 100, 1.0),
        ("number", 478.46, 478.46),
        ("percent", "-", None),
        ("fraction", "-", None),
    ],
)
def test_published_value(printed_as: str, printed: float | str, published: float | None) -> None:
    row = {"label": "r", "values": [printed]}
    assert cells(table(group(row, columns=("a",), printed_as=printed_as)))[0].published == published


def test_load_answers_an_unknown_table_with_the_nearest() -> None:
    with one_line(r"unknown table 'talr_tabel1': did you mean talr_table1"):
        spec.load("talr_tabel1")


def test_load_takes_hyphens() -> None:
    assert spec.load("talr-appendix-d").name == "talr_appendix_d"


def test_load_checks_the_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "experiments" / "tables").mkdir(parents=True)
    text = 'title = "t"\npaper = "p"\nsource = "s"\n[[groups]]\ncolumns = [{ label = "a" }]\n'
    keys = 'dataset = "no_digits"\nprotocol = "s1"\nmethod = "lsh"\nmetric = "ap"\nrows = [{ label = "r" }]\n'
    (tmp_path / "experiments" / "tables" / "mine.toml").write_text(text + keys)
    monkeypatch.setenv("HASHBENCH_ROOT", str(tmp_path))
    with one_line(r"table mine: unknown dataset 'no_digits'"):
        spec.load("mine")


@pytest.mark.parametrize(
    "kind, keys",
    [
        ("dataset", {"dataset": "digit"}),
        ("protocol", {"protocol": "s9"}),
        ("method", {"method": "talr_app"}),
        ("metric", {"metric": "nddcg@5"}),
        ("model", {"settings": {"model": "smal_cnn"}}),
        ("model", {"settings": {"features": "vggg"}}),
    ],
)
def test_a_name_that_does_not_exist_is_refused(kind: str, keys: dict[str, Any]) -> None:
    with one_line(rf"table x: unknown {kind} "):
        check_names(expand(table(group(ROW, **keys))))


def test_stored_features_are_no_model() -> None:
    check_names(expand(table(group(ROW, settings={"features": "pixels"}))))


def test_loading_a_table_imports_no_entry_and_nothing_heavy() -> None:
    code = (
        "import sys; from hashbench.showing.tables import spec; spec.load('digits');"
        "heavy = {'torch', 'sklearn', 'pandas', 'scipy.linalg', 'matplotlib', 'hashbench.learning.methods.lsh'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    assert python(code).strip() == "[]"


def other_budget(root: Path, text: str) -> None:
    folder = root / "experiments" / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mine_cpu.toml").write_text(text)
    os.environ["HASHBENCH_ROOT"] = str(root)  # tests/conftest.py puts it back


def test_a_file_declares_another_table_at_another_budget(tmp_path: Path) -> None:
    other_budget(tmp_path, 'of = "sparse_hash_table1"\nbudget = "cpu"\nnotes = ["Few iterations."]\n')
    found = spec.load("mine_cpu")
    own = spec.load("sparse_hash_table1")
    assert found.name == "mine_cpu"
    assert found.title == f"{own.title}, on the schedule cpu"
    assert found.notes == [*own.notes, "Few iterations."]
    assert {(cell.budget, cell.tolerance) for cell in found.cells} == {("cpu", None)}
    assert [cell.published for cell in found.cells] == [cell.published for cell in own.cells]
    assert [path.name for path in spec.files_of("mine_cpu")] == ["mine_cpu.toml", "sparse_hash_table1.toml"]
    assert [path.name for path in spec.files_of("digits")] == ["digits.toml"]


@pytest.mark.parametrize(
    "text, complaint",
    [
        ('of = "sparse_hash_tabel1"\nbudget = "cpu"\n', "mine_cpu.toml: of: unknown table 'sparse_hash_tabel1'"),
        ('of = "sparse_hash_table1"\nbudget = "cups"\n', "cups"),
        ('of = "mine_cpu"\nbudget = "cpu"\n', "of: mine_cpu is itself another table at another budget"),
        ('of = "sparse_hash_table1"\n', "budget"),
        ('of = "sparse_hash_table1"\nbudget = "cpu"\ntitle = "Mine"\n', "title"),
    ],
)
def test_a_wrong_file_of_another_budget_is_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    other_budget(tmp_path, text)
    with one_line(text=complaint):
        spec.load("mine_cpu")

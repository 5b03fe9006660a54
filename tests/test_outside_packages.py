"""Methods, metrics and models of other people's packages, which join by entry points."""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine
from support.one_line import one_line

import hashbench
from hashbench.foundation import registry
from hashbench.foundation.registry import Catalogue, OutsideError
from hashbench.learning.methods import METHODS, DeepSettings
from hashbench.learning.models import MODELS, Model, Models
from hashbench.running.runs.store import Store
from hashbench.scoring.metrics import METRICS, Metric

REPOSITORY = Path(__file__).resolve().parent.parent
EXAMPLE = REPOSITORY / "tests" / "support" / "example_package"
PAGE = REPOSITORY / "docs" / "adding.md"
EXAMPLE_FILES = sorted(path for path in EXAMPLE.rglob("*") if path.suffix in {".py", ".toml"})

METRIC = """
from hashbench.scoring.metrics import Metric
METRIC = Metric(summary="a metric of another package", paper="", evaluate=lambda histogram, name: None)
"""

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a package on the path, as an installer would: metadata, an entry point, and the module ``other`` of it."""
    for catalogue in (METHODS, METRICS, MODELS):
        assert catalogue.names  # kept by the catalogue, for all tests: read while no other package is there
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # a module that a test writes twice is read twice

    def installed(
        entry: str | bytes = "some_metric = other:METRIC",
        other: str = METRIC,
        name: str = "other_metrics",
        version: str = "1.0",
        group: str = "hashbench.metrics",
        folder: str = "site",
    ) -> Path:
        metadata = tmp_path / folder / f"{name}-{version}.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        entries = entry if isinstance(entry, bytes) else f"[{group}]\n{entry}\n".encode()
        (metadata / "entry_points.txt").write_bytes(entries)
        (tmp_path / folder / "other.py").write_text(other)
        monkeypatch.delitem(sys.modules, "other", raising=False)
        registry.entry_points.cache_clear()
        return tmp_path / folder

    yield installed
    registry.entry_points.cache_clear()


def metrics() -> Catalogue[Metric]:
    """The catalogue of metrics as a process that starts now sees it."""
    return Catalogue("metric", "hashbench.scoring.metrics", "METRIC", Metric, group="hashbench.metrics")


def test_an_entry_of_another_package_joins_without_being_imported(install: Install) -> None:
    site = install("Some-Metric = other:METRIC")
    catalogue = metrics()
    assert {"some_metric", "ap"} <= set(catalogue.names)
    assert catalogue.names == sorted(catalogue.names)
    assert "some-metric" in catalogue
    assert catalogue.folder("some-metric") == site
    assert "other" not in sys.modules
    assert catalogue.get("SOME_METRIC").summary == "a metric of another package"
    assert catalogue.get("some-metric") is sys.modules["other"].METRIC
    assert catalogue.provider("some-metric") == "other_metrics 1.0"
    assert catalogue.provider("ap") is None
    assert catalogue.folder("ap") is None
    assert dict(catalogue.usable()).keys() == set(catalogue.names)
    with one_line("unknown metric 'some-metrc': did you mean some_metric"):
        catalogue.get("some-metrc")


def test_other_groups_and_catalogues_without_one_are_not_joined(install: Install) -> None:
    install(group="hashbench.models")
    assert "some_metric" not in metrics()
    install("some_loss = other:LOSS", name="others", group="hashbench.losses")
    assert "some_loss" not in Catalogue("loss", "hashbench.learning.losses", "LOSS", object)


def refusal(name: str) -> str:
    """The one line with which the name is refused, by all that asks for the entry; all others stay usable."""
    catalogue = metrics()
    assert name in catalogue.names
    assert set(dict(catalogue.usable())) == set(catalogue.names) - {name}
    with pytest.raises(OutsideError) as caught:
        catalogue.get(name)
    return str(caught.value)


def test_a_name_of_hashbench_is_refused_with_both_packages(install: Install) -> None:
    install("AP = other:METRIC")
    expected = "metric ap: hashbench and other_metrics 1.0 each have one of this name: uninstall other_metrics 1.0"
    assert refusal("ap") == expected
    with pytest.raises(OutsideError, match="each have one of this name"):
        metrics().folder("ap")


def test_a_name_of_two_packages_is_refused_with_both(install: Install) -> None:
    install(name="one")
    install("some-metric = other:METRIC", name="two", version="2.5")
    both = re.fullmatch(
        r"metric some_metric: (.*) and (.*) each have one of this name: uninstall \1 or \2", refusal("some_metric")
    )
    assert both is not None
    assert set(both.groups()) == {"one 1.0", "two 2.5"}


@pytest.mark.parametrize(
    "entry, module, complaint",
    [
        ("other:METRIC", "1 / 0", "cannot be imported (ZeroDivisionError: division by zero"),
        ("other:METRIC", "raise SystemExit(3)", "cannot be imported (SystemExit: 3"),
        ("other:METRIC", "raise ValueError('two\\nlines')", "cannot be imported (ValueError: two lines"),
        ("other:METRIC", "this is no Python", "cannot be imported (SyntaxError: invalid syntax"),
        ("other:METRIC", "", "cannot be imported (AttributeError: module 'other' has no attribute 'METRIC'"),
        ("nowhere:METRIC", "", "cannot be imported (ModuleNotFoundError: No module named 'nowhere'"),
        ("not a module", "", "cannot be imported (AttributeError: "),
        ("other:METRIC", "METRIC = 'text'", "a str; a Metric is expected"),
    ],
)
def test_what_cannot_be_used_is_one_line(install: Install, entry: str, module: str, complaint: str) -> None:
    install(f"some_metric = {entry}", module)
    start = f"other_metrics 1.0: hashbench.metrics: some_metric = {entry!r}: {complaint}"
    assert refusal("some_metric").startswith(start)


@pytest.mark.parametrize("name", ["../up", "a b", "1st", "größe"])
def test_a_name_that_cannot_be_part_of_a_file_s_name_is_refused(install: Install, name: str) -> None:
    install(f"{name} = other:METRIC")
    assert "a name of letters, digits and _ is expected" in refusal(name)


def test_the_first_package_on_the_path_hides_another_version_of_it(install: Install) -> None:
    install(version="2.0")
    sys.path.append(str(install(other="1 / 0", folder="later")))
    assert metrics().provider("some-metric") == "other_metrics 2.0"
    assert metrics().get("some-metric").summary == "a metric of another package"


@pytest.mark.parametrize("damaged", [b"\xff\xfe[hashbench.metrics]\n", b"[hashbench.metrics]\nno equals sign\n"])
def test_a_damaged_package_hides_no_other(install: Install, damaged: bytes) -> None:
    install(damaged, name="damaged")
    install()
    assert "some_metric" in metrics()


def test_a_model_of_another_package_joins_those_of_torchvision(install: Install) -> None:
    model = "from hashbench.learning.models import Model\nMODEL = Model('nothing', lambda shape: None)"
    install("some_model = other:MODEL", model, group="hashbench.models")
    models = Models("model", "hashbench.learning.models", "MODEL", Model, group=MODELS.group)
    assert "some-model" in models
    assert models.get("some-model").summary == "nothing"
    assert models.get("mlp") is MODELS.get("mlp")


def run(
    folder: Path, path: list[Path], *arguments: str, python: Sequence[str] = ("-m", "hashbench")
) -> subprocess.CompletedProcess[str]:
    """``python -m hashbench`` in ``folder``, with the packages in the folders ``path`` before those installed."""
    return subprocess.run(
        [sys.executable, *python, *arguments],
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))},
        capture_output=True,
        text=True,
        timeout=200,
    )


def test_list_goes_on_where_entries_cannot_be_used(install: Install, tmp_path: Path) -> None:
    lines = "itq = fine:METHOD\nuntold = fine:METHOD\nbroken = other.inside:METHOD"
    site = install(lines, "1 / 0", "other-methods", group="hashbench.methods")
    (site / "fine.py").write_text("")
    path = [site, REPOSITORY]
    listed = run(tmp_path, path, "list", "methods")
    assert listed.returncode == 1
    names = [line.split()[0] for line in listed.stdout.splitlines() if line]
    assert {"lsh", "talr_ap"} < set(names)
    assert not {"itq", "untold", "broken"} & set(names)
    broken, itq, untold, end = listed.stderr.splitlines()
    assert broken.startswith("left out: other-methods 1.0: hashbench.methods: broken = 'other.inside:METHOD': ")
    assert itq.startswith("left out: method itq: hashbench and other-methods 1.0 each have one of this name")
    assert untold == f"left out: {site / 'untold.toml'}: no such file"
    refused = run(tmp_path, path, "train", "itq", "digits", "--protocol", "s1", "--bits", "16")
    assert end == "error: 3 left out: see the lines above"
    assert refused.returncode == 2
    assert refused.stderr.splitlines() == [itq.replace("left out", "error", 1)]


def test_doctor_goes_on_where_a_model_cannot_be_used(install: Install, tmp_path: Path) -> None:
    site = install("odd = gone:MODEL", group="hashbench.models")
    done = run(tmp_path, [site, REPOSITORY], "doctor")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "cifar10" in done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the example is installed, without a network."""
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "uv", "pip", "install", "--offline", "--no-cache", "--no-deps"]
    where = ["--no-build-isolation", "--python", sys.executable, "--target", str(folder)]
    subprocess.run([*command, *where, str(EXAMPLE)], check=True, capture_output=True, timeout=200)
    return folder


COMMANDS = """
import io, json, sys
from contextlib import redirect_stdout
from hashbench.cli._app import main
printed = []
for arguments in json.loads(sys.argv[1]):
    with redirect_stdout(io.StringIO()) as out:
        try:
            main(arguments)
        except SystemExit as end:
            assert end.code == 0, (arguments, end.code)
    printed.append(out.getvalue())
print(json.dumps(printed))
"""


@pytest.fixture
def typed(site: Path, tmp_path: Path) -> Callable[..., list[str]]:
    """Runs commands, all in one process, with what is installed in ``site``, and gives what each prints."""

    def ran(*commands: str) -> list[str]:
        given = json.dumps([command.split() for command in commands])
        done = run(tmp_path, [site, REPOSITORY], given, python=["-c", COMMANDS])
        assert (done.returncode, done.stderr.count("error")) == (0, 0), done.stderr
        printed: list[str] = json.loads(done.stdout)
        return printed

    return ran


def test_the_example_is_listed(typed: Callable[..., list[str]]) -> None:
    methods, metrics, shown = typed("list methods", "list metrics", "show skip-pca")
    methods, metrics = (" ".join(listed.split()) for listed in (methods, metrics))
    summary = "the signs of principal components, without the first ones"
    assert f" skip_pca Skip-PCA: {summary}. Gong and Lazebnik (2011) " in methods and " itq ITQ: " in methods
    assert " success share of queries with a relevant item within Hamming radius R suf " in metrics
    assert "of package" in shown and "$ hashbench train skip_pca DATASET" in shown


def success(saved: Path, radius: int) -> float:
    """By looking at all pairs."""
    with np.load(saved) as codes:
        distances = (codes["query_codes"][:, None] != codes["database_codes"][None]).sum(-1)
        relevant = codes["query_labels"][:, None] == codes["database_labels"][None]
    return float(((distances <= radius) & relevant).any(axis=1).mean())


def test_the_example_trains_and_scores(typed: Callable[..., list[str]], tmp_path: Path) -> None:
    trained, _, scored = typed(
        "train skip-pca digits --protocol s1 --bits 24 --set skip=2 --json",
        "encode digits-s1-skip_pca-24b-s0 --out codes.npz",
        "eval codes.npz --metric success@r2 --metric ap --json",
    )
    row = json.loads(trained)
    saved = tmp_path / "codes.npz"
    assert row["run"].startswith("digits-s1-skip_pca-24b-s0-")
    assert row["config"]["settings"] == {"bits": 24, "features": "pixels", "skip": 2}
    assert row["versions"]["example-hashing"] == "0.1.0"
    scores = json.loads(scored)["metrics"]
    assert scores["ap"]["mean"] == row["searches"]["database"]["ap"]["mean"]
    assert 0 < scores["success@r2"]["mean"] < 1
    assert scores["success@r2"]["mean"] == pytest.approx(success(saved, 2), abs=1e-12)


def test_the_deep_example_trains_with_the_settings_that_its_file_gives(typed: Callable[..., list[str]]) -> None:
    """The file gives all that DeepSettings leaves open, so the example runs where no recipe fits; it learns."""
    pytest.importorskip("torch")
    train = "train contrast digits --protocol s1 --bits 12 --model kernel --json"
    trained, other = map(json.loads, typed(f"{train} --set epochs=8", f"{train} --set margin=6 --dry-run"))
    needed = {key for key, field in DeepSettings.model_fields.items() if field.is_required()} - {"bits", "model"}
    given = tomllib.loads((EXAMPLE / "example_hashing" / "contrast.toml").read_text())["parameters"]
    assert needed | {"margin"} <= given.keys()
    listed = PAGE.read_text().partition("every setting that has no default")[2].partition("from the command")[0]
    named = {name for name in re.findall(r"`(\w+)`", listed) if name in DeepSettings.model_fields}
    assert named == needed | {"bits", "model"}
    assert trained["versions"]["example-hashing"] == "0.1.0"
    assert trained["config"]["settings"]["margin"] == 4
    assert trained["searches"]["database"]["ap"]["mean"] > 0.5  # .26 by chance
    assert other["settings"]["margin"] == {**other["settings"]["margin"], "value": 6, "source": "command line"}
    assert other["settings"]["lr"]["source"] == "ours"


def blocks(page: str) -> dict[str, str]:
    """The files that a page shows: a name in bold code, then a fenced block."""
    return dict(re.findall(r"^\*\*`([^`]+)`\*\*\n\n```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))


def test_the_page_shows_the_files_of_the_example() -> None:
    files = {str(path.relative_to(EXAMPLE)): path.read_text() for path in EXAMPLE_FILES}
    assert len(files) == 7
    page = PAGE.read_text()
    assert blocks(page) == files
    tree = re.search(r"```text\n(.*?)```", page, re.DOTALL)
    assert tree is not None and sorted(tree[1].split()) == sorted(files)


def test_the_page_names_every_group() -> None:
    from hashbench.learning.methods import METHODS
    from hashbench.running.datasets.readers import READERS
    from hashbench.running.features import FEATURES
    from hashbench.scoring.evaluation.conventions import CONVENTIONS
    from hashbench.scoring.metrics import METRICS

    catalogues = [METHODS, METRICS, MODELS, FEATURES, READERS, CONVENTIONS]
    shown = re.findall(r"^\| `(hashbench\.\w+)` \|.*?\| `(hashbench[\w.]+)` \|", PAGE.read_text(), re.MULTILINE)
    assert len(shown) == len(catalogues)
    for catalogue in catalogues:
        entry = catalogue.entry_type.__name__
        assert getattr(hashbench, entry) is catalogue.entry_type
        assert (catalogue.group, f"hashbench.{entry}") in shown


def test_modules_of_before_the_doors_are_the_same_modules() -> None:
    from hashbench.contract import TrainingData
    from hashbench.methods.itq import METHOD

    from hashbench.learning import contract
    from hashbench.learning.methods import itq

    assert TrainingData is contract.TrainingData
    assert METHOD is itq.METHOD
    assert hashbench.metrics.METRICS is METRICS


TABLE = """
title = "Mine"
defaults = { dataset = "digits", protocol = "s1", metric = "ap", section = "digits" }
[[groups]]
columns = [{ label = "8", settings = { bits = 8 } }, { label = "12", settings = { bits = 12 } }]
rows = [
  { label = "Skip-PCA", method = "skip_pca" },
  { label = "without two", method = "skip_pca", settings = { skip = 2 } },
  { label = "LSH", method = "lsh" },
]
"""
HERE = "which is not installed here"


@pytest.fixture
def bundle(typed: Callable[..., list[str]], tmp_path: Path) -> Path:
    """The bundle of a table with a method of the example, made where the example is installed."""
    tables = tmp_path / "root" / "experiments" / "tables"
    tables.mkdir(parents=True)
    (tables / "mine.toml").write_text(TABLE)
    shared = "--root root --results results"
    typed(f"{shared} run mine --seeds 1", f"{shared} table mine --format csv", f"{shared} bundle mine -o mine.zip")
    return tmp_path / "mine.zip"


def values(text: str) -> dict[tuple[str, str], str]:
    """The measured value of each cell of a table in CSV."""
    return {(line["row"], line["column"]): line["measured"] for line in csv.DictReader(io.StringIO(text))}


def test_a_bundle_renders_where_its_method_is_not_installed(
    typed: Callable[..., list[str]], bundle: Path, hashbench: CommandLine
) -> None:
    """With the values that are shown where it is installed, and with the name of the package that is missing."""
    (shown,) = typed("--root root --results results table mine --format csv")
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(bundle.parent / "unpacked")
    folder = bundle.parent / "unpacked" / "mine-bundle"
    assert json.loads((folder / "manifest.json").read_text())["packages"] == {"skip_pca": "example-hashing 0.1.0"}
    assert "skip_pca is a method of example-hashing 0.1.0." in (folder / "README.md").read_text()
    unpacked = ["--results", folder / "results", "--root", folder / "root"]
    out = hashbench.printed(*unpacked, "table mine --format csv")
    assert values(out) == values(shown)
    assert all(values(out).values()) and len(set(values(out).values())) == 6
    page = hashbench(*unpacked, "table mine").out
    assert "- Method skip_pca is not installed here (example-hashing 0.1.0 brings it): its cells show the rows" in page
    assert "Settings unknown, of methods that are not installed here: digits." in page
    assert f"needs method skip_pca, {HERE}" in hashbench(*unpacked, "status mine").text
    assert f"skip_pca on digits s1: needs method skip_pca, {HERE}" in hashbench(*unpacked, "run mine").err
    error = hashbench.refused(*unpacked, "bundle mine -o", bundle.parent / "again.zip")
    assert "install the package that has it" in error
    hashbench.done("verify", bundle)
    (folder / "results" / "rows" / "digits-s1.jsonl").unlink()  # then nothing says that it is no error in writing
    assert "unknown method 'skip_pca'" in hashbench(*unpacked, "table mine").err


def test_rows_of_a_merged_bundle_are_compared(
    bundle: Path, hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = bundle.parent / "own"
    monkeypatch.setenv("HASHBENCH_RESULTS", str(own))
    sides = "digits-s1-skip_pca-8b-s0", "digits-s1-lsh-8b"
    out = hashbench.done("results merge", bundle, "--dry-run").out
    assert out.splitlines()[0] == f"{own}: 6 rows would be merged (--dry-run)"
    assert not own.exists()
    out = hashbench.printed("results merge", bundle)
    assert out == f"{own}: 6 rows merged\n  6 copied\n  6 histograms kept in {own / 'evidence'}\n"
    (skip, *_) = [line.name for line in Store(own).begun(sides[0]) if "skip" not in line.row().settings]
    row = Store(own).named(skip)
    (ap, *_) = hashbench.json("compare", skip, sides[1])["differences"]
    assert ap["mean_a"] == pytest.approx(row.metrics["ap"].mean, abs=1e-12)
    shutil.rmtree(own / "evidence")
    error = hashbench.refused("compare", skip, sides[1])
    assert f"its method is of the package example-hashing 0.1.0, {HERE}" in error
    assert HERE in hashbench("encode", skip, "--out", bundle.parent / "codes.npz").err
    assert "6 already here\n  6 histograms kept in" in hashbench("results merge", bundle).out

"""The settings of the declared cells against the papers and the released code: typed from those, not from our TOML."""

import json
from typing import Any

import pytest
from support.command_line import CommandLine
from support.toy_root import REPOSITORY

from hashbench.running.runs.run import Run
from hashbench.showing.ink import write
from hashbench.showing.tables import spec
from hashbench.showing.tables.settings import settings_of_table, sheet_of_settings

PAGES = REPOSITORY / "docs" / "settings"
OF_PAPERS = (
    "talr_table1",
    "talr_table2",
    "talr_table3",
    "talr_appendix_d",
    *(f"sparse_hash_table{n}" for n in range(1, 6)),
)


def slope(sigmoid: float) -> float:
    """The alpha of 2 sigmoid(s x) - 1 = tanh(alpha x)."""
    return sigmoid / 2


# What all runs by MatConvNet share: momentum .9 outside the rate, decay of biases too, no dropout.
MATCONVNET = {"momentum": 0.9, "momentum_form": "lr_outside", "nesterov": False, "decay_biases": True, "hash_init": 0.0}

# github.com/fcakir/mihash, diary/batch-hashing: MI-cifar{12,24,32,48}-sp1-vggf.txt, MI-cifar{16,24,32,48}-sp2-vggf.txt.
# (protocol, bits): batchSize, lr, lrstep, nbins, sigmf, wdecay, epoch; lrdecay is .5 in all, and vggf has no lrmult.
MIHASH_DIARIES = {
    ("s1", 12): (200, 1e-3, 50, 10, 10, 5e-4, 100),
    ("s1", 24): (200, 1e-3, 50, 12, 50, 0.0, 100),
    ("s1", 32): (200, 1e-3, 50, 16, 30, 0.0, 100),
    ("s1", 48): (200, 2e-3, 50, 16, 30, 0.0, 100),
    ("s2", 16): (256, 1e-3, 50, 12, 30, 0.0, 100),
    ("s2", 24): (256, 1e-3, 50, 12, 30, 0.0, 100),
    ("s2", 32): (256, 2e-3, 50, 12, 30, 0.0, 100),
    ("s2", 48): (250, 2e-3, 30, 16, 30, 0.0, 70),
}


def of_run(method: str, dataset: str, protocol: str, **settings: Any) -> dict[str, Any]:
    return Run.resolve(dataset, protocol, method, settings).settings.model_dump()


def assert_has(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize("protocol, bits", MIHASH_DIARIES)
def test_mihash_on_cifar10_is_trained_as_in_its_diaries(protocol: str, bits: int) -> None:
    batch, lr, every, bins, sigmf, decay, epochs = MIHASH_DIARIES[protocol, bits]
    assert_has(
        of_run("mihash", "cifar10", protocol, bits=bits, model="vggf"),
        MATCONVNET
        | {"batch_size": batch, "lr": lr, "lr_decay": 0.5, "lr_decay_every": every, "weight_decay": decay}
        | {"n_bins": bins, "tanh_scale": slope(sigmf), "epochs": epochs, "delta": 1.0, "augment": "none"}
        | {"backbone_lr": 1.0, "hash_bias_lr": 1.0},
    )


# github.com/fcakir/deep-mihash, README.md: NUSWIDE-1, NUSWIDE-2 and ImageNet100; get_opts.m: wdecay, batchSize;
# vggf_ft.m and alexnet_ft.m: the last layer's bias learns at .1 of the rate.
# (data set, protocol): network, batchSize, lr, lrdecay, lrstep, nbins, sigmf, epochs, augment, augment_per
MIHASH_COMMANDS = {
    ("nuswide21", "s1"): ("vggf", 250, 0.05, 0.5, 50, 16, 1, 120, "flip", "item"),
    ("nuswide21", "s2"): ("vggf", 250, 0.01, 0.5, 50, 16, 1, 100, "flip", "item"),
    ("imagenet100", "hashnet"): ("alexnet_caffe", 256, 0.1, 0.05, 100, 16, 10, 125, "flip", "batch"),
}


@pytest.mark.parametrize("bits", [12, 32, 64])
@pytest.mark.parametrize("dataset, protocol", MIHASH_COMMANDS)
def test_mihash_elsewhere_is_trained_as_in_its_commands(dataset: str, protocol: str, bits: int) -> None:
    network, batch, lr, decay, every, bins, sigmf, epochs, augment, per = MIHASH_COMMANDS[dataset, protocol]
    assert_has(
        of_run("mihash", dataset, protocol, bits=bits, model=network),
        MATCONVNET
        | {"batch_size": batch, "lr": lr, "lr_decay": decay, "lr_decay_every": every, "weight_decay": 5e-4}
        | {"n_bins": bins, "tanh_scale": slope(sigmf), "epochs": epochs, "augment": augment, "augment_per": per}
        | {"backbone_lr": 0.01, "hash_bias_lr": 0.1, "delta": 1.0},
    )


# github.com/kunhe/TALR, run_*.m.
# (method, data set, protocol): network, batch, lr, lrdecay, lrstep, lrmult, gamma, epochs, augment, augment_per
TALR_SCRIPTS = {
    ("talr_ap", "cifar10", "s1"): ("vggf", 250, 1e-2, 1.0, 0, 0.1, 1, 50, "none", "item"),
    ("talr_ap", "cifar10", "s2"): ("vggf", 250, 1e-2, 1.0, 0, 0.1, 1, 50, "none", "item"),
    ("talr_ap", "nuswide21", "s1"): ("vggf", 256, 2e-2, 1.0, 0, 0.01, 1, 50, "flip", "item"),
    ("talr_ndcg", "nuswide21", "s1"): ("vggf", 256, 1e-2, 1.0, 0, 0.01, 1, 50, "flip", "item"),
    ("talr_ap", "imagenet100", "hashnet"): ("alexnet_caffe", 256, 0.05, 0.05, 100, 0.01, 10, 125, "flip", "batch"),
}
# the bins of run_*.m, and (where AP's scripts leave `bins` undefined) the default of get_opts.m, one for each bit
TALR_BINS = {
    ("talr_ap", "cifar10", "s1"): {12: 12, 24: 24, 32: 16, 48: 24},
    ("talr_ap", "cifar10", "s2"): {16: 16, 24: 24, 32: 16, 48: 24},
    ("talr_ap", "nuswide21", "s1"): {12: 12, 24: 24, 32: 16, 48: 24},
    ("talr_ndcg", "nuswide21", "s1"): {16: 8, 32: 16, 48: 24, 64: 32},
    ("talr_ap", "imagenet100", "hashnet"): {16: 16, 32: 16, 48: 16, 64: 16},
}


@pytest.mark.parametrize("method, dataset, protocol", TALR_SCRIPTS)
def test_talr_is_trained_as_in_its_run_scripts(method: str, dataset: str, protocol: str) -> None:
    network, batch, lr, decay, every, lrmult, gamma, epochs, augment, per = TALR_SCRIPTS[method, dataset, protocol]
    for bits, bins in TALR_BINS[method, dataset, protocol].items():
        run = Run.resolve(dataset, protocol, method, {"bits": bits, "model": network})
        assert getattr(run.settings, "bins", None) == bins
        assert_has(
            run.settings.model_dump(),
            MATCONVNET
            | {"batch_size": batch, "lr": lr, "lr_decay": decay, "lr_decay_every": every, "weight_decay": 5e-4}
            | {"backbone_lr": lrmult, "hash_bias_lr": 1.0, "tanh_scale": slope(gamma), "tanh_schedule": "fixed"}
            | {"epochs": epochs, "augment": augment, "augment_per": per, "delta": 1.0, "variant": "simplified"},
        )


def test_alpha_of_appendix_d_has_both_readings() -> None:
    cells = spec.load("talr_appendix_d").cells
    rows = {cell.row: cell.settings for cell in cells}
    assert [(each["tanh_scale"], each["tanh_schedule"]) for each in rows.values()] == [
        (40.0, "fixed"),
        (slope(40), "fixed"),
        (1.0, "doubling"),
    ]


# github.com/jiangqy/DPSH-pytorch: lambda 10 beside a sum over pairs, both divided by the number of training images.
@pytest.mark.parametrize(
    "dataset, protocol, n_train",
    [("cifar10", "s1", 5_000), ("cifar10", "s2", 50_000), ("nuswide21", "s1", 10_500), ("nuswide21", "s2", 193_734)],
)
def test_dpsh_is_trained_as_in_its_demo(dataset: str, protocol: str, n_train: int) -> None:
    found = of_run("dpsh", dataset, protocol, bits=32, model="vggf")
    assert found["eta"] == pytest.approx(10 / n_train, rel=1e-12)
    assert_has(
        found,
        {"batch_size": 128, "lr": 0.05, "lr_decay": 0.1, "lr_decay_every": 50, "epochs": 150, "momentum": 0.0}
        | {"weight_decay": 1e-5, "backbone_lr": 1.0, "pairing": "memory", "relaxation": "identity"},
    )


# github.com/fcakir/deep-mihash, +imdb/cifar_fc7.m, nus_fc7.m, labelme_gist.m: minus the training mean, rows of norm 1.
@pytest.mark.parametrize("table", ["talr_table1", "talr_table3"])
def test_the_features_of_shallow_methods_are_centred_and_of_unit_norm(table: str) -> None:
    shallow = [cell for cell in spec.load(table).cells if "model" not in cell.settings]
    assert {cell.method for cell in shallow} == {"bre", "machash", "fasthash", "structhash"}
    assert {cell.settings["normalise"] for cell in shallow} == {"unit_norm"}


# Every table


@pytest.mark.parametrize("table", OF_PAPERS)
def test_every_cell_is_listed_and_every_difference_from_what_was_released_is_explained(table: str) -> None:
    declared = spec.load(table)
    runs = settings_of_table(declared)
    listed = {(run.name.method, run.name.dataset, run.name.protocol) for run in runs}
    assert {(cell.method, cell.dataset, cell.protocol) for cell in declared.cells} <= listed
    for run in runs:
        for name, entries in run.entries().items():
            for entry in entries:
                assert entry.note or not entry.differs, f"{run.title}: {name}"
                assert entry.released is not None or entry.source not in ("code", "paper"), f"{run.title}: {name}"


@pytest.mark.parametrize("table", OF_PAPERS)
def test_the_page_of_the_docs_is_of_today(table: str) -> None:
    page = write(sheet_of_settings(spec.load(table)), "markdown", level=1)
    assert (PAGES / f"{table}.md").read_text() == page, "make settings writes these pages"


# The command


def test_settings_that_depend_on_the_bits_are_listed_with_the_bits(hashbench: CommandLine) -> None:
    status, out, _ = hashbench("list settings talr-table1")
    text = " ".join(out.split())
    assert status == 0
    assert "tanh_scale (24 bits) 25 50 code sigmf = 50: 2 sigmoid(50 x) - 1 =" in text
    assert "n_bins (12 bits) 10 same code MI-cifar12-sp1-vggf.txt" in text


def test_settings_as_json_have_both_values(hashbench: CommandLine) -> None:
    status, out, _ = hashbench("list settings talr_appendix_d --json")
    found = json.loads(out)
    assert status == 0
    assert found["table"] == "talr_appendix_d"
    first = found["runs"][0]
    assert first["given"] == {"model": "vggf", "tanh_scale": 40.0, "tanh_schedule": "fixed"}
    assert first["settings"]["lr"] == [
        {"value": 0.01, "released": 0.01, "source": "code", "note": "run_cifar_s1.m", "sizes": []}
    ]

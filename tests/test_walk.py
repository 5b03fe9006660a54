"""A walk through README and docs/: every command of a block is run, and its output is the one that the page shows.

Commands that need the internet, a GPU, hours or somebody's own files are listed in ``LEFT_OUT``, each with its reason.
"""

import importlib.util
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from support.command_line import status

from tests.test_docs import PAGES

BLOCK = re.compile(r"^```([^\n`]*)\n((?:.*\n)*?)```$|((?:^    .*\n)+)", re.MULTILINE)
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
OF_THE_MACHINE = re.compile(r"[\d,.]+ s\b.*|[\d,]+ a minute")  # times

NETWORK = "needs the internet"
HOURS = "takes minutes to hours"
OWN = "needs data or a package that the page makes"
CIFAR10 = "hashbench train talr-ap cifar10 --protocol s1 --bits 32"
CODES = "results/runs/RUN/codes.npz"
BACKBONE = "resnet9-w32-cifar100-s0"
FINE_TUNED = f"{CIFAR10} --model resnet9 --weights {BACKBONE}"
LEFT_OUT = {
    "hashbench compare TALR-AP TALR-NDCG ITQ --table digits_splits --bits 32": OWN,
    "hashbench dataset add mine vectors.npy": OWN,  # test_cli_dataset_vectors runs such
    "hashbench dataset add mine vectors.npy --queries queries.npy": OWN,
    "hashbench dataset add mine glove-100-angular.hdf5": OWN,
    "hashbench dataset add mine base.fvecs --queries query.fvecs --neighbours groundtruth.ivecs": OWN,
    "hashbench export own_codes.npz --codes --to pgvector --out for_pgvector": OWN,  # test_export_codes
    "hashbench dataset add listed database queries": OWN,
    "hashbench encode itq items.npy --out own_codes.npz": OWN,  # test_encode_file
    "hashbench bench pics --methods itq,ksh,talr_ap --bits 16 --tune 2 --seeds 2": HOURS,  # test_cli_bench
    "hashbench bench digits --methods contrast,itq,talr_ap --bits 32 --tune 24 --seeds 5": OWN,
    "hashbench tune contrast cifar10 --protocol s1 --bits 32 --recipe heads_lite0": HOURS,
    "hashbench train talr-ap digits --protocol s1 --bits 32 --model small_cnn --track tensorboard": OWN,
    "hashbench eval codes.npz --neighbours glove.hdf5:neighbors --k 10": OWN,  # test_cli_eval_neighbours
    "hashbench leaderboard": HOURS,  # of the rows of its panels
    "hashbench leaderboard heads shallow_s1 --format csv": HOURS,
    "hashbench download cifar10": NETWORK,
    "hashbench download stl10": NETWORK,
    "hashbench run structhash_table1 --seeds 3": HOURS,
    "hashbench download imagenet100 --from-dir ~/ILSVRC2012": OWN,  # test_imagenet100 runs both on a fake
    "hashbench train talr-ap imagenet100 --bits 32": OWN,
    "hashbench download labelme --from-dir ~/downloads": OWN,
    "hashbench search digits-s1-itq-32b photo.png --top 5": OWN,
    "hashbench search digits-s1-itq-32b photos/ --out near.npz": OWN,
    "hashbench eval itq.npz csq.npz hashnet/ --metric ap,ndcg@100": OWN,
    "hashbench train contrast digits --protocol s1 --bits 16 --model mlp --set margin=6": OWN,
    "hashbench features cifar10 --model resnet18 --weights mine.pth": OWN,
    "hashbench results import codes.npz --method my-csq --dataset cifar10 --protocol s1 --bits 32 --seed 0": OWN,
    "hashbench tune itq ksh lsh digits --bits 32 --trials 24 --repeats 3 --jobs 2": HOURS,
    "hashbench train talr-ap digits --protocol s1 --bits 32 --model small_cnn --eval-every 5": HOURS,
    f"{CIFAR10} --model small_cnn": HOURS,
    f"{CIFAR10} --model small_cnn --again": HOURS,
    f"{CIFAR10} --set lr=0.1 --set epochs=20": HOURS,
    "hashbench pretrain cifar100 --model resnet9 --set width=0.5 --set epochs=12": HOURS,
    f"hashbench features cifar10 --model resnet9 --weights {BACKBONE}": HOURS,
    f"{CIFAR10} --model linear --set features=resnet9_ab215f655b69": HOURS,
    f"{CIFAR10} --model efficientnet_lite0_128px_from_block11": HOURS,
    FINE_TUNED: HOURS,
    f"{FINE_TUNED} --set head=trained": HOURS,
    f"{CIFAR10} --model vggf": NETWORK,
    "hashbench train talr-ndcg labelme --protocol s1 --bits 32 --model linear": NETWORK,
    "hashbench train sparse-hash cifar100 --protocol sparse_hash --set base=npairs --set k=1 --budget smoke": HOURS,
    "hashbench run sparse_hash_table1@cpu": HOURS,
    "hashbench run sparse_hash_table2 --minutes 12": HOURS,  # test_slices
    "hashbench train structhash mnist --protocol structhash --bits 64": HOURS,
    f"hashbench eval {CODES} --weights {CODES}:bit_weights --metric ap --metric ndcg@100": HOURS,
    "hashbench train skip-pca digits --protocol s1 --bits 16": OWN,  # test_outside_packages runs it
    "hashbench train skip-pca digits --protocol s1 --bits 16 --set skip=2": OWN,
    "hashbench eval codes.npz --metric success@r2 --metric ap": OWN,
}
NEEDS_DATA = {  # commands on data sets that are packed in the shared folder
    "hashbench split cifar100 --protocol sparse_hash --check": "cifar100",
    "hashbench features cifar10 --model gist": "cifar10",
    "hashbench features cifar10 --model vggf": "cifar10",
    "hashbench train itq cifar10 --protocol structhash --bits 64 --set features=gist": "cifar10",
}
NEEDS_EXTRA = {  # the module of it
    "hashbench export digits-s1-itq-48b --codes --to faiss --out for_faiss": "faiss",
}
# what comes of a training, which another processor rounds in another way: all figures, and whether two bits are equal
BITS_OF_A_TRAINING = re.compile(r"(?<=dead: |cate: )(none|[\d, as]+( and \d+ more)?)(?=;)")
TRAINED = ("README.md", "comparing.md", "evaluation.md", "training.md", "deephash.md")
MADE = ("embeddings.md", "images.md", "deephash.md", "cross-modal.md", "large.md", "sparse-codes.md")  # by their Python


@dataclass(frozen=True)
class Step:
    """A command of a page, or Python that makes its files, and the output that the page shows; None: it shows none."""

    command: str
    output: str | None
    is_python: bool = False

    @property
    def key(self) -> str:
        return " ".join(self.command.split())


def steps(page: Path) -> list[Step]:
    steps: list[Step] = []
    for language, fenced, indented in BLOCK.findall(page.read_text()):
        if language.strip() == "python" and page.name in MADE and "sentence_transformers" not in fenced:
            steps.append(Step(fenced, None, is_python=True))
        elif language.strip() in ("", "shell", "console"):
            steps += steps_of(fenced or re.sub("^    ", "", indented, flags=re.MULTILINE))
    return steps


def steps_of(block: str) -> list[Step]:
    """Behind a prompt stands a command, then its output; in other blocks a line that begins with hashbench is one."""
    joined = re.sub(r"\\\n\s*", " ", block)
    if re.search(r"^\$ ", joined, re.MULTILINE):
        parts = re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]
        return [Step(command, output) for command, _, output in (part.partition("\n") for part in parts)]
    lines = [line.partition(" #")[0].strip() for line in joined.splitlines()]
    return [Step(line, None) for line in lines if line.startswith("hashbench ")]


# the page of the GPU box takes days, and so do the commands behind the results
WALKED = [
    (page, step) for page in PAGES if page.name != "gpu-box.md" and "results" not in page.parts for step in steps(page)
]


def runnable() -> list[tuple[Path, Step]]:
    return [(page, step) for page, step in WALKED if step.key not in {**LEFT_OUT, **NEEDS_DATA}]


def name(value: object) -> str:
    return value.name if isinstance(value, Path) else value.key if isinstance(value, Step) else ""


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a line of a shell in ``folder`` and in this process: a command, whose first lines ``| head`` may keep."""
    command, _, first = line.partition(" | head -")
    variables = {"HASHBENCH_RESULTS": str(folder / "results"), "HASHBENCH_DATA": str(folder / "data"), "COLUMNS": "120"}
    if command.startswith("hashbench bench "):  # which would declare its table in this clone
        variables["HASHBENCH_ROOT"] = str(folder / "root")
    out = io.StringIO()
    err = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(folder)
        for key, value in variables.items():
            patch.setenv(key, value)
        code = status(*shlex.split(command)[1:])
    printed = out.getvalue().splitlines(keepends=True)[: int(first or sys.maxsize)]
    return subprocess.CompletedProcess(line, code, "".join(printed), err.getvalue())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the pages presuppose: two runs on the digits, codes of one, and the same under other names."""
    pytest.importorskip("torch", reason="needs the extra train")
    folder = tmp_path_factory.mktemp("walk")
    for part in ("datasets", "experiments"):
        (folder / "root" / part).mkdir(parents=True)
    for command in (
        "hashbench train talr-ap digits --protocol s1 --bits 32",
        "hashbench train itq digits --bits 32",
        "hashbench encode digits-s1-talr_ap-32b-s0 --out codes.npz",
    ):
        done = shell(command, folder)
        assert done.returncode == 0, done.stderr
    with np.load(folder / "codes.npz") as saved:
        arrays_with_other_names(folder, {key: saved[key] for key in saved.files})
    return folder


def arrays_with_other_names(folder: Path, codes: dict[str, np.ndarray]) -> None:
    from scipy.io import savemat

    bits = {"Bq": codes["query_codes"].T, "Bd": codes["database_codes"].T}
    savemat(folder / "run.mat", {**bits, "Lq": codes["query_labels"], "Ld": codes["database_labels"]})
    np.savez(folder / "labels.npz", test=codes["query_labels"], train=codes["database_labels"])


@pytest.mark.parametrize("page", dict.fromkeys(page for page, _ in runnable()), ids=name)
def test_the_commands_of_a_page_print_what_it_shows(page: Path, folder: Path) -> None:
    """All commands of a page in their order, because some need the files of those before."""
    left_out = []
    for step in [step for its_page, step in runnable() if its_page == page]:
        if step.is_python:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(folder)
                exec(step.command, {})
            continue
        if not has_extra(step):
            left_out.append(step.command)
            continue
        done = shell(step.command.replace("RUN", "digits-s1-talr_ap-32b-s0"), folder)
        assert done.returncode == 0, f"{step.command}: {done.stderr}"
        compare(done.stdout + done.stderr, step, loose=page.name in TRAINED)
    if left_out:
        pytest.skip(f"without the extra that it needs: {', '.join(left_out)}")


def has_extra(step: Step) -> bool:
    return step.key not in NEEDS_EXTRA or importlib.util.find_spec(NEEDS_EXTRA[step.key]) is not None


@pytest.mark.slow
@pytest.mark.parametrize("page, step", [(p, s) for p, s in WALKED if s.key in NEEDS_DATA], ids=name)
def test_a_command_on_packed_data_prints_what_the_page_shows(
    page: Path, step: Step, tmp_path: Path, unpacked: Callable[[str], Path]
) -> None:
    dataset = NEEDS_DATA[step.key]
    preparation = [f"hashbench download {dataset} --from-dir {unpacked(dataset)}"]
    preparation += ["hashbench features cifar10 --model gist"] if "features=gist" in step.command else []
    for command in preparation:
        assert shell(command, tmp_path).returncode == 0
    done = shell(step.command, tmp_path)
    assert done.returncode == (2 if (step.output or "").startswith("error:") else 0), done.stderr
    shown = (done.stdout + done.stderr).replace(str(tmp_path / "data"), "~/.cache/hashbench")
    compare(shown, step, loose=False)


def compare(printed: str, step: Step, *, loose: bool) -> None:
    """Asserts that ``printed`` is the output of the page, in which ``...`` stands for anything and times may differ.

    ``loose`` is for what comes of a training: figures are near those of the page, and other bits may be dead or equal.
    """
    if step.output is None:
        assert printed.strip()
        return
    expected, found = (OF_THE_MACHINE.sub("TIME", text.strip()) for text in (step.output, printed))
    if loose:
        expected, found = (BITS_OF_A_TRAINING.sub("BITS", text) for text in (expected, found))
    words = [re.escape(NUMBER.sub("#", part)) for part in re.split(r"\.\.\.", expected)]
    texts = r"(?:.|\n)*".join(words)
    assert re.fullmatch(texts, NUMBER.sub("#", found)), (
        f"{step.command} prints\n\n{found}\n\nand the page shows\n\n{expected}"
    )
    if "..." in expected:
        expected = expected.partition("...")[0]
    numbers = [[float(number.replace(",", "")) for number in NUMBER.findall(text)] for text in (expected, found)]
    tolerance = {"rel": 0.25, "abs": 0.02} if loose else {"rel": 0.0, "abs": 0.0}
    assert numbers[1][: len(numbers[0])] == pytest.approx(numbers[0], **tolerance)


def test_what_is_left_out_is_still_on_a_page() -> None:
    assert set(LEFT_OUT) | set(NEEDS_DATA) | set(NEEDS_EXTRA) <= {step.key for _, step in WALKED}

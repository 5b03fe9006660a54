"""What a research group does in its first week, command by command: `python tests/stories.py`, in an empty folder.

It needs hashbench with the extra `train`, no clone and no internet. Each story makes its files, types its commands and
looks at what came out; later ones use the data of earlier ones. Arguments name some of them; test_wheel runs them from
a wheel.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_wine, make_multilabel_classification

from hashbench.cli._app import main
from hashbench.foundation import paths

PACKAGE = {
    "own_hashing-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: own-hashing\nVersion: 1.0\n",
    "own_hashing-1.0.dist-info/entry_points.txt": "[hashbench.learning.methods]\nraw_signs = own_hashing:METHOD\n",
    "raw_signs.toml": 'title = "Raw signs"\npaper = "gong2011iterative"\nsummary = "the signs of the first features"\n'
    '[parameters]\nfeatures = { value = "pixels", source = "ours" }\n',
    "own_hashing.py": """
import numpy as np
from hashbench.learning.methods import ShallowSettings, linear_method

def project(settings, features, seed):
    return features.mean(axis=0), np.eye(features.shape[1])[:, : settings.bits]

METHOD = linear_method(ShallowSettings, project)
""",
}


def hashbench(command: str) -> str:
    """What a command prints; it must succeed."""
    printed = StringIO()
    print(f"$ hashbench {command}", flush=True)
    paths.read_again()
    try:
        with redirect_stdout(printed):
            main(shlex.split(command))
    except SystemExit as done:
        assert done.code == 0, (command, done.code, printed.getvalue())
    return printed.getvalue()


def of_a_process(command: str, folder: str, *packages: Path) -> str:
    """The same in a process of its own, in another folder, where the ``packages`` are installed too."""
    print(f"$ cd {folder}; hashbench {command}", flush=True)
    Path(folder).mkdir(exist_ok=True)
    places = os.pathsep.join(str(Path(path).absolute()) for path in (*map(str, packages), *sys.path) if path)
    call = [sys.executable, "-m", "hashbench", *shlex.split(command)]
    done = subprocess.run(
        call, cwd=folder, env={**os.environ, "PYTHONPATH": places}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (command, done.returncode, done.stderr)
    return done.stdout


def draw(folder: Path, n: int, seed: int) -> None:
    """Images [24, 24, 3] of three classes, a folder each: a square, a bar, a dark field, all with noise."""
    random = np.random.default_rng(seed)
    for name, rows, columns in (
        ("bar", slice(2, 22), slice(9, 13)),
        ("field", slice(0), slice(0)),
        ("square", slice(6, 18), slice(6, 18)),
    ):
        (folder / name).mkdir(parents=True)
        for number in range(n):
            image = random.integers(0, 90, (24, 24, 3), dtype=np.uint8)
            image[rows, columns] += 150
            Image.fromarray(image).save(folder / name / f"{number}.png")


def a_folder_of_images() -> None:
    draw(Path("shapes"), 12, 0)
    hashbench("dataset add shapes shapes")
    hashbench("train itq shapes --bits 8")
    assert "shapes-own-itq-8b" in hashbench("list runs")


def folders_of_training_and_test_images() -> None:
    draw(Path("images/train"), 12, 0)
    draw(Path("images/test"), 3, 1)
    assert "9 queries, 36 in the database" in hashbench("dataset add halves images/train images/test")
    hashbench("train lsh halves --bits 8")


def own_features() -> None:
    wine = load_wine()
    np.savez("wine.npz", items=wine.data, labels=wine.target)
    hashbench("dataset add wine wine.npz")
    hashbench("train itq wine --bits 8")
    hashbench("encode wine-own-itq --out wine_codes.npz")
    assert "12 queries, 166 items, 8 bits" in hashbench("eval wine_codes.npz")


def from_data_to_an_honest_table() -> None:
    table = hashbench("bench wine --methods itq,talr_ap --bits 8 --tune 1 --seeds 1")
    assert "| TALR-AP |" in table
    assert Path("results/tables/bench_wine.png").stat().st_size > 0


def text_embeddings_with_several_labels() -> None:
    items, labels = make_multilabel_classification(120, n_classes=4, allow_unlabeled=False, random_state=0)
    np.savez("texts.npz", items=items, labels=labels)
    assert "labels    4:" in hashbench("dataset add texts texts.npz")
    hashbench("train talr-ap texts --bits 8 --set epochs=2")
    hashbench("encode texts-own-talr_ap --out texts_codes.npz")
    assert "ndcg@10" in hashbench("eval texts_codes.npz --metric ap --metric ndcg@10")


def own_weights_as_features() -> None:
    import torch
    from torchvision.models import resnet18

    weights = {f"module.{key}": value for key, value in resnet18(weights=None).state_dict().items()}
    torch.save({"state_dict": weights}, "mine.pth")
    hashbench("features shapes --model resnet18 --weights mine.pth")
    (features,) = [path.stem for path in paths.data().glob("shapes/features/resnet18_*.h5")]
    hashbench(f"train itq shapes --bits 8 --set features={features}")


def codes_made_elsewhere() -> None:
    with np.load("wine_codes.npz") as file:  # of own_features
        arrays = dict(file)
    np.savez("theirs.npz", **arrays)
    np.savez("ours.npz", **{**arrays, "query_codes": arrays["query_codes"][:, ::-1].copy()})  # worse than chance
    scored = hashbench("eval theirs.npz ours.npz")
    assert "theirs.npz" in scored and "ours.npz" in scored
    hashbench("results import theirs.npz --method my-csq --dataset wine --bits 8")
    hashbench("results import ours.npz --method my-other --dataset wine --bits 8")
    itq = sorted(path.name for path in Path("results/runs").glob("wine-own-itq-*"))[0]
    assert "my_other" in hashbench(f"compare wine-own-my_csq wine-own-my_other {itq}")


def a_method_of_ones_own_as_a_package() -> None:
    for name, text in PACKAGE.items():
        Path("site", name).parent.mkdir(parents=True, exist_ok=True)
        Path("site", name).write_text(text)
    of_a_process("bench wine --methods itq,raw_signs --bits 8 --seeds 2 --name theirs", "with", Path("site"))
    of_a_process("bundle theirs --out theirs.zip", "with", Path("site"))


def a_bundle_without_that_package() -> None:
    of_a_process("verify ../with/theirs.zip", "without")
    of_a_process("results merge ../with/theirs.zip", "without")
    rows = [f"wine-own-{method}-8b-s0" for method in ("itq", "raw_signs")]
    assert "raw_signs" in of_a_process(f"compare {' '.join(rows)}", "without")


def from_python() -> None:
    import hashbench as library

    run = library.train("itq", "wine", bits=8)
    codes = library.load(run.row.run).encode(load_wine().data)
    assert codes.shape == (178, 8)
    labels = load_wine().target
    scores = library.score(codes, codes, labels, labels, exclude_self=True)
    scores.plot().savefig("curves.png")


def the_first_ten_minutes() -> None:
    hashbench("train mihash digits --protocol s1 --bits 16 --set epochs=4 --eval-every 2")
    assert "held_out_ap" in next(Path("results/runs").glob("digits-s1-mihash*/metrics.jsonl")).read_text()
    hashbench("encode digits-s1-mihash --out digits.npz")
    hashbench("eval digits.npz")
    assert "rank" in hashbench("search digits.npz")
    hashbench("search digits-s1-mihash --out near.npz")
    assert "wine-own-itq-8b" in hashbench("list runs")


def a_question_of_settings() -> None:
    assert "lr" in hashbench("show mihash")
    assert "efficientnet_lite0_128px" in hashbench("train mihash nuswide21 --protocol s1 --bits 32 --dry-run")


STORIES: tuple[Callable[[], None], ...] = (
    a_folder_of_images,
    folders_of_training_and_test_images,
    own_features,
    from_data_to_an_honest_table,
    text_embeddings_with_several_labels,
    own_weights_as_features,
    codes_made_elsewhere,
    a_method_of_ones_own_as_a_package,
    a_bundle_without_that_package,
    from_python,
    the_first_ten_minutes,
    a_question_of_settings,
)

if __name__ == "__main__":
    print(f"hashbench of {Path(paths.__file__).parent.parent}")
    for story in [story for story in STORIES if not sys.argv[1:] or story.__name__ in sys.argv[1:]]:
        print(f"\n# {story.__name__.replace('_', ' ')}", flush=True)
        story()

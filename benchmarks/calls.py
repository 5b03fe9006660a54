"""Lists the modules that one ``hashbench train`` calls, in the order of their first call.

    python benchmarks/calls.py train lsh digits --protocol s1 --bits 16

All calls of Python functions of the package count, except those during an import. A call back is a call from one module
to another that is already on the call stack; to follow it, a reader must return to a module that was read before.
"""

import os
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

from hashbench.cli import _app

DEFAULT = ["train", "lsh", "digits", "--protocol", "s1", "--bits", "16"]


def traced(arguments: list[str]) -> tuple[list[str], int, int]:
    """The modules in order of their first call, the number of calling pairs, and how many of these call back."""
    package = str(Path(_app.__file__).parent.parent) + os.sep
    modules: dict[str, None] = {}
    waiting: list[str | None] = []  # the module of each frame, None outside the package
    imports = 0  # frames of modules that are being imported
    crossings: set[tuple[str, str]] = set()
    climbs: set[tuple[str, str]] = set()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal imports
        is_import = frame.f_code.co_name == "<module>"
        if event == "return" and waiting:
            waiting.pop()
            imports -= is_import
        if event != "call":
            return
        imports += is_import
        file = frame.f_code.co_filename
        module = file.removeprefix(package).removesuffix(".py") if file.startswith(package) and not imports else None
        if module is not None:
            modules.setdefault(module)
            above = [name for name in waiting if name is not None]
            if above and above[-1] != module:
                crossings.add((above[-1], module))
                if module in above:
                    climbs.add((above[-1], module))
        waiting.append(module)

    sys.setprofile(profile)
    try:
        _app.main(arguments)
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
    return list(modules), len(crossings), len(climbs)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HASHBENCH_RESULTS"] = folder
        modules, n_crossings, n_climbs = traced(sys.argv[1:] or DEFAULT)
    print("\n".join(modules))
    print(f"{len(modules)} modules, {n_crossings} pairs of modules that call each other, {n_climbs} of them call back")

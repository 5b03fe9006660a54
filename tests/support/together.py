"""Cases that go through the same code, run by one test that reports every bad one."""

import inspect
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any

import pytest

Test = Callable[..., None]


def together(names: str | tuple[str, ...], cases: Iterable[Any], ids: object = None) -> Callable[[Test], Test]:
    """Like ``pytest.mark.parametrize``, but all cases are one test.

    Each case has its own ``tmp_path`` and ``folder``, and its changes with ``monkeypatch`` are undone after it. Other
    fixtures are shared, so a case must leave them as they were. ``ids``, a function or a list, names bad cases.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    listed = list(cases)
    assert listed, "no case"

    def name_of(number: int, values: dict[str, Any]) -> object:
        if callable(ids):
            return [ids(value) for value in values.values()]
        if isinstance(ids, list | tuple):
            return ids[number]
        return values

    def decorate(test: Test) -> Test:
        def run_all(**fixtures: Any) -> None:
            faults = []
            for number, case in enumerate(listed):
                values = dict(zip(keys, case if len(keys) > 1 else [case], strict=True))
                try:
                    _run(test, fixtures, values, f"{test.__name__[:40]}-{number}")
                except (Exception, pytest.fail.Exception) as error:
                    faults.append(f"{str(name_of(number, values))[:300]}: {type(error).__name__}: {str(error)[:2000]}")
            assert not faults, f"{len(faults)} of {len(listed)} cases:\n" + "\n".join(faults)

        signature = inspect.signature(test)
        kept = [one for one in signature.parameters.values() if one.name not in keys]
        run_all.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        run_all.__name__ = test.__name__
        run_all.__doc__ = test.__doc__
        run_all.__module__ = test.__module__
        return run_all

    return decorate


def _run(test: Test, fixtures: dict[str, Any], values: dict[str, Any], folder: str) -> None:
    arguments = dict(fixtures)
    with ExitStack() as stack:
        for name in arguments.keys() & {"tmp_path", "folder"}:
            arguments[name] = arguments[name] / folder
            arguments[name].mkdir(parents=True)
        if "monkeypatch" in arguments:
            arguments["monkeypatch"] = stack.enter_context(arguments["monkeypatch"].context())
        test(**arguments, **values)

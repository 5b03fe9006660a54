"""Checks the arguments that users pass to functions in Python by the annotations of the functions themselves."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from inspect import signature
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from hashbench.foundation.errors import HashbenchError, printable

P = ParamSpec("P")
R = TypeVar("R")

SHOWN = 40  # characters of a wrong value in an error
# the annotations that are checked, with the types of a value and the words for them
TYPES: dict[Any, tuple[type, ...]] = {
    int: (int,),
    float: (int, float),
    str: (str,),
    bool: (bool,),
    Path: (PathLike,),
    type(None): (type(None),),
}
WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "True or False", Path: "a path"}


def checked_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which raises a HashbenchError that names an argument whose value is not of its annotated type.

    A number of NumPy is a number. An argument annotated with Any, or with a type that is not plain, is not checked.
    """
    declared = signature(function)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = declared.bind(*args, **kwargs)
        except TypeError:  # an argument that there is not, or none where one is needed: Python's own words name them
            return function(*args, **kwargs)
        for name, value in bound.arguments.items():
            parameter = declared.parameters[name]
            if parameter.kind is parameter.VAR_KEYWORD:
                bound.arguments[name] = {key: _checked(key, more, parameter.annotation) for key, more in value.items()}
            else:
                bound.arguments[name] = _checked(name, value, parameter.annotation)
        return function(*bound.args, **bound.kwargs)

    return checked


def _checked(name: str, value: Any, annotation: Any) -> Any:
    """``value``, plain; HashbenchError where it is of no type of the ``annotation``."""
    kinds = (annotation,)
    if get_origin(annotation) in (Union, UnionType):
        kinds = get_args(annotation)
    plain = value
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:  # a number of NumPy
        plain = value.item()
    takes_list = any(get_origin(kind) is Sequence for kind in kinds)
    if takes_list and isinstance(value, Iterable) and not isinstance(value, str | bytes):
        plain = list(value)
    if any(_fits(plain, kind) for kind in kinds):
        return plain
    words = list(dict.fromkeys(_word(kind) for kind in kinds if not (kind is int and float in kinds)))
    expected = " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
    raise HashbenchError(f"{name}: {printable(repr(value), SHOWN)} ({type(value).__name__}): {expected} is expected")


def _fits(value: Any, kind: Any) -> bool:
    if get_origin(kind) is Sequence:
        return isinstance(value, list) and all(isinstance(item, get_args(kind)) for item in value)
    if get_origin(kind) is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if isinstance(value, bool):
        return kind not in TYPES or kind is bool  # True is no number
    return isinstance(value, TYPES.get(kind, object))


def _word(kind: Any) -> str:
    if get_origin(kind) is Sequence:
        return "a list of texts"
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    return WORDS.get(kind, "None")

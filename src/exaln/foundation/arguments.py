"""Checks for the arguments of public functions, and decorators that keep old argument names working.

A check returns the value in the form the package uses, or raises an InputError that names the argument and says what
was expected. Checks are cheap: none of them imports or calls NumPy.
"""

from __future__ import annotations

import functools
import math
import operator
import os
import reprlib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

from exaln.errors import InputError
from exaln.foundation.paths import problem_with_path

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

LONGEST_SHOWN = 80

_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = LONGEST_SHOWN


def wrong(name: str, value: object, expected: str) -> InputError:
    """An InputError for an argument: one line with its name, its value and what was expected.

    >>> str(wrong("threads", 2.5, "a whole number"))
    'threads is 2.5; expected a whole number'
    """
    return InputError(f"{name} is {shown(value)}; expected {expected}")


def shown(value: object) -> str:
    """The repr of a value for a message: one printable ASCII line of at most LONGEST_SHOWN characters."""
    try:
        text = " ".join(_repr.repr(value).split())
    except Exception:  # a broken __repr__ must not replace our error
        text = f"a {type(value).__name__}"
    text = text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."
    return text.encode("ascii", "backslashreplace").decode("ascii")


def integer(name: str, value: object, *, least: int = 0, most: int | None = None) -> int:
    """A whole number from `least` to `most` as an int. Accepts types with __index__, such as numpy.int64; not bool."""
    number = value if type(value) is int else _as_integer(value)
    if number is None or number < least or (most is not None and number > most):
        limit = "" if most is None else f" and at most {most:,}"
        raise wrong(name, value, f"a whole number of at least {least}{limit}")
    return number


def _as_integer(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def number(
    name: str, value: Any, *, above: float = -math.inf, least: float = -math.inf, most: float = math.inf
) -> float:
    """A number greater than `above` and from `least` to `most`, as a float; not NaN, bool or text."""
    found = value if type(value) is float else _as_float(value)
    if found is None or not (above < found and least <= found <= most):
        limits = [f"above {above:g}"] if above > -math.inf else []
        limits += [f"of at least {least:g}"] if least > -math.inf else []
        limits += [f"of at most {most:g}"] if most < math.inf else []
        raise wrong(name, value, " ".join(["a number", " and ".join(limits)]).strip())
    return found


def _as_float(value: Any) -> float | None:
    """The value as a float, None if it is not a number. Text converts to float too, and arrays of one element do."""
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__") or hasattr(value, "__len__"):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def flag(name: str, value: object) -> bool:
    """True or False as a bool; numpy.bool_ is accepted."""
    if value is True or value is False:
        return value
    if type(value).__name__ in ("bool", "bool_") and type(value).__module__ == "numpy":
        return bool(value)
    raise wrong(name, value, "True or False")


def choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """The value, which must be one of the strings in `choices`."""
    if isinstance(value, str) and value in choices:
        return value
    raise wrong(name, value, f"one of {', '.join(choices)}")


def text(name: str, value: object, expected: str = "text") -> str:
    """A string that is not empty and can be encoded in UTF-8."""
    if not isinstance(value, str) or not value:
        raise wrong(name, value, expected)
    encoded(name, value)
    return value


def encoded(name: str, value: str) -> bytes:
    """The string in UTF-8; InputError if it has a lone surrogate, which is not a character."""
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError as error:
        found = ascii(value[error.start])
        raise InputError(f"{name}: {found} at position {error.start + 1} is a lone surrogate, not a letter") from None


def path(name: str, value: Any, expected: str = "a path") -> str | os.PathLike[str]:
    """The path of a file or folder, a string or an object such as pathlib.Path, unchanged."""
    problem = problem_with_path(value)
    if problem is not None and not is_path(value):
        raise wrong(name, value, expected)
    if problem is not None:
        raise InputError(f"{name} is {shown(value)}; {problem}")
    return value  # type: ignore[no-any-return]


def is_path(value: object) -> bool:
    """Whether a value is a string or a path object, as opposed to an open file."""
    return isinstance(value, str | os.PathLike)


def binary_file(name: str, value: Any, method: str, expected: str) -> Any:
    """A path, or a file open in binary mode that has `method`, which is "read" or "write"."""
    if is_path(value):
        return path(name, value, expected)
    if not callable(getattr(value, method, None)) or isinstance(value, type) or hasattr(value, "encoding"):
        raise wrong(name, value, expected)
    return value


def instance(name: str, value: object, kind: type[T]) -> T:
    """The value, which must be an instance of `kind`."""
    if isinstance(value, kind):
        return value
    raise wrong(name, value, f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}")


def items(name: str, value: Any, expected: str) -> list[Any]:
    """The items of an iterable as a list; strings, mappings and arrays of more than one dimension are refused."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) != 1:
        raise wrong(name, value, expected)
    return list(value)


def mapped(value: T | None, check: Callable[[str, T], R], name: str) -> R | None:
    """The result of `check` for an optional argument; None for None."""
    return None if value is None else check(name, value)


def renamed(**current: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator that accepts old keyword names; `current` maps each old name to the present one."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if not current.keys().isdisjoint(kwargs):
                kwargs = with_current_names(kwargs, current)  # type: ignore[assignment]
            return function(*args, **kwargs)

        return call

    return decorate


def exclusive(whole: str, parts: Collection[str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator that refuses the keyword `whole` together with any of `parts`, which `whole` contains."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if kwargs.get(whole) is not None:
                both = [name for name in kwargs if name in parts]
                if both:
                    raise InputError(f"{whole} and {both[0]} were given; {whole} has {both[0]}, so give one of them")
            return function(*args, **kwargs)

        return call

    return decorate


def renamed_fields(**current: str) -> Callable[[type[T]], type[T]]:
    """A decorator for dataclasses that accepts old field names as keywords and as attributes."""

    def decorate(kind: type[T]) -> type[T]:
        type.__setattr__(kind, "__init__", renamed(**current)(vars(kind)["__init__"]))
        for old, new in current.items():
            setattr(kind, old, property(operator.attrgetter(new), doc=f"The old name of {new}."))
        return kind

    return decorate


def with_current_names(given: Mapping[str, Any], current: Mapping[str, str]) -> dict[str, Any]:
    """Keyword arguments under their present names; InputError if an argument has both of its names."""
    names = [current.get(name, name) for name in given]
    for old, new in current.items():
        if old in given and names.count(new) > 1:
            raise InputError(f"{old} is the old name of {new}; give one of them")
    return dict(zip(names, given.values(), strict=True))

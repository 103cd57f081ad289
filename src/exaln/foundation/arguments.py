"""Arguments of the public functions: one check for each kind, and the names that they had before.

A check returns the value as the rest of the package takes it, or raises an InputError that names the argument and says
what was expected. Checks are cheap: none of them imports or calls NumPy.
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
    """The error for an argument: one line with its name, its value and what was expected.

    >>> str(wrong("threads", 2.5, "a whole number"))
    'threads is 2.5; expected a whole number'
    """
    return InputError(f"{name} is {shown(value)}; expected {expected}")


def shown(value: object) -> str:
    """A value in a message: one line of bounded length, without characters that cannot be printed."""
    try:
        text = " ".join(_repr.repr(value).split())
    except Exception:  # what a foreign __repr__ raises must not hide the message
        text = f"a {type(value).__name__}"
    text = text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."
    return text.encode("ascii", "backslashreplace").decode("ascii")


def integer(name: str, value: object, *, least: int = 0, most: int | None = None) -> int:
    """A whole number from `least` to `most`: an int, or what counts as one, such as numpy.int64; no bool."""
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
    """A number that is not NaN, as float: above `above`, from `least` to `most`; no bool and no text."""
    found = value if type(value) is float else _as_float(value)
    if found is None or not (above < found and least <= found <= most):
        limits = [f"above {above:g}"] if above > -math.inf else []
        limits += [f"of at least {least:g}"] if least > -math.inf else []
        limits += [f"of at most {most:g}"] if most < math.inf else []
        raise wrong(name, value, " ".join(["a number", " and ".join(limits)]).strip())
    return found


def _as_float(value: Any) -> float | None:
    """What is a number: it adds and converts. Texts convert only, and arrays are refused by their length."""
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__") or hasattr(value, "__len__"):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def flag(name: str, value: object) -> bool:
    """True or False; numpy.bool_ too."""
    if value is True or value is False:
        return value
    if type(value).__name__ in ("bool", "bool_") and type(value).__module__ == "numpy":
        return bool(value)
    raise wrong(name, value, "True or False")


def choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """One of these texts."""
    if isinstance(value, str) and value in choices:
        return value
    raise wrong(name, value, f"one of {', '.join(choices)}")


def text(name: str, value: object, expected: str = "text") -> str:
    """A text that can be encoded; not empty."""
    if not isinstance(value, str) or not value:
        raise wrong(name, value, expected)
    encoded(name, value)
    return value


def encoded(name: str, value: str) -> bytes:
    """The bytes of a text; a lone surrogate, which stands for no character, is an error."""
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError as error:
        found = ascii(value[error.start])
        raise InputError(f"{name}: {found} at position {error.start + 1} is a lone surrogate, not a letter") from None


def path(name: str, value: Any, expected: str = "a path") -> str | os.PathLike[str]:
    """The name of a file or folder, as text or as an object such as pathlib.Path."""
    problem = problem_with_path(value)
    if problem is not None and not is_path(value):
        raise wrong(name, value, expected)
    if problem is not None:
        raise InputError(f"{name} is {shown(value)}; {problem}")
    return value  # type: ignore[no-any-return]


def is_path(value: object) -> bool:
    """Whether it names a file: text or a path object, and no open file."""
    return isinstance(value, str | os.PathLike)


def binary_file(name: str, value: Any, method: str, expected: str) -> Any:
    """A path, or a file that is open in binary mode and has this method, `read` or `write`."""
    if is_path(value):
        return path(name, value, expected)
    if not callable(getattr(value, method, None)) or isinstance(value, type) or hasattr(value, "encoding"):
        raise wrong(name, value, expected)
    return value


def instance(name: str, value: object, kind: type[T]) -> T:
    """An object of this class."""
    if isinstance(value, kind):
        return value
    raise wrong(name, value, f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}")


def items(name: str, value: Any, expected: str) -> list[Any]:
    """The items of an iterable that is neither a text nor a mapping."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) != 1:
        raise wrong(name, value, expected)
    return list(value)


def mapped(value: T | None, check: Callable[[str, T], R], name: str) -> R | None:
    """What a check gives for an argument that may be left out."""
    return None if value is None else check(name, value)


def renamed(**current: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: keywords of earlier versions still work. `current` gives the present name of each old one."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if not current.keys().isdisjoint(kwargs):
                kwargs = with_current_names(kwargs, current)  # type: ignore[assignment]
            return function(*args, **kwargs)

        return call

    return decorate


def exclusive(whole: str, parts: Collection[str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: the keyword `whole` holds all of `parts`, so none of these may be given with it."""

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
    """A decorator of dataclasses: fields of earlier versions still work, as keywords and as attributes."""

    def decorate(kind: type[T]) -> type[T]:
        type.__setattr__(kind, "__init__", renamed(**current)(vars(kind)["__init__"]))
        for old, new in current.items():
            setattr(kind, old, property(operator.attrgetter(new), doc=f"The old name of {new}."))
        return kind

    return decorate


def with_current_names(given: Mapping[str, Any], current: Mapping[str, str]) -> dict[str, Any]:
    """Keyword arguments under their present names; an error if both names of one are given."""
    names = [current.get(name, name) for name in given]
    for old, new in current.items():
        if old in given and names.count(new) > 1:
            raise InputError(f"{old} is the old name of {new}; give one of them")
    return dict(zip(names, given.values(), strict=True))

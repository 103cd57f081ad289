"""Commands that other packages add to `exaln`, through entry points of the group `exaln.commands`.

Entry points are read only for a command that exaln itself does not have, for `exaln --help` and for completion, so a
search does not pay for them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

import click

from exaln.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "exaln.commands"
NOT_INSTALLED = {
    "study": "exaln study needs the package exaln-studies, which is not installed: pip install ./studies in a clone"
}
"""What to say about a command whose package is missing."""


class Unusable(click.Command):
    """Stands for a command that cannot be run; it fails with `reason`, an InputError, whatever its arguments are."""

    def __init__(self, name: str, reason: str) -> None:
        settings = {"ignore_unknown_options": True, "allow_extra_args": True}
        super().__init__(name, add_help_option=False, context_settings=settings, short_help="(cannot be loaded)")
        self.reason = reason

    def invoke(self, ctx: click.Context) -> NoReturn:
        """Raise the InputError."""
        raise InputError(self.reason)


def plugin_names() -> list[str]:
    """Names of the commands that other packages add, sorted."""
    return sorted(_entry_points())


def plugin_command(name: str) -> click.Command | None:
    """The command of another package, an `Unusable` one if it cannot be loaded, or None if there is none."""
    found = _entry_points().get(name)
    if found is None:
        return Unusable(name, NOT_INSTALLED[name]) if name in NOT_INSTALLED else None
    try:
        command: Any = found.load()
        if not isinstance(command, click.Command):
            raise TypeError(f"{found.value} is not a click command")
    except Exception as error:  # whatever a foreign module raises when it is imported
        package = found.dist.name if found.dist is not None else found.value
        return Unusable(
            name, f"exaln {name} cannot be loaded from the package {package}: {type(error).__name__}: {error}"
        )
    return command


@cache
def _entry_points() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {found.name: found for found in entry_points(group=GROUP)}

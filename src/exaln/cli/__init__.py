"""The command line. Modules that take long to load (numpy, pyarrow, rich) are imported where they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exaln.cli.main_group import cli

__all__ = ["cli"]


def __getattr__(name: str) -> Any:
    """Import the group of all commands, `cli`, when it is first used."""
    if name != "cli":
        raise AttributeError(f"module 'exaln.cli' has no attribute {name!r}")
    from exaln.cli.main_group import cli

    return cli

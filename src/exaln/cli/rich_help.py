"""The help of commands as rich-click draws it. Commands themselves are plain click, because rich takes long to load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import rich_click


def rich_help(command: click.Command, ctx: click.Context, panels: Sequence[dict[str, object]] = ()) -> str:
    """The help of a command in its context. panels: of its options, as `option_groups` returns them."""
    drawn = _drawn(command, ctx)
    config = {"option_groups": {"*": list(panels)}} if panels else {}
    names = ctx.help_option_names
    ctx.color = True  # rich has decided about colours: click must not remove them
    with rich_click.RichContext(
        drawn, ctx.parent, ctx.info_name, rich_help_config=config, help_option_names=names, **_width(ctx)
    ) as own:
        return drawn.get_help(own)


class _Group(rich_click.RichGroup):
    """A group whose commands are listed in their own order."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


def _drawn(command: click.Command, ctx: click.Context) -> rich_click.RichCommand:
    """A twin of the command that rich-click can draw."""
    like: dict[str, Any] = {
        "name": command.name,
        "params": command.params,
        "help": command.help,
        "epilog": command.epilog,
        "options_metavar": command.options_metavar,
        "add_help_option": command.add_help_option,
    }
    if not isinstance(command, click.Group):
        return rich_click.RichCommand(**like)
    found = {name: command.get_command(ctx, name) for name in command.list_commands(ctx)}
    commands = {name: one for name, one in found.items() if one is not None}
    return _Group(**like, commands=commands, subcommand_metavar=command.subcommand_metavar)


def _width(ctx: click.Context) -> dict[str, Any]:
    return {"terminal_width": ctx.terminal_width, "max_content_width": ctx.max_content_width}

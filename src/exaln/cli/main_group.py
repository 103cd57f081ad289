"""The group of all commands. A command's module is imported when the command is used, or its help is shown."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

import click

from exaln import __version__
from exaln.cli.command import Group
from exaln.cli.messages import Messages

EPILOG = """Example: exaln search --query query.fasta --db proteins.fasta.gz

Completion of commands and options: put eval "$(_EXALN_COMPLETE=bash_source exaln)" into ~/.bashrc (zsh_source,
fish_source for other shells)."""

MODULES = {
    "makedb": "database_commands",
    "search": "search_command",
    "explain": "explain_command",
    "merge": "merge_command",
    "worker": "worker_command",
    "align": "align_command",
    "score": "score_command",
    "mask": "mask_command",
    "append": "database_commands",
    "compact": "database_commands",
    "dbinfo": "database_commands",
    "verify": "database_commands",
    "fetch": "database_commands",
    "export": "database_commands",
    "info": "about_commands",
    "warm": "warm_command",
    "bench": "bench_command",
}
"""The module of each command, in the order of the help."""


class Commands(Mapping[str, click.Command]):
    """The commands by name, each imported when it is looked up."""

    def __getitem__(self, name: str) -> click.Command:
        command: click.Command = getattr(importlib.import_module(f"exaln.cli.{MODULES[name]}"), name)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


@click.group(
    cls=Group,
    invoke_without_command=True,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="exaln")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Exact Smith-Waterman search and alignment at the speed of the hardware."""
    ctx.ensure_object(Messages)
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


cli.commands = Commands()  # type: ignore[assignment]

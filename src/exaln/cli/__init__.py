"""The command line. Modules that take long to load (numpy, pyarrow, rich) are imported where they are used."""

from __future__ import annotations

import click

from exaln import __version__
from exaln.cli import (
    about_commands,
    align_command,
    bench_command,
    database_commands,
    explain_command,
    merge_command,
    score_command,
    search_command,
    worker_command,
)
from exaln.cli.command import Group
from exaln.cli.messages import Messages

EPILOG = """Example: exaln search --query query.fasta --db proteins.fasta.gz

Completion of commands and options: put eval "$(_EXALN_COMPLETE=bash_source exaln)" into ~/.bashrc (zsh_source,
fish_source for other shells)."""


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


for command in (
    database_commands.makedb,
    search_command.search,
    explain_command.explain,
    merge_command.merge,
    worker_command.worker,
    align_command.align,
    score_command.score,
    database_commands.append,
    database_commands.compact,
    database_commands.dbinfo,
    database_commands.verify,
    database_commands.fetch,
    database_commands.export,
    about_commands.info,
    bench_command.bench,
):
    cli.add_command(command)

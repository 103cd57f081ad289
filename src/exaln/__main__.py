"""The program `exaln`: starts what takes long, runs a command line, and ends the process."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from exaln.cli.early_start import start_gpus
from exaln.cli.ending import INTERRUPTED, TERMINATED, Ending, Terminated, raise_on_signals, raised_by_signal
from exaln.cli.standard_streams import take_closed_descriptors

COMPLETE_VARIABLE = "_EXALN_COMPLETE"


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command line, by default that of the process, and exit."""
    ending = Ending()
    take_closed_descriptors()
    raise_on_signals()
    given = list(sys.argv[1:] if arguments is None else arguments)
    instruction = os.environ.get(COMPLETE_VARIABLE)
    if instruction:
        sys.exit(_complete(instruction))
    ending.exit(run(given))


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit code. Raises nothing but SystemExit."""
    try:
        start_gpus(arguments)
        from exaln.cli.program import run_command_line
    except (KeyboardInterrupt, Terminated, RuntimeError) as error:
        found = raised_by_signal(error)
        if isinstance(found, RuntimeError):
            raise
        is_terminated = isinstance(found, Terminated)
        print("exaln: terminated" if is_terminated else "exaln: interrupted", file=sys.stderr)
        return TERMINATED if is_terminated else INTERRUPTED
    return run_command_line(arguments)


def _complete(instruction: str) -> int:
    """Answer a shell that completes a command line."""
    from click.shell_completion import shell_complete

    from exaln.cli.main_group import cli

    return shell_complete(cli, {}, "exaln", COMPLETE_VARIABLE, instruction)


if __name__ == "__main__":
    main()

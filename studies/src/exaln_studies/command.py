"""The command `exaln study`, which exaln finds through the entry point group `exaln.commands`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from exaln.cli import options
from exaln.cli.command import Command, Option
from exaln.cli.messages import Messages, pass_messages
from exaln.errors import InputError
from exaln_studies import NAMES

PAGES = Path("studies") / "pages"
OUTSIDE_A_CLONE = Path("study-pages")


@click.command(cls=Command, example="exaln study chaibou-sie --quick")
@click.argument("name", type=click.Choice(NAMES), metavar="NAME")
@click.option("--quick", is_flag=True, help="Measure a few small sizes: under a minute, but the numbers are rough.")
@click.option(
    "--part",
    "parts",
    cls=Option,
    many=True,
    metavar="NAME...",
    help="Measure only these parts. [default: all that this machine can measure]",
)
@click.option(
    "--from",
    "files",
    cls=Option,
    many=True,
    reads=True,
    type=click.Path(path_type=Path),
    metavar="FILE...",
    help="Measure nothing: make the page from the measurements of earlier runs, on any machine.",
)
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for page, plots and measurements. [default: studies/pages in a clone; study-pages elsewhere and with"
    " --quick]",
)
@options.threads
@pass_messages
def study(
    messages: Messages,
    name: str,
    quick: bool,
    parts: tuple[str, ...],
    files: tuple[Path, ...],
    out: Path | None,
    threads: int | None,
) -> None:
    """Repeat the measurements of a paper, compare every result with the reference, and write a page about them.

    Parts that were measured before and are not measured now are kept: a GPU part can be measured on another machine.
    """
    from exaln.foundation.resources import usable_threads
    from exaln.plots.files import load_matplotlib
    from exaln_studies import run, study_named
    from exaln_studies.measurements import merged

    if files and (quick or parts):
        raise InputError("--from measures nothing, so --quick and --part do not go with it")
    load_matplotlib()  # fails here if it is missing, not after minutes of measuring
    chosen = study_named(name)
    folder = out or default_folder(quick)
    if files:
        result = merged(chosen.name, files)
    else:
        saved = run.measurements_file(chosen, folder)
        with progress_line(messages) as progress:
            result = run.measure(
                chosen,
                quick=quick,
                threads=usable_threads(threads),
                parts=parts,
                earlier=[saved] if saved.exists() else [],
                note=messages.note,
                progress=progress,
                save=lambda so_far: run.save_measurements(chosen, so_far, folder),
            )
    messages.note(f"written to {run.write(chosen, result, folder)}")


@contextmanager
def progress_line(messages: Messages) -> Iterator[Callable[[str], None]]:
    """Show what is being measured: one line that changes on a terminal, a line each with --verbose, else nothing."""
    if messages.verbose or not messages.shows_progress:
        yield messages.detail
        return
    from rich.console import Console

    with Console(stderr=True).status("measuring") as status:
        yield status.update


def default_folder(quick: bool) -> Path:
    """Return studies/pages of the clone that holds the current directory, or study-pages.

    Quick runs never go to the clone: the pages kept there are of full runs.
    """
    here = Path.cwd()
    for folder in (here, *here.parents) if not quick else ():
        if (folder / PAGES).is_dir() and (folder / "src" / "exaln").is_dir():
            return folder / PAGES
    return OUTSIDE_A_CLONE

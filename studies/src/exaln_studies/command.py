"""study: the experiments of the papers that exaln descends from, measured here."""

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

PAGES = Path("docs") / "studies"


@click.command(cls=Command, example="exaln study chaibou-sie --quick")
@click.argument("name", type=click.Choice(NAMES), metavar="NAME")
@click.option("--quick", is_flag=True, help="Small sizes and few of them: under a minute, figures are rough.")
@click.option(
    "--part", "parts", cls=Option, many=True, metavar="NAME...", help="Only these. [default: all that this machine can]"
)
@click.option(
    "--from",
    "files",
    cls=Option,
    many=True,
    reads=True,
    type=click.Path(path_type=Path),
    metavar="FILE...",
    help="Measure nothing: make the page from measurements of earlier runs, on any machine.",
)
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of page, plots and measurements. [default: docs/studies of a clone; studies for --quick]",
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
    """Repeat the measurements of a paper, compare every result with the reference, and write a page about it.

    Parts that were measured before, and are not now, are kept: a GPU part can be measured on another machine.
    """
    from exaln.foundation.resources import usable_threads
    from exaln_studies import run, study_named
    from exaln_studies.measurements import merged

    if files and (quick or parts):
        raise InputError("--from measures nothing, so --quick and --part do not go with it")
    chosen = study_named(name)
    folder = out or default_folder(quick)
    if files:
        found = merged(chosen.name, files)
    else:
        kept = run.measurements_file(chosen, folder)
        known = [kept] if kept.exists() else []
        n_threads = usable_threads(threads)
        with telling(messages) as tell:
            found = run.measure(
                chosen,
                quick=quick,
                threads=n_threads,
                parts=parts,
                known=known,
                note=messages.note,
                tell=tell,
                keep=lambda so_far: run.keep_measurements(chosen, so_far, folder),
            )
    messages.note(f"written to {run.write(chosen, found, folder)}")


@contextmanager
def telling(messages: Messages) -> Iterator[Callable[[str], None]]:
    """What is measured just now: a line that changes on a terminal, a line each with --verbose, else nothing."""
    if messages.verbose or not messages.shows_progress:
        yield messages.detail
        return
    from rich.console import Console

    with Console(stderr=True).status("measuring") as status:
        yield status.update


def default_folder(quick: bool) -> Path:
    """docs/studies, if the current directory is in a clone of exaln; what is kept there is not for quick runs."""
    here = Path.cwd()
    for folder in (here, *here.parents) if not quick else ():
        if (folder / "docs").is_dir() and (folder / "src" / "exaln").is_dir():
            return folder / PAGES
    return Path("studies")

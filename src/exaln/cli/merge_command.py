"""The command merge: the part files of a sharded search become one report."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from exaln.cli import options
from exaln.cli.cluster_search import counted_hits
from exaln.cli.command import Command, FileArgument, Option
from exaln.cli.hints import HitNotes
from exaln.cli.messages import Messages, pass_messages
from exaln.cli.report_output import ReportOutput
from exaln.errors import ExalnError, InputError
from exaln.foundation.plurals import number_of
from exaln.foundation.progress import MergeProgress

if TYPE_CHECKING:
    from exaln.report.fasta_report import WholeTargets
    from exaln.search.spec import SearchSpec


@click.command(cls=Command, example="exaln merge part-*.parquet --out hits.tsv")
@click.argument("parts", cls=FileArgument, nargs=-1, required=True, metavar="PART...")
@options.out
@options.outfmt(options.SEARCH_FORMATS)
@click.option(
    "--db",
    "-d",
    "database",
    cls=Option,
    reads=True,
    metavar="DB",
    help="The database that was searched, for --outfmt fasta, which has whole targets. [default: as --db was given to "
    "the search]",
)
@pass_messages
def merge(
    messages: Messages, /, parts: tuple[str, ...], out: str, outfmt: tuple[str, ...], database: str | None
) -> None:
    """Merge the part files of a sharded search into the report of the whole search.

    The report is the same as without shards. The queries are not needed, and the database only for FASTA of whole
    targets.
    """
    from exaln.cluster.shards import Parts

    report = ReportOutput.of(out, outfmt)
    shown = messages.shows_progress and not report.on_screen
    with Parts(parts) as merged, MergeProgress(shown=shown, total=merged.n_queries) as work:
        whole = searched_targets(merged.spec, database) if report.form.needs_whole_targets else None
        notes = HitNotes(merged.spec.options, merged.spec.evaluator)
        report.write(work.ends_before(notes.among(counted_hits(iter(merged), work)), out), merged.spec, whole)
    notes.tell(messages)
    messages.note(f"{work.counted_hits()}, of {number_of(len(parts), 'part')}, in {work.spent()}")


def searched_targets(spec: SearchSpec, database: str | None) -> WholeTargets:
    """Reads whole targets of the database that was searched; InputError if it is not there, or is another one."""
    from exaln.database.database import Database
    from exaln.database.gather import whole_targets

    name = database or spec.database
    try:
        opened = Database.open(name)
    except ExalnError as error:
        if database is not None:
            raise
        raise InputError(
            f"fasta has whole targets, which part files do not: {error}; give the database with --db, or write "
            "--outfmt 'fasta aligned'"
        ) from None
    if opened.manifest.digest != spec.database_digest:
        raise InputError(f"{name}: not the database that was searched, or it has changed since")
    return partial(whole_targets, opened)

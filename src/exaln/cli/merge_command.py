"""The command merge: the part files of a sharded search become one report."""

from __future__ import annotations

import click

from exaln.cli import options
from exaln.cli.cluster_search import counted_hits
from exaln.cli.command import Command, FileArgument
from exaln.cli.messages import Messages, pass_messages
from exaln.cli.report_output import ReportOutput
from exaln.foundation.plurals import number_of
from exaln.foundation.progress import MergeProgress


@click.command(cls=Command, example="exaln merge part-*.parquet --out hits.tsv")
@click.argument("parts", cls=FileArgument, nargs=-1, required=True, metavar="PART...")
@options.out
@options.outfmt(options.SEARCH_FORMATS)
@pass_messages
def merge(messages: Messages, /, parts: tuple[str, ...], out: str, outfmt: tuple[str, ...]) -> None:
    """Merge the part files of a sharded search into the report of the whole search.

    The report is the same as without shards. Neither the queries nor the database are needed.
    """
    from exaln.cluster.shards import Parts

    report = ReportOutput.of(out, outfmt)
    shown = messages.shows_progress and not report.on_screen
    with Parts(parts) as merged, MergeProgress(shown=shown, total=merged.n_queries) as work:
        report.write(work.ends_before(counted_hits(iter(merged), work), out), merged.spec)
    messages.note(f"{work.counted_hits()}, of {number_of(len(parts), 'part')}, in {work.spent()}")

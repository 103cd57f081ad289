"""search: exact hits with alignments and E-values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exaln.cli import options
from exaln.cli.cluster_search import ClusterOptions, one_database, open_job, search_in_units
from exaln.cli.command import Command, Option
from exaln.cli.database_commands import counted, require_stdin_once
from exaln.cli.hints import LongTargets
from exaln.cli.messages import Messages, pass_messages
from exaln.cli.report_output import PartOutput, ReportOutput
from exaln.errors import InputError
from exaln.foundation.progress import SearchProgress

if TYPE_CHECKING:
    from exaln.alignments.query_hits import QueryHits
    from exaln.database.database import Database
    from exaln.search.options import SearchOptions
    from exaln.search.pipeline import Search
    from exaln.sequences.alphabet import Alphabet

PERCENT = click.FloatRange(0, 100)


@click.command(cls=Command, example="exaln search --query query.fasta --db proteins.exaln --evalue 1e-3 --out hits.tsv")
@options.queries
@options.searched
@options.out
@options.outfmt(options.SEARCH_FORMATS)
@click.option(
    "--evalue",
    cls=Option,
    blast=["-evalue"],
    type=float,
    default=10.0,
    show_default=True,
    metavar="E",
    help="Largest E-value that is reported.",
)
@click.option(
    "--max-target-seqs",
    cls=Option,
    blast=["-max_target_seqs"],
    type=click.IntRange(min=1),
    default=500,
    show_default=True,
    metavar="K",
    help="Hits per query, the true best.",
)
@click.option("--min-bits", type=float, metavar="N", help="Least bit score.")
@click.option(
    "--min-score",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Least raw score; scores below 1 are no hits.",
)
@click.option("--min-identity", cls=Option, blast=["-perc_identity"], type=PERCENT, metavar="%", help="Least identity.")
@click.option(
    "--min-query-coverage",
    cls=Option,
    blast=["-qcov_hsp_perc"],
    old=["--query-coverage"],
    type=PERCENT,
    metavar="%",
    help="Least part of the query.",
)
@click.option(
    "--min-target-coverage",
    cls=Option,
    old=["--target-coverage"],
    type=PERCENT,
    metavar="%",
    help="Least part of the target.",
)
@click.option(
    "--strand",
    cls=Option,
    blast=["-strand"],
    type=click.Choice(["both", "plus", "minus"]),
    default="both",
    show_default=True,
    help="Of the target, for nucleotides.",
)
@click.option(
    "--ids",
    cls=Option,
    blast=["-seqidlist"],
    reads=True,
    metavar="FILE",
    help="Only targets with these ids, one a line.",
)
@click.option(
    "--exclude-ids",
    cls=Option,
    blast=["-negative_seqidlist"],
    reads=True,
    metavar="FILE",
    help="No targets with these ids, one a line.",
)
@click.option(
    "--dbsize",
    cls=Option,
    blast=["-dbsize"],
    type=click.IntRange(min=1),
    metavar="N",
    help="Residues of the database, for E-values. [default: its own]",
)
@options.scoring
@options.alphabet
@options.strip_gaps
@options.max_record_size
@options.engine
@options.devices
@options.gpu_memory
@options.threads
@click.option(
    "--shard",
    metavar="I/N",
    help="Search part I of N of the database; --out is a part file, and exaln merge makes the report of all.",
)
@options.cluster
@pass_messages
def search(
    messages: Messages,
    /,
    query: str,
    databases: tuple[str, ...],
    out: str,
    outfmt: tuple[str, ...],
    alphabet: Alphabet | None,
    strip_gaps: bool,
    max_record_size: int | None,
    engine: str,
    devices: tuple[int, ...] | None,
    gpu_memory: int | None,
    threads: int | None,
    shard: str | None,
    **chosen: Any,
) -> None:
    """Find the targets that are most similar to each query, exactly, with alignments and E-values.

    Every target is scored in full. Ranked by E-value, then score, then place in the database; one alignment per target.
    """
    from exaln.engines.choice import choose_engine
    from exaln.search.pipeline import Search
    from exaln.search.spec import SearchSpec

    require_stdin_once([query, *databases])
    reading: dict[str, Any] = {"strip_gaps": strip_gaps, "max_record_size": max_record_size}
    cluster = ClusterOptions.taken_from(chosen)
    cluster.require_no_shard(shard)
    if cluster.in_units:
        job = open_job(
            query,
            one_database(databases),
            alphabet,
            chosen,
            lambda opened: make_options(chosen, opened),
            reading,
        )
        search_in_units(messages, job, cluster, (engine, threads, devices, gpu_memory), ReportOutput.of(out, outfmt))
        return
    report = ReportOutput.of(out, outfmt) if shard is None else PartOutput.of(out, outfmt, shard)
    working = choose_engine(engine, threads, devices=devices, gpu_memory=gpu_memory)
    opened = options.open_searched(databases, alphabet, **reading)
    wanted = make_options(chosen, opened)
    scoring = options.make_scoring(opened.alphabet, chosen)
    found = Search(report.part_of(opened), scoring, working, wanted)
    messages.detail(f"{' '.join(databases)}: {counted(opened)}")
    messages.detail(f"{scoring.describe()}; {working.describe()}")
    if found.statistics is not None:
        messages.detail(found.statistics.describe())
    long_targets = LongTargets()
    with SearchProgress(shown=messages.shows_progress and not report.on_screen) as work:
        reading |= {"alphabet": alphabet, "keep_qualities": report.has_qualities}
        hits = work.ends_before(long_targets.among(search_file(found, query, work, **reading)), out)
        report.write(hits, SearchSpec.of(" ".join(databases), opened.manifest, scoring, wanted))
    messages.details(working.scan_report())
    long_targets.tell(messages)
    messages.note(f"{work.counted_hits()} in {work.spent(working.describe())}")


def search_file(search: Search, source: str, work: SearchProgress, **reading: Any) -> Iterator[QueryHits]:
    """The hits of each query of a file, which is read as the search goes on; reading: options of `SequenceFile`."""
    from exaln.sequences.fasta import SequenceFile

    with SequenceFile(source, like=search.database.alphabet, **reading) as file:

        def batches() -> Iterator[Any]:
            for records in file:
                work.reading(search.n_cells(file.n_residues), file.bytes_read, file.bytes_total)
                yield records

        for hits in search.run(batches(), work):
            work.found(len(hits))
            yield hits
        if file.n_records == 0:
            raise InputError(f"{file.name}: no sequences found; FASTA or FASTQ with at least one record is needed")


def make_options(chosen: dict[str, Any], database: Database | None) -> SearchOptions:
    """The options of the search that those of the command line ask for; database: None if it is elsewhere."""
    from exaln.search.options import SearchOptions
    from exaln.search.pipeline import OPTIONS

    lists = {name: None if chosen[name] is None else Path(chosen[name]) for name in ("ids", "exclude_ids")}
    if database is None and any(path is not None for path in lists.values()):
        raise InputError("--ids and --exclude-ids need the database on a path, not at a URL")
    options = SearchOptions(**{name: chosen[name] for name in OPTIONS} | lists)
    return options if database is None else options.resolved(database)

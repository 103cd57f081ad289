"""search: exact hits with alignments and E-values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exaln.cli import options
from exaln.cli.cluster_search import ClusterOptions, open_job, search_in_units
from exaln.cli.command import Command, Option
from exaln.cli.database_commands import counted, require_stdin_once
from exaln.cli.messages import Messages, pass_messages
from exaln.cli.report_output import PartOutput, ReportOutput
from exaln.errors import InputError
from exaln.progress import SearchProgress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from exaln.alphabet import Alphabet
    from exaln.database import Database
    from exaln.judge import SearchOptions
    from exaln.pipeline import Search
    from exaln.query_hits import QueryHits

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
    "max_hits",
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
    "--query-coverage", cls=Option, blast=["-qcov_hsp_perc"], type=PERCENT, metavar="%", help="Least part of the query."
)
@click.option("--target-coverage", type=PERCENT, metavar="%", help="Least part of the target.")
@click.option(
    "--strand",
    "strands",
    cls=Option,
    blast=["-strand"],
    type=click.Choice(["both", "plus", "minus"]),
    default="both",
    show_default=True,
    help="Of the target, for nucleotides.",
)
@click.option(
    "--ids",
    "include",
    cls=Option,
    blast=["-seqidlist"],
    metavar="FILE",
    help="Only targets with these ids, one a line.",
)
@click.option(
    "--exclude-ids",
    "exclude",
    cls=Option,
    blast=["-negative_seqidlist"],
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
    database: str,
    out: str,
    outfmt: tuple[str, ...],
    include: str | None,
    exclude: str | None,
    alphabet: Alphabet | None,
    strip_gaps: bool,
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
    from exaln.cluster.spec import SearchSpec
    from exaln.engines import choose_engine
    from exaln.pipeline import Search

    require_stdin_once([query, database])
    cluster = ClusterOptions.taken_from(chosen)
    cluster.require_no_shard(shard)
    if cluster.in_units:
        job = open_job(
            query,
            database,
            alphabet,
            chosen,
            lambda opened: make_options(chosen, opened, include, exclude),
            strip_gaps=strip_gaps,
        )
        search_in_units(messages, job, cluster, (engine, threads, devices, gpu_memory), ReportOutput.of(out, outfmt))
        return
    report = ReportOutput.of(out, outfmt) if shard is None else PartOutput.of(out, outfmt, shard)
    working = choose_engine(engine, threads, devices=devices, gpu_memory=gpu_memory)
    opened = options.open_searched(database, alphabet, strip_gaps=strip_gaps)
    wanted = make_options(chosen, opened, include, exclude)
    scoring = options.make_scoring(opened.alphabet, chosen)
    found = Search(report.part_of(opened), scoring, working, wanted)
    messages.detail(f"{database}: {counted(opened)}")
    messages.detail(f"{scoring.describe()}; {working.describe()}")
    if found.statistics is not None:
        messages.detail(found.statistics.describe())
    with SearchProgress(shown=messages.shows_progress and not report.on_screen) as work:
        hits = search_file(found, query, work, strip_gaps=strip_gaps)
        report.write(hits, SearchSpec.of(database, opened.manifest, scoring, wanted))
    messages.details(working.scan_report())
    messages.note(f"{work.counted_hits()} in {work.spent(working.describe())}")


def search_file(search: Search, source: str, work: SearchProgress, *, strip_gaps: bool) -> Iterator[QueryHits]:
    """The hits of each query of a file, which is read as the search goes on."""
    from exaln.fasta import SequenceFile
    from exaln.queries import warn_if_nucleotides

    with SequenceFile(source, alphabet=search.database.alphabet, strip_gaps=strip_gaps) as file:

        def batches() -> Iterator[Any]:
            for records in file:
                warn_if_nucleotides(records, file.name)
                work.reading(search.n_cells(file.n_residues), file.bytes_read, file.bytes_total)
                yield records

        for hits in search.run(batches(), work):
            work.found(len(hits))
            yield hits
        if file.n_records == 0:
            raise InputError(f"{file.name}: no sequences found; FASTA or FASTQ with at least one record is needed")


def make_options(
    chosen: dict[str, Any], database: Database | None, include: str | None, exclude: str | None
) -> SearchOptions:
    """The options of the search that those of the command line ask for; database: None if it is elsewhere."""
    from exaln.judge import SearchOptions

    if database is None and (include is not None or exclude is not None):
        raise InputError("--ids and --exclude-ids need the database on a path, not at a URL")
    return SearchOptions(
        evalue=chosen["evalue"],
        max_hits=chosen["max_hits"],
        min_bits=chosen["min_bits"],
        min_score=chosen["min_score"],
        min_identity=chosen["min_identity"],
        min_query_coverage=chosen["query_coverage"],
        min_target_coverage=chosen["target_coverage"],
        strands=chosen["strands"],
        include=None if include is None or database is None else some_ordinals_in(include, database),
        exclude=None if exclude is None or database is None else ordinals_in(exclude, database),
        db_residues=chosen["dbsize"],
    )


def some_ordinals_in(path: str, database: Database) -> NDArray[np.int64]:
    """The same for targets to search among: with an empty list nothing could be found."""
    ordinals = ordinals_in(path, database)
    if not len(ordinals):
        raise InputError(f"{path}: the list of ids is empty; without --ids all targets are searched")
    return ordinals


def ordinals_in(path: str, database: Database) -> NDArray[np.int64]:
    """The targets with the ids in a file; an id that no target has is an error."""
    import numpy as np

    try:
        ids = [line.strip() for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the list of ids cannot be read: {error}") from None
    try:
        found = database.fetch(ids)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return np.array(sorted({target.ordinal for target in found}), np.int64)

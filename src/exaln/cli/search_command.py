"""The command search: the exact best hits of each query, with alignments and E-values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exaln.cli import options
from exaln.cli.cluster_search import ClusterOptions, one_database, open_job, search_in_units
from exaln.cli.command import Command
from exaln.cli.database_commands import counted, require_stdin_once
from exaln.cli.hints import HitNotes
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


@click.command(cls=Command, example="exaln search --query query.fasta --db proteins.exaln --evalue 1e-3 --out hits.tsv")
@options.queries
@options.searched
@options.out
@options.outfmt(options.SEARCH_FORMATS)
@options.filters
@options.masks
@options.preset
@options.scoring
@options.alphabet
@options.strip_gaps
@options.max_record_size
@options.engine
@click.option(
    "--shard",
    metavar="I/N",
    help="Search only part I of N of the database and write a part file to --out; exaln merge makes the report of "
    "all parts.",
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
    engine: options.EngineOptions,
    shard: str | None,
    **chosen: Any,
) -> None:
    """Find the targets that are most similar to each query, exactly, with alignments and E-values.

    Every target is scored in full. Hits are ranked by E-value, then score, then order in the database. A hit has all
    alignments of its target that reach the E-value.
    """
    from exaln.database.gather import whole_targets
    from exaln.search.evaluation import origin_note
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
            make_options,
            reading,
        )
        search_in_units(messages, job, cluster, engine, ReportOutput.of(out, outfmt))
        return
    report = ReportOutput.of(out, outfmt) if shard is None else PartOutput.of(out, outfmt, shard)
    chosen_engine = engine.choose()
    opened = options.open_searched(databases, alphabet, **reading)
    chosen = options.with_preset(chosen, opened.alphabet)
    search_options = make_options(chosen, opened)
    scoring = options.make_scoring(opened.alphabet, chosen)
    run = Search(report.part_of(opened), scoring, chosen_engine, search_options)
    messages.detail(f"{' '.join(databases)}: {counted(opened)}")
    messages.detail(f"{scoring.describe()}; {chosen_engine.describe()}")
    if run.statistics is not None:
        messages.detail(run.statistics.describe())
    messages.notes(filter(None, [origin_note(scoring, run.statistics)]))
    notes = HitNotes(search_options, run.evaluator)
    with SearchProgress(shown=messages.shows_progress and not report.on_screen) as work:
        reading |= {"alphabet": alphabet, "keep_qualities": report.has_qualities}
        hits = work.ends_before(notes.among(search_file(run, query, work, **reading)), out)
        spec = SearchSpec.of(" ".join(databases), opened.manifest, scoring, search_options, run.evaluator.simulated)
        report.write(hits, spec, partial(whole_targets, opened))
    messages.details(chosen_engine.scan_report())
    messages.notes(chosen_engine.notes())
    notes.tell(messages)
    messages.note(f"{work.counted_hits()} in {work.spent(chosen_engine.describe())}")


def search_file(search: Search, source: str, work: SearchProgress, **reading: Any) -> Iterator[QueryHits]:
    """The hits of each query of a file, which is read while the search runs; reading: options of `SequenceFile`."""
    from exaln.sequences.fasta import SequenceFile

    with SequenceFile(source, like=search.database.alphabet, **reading) as file:

        def batches() -> Iterator[Any]:
            for records in file:
                work.reading(search.n_cells(file.n_residues), file.bytes_read, file.bytes_total)
                yield records

        for hits in search.run(batches(), work):
            work.found(hits.n_targets, len(hits))
            yield hits
        if file.n_records == 0:
            raise InputError(f"{file.name}: no sequences found; FASTA or FASTQ with at least one record is needed")


def make_options(chosen: dict[str, Any], database: Database | None) -> SearchOptions:
    """The `SearchOptions` of the command line; database: None if it is at a URL."""
    from exaln.search.options import SearchOptions
    from exaln.search.pipeline import OPTIONS

    lists = {name: None if chosen[name] is None else Path(chosen[name]) for name in ("ids", "exclude_ids")}
    if database is None and any(path is not None for path in lists.values()):
        raise InputError("--ids and --exclude-ids need the database on a path, not at a URL")
    found = SearchOptions(**{name: chosen[name] for name in OPTIONS} | lists | options.query_masks(chosen))
    return found if database is None else found.resolved(database)

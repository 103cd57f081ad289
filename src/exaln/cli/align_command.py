"""The command align: optimal alignments of pairs of sequences, record by record or all against all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from exaln.cli import options
from exaln.cli.command import Command, FileArgument, Option
from exaln.cli.database_commands import require_stdin_once
from exaln.cli.hints import LongTargets, OtherStrand
from exaln.cli.messages import Messages, is_terminal, pass_messages
from exaln.errors import InputError
from exaln.foundation.plurals import number_of
from exaln.foundation.progress import PairProgress, may_share_screen
from exaln.report import colours

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from exaln.alignments.query_hits import AnyHits
    from exaln.pairwise.alignment import Alignments
    from exaln.pairwise.pair_files import PairBatch
    from exaln.report.writing import Format
    from exaln.sequences.alphabet import Alphabet
    from exaln.sequences.fasta import SequenceFile


ONE_OF_SEVERAL = ("local", "semiglobal")
"""Modes in which a long target may have further alignments with the query."""


@click.command(cls=Command, example="exaln align reads.fasta genes.fasta --mode semiglobal --out pairs.sam")
@click.argument("query", cls=FileArgument, metavar="FIRST")
@click.argument("target", cls=FileArgument, metavar="SECOND")
@click.option("--all", "is_all", is_flag=True, help="Align every record of FIRST with all of SECOND.")
@options.mode
@click.option(
    "--plot",
    cls=Option,
    writes=True,
    metavar="FILE",
    help="Plot all alignments of a single pair (.svg, .png or .html): a dot plot, or the score matrix of up to 30 "
    "letters.",
)
@click.option(
    "--strand",
    cls=Option,
    blast=["-strand"],
    type=click.Choice(["both", "plus", "minus"]),
    help="Strand of SECOND, for nucleotides; both takes the better one for each pair, and with --max-hsps the "
    "alignments on both. [default: plus, with a note if the other is clearly better]",
)
@options.out
@options.outfmt(
    "0 pairwise text, sam, paf, gff, 6 tabular, 7 with comments, 10 csv, json, parquet, arrow, fasta, table; columns "
    "may follow: 6 qseqid sseqid score cigar; extended may follow sam and paf: = and X in place of M. "
    "[default: 0, or by the extension of --out]"
)
@click.option(
    "--max-hsps",
    cls=Option,
    blast=["-max_hsps"],
    type=click.IntRange(1, 1_000_000),
    default=1,
    metavar="N",
    help="Report up to N local alignments of each pair; they share no aligned pair of letters. [default: 1]",
)
@click.option(
    "--min-score",
    type=float,
    metavar="N",
    help="With --max-hsps: leave out alignments with a lower raw score.",
)
@click.option(
    "--work-dir",
    metavar="DIR",
    help="Keep the work on long pairs in this folder; after an interruption the same command continues from it.",
)
@options.memory
@options.scoring
@options.alphabet
@options.strip_gaps
@options.max_record_size
@options.engine
@pass_messages
def align(
    messages: Messages,
    /,
    query: str,
    target: str,
    is_all: bool,
    mode: str,
    plot: str | None,
    strand: Literal["both", "plus", "minus"] | None,
    out: str,
    outfmt: tuple[str, ...],
    max_hsps: int,
    min_score: float | None,
    work_dir: str | None,
    memory: int | None,
    alphabet: Alphabet | None,
    strip_gaps: bool,
    max_record_size: int | None,
    engine: options.EngineOptions,
    **chosen: Any,
) -> None:
    """Align the records of two files pair by pair: the first with the first, the second with the second.

    A file with a single record is aligned with every record of the other. Each pair has its optimal alignment, or
    several with --max-hsps, drawn as text unless --outfmt or the extension of --out says otherwise. Sequences may be as
    long as chromosomes.
    """
    from exaln.pairwise.alignment_drawing import alignments_plot
    from exaln.pairwise.long.options import LongOptions
    from exaln.pairwise.pairs import MANY_CELLS, align_strand, pair_task
    from exaln.pairwise.several import Several, align_several
    from exaln.plots.files import check_path
    from exaln.report.writing import SearchSummary, parse_outfmt, write_report
    from exaln.scoring.modes import Mode
    from exaln.sequences.fasta import SequenceFile
    from exaln.sequences.strands import require_strand

    require_stdin_once([query, target])
    parsed_mode = Mode.parse(mode)
    on_screen = out == "-" and is_terminal(sys.stdout)
    form = parse_outfmt(outfmt or ("0" if out == "-" else None), out)
    if form.is_binary and on_screen:
        raise InputError(f"{form.kind} is not text; give --out FILE")
    if not form.is_for_pairs:
        raise InputError(f"output format {form.kind} describes a search; write pairs as json")
    if plot is not None:
        check_path(plot)
    chosen_engine = engine.choose(for_pairs=True)
    work = PairProgress(shown=messages.shows_progress, shares_screen=may_share_screen(out))
    advice = "--max-hsps N shows more" if parsed_mode.is_local else "--mode local --max-hsps N shows more"
    other_strand, long_targets = OtherStrand(), LongTargets(advice)
    long_pairs = LongOptions(
        None if work_dir is None else Path(work_dir), memory, work.stage, messages.note, messages.detail
    )
    reading: dict[str, Any] = {"strip_gaps": strip_gaps, "max_record_size": max_record_size}
    with SequenceFile(query, alphabet=alphabet, keep_qualities=form.kind == "sam", **reading) as first:
        require_strand(strand or "plus", first.alphabet)
        rules = options.make_scoring(first.alphabet, chosen)
        several = Several.of(max_hsps, min_score, rules, parsed_mode, long_pairs)

        def aligned(batch: PairBatch) -> Alignments:
            done = work.done
            task = pair_task(batch.queries, batch.targets, batch.pairs, rules, parsed_mode)
            report = lambda cells: work(done + cells)  # noqa: E731
            if several is not None:
                found = align_several(chosen_engine, batch.queries, task, strand or "plus", several, report)
            else:
                found = align_strand(chosen_engine, batch.queries, task, strand or "plus", report, long_pairs)
                if strand is None:
                    other_strand.look(found, chosen_engine)
            if plot is not None:
                alignments_plot(found, plot, both_strands=strand in ("both", "minus"))
            return found

        with SequenceFile(target, alphabet=alphabet, like=first.alphabet, **reading) as second, work:
            current = CurrentTargets()
            batches = current.among(read_pairs(first, second, work, is_all=is_all))
            if engine.name == "auto" and work.n_cells >= MANY_CELLS:
                chosen_engine = engine.choose()
            messages.detail(f"{rules.describe()}; {parsed_mode}; {chosen_engine.describe()}")
            if plot is not None:
                batches = only_pair(batches)
            hits = aligned_pairs(batches, aligned, form, joined=is_all or several is not None)
            if parsed_mode.name in ONE_OF_SEVERAL and several is None:
                hits = long_targets.among(hits)
            summary = SearchSummary(target, 0, 0, rules, is_pairs=True, mode=parsed_mode.name)
            is_coloured = on_screen and colours.are_wanted(sys.stdout)
            write_report(form, hits, summary, out, colour=is_coloured, whole=current.whole_targets)
    other_strand.tell(messages)
    long_targets.tell(messages)
    messages.detail(f"{number_of(work.n_pairs, 'pair')} in {work.spent(chosen_engine.describe())}")


class CurrentTargets:
    """The targets of the batch of pairs whose hits are being written, for FASTA of whole targets."""

    def __init__(self) -> None:
        self._batch: PairBatch | None = None

    def among(self, batches: Iterator[PairBatch]) -> Iterator[PairBatch]:
        """Yield the batches unchanged, keeping the last one."""
        for self._batch in batches:
            yield self._batch

    def whole_targets(self, ordinals: NDArray[np.int64]) -> list[NDArray[np.uint8]]:
        """The codes of targets of the batch, given their ordinals."""
        assert self._batch is not None
        rows = ordinals - self._batch.first_target
        return [self._batch.targets.sequence(row) for row in rows.tolist()]


def read_pairs(first: SequenceFile, second: SequenceFile, work: PairProgress, *, is_all: bool) -> Iterator[PairBatch]:
    """The pairs of two files. The first batch is read before this returns, so that bad input fails before output."""
    from exaln.pairwise.pair_files import crossed, zipped

    batches = (crossed if is_all else zipped)(first, second)

    def counted() -> Iterator[PairBatch]:
        for batch in batches:
            cells = batch.queries.lengths[batch.pairs.query] * batch.targets.lengths[batch.pairs.target]
            work.reading(len(batch.pairs), int(cells.sum()), first.bytes_read, first.bytes_total)
            yield batch

    started = counted()
    return chain([next(started)], started)


def only_pair(batches: Iterator[PairBatch]) -> Iterator[PairBatch]:
    """The batches, if they are one pair, which is what a plot shows; otherwise InputError."""
    batch = next(batches)
    if len(batch.pairs) > 1 or next(batches, None) is not None:
        raise InputError("--plot draws one pair, but there are several; give files with one record each")
    return iter([batch])


def aligned_pairs(
    batches: Iterator[PairBatch], aligned: Callable[[PairBatch], Alignments], form: Format, *, joined: bool
) -> Iterator[AnyHits]:
    """The hits for the report, batch by batch; joined: the pairs of one query form one entry."""
    for batch in batches:
        found = aligned(batch)
        if form.is_by_row:
            yield found.pair_hits(batch.first_query, batch.first_target)
        elif form.is_by_pair and not joined:
            yield found.pair_hits(batch.first_query, batch.first_target, also_empty=True)
        else:
            yield from found.query_hits(batch.first_query, batch.first_target, joined=joined)

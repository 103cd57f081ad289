"""Scores and alignments of pairs, one or many, in every mode: the functions of the public API."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from exaln.alignments.aligned_pairs import PairList
from exaln.alignments.strands import positions_as_given, reverse_paths
from exaln.engines.choice import choose_engine
from exaln.engines.tasks import PairTask, Progress, QueryRows
from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.foundation.plurals import number_of
from exaln.foundation.progress import AligningProgress, AnyProgress, ScoringProgress, showing
from exaln.pairwise import short_pair
from exaln.pairwise.alignment import Alignment, Alignments
from exaln.pairwise.long.options import IN_MEMORY, LongOptions
from exaln.pairwise.routing import align_pairs, score_pairs
from exaln.pairwise.several import Several, align_several
from exaln.scoring.modes import LOCAL, Mode
from exaln.scoring.scoring import Scoring, ScoringLike, as_scoring, require_scores_for
from exaln.sequences.inputs import Sequences, SingleSequence, as_one_record, as_records, common_alphabet, looked_at
from exaln.sequences.records import Records
from exaln.sequences.strands import doubled, other_strand, require_strand

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.contracts import Engine

MANY_CELLS = 20 * 10**9
"""From this many cells on, "auto" may choose a GPU for pairs."""

Pairing = Literal["zip", "all"]
Strand = Literal["both", "plus", "minus"]
Request = tuple[str, int | None, Sequence[int] | None, int | None]
"""Engine, threads, devices and GPU memory, as `choose_engine` takes them."""


def score(
    query: SingleSequence,
    target: SingleSequence,
    *,
    scoring: ScoringLike | None = None,
    mode: str | Mode = LOCAL,
    engine: str = "auto",
    threads: int | None = None,
    devices: Sequence[int] | None = None,
    gpu_memory: int | None = None,
) -> int | float:
    """The exact score of two sequences: an int, or a float if the scoring has fractions.

    >>> score("HEAGAWGHEE", "PAWHEAE", scoring=Scoring("BLOSUM50", gap_open=0, gap_extend=8))
    28
    >>> score("HEAGAWGHEE", "PAWHEAE", scoring=Scoring("BLOSUM50", gap_open=0, gap_extend=8), mode="global")
    1
    """
    if devices is None and gpu_memory is None:
        short = short_pair.score(query, target, scoring, mode, engine, threads)
        if short is not None:
            return short
    found = _scores(
        as_one_record(query, "query"),
        as_one_record(target, "target"),
        ("query", "target"),
        scoring,
        mode,
        "zip",
        (engine, threads, devices, gpu_memory),
        None,
    )
    value: int | float = found[0].item()
    return value


def score_many(
    queries: Sequences,
    targets: Sequences,
    *,
    scoring: ScoringLike | None = None,
    mode: str | Mode = LOCAL,
    pairs: Pairing = "zip",
    engine: str = "auto",
    threads: int | None = None,
    devices: Sequence[int] | None = None,
    gpu_memory: int | None = None,
    progress: AnyProgress = None,
) -> NDArray[np.int64] | NDArray[np.float64]:
    """The exact scores of many pairs, in their order: int64[n], or float64[n] if the scoring has fractions.

    Arguments and scores are those of `align_many`, but no table is kept, so it takes a fraction of the time. Pairs that
    share queries or targets, as with pairs="all", are the fastest.

    >>> score_many(["ACGTT", "TTAC"], ["ACGT", "TAC"], mode="global", pairs="all").reshape(2, 2)
    array([[  1, -14],
           [-12,  -1]])
    """
    request = (engine, threads, devices, gpu_memory)
    return _scores(queries, targets, ("queries", "targets"), scoring, mode, pairs, request, progress)


def _scores(
    queries: Sequences,
    targets: Sequences,
    names: tuple[str, str],
    scoring: ScoringLike | None,
    mode: str | Mode,
    pairs: Pairing,
    request: Request,
    progress: AnyProgress,
) -> NDArray[np.int64] | NDArray[np.float64]:
    chosen = Mode.parse(mode)
    first, second, rules = _prepared(queries, targets, names, scoring, request[1])
    task, chosen_engine = _task_for(first, second, pairs, rules, chosen, request)
    with showing(progress, ScoringProgress, lambda: int(task.cells.sum())) as report:
        scores = score_task(chosen_engine, task, report)
    return scores if rules.scale == 1 else scores / rules.scale


def align(
    query: SingleSequence,
    target: SingleSequence,
    *,
    scoring: ScoringLike | None = None,
    mode: str | Mode = LOCAL,
    strand: Strand = "plus",
    engine: str = "auto",
    threads: int | None = None,
    devices: Sequence[int] | None = None,
    gpu_memory: int | None = None,
    work_dir: str | os.PathLike[str] | None = None,
    memory: int | None = None,
) -> Alignment:
    """The optimal alignment of two sequences; among co-optimal ones always the same.

    mode: "local", "global", "semiglobal" (the whole query within the target), "overlap" (all ends free), or "free:"
    followed by the free ends, as in "free:qs,te": start and end of the query are qs and qe, of the target ts and te.
    strand: of the target, for nucleotides: "plus", "minus", or "both" for the better of the two; see `align_many`.
    work_dir, memory: for long sequences, see `align_many`.

    >>> alignment = align("HEAGAWGHEE", "PAWHEAE", scoring=Scoring("BLOSUM50", gap_open=0, gap_extend=8))
    >>> alignment.score, alignment.cigar, alignment.query_start, alignment.target_start
    (28, '2M1I2M', 4, 1)
    >>> print(alignment)
    score 28, identities 4/5 (80%), gaps 1
    <BLANKLINE>
    Query  5  AWGHE  9
              AW HE
    Sbjct  2  AW-HE  5
    """
    if devices is None and gpu_memory is None and work_dir is None and memory is None:
        short = short_pair.align(query, target, scoring, mode, strand, engine, threads)
        if short is not None:
            return short
    return _alignments(
        as_one_record(query, "query"),
        as_one_record(target, "target"),
        ("query", "target"),
        scoring,
        mode,
        "zip",
        strand,
        (engine, threads, devices, gpu_memory),
        None,
        _long_options(work_dir, memory),
    )[0]


def align_many(
    queries: Sequences,
    targets: Sequences,
    *,
    scoring: ScoringLike | None = None,
    mode: str | Mode = LOCAL,
    pairs: Pairing = "zip",
    strand: Strand = "plus",
    engine: str = "auto",
    threads: int | None = None,
    devices: Sequence[int] | None = None,
    gpu_memory: int | None = None,
    progress: AnyProgress = None,
    work_dir: str | os.PathLike[str] | None = None,
    memory: int | None = None,
    max_hsps: int = 1,
    min_score: float | None = None,
) -> Alignments:
    """The optimal alignments of many pairs.

    queries, targets: strings, arrays of codes (uint8; a two-dimensional array has one sequence per row), dicts of
    sequences by id, files as `pathlib.Path`, or `Records`. scoring: a `Scoring`, or a matrix by its name or file.
    pairs: "zip" aligns record by record, or one record with all of the other side; "all" aligns every query with every
    target, all targets of the first query first. strand: of the targets, for nucleotides. "both" scores each query and
    its reverse complement and aligns the better one, "plus" if they are equal. progress: True for a bar, or a function
    that is called with the number of cells done.
    Engine "auto" uses a GPU from 20 billion cells on: below that, the CPU finishes before the GPU is ready.
    work_dir: a directory in which long pairs store their progress, so that the same call resumes after an interruption.
    memory: bytes that a long pair may use; None for all free memory. See docs/long-pairs.md.
    max_hsps, min_score: up to `max_hsps` local alignments of each pair with at least this score, pair by pair, the best
    first. They share no aligned pair of letters. A pair without any has one empty alignment. See docs/pairs.md.

    >>> found = align_many(["ACGTT", "TTAC"], ["ACGT", "TAC"], mode="global")
    >>> found.scores.tolist(), found.cigars
    ([1, -1], ['3M1I1M', '1I3M'])
    """
    request, names = (engine, threads, devices, gpu_memory), ("queries", "targets")
    options = _long_options(work_dir, memory)
    limits = (max_hsps, min_score)
    return _alignments(queries, targets, names, scoring, mode, pairs, strand, request, progress, options, limits)


def _alignments(
    queries: Sequences,
    targets: Sequences,
    names: tuple[str, str],
    scoring: ScoringLike | None,
    mode: str | Mode,
    pairs: Pairing,
    strand: Strand,
    request: Request,
    progress: AnyProgress,
    options: LongOptions,
    limits: tuple[int, float | None] = (1, None),
) -> Alignments:
    chosen = Mode.parse(mode)
    first, second, rules = _prepared(queries, targets, names, scoring, request[1])
    several = Several.of(*limits, rules, chosen, options)
    task, chosen_engine = _task_for(first, second, pairs, rules, chosen, request)
    with showing(progress, AligningProgress, lambda: int(task.cells.sum())) as report:
        if several is not None:
            return align_several(chosen_engine, first, task, strand, several, report)
        return align_strand(chosen_engine, first, task, strand, report, options)


def _long_options(work_dir: str | os.PathLike[str] | None, memory: int | None) -> LongOptions:
    return LongOptions(
        None if work_dir is None else Path(arguments.path("work_dir", work_dir, "the path of a folder")),
        None if memory is None else arguments.integer("memory", memory, least=1),
    )


def align_strand(
    engine: Engine,
    queries: Records,
    task: PairTask,
    strand: Strand,
    progress: Progress | None = None,
    options: LongOptions = IN_MEMORY,
) -> Alignments:
    """The alignments of the pairs of a task on one strand of the targets, or on the better strand of each pair.

    queries: those of the task. For the minus strand the reverse complement of the query is compared with the target as
    given, as in a search. progress: called with the cells of the pairs done so far; each pair counts once.
    """
    require_strand(strand, queries.alphabet)
    require_scores_for(task.scoring, task.mode)
    pairs = PairList(task.query, task.target)
    if strand == "plus" or not queries.alphabet.is_nucleotide:
        aligned = align_pairs(engine, task, options, progress)
        return Alignments(queries, task.targets, pairs, aligned, task.scoring, task.mode)
    is_minus = _on_minus(engine, queries, task, strand)
    both = QueryRows.of_sequences(doubled(queries), task.scoring)
    doubled_task = replace(task, queries=both, query=task.query + len(queries) * is_minus)
    aligned = align_pairs(engine, doubled_task, options, progress)
    positions = positions_as_given(aligned.positions, queries.lengths[task.query], is_minus)
    as_given = replace(aligned, positions=positions, paths=reverse_paths(aligned.paths, is_minus))
    strands = np.where(is_minus, -1, 1).astype(np.int8)
    return Alignments(queries, task.targets, pairs, as_given, task.scoring, task.mode, strands)


def _on_minus(engine: Engine, queries: Records, task: PairTask, strand: Strand) -> NDArray[np.bool_]:
    """bool[n]: whether each pair is aligned on the minus strand."""
    if strand == "minus":
        return np.ones(len(task), np.bool_)
    return other_strand_scores(engine, queries, task) > score_task(engine, task)


def other_strand_scores(engine: Engine, queries: Records, task: PairTask) -> NDArray[np.int64]:
    """int64[n]: the scores of the pairs of a task on the minus strand of the targets. queries: those of the task."""
    return score_task(engine, replace(task, queries=QueryRows.of_sequences(other_strand(queries), task.scoring)))


def score_task(engine: Engine, task: PairTask, progress: Progress | None = None) -> NDArray[np.int64]:
    """int64[n]: the scores of the pairs of a task. Raises InputError if its scoring makes no sense in its mode."""
    require_scores_for(task.scoring, task.mode)
    return score_pairs(engine, task, progress=progress)


def _task_for(
    queries: Records, targets: Records, pairs: Pairing, scoring: Scoring, mode: Mode, request: Request
) -> tuple[PairTask, Engine]:
    """The pairs as a task, and an engine chosen for their number of cells."""
    task = pair_task(queries, targets, paired(len(queries), len(targets), pairs), scoring, mode)
    engine, threads, devices, gpu_memory = request
    has_few = int(task.cells.sum()) < MANY_CELLS
    return task, choose_engine(engine, threads, devices=devices, gpu_memory=gpu_memory, for_pairs=has_few)


def pair_task(queries: Records, targets: Records, pairs: PairList, scoring: Scoring, mode: Mode) -> PairTask:
    """Listed pairs of two sets of records as a task."""
    return PairTask(QueryRows.of_sequences(queries, scoring), targets, pairs.query, pairs.target, mode)


def paired(n_queries: int, n_targets: int, pairs: Pairing) -> PairList:
    """The pairs of "zip" or "all". Raises InputError for another value, or for numbers that "zip" cannot pair."""
    if arguments.choice("pairs", pairs, ("zip", "all")) == "all":
        return PairList(np.repeat(np.arange(n_queries), n_targets), np.tile(np.arange(n_targets), n_queries))
    return _zipped(n_queries, n_targets)


def _zipped(n_queries: int, n_targets: int) -> PairList:
    if n_queries != n_targets and 1 not in (n_queries, n_targets):
        raise InputError(
            f"there are {number_of(n_queries, 'query')} and {number_of(n_targets, 'target')}: they go pair by pair, "
            "so the numbers must be equal, or one of them 1; pairs='all' aligns every query with every target"
        )
    number = np.arange(n_targets if n_queries == 1 else n_queries)
    return PairList(np.minimum(number, n_queries - 1), np.minimum(number, n_targets - 1))


def _prepared(
    queries: Sequences,
    targets: Sequences,
    names: tuple[str, str],
    scoring: ScoringLike | None,
    threads: int | None,
) -> tuple[Records, Records, Scoring]:
    """Both sides as records of one alphabet, and their scoring. names: of the two arguments, for messages."""
    if scoring is not None:
        rules = as_scoring(scoring)
        first = as_records(queries, rules.alphabet, names[0], threads=threads)
        return first, as_records(targets, rules.alphabet, names[1], threads=threads), rules
    looked = looked_at(queries, names[0]), looked_at(targets, names[1])
    like = targets.alphabet if isinstance(targets, Records) else common_alphabet(*looked, threads)
    first = as_records(looked[0], None, names[0], like, threads)
    return first, as_records(looked[1], None, names[1], first.alphabet, threads), Scoring.default(first.alphabet)

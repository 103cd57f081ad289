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
from exaln.engines.contracts import Engine
from exaln.engines.tasks import PairTask, Progress, QueryRows
from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.foundation.plurals import number_of
from exaln.foundation.progress import AligningProgress, AnyProgress, ScoringProgress, showing
from exaln.pairwise.alignment import Alignment, Alignments
from exaln.pairwise.long.driver import IN_MEMORY, LongOptions
from exaln.pairwise.routing import align_pairs, score_pairs
from exaln.scoring.modes import LOCAL, Mode
from exaln.scoring.scoring import Scoring, ScoringLike, as_scoring, require_scores_for
from exaln.sequences.alphabet import Alphabet
from exaln.sequences.inputs import Sequences, SingleSequence, as_one_record, as_records, detect_alphabet, texts_of
from exaln.sequences.records import Records
from exaln.sequences.strands import doubled, other_strand, require_strand

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    first, second, rules = _prepared(queries, targets, names, scoring)
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

    >>> found = align_many(["ACGTT", "TTAC"], ["ACGT", "TAC"], mode="global")
    >>> found.scores.tolist(), found.cigars
    ([1, -1], ['3M1I1M', '1I3M'])
    """
    request, names = (engine, threads, devices, gpu_memory), ("queries", "targets")
    options = _long_options(work_dir, memory)
    return _alignments(queries, targets, names, scoring, mode, pairs, strand, request, progress, options)


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
) -> Alignments:
    chosen = Mode.parse(mode)
    first, second, rules = _prepared(queries, targets, names, scoring)
    task, chosen_engine = _task_for(first, second, pairs, rules, chosen, request)
    with showing(progress, AligningProgress, lambda: int(task.cells.sum())) as report:
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
    listed = paired(len(queries), len(targets), pairs)
    engine, threads, devices, gpu_memory = request
    n_cells = int((queries.lengths[listed.query] * targets.lengths[listed.target]).sum())
    chosen = choose_engine(engine, threads, devices=devices, gpu_memory=gpu_memory, for_pairs=n_cells < MANY_CELLS)
    return pair_task(queries, targets, listed, scoring, mode), chosen


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
    queries: Sequences, targets: Sequences, names: tuple[str, str], scoring: ScoringLike | None
) -> tuple[Records, Records, Scoring]:
    """Both sides as records of one alphabet, and their scoring. names: of the two arguments, for messages."""
    if scoring is not None:
        rules = as_scoring(scoring)
        alphabet = rules.alphabet
        return as_records(queries, alphabet, names[0]), as_records(targets, alphabet, names[1]), rules
    if not isinstance(queries, Records):
        queries = as_records(queries, name=names[0], like=_alphabet_of(queries, targets, names))
    return queries, as_records(targets, name=names[1], like=queries.alphabet), Scoring.default(queries.alphabet)


def _alphabet_of(queries: Sequences, targets: Sequences, names: tuple[str, str]) -> Alphabet | None:
    """The alphabet of both sides together; None if a side is a file, whose letters are not known before it is read."""
    if isinstance(targets, Records):
        return targets.alphabet
    both = texts_of(queries, names[0]), texts_of(targets, names[1])
    return None if both[0] is None or both[1] is None else detect_alphabet([*both[0], *both[1]])

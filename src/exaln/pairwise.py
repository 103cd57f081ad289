"""Pairs of sequences: scores and alignments, in every mode, one pair or many."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from exaln.alignment import Alignment, Alignments
from exaln.alphabet import Alphabet
from exaln.engines import choose_engine
from exaln.engines.base import Engine, PairList, Progress, Traces, require_same_alphabet
from exaln.engines.long_pairs import align_alone, are_long, score_alone
from exaln.errors import InputError
from exaln.longpair.driver import IN_MEMORY, SCORES, LongOptions
from exaln.modes import LOCAL, Mode
from exaln.plurals import number_of
from exaln.queries import OneSequence, Sequences, as_records, detect_alphabet, texts_of
from exaln.records import Records
from exaln.scoring import Scoring
from exaln.strands import doubled, other_strand, positions_as_given, reverse_paths

if TYPE_CHECKING:
    from numpy.typing import NDArray

MANY_CELLS = 20 * 10**9
"""From so many cells on, "auto" may choose a GPU for pairs."""

BATCH_PAIRS = 1 << 17
BATCH_CELLS = 1 << 36
"""An engine gets at most so many pairs or cells at a time, unless one pair has more; progress is told in between."""

Pairing = Literal["zip", "all"]
Strand = Literal["both", "plus", "minus"]
STRANDS = ("both", "plus", "minus")


def score(
    query: OneSequence,
    target: OneSequence,
    *,
    scoring: Scoring | None = None,
    mode: str | Mode = LOCAL,
    engine: str = "auto",
    threads: int | None = None,
) -> int | float:
    """The exact score of two sequences; a float only if the scoring has fractions.

    >>> score("HEAGAWGHEE", "PAWHEAE", scoring=Scoring("BLOSUM50", gap_open=0, gap_extend=8))
    28
    >>> score("HEAGAWGHEE", "PAWHEAE", scoring=Scoring("BLOSUM50", gap_open=0, gap_extend=8), mode="global")
    1
    """
    found = score_many([query], [target], scoring=scoring, mode=mode, engine=engine, threads=threads)
    value: int | float = found[0].item()
    return value


def score_many(
    queries: Sequences,
    targets: Sequences,
    *,
    scoring: Scoring | None = None,
    mode: str | Mode = LOCAL,
    pairs: Pairing = "zip",
    engine: str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.int64] | NDArray[np.float64]:
    """The exact scores of many pairs, in their order: int64[n], or float64[n] where the scoring has fractions.

    The scores of `align_many`, which takes the same, in a fraction of its time: nothing is kept of the tables. Pairs
    that share queries or targets, as with pairs="all", are the fastest.

    >>> score_many(["ACGTT", "TTAC"], ["ACGT", "TAC"], mode="global", pairs="all").reshape(2, 2)
    array([[  1, -14],
           [-12,  -1]])
    """
    chosen = Mode.parse(mode)
    first, second, scoring = _prepared(queries, targets, scoring)
    wanted, working = _paired_for(first, second, pairs, engine, threads)
    scores = score_records(first, second, wanted, scoring, chosen, working, progress)
    return scores if scoring.scale == 1 else scores / scoring.scale


def align(
    query: OneSequence,
    target: OneSequence,
    *,
    scoring: Scoring | None = None,
    mode: str | Mode = LOCAL,
    strand: Strand = "plus",
    engine: str = "auto",
    threads: int | None = None,
    work_dir: str | os.PathLike[str] | None = None,
    memory: int | None = None,
) -> Alignment:
    """The optimal alignment of two sequences; among co-optimal ones always the same.

    mode: "local", "global", "semiglobal" (the whole query within the target), "overlap" (all ends free), or "free:"
    with the ends that are: "free:qs,te" for start and end of the query (qs, qe) and of the target (ts, te).
    strand: of the target, for nucleotides: "plus", "minus" or "both", the better of the two, see `align_many`.
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
    return align_many(
        [query],
        [target],
        scoring=scoring,
        mode=mode,
        strand=strand,
        engine=engine,
        threads=threads,
        work_dir=work_dir,
        memory=memory,
    )[0]


def align_many(
    queries: Sequences,
    targets: Sequences,
    *,
    scoring: Scoring | None = None,
    mode: str | Mode = LOCAL,
    pairs: Pairing = "zip",
    strand: Strand = "plus",
    engine: str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
    work_dir: str | os.PathLike[str] | None = None,
    memory: int | None = None,
) -> Alignments:
    """The optimal alignments of many pairs.

    queries, targets: texts, arrays of codes (uint8; an array of two dimensions is one sequence per row), files as
    `pathlib.Path`, or `Records`. pairs: "zip" aligns record by record, or one with all of the other side; "all" every
    query with every target, all targets of the first query first. strand: of the targets, for nucleotides. "both"
    scores each query and its reverse complement and aligns the better one, "plus" if they are equal. progress: called
    with the number of cells done.
    With engine "auto" a GPU is used from 20 billion cells on: before, the CPU is done sooner than the GPU is ready.
    work_dir: a directory in which long pairs keep what is done, so that the same call goes on after an interruption;
    memory: bytes that a long pair may use (what is free). docs/long-pairs.md has more.

    >>> found = align_many(["ACGTT", "TTAC"], ["ACGT", "TAC"], mode="global")
    >>> found.scores.tolist(), found.cigars
    ([1, -1], ['3M1I1M', '1I3M'])
    """
    chosen = Mode.parse(mode)
    first, second, scoring = _prepared(queries, targets, scoring)
    wanted, working = _paired_for(first, second, pairs, engine, threads)
    options = LongOptions(None if work_dir is None else Path(work_dir), memory)
    return align_strand(first, second, wanted, scoring, chosen, working, strand, progress, options)


def align_strand(
    queries: Records,
    targets: Records,
    pairs: PairList,
    scoring: Scoring,
    mode: Mode,
    engine: Engine,
    strand: Strand,
    progress: Progress | None = None,
    options: LongOptions = IN_MEMORY,
) -> Alignments:
    """The alignments of these pairs on one strand of the targets, or on the better one of each pair.

    The reverse complement of the query is compared with the target as given, as in a search. progress is called with
    the cells of the pairs, whatever is computed for them.
    """
    require_strand(strand, queries.alphabet)
    if strand == "plus" or not queries.alphabet.is_nucleotide:
        return align_records(queries, targets, pairs, scoring, mode, engine, progress, options)
    is_minus = _on_minus(queries, targets, pairs, scoring, mode, engine, strand)
    both = doubled(queries)
    scanned = PairList(pairs.query + len(queries) * is_minus, pairs.target)
    found = align_records(both, targets, scanned, scoring, mode, engine, progress, options)
    positions = positions_as_given(found.positions, queries.lengths[pairs.query], is_minus)
    traces = Traces(positions, found.counts, reverse_paths(found.paths, is_minus))
    strands = np.where(is_minus, -1, 1).astype(np.int8)
    return Alignments(queries, targets, pairs, found.scaled_scores, traces, scoring, mode, strands)


def _on_minus(
    queries: Records,
    targets: Records,
    pairs: PairList,
    scoring: Scoring,
    mode: Mode,
    engine: Engine,
    strand: Strand,
) -> NDArray[np.bool_]:
    """bool[n]: the pairs that are aligned on the minus strand."""
    if strand == "minus":
        return np.ones(len(pairs), np.bool_)
    plus = score_records(queries, targets, pairs, scoring, mode, engine)
    return other_strand_scores(queries, targets, pairs, scoring, mode, engine) > plus


def other_strand_scores(
    queries: Records, targets: Records, pairs: PairList, scoring: Scoring, mode: Mode, engine: Engine
) -> NDArray[np.int64]:
    """The scores of these pairs on the minus strand of the targets."""
    return score_records(other_strand(queries), targets, pairs, scoring, mode, engine)


def require_strand(strand: str, alphabet: Alphabet) -> None:
    """Refuse a strand that there is not."""
    if strand not in STRANDS:
        raise InputError(f"strand is {strand!r}; choose {', '.join(STRANDS[:-1])} or {STRANDS[-1]}")
    if strand == "minus" and not alphabet.is_nucleotide:
        raise InputError(f"strand is minus, but {alphabet.name} sequences have one strand; leave it out")


def align_records(
    queries: Records,
    targets: Records,
    pairs: PairList,
    scoring: Scoring,
    mode: Mode,
    engine: Engine,
    progress: Progress | None = None,
    options: LongOptions = IN_MEMORY,
) -> Alignments:
    """The alignments of these pairs by this engine, batch by batch; long pairs one by one, region by region."""
    found: list[tuple[NDArray[np.int64], Traces]] = []
    for own, alone in _parts(queries, targets, pairs, scoring, engine, progress, options):
        if alone is not None:
            found.append(align_alone(engine, queries, targets, pairs, own.start, scoring, mode, alone))
        else:
            some = PairList(pairs.query[own], pairs.target[own])
            found.append(engine.align_pairs(queries, targets, some, scoring, mode))
    scores, traces = zip(*found, strict=True)
    return Alignments(queries, targets, pairs, np.concatenate(scores), Traces.joined(traces), scoring, mode)


def score_records(
    queries: Records,
    targets: Records,
    pairs: PairList,
    scoring: Scoring,
    mode: Mode,
    engine: Engine,
    progress: Progress | None = None,
) -> NDArray[np.int64]:
    """The scores alone, likewise."""
    scores = np.empty(len(pairs), np.int64)
    for own, alone in _parts(queries, targets, pairs, scoring, engine, progress):
        if alone is not None:
            scores[own] = score_alone(engine, queries, targets, pairs, own.start, scoring, mode, alone)
        else:
            some = PairList(pairs.query[own], pairs.target[own])
            scores[own] = engine.score_pairs(queries, targets, some, scoring, mode)
    return scores


def _parts(
    queries: Records,
    targets: Records,
    pairs: PairList,
    scoring: Scoring,
    engine: Engine,
    progress: Progress | None,
    options: LongOptions = IN_MEMORY,
) -> Iterator[tuple[slice, LongOptions | None]]:
    """What is done at a time, in order: many pairs, or a long one alone, with options. Tells of what was done before
    it goes on.
    """
    cells = queries.lengths[pairs.query] * targets.lengths[pairs.target]
    is_long = are_long(engine, queries, targets, pairs)
    for first, end in batches(cells, is_long):
        alone = None
        if is_long[first:end].any():
            require_same_alphabet(queries, targets, scoring)
            alone = _watched(options, progress, int(cells[:first].sum()))
        yield slice(first, end), alone
        if progress is not None:
            progress(int(cells[:end].sum()))


def _paired_for(
    queries: Records, targets: Records, pairs: Pairing, engine: str, threads: int | None
) -> tuple[PairList, Engine]:
    """The pairs that are wanted, and the engine for the cells that they have."""
    wanted = paired(len(queries), len(targets), pairs)
    cells = int((queries.lengths[wanted.query] * targets.lengths[wanted.target]).sum())
    return wanted, choose_engine(engine, threads, for_pairs=cells < MANY_CELLS)


def _watched(options: LongOptions, progress: Progress | None, done: int) -> LongOptions:
    """Who is told of nothing but cells hears of those of a long pair's scores."""
    if progress is None or options.watch is not None:
        return options

    def watch(stage: str, part: int, total: int) -> None:
        if stage == SCORES:
            progress(done + part)

    return replace(options, watch=watch)


def batches(cells: NDArray[np.int64], is_long: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Ranges of pairs with at most BATCH_PAIRS pairs and BATCH_CELLS cells, or one pair with more; long ones alone.

    >>> list(batches(np.array([1 << 35, 1 << 35, 5, 1 << 37, 1]), np.zeros(5, bool)))
    [(0, 2), (2, 3), (3, 4), (4, 5)]
    >>> list(batches(np.array([1, 1, 9, 9, 1, 1]), np.array([0, 0, 1, 1, 0, 0], bool)))
    [(0, 2), (2, 3), (3, 4), (4, 6)]
    >>> list(batches(np.array([], np.int64), np.array([], bool)))
    [(0, 0)]
    """
    total, first, alone = np.cumsum(cells), 0, np.flatnonzero(is_long)
    while True:
        done = int(total[first - 1]) if first else 0
        end = int(np.searchsorted(total, done + BATCH_CELLS, side="right"))
        next_alone = alone[np.searchsorted(alone, first) :][:1].tolist()
        end = max(end, first + 1)
        end = min([end, first + BATCH_PAIRS, len(cells), *(max(place, first + 1) for place in next_alone)])
        yield first, end
        first = end
        if first >= len(cells):
            return


def paired(n_queries: int, n_targets: int, pairs: Pairing) -> PairList:
    """Which sequences make pairs."""
    if pairs == "all":
        return PairList(np.repeat(np.arange(n_queries), n_targets), np.tile(np.arange(n_targets), n_queries))
    if pairs != "zip":
        raise InputError(f"pairs is {pairs!r}; choose 'zip' or 'all'")
    return _zipped(n_queries, n_targets)


def _zipped(n_queries: int, n_targets: int) -> PairList:
    if n_queries != n_targets and 1 not in (n_queries, n_targets):
        raise InputError(
            f"there are {number_of(n_queries, 'query')} and {number_of(n_targets, 'target')}: they go pair by pair, "
            "so the numbers must be equal, or one of them 1; pairs='all' aligns every query with every target"
        )
    number = np.arange(n_targets if n_queries == 1 else n_queries)
    return PairList(np.minimum(number, n_queries - 1), np.minimum(number, n_targets - 1))


def _prepared(queries: Sequences, targets: Sequences, scoring: Scoring | None) -> tuple[Records, Records, Scoring]:
    """Both sides as records of one alphabet, and what they score."""
    if scoring is not None:
        return as_records(queries, scoring.alphabet), as_records(targets, scoring.alphabet), scoring
    if not isinstance(queries, Records):
        queries = as_records(queries, like=_alphabet_of(queries, targets), what="queries")
    return queries, as_records(targets, like=queries.alphabet, what="targets"), Scoring.default(queries.alphabet)


def _alphabet_of(queries: Sequences, targets: Sequences) -> Alphabet | None:
    """That of both sides together if both are at hand; files are looked at when they are read."""
    if isinstance(targets, Records):
        return targets.alphabet
    both = texts_of(queries), texts_of(targets)
    return None if both[0] is None or both[1] is None else detect_alphabet([*both[0], *both[1]])

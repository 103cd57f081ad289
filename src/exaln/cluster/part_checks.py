"""Checks that the hits of a part are possible; all hits pass them before they are merged, wherever they come from.

A digest shows that a file is as it was written. These checks show that the hits, from a file or a worker, can be
results of the search: each path lies within its sequences and has the score of its hit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.alignments.cigar import DELETION, DIFFERENT, EQUAL, INSERTION
from exaln.alignments.letter_counts import positive_pairs
from exaln.cluster.part_hits import NO_EVALUE, binary_data, binary_offsets, numbers_of
from exaln.foundation.distinct import run_offsets
from exaln.pairwise.long.result import LONGEST_RUN
from exaln.scoring.letter_rules import AMINO_ACIDS
from exaln.sequences.strands import complements
from exaln.statistics.composition import SCALE, TABLES_AT_ONCE, Compositions, CompositionScores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.scoring.scoring import Scoring
    from exaln.search.spec import SearchSpec

COLUMNS_AT_ONCE = 1 << 17
"""Alignment columns that are scored at a time, to bound memory."""

COMPOSITION_BYTES = 8 * len(AMINO_ACIDS)

_IS_OPERATION = np.zeros(16, np.bool_)
_IS_OPERATION[[EQUAL, DIFFERENT, INSERTION, DELETION]] = True


def require_possible(
    batch: Any, spec: SearchSpec, query_first: int, ordinals: Sequence[tuple[int, int]] | None = None
) -> None:
    """ValueError unless these can be hits of consecutive queries, starting with query `query_first`.

    batch: as `part_hits.as_batch` returns it. ordinals: ascending ranges of the targets that were searched; None
    stands for the whole database.
    """
    indices = numbers_of(batch.column("query_index"))
    _require(indices == np.arange(query_first, query_first + batch.num_rows), "the queries are not in order")
    n_letters = len(spec.scoring.alphabet.letters)
    hits = Hits.of(batch)
    for name, codes in (("query", hits.queries.data), ("target", hits.slices.data)):
        _require(codes < n_letters, f"a {name} has codes that are no letters")
    _require_ordinals(hits, ordinals or [(0, spec.space.n_targets)])
    _require_strands(hits, spec)
    _require_positions(hits, spec.space.n_residues)
    _require_one_length(hits)
    _require_shuffles(hits, spec)
    _require_counts(hits, spec)


@dataclass(frozen=True)
class Pieces:
    """Byte strings: piece i is data[offsets[i]:offsets[i + 1]]."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @staticmethod
    def of(column: Any) -> Pieces:
        """The values of an Arrow column of texts or byte strings."""
        offsets = binary_offsets(column)
        return Pieces(binary_data(column)[offsets[0] : offsets[-1]], offsets - offsets[0])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64[n]: the length of each piece."""
        return np.diff(self.offsets)


@dataclass(frozen=True)
class Hits:
    """The alignments of a batch as columns. slices: aligned letters of targets. row: int64[n], that of the query."""

    queries: Pieces
    slices: Pieces
    paths: Pieces
    adjustments: Pieces
    row: NDArray[np.int64]
    numbers: dict[str, NDArray[Any]]

    @staticmethod
    def of(batch: Any) -> Hits:
        """The alignments of all rows of a record batch."""
        column = batch.column("hits")
        found, counts = column.flatten(), np.diff(numbers_of(column.offsets))
        pieces = {"target_slice", "path", "target_id", "target_description", "adjustment"}
        names = [field.name for field in found.type if field.name not in pieces]
        return Hits(
            Pieces.of(batch.column("query")),
            Pieces.of(found.field("target_slice")),
            Pieces.of(found.field("path")),
            Pieces.of(found.field("adjustment")),
            np.repeat(np.arange(batch.num_rows), counts),
            {name: numbers_of(found.field(name)) for name in names},
        )

    def span(self, side: str) -> NDArray[np.int64]:
        """int64[n]: letters of the query or the target between start and end."""
        spans: NDArray[np.int64] = self.numbers[f"{side}_end"] - self.numbers[f"{side}_start"]
        return spans


def _require(holds: Any, problem: str) -> None:
    if not np.all(holds):
        raise ValueError(problem)


def _require_ordinals(hits: Hits, ordinals: Sequence[tuple[int, int]]) -> None:
    """ValueError unless all hits are of targets that were searched, the alignments of each together."""
    ordinal = hits.numbers["ordinal"]
    ranges = np.array(ordinals, np.int64).reshape(-1, 2)
    place = np.searchsorted(ranges[:, 0], ordinal, side="right") - 1
    _require(place >= 0, "a target was not searched")
    _require(ordinal < ranges[place, 1], "a target was not searched")
    offsets = run_offsets(hits.row, ordinal)
    require_once(hits.row[offsets[:-1]], ordinal[offsets[:-1]])


def _require_one_length(hits: Hits) -> None:
    """ValueError unless a target has the same length in all its alignments, and all or none of them are cut."""
    is_same_target = np.ones(len(hits.row), np.bool_)
    is_same_target[run_offsets(hits.row, hits.numbers["ordinal"])[:-1]] = False
    after = np.flatnonzero(is_same_target)
    lengths, is_cut = hits.numbers["target_length"], hits.numbers["is_cut"]
    _require(lengths[after] == lengths[after - 1], "a target has two lengths")
    _require((is_cut >= 0) & (is_cut <= 1), "a target is neither cut nor whole")
    _require(is_cut[after] == is_cut[after - 1], "a target is both cut and whole")


def _require_shuffles(hits: Hits, spec: SearchSpec) -> None:
    """ValueError unless E-values among shuffled targets are such, and there are none without shuffles."""
    evalue2 = hits.numbers["evalue2"]
    is_number = (evalue2 >= 0) & np.isfinite(evalue2) & (spec.options.shuffles > 0)
    _require((evalue2 == NO_EVALUE) | is_number, "an E-value among shuffled targets is not one")


def require_once(row: NDArray[np.int64], ordinal: NDArray[np.int64]) -> None:
    """ValueError if a target occurs twice for one query; row, ordinal: query and target of each target that is hit."""
    order = np.lexsort((ordinal, row))
    is_same = (np.diff(row[order]) == 0) & (np.diff(ordinal[order]) == 0)
    _require(~is_same, "a target occurs twice for one query")


def _require_strands(hits: Hits, spec: SearchSpec) -> None:
    allowed = {"plus": (1,), "minus": (-1,), "both": (1, -1)}[spec.options.strand]
    strands = allowed if spec.scoring.alphabet.is_nucleotide else (1,)
    _require(np.isin(hits.numbers["strand"], strands), "a strand was not searched")


def _require_positions(hits: Hits, n_residues: int) -> None:
    _require(hits.numbers["target_length"] <= n_residues, "a target is longer than the database")
    for side, lengths in (("query", hits.queries.lengths[hits.row]), ("target", hits.numbers["target_length"])):
        start, end = hits.numbers[f"{side}_start"], hits.numbers[f"{side}_end"]
        _require((start >= 0) & (start < end) & (end <= lengths), f"an alignment lies outside of its {side}")
    _require(hits.slices.lengths == hits.span("target"), "the letters of a target are not those of the alignment")


@dataclass(frozen=True)
class Runs:
    """The operations of all paths, one run each.

    code, length: operation and columns of each run. first: int64[n hits], the first run of each path. hit: the hit of
    each run. query, target: letters of query and target that the path consumes before each run.
    """

    code: NDArray[np.integer]
    length: NDArray[np.int64]
    first: NDArray[np.int64]
    hit: NDArray[np.int64]
    query: NDArray[np.int64]
    target: NDArray[np.int64]

    def total(self, which: NDArray[np.bool_]) -> NDArray[np.int64]:
        """int64[n hits]: columns in these runs of each path."""
        sums: NDArray[np.int64] = np.add.reduceat(np.where(which, self.length, 0), self.first)
        return sums


def _runs(hits: Hits) -> Runs:
    """The runs of all paths; ValueError unless they are well formed and as long as the positions say."""
    sizes = hits.paths.lengths
    _require((sizes > 0) & (sizes % 4 == 0), "a path is not a list of operations")
    operations = hits.paths.data.view(np.uint32)
    code, length = operations & 15, (operations >> 4).astype(np.int64)
    _require(_IS_OPERATION[code] & (length > 0), "a path has unknown operations")
    first, counts = hits.paths.offsets[:-1] // 4, sizes // 4
    continues = np.flatnonzero(~_changes(code, first))
    _require(length[continues - 1] == LONGEST_RUN, "a path repeats an operation")
    before = []
    for side, other in (("query", DELETION), ("target", INSERTION)):
        letters = np.where(code == other, 0, length)
        _require(np.add.reduceat(letters, first) == hits.span(side), f"a path does not fit its {side}")
        sums = np.cumsum(letters) - letters
        before.append(sums - np.repeat(sums[first], counts))
    return Runs(code, length, first, np.repeat(np.arange(len(counts)), counts), *before)


def _changes(values: NDArray[Any], first: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool: True where a value differs from the one before it, and at the positions `first`."""
    changes = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    changes[first] = True
    return changes


def _require_counts(hits: Hits, spec: SearchSpec) -> None:
    """ValueError unless the counts and the score of each hit are those of its path."""
    scoring = spec.scoring
    if not len(hits.row):
        _require(len(hits.paths.data) == 0, "a path without a hit")
        return
    runs = _runs(hits)
    _require_disjoint(hits, runs)
    is_gap = runs.code < EQUAL
    opens = is_gap & _changes(runs.code, runs.first)
    letters, positives = _letter_scores(hits, runs, scoring)
    found = {
        "identities": runs.total(runs.code == EQUAL),
        "positives": positives,
        "mismatches": runs.total(runs.code == DIFFERENT),
        "gap_opens": np.add.reduceat(opens, runs.first, dtype=np.int64),
        "gaps": runs.total(is_gap),
        "columns": np.add.reduceat(runs.length, runs.first),
    }
    for name, values in found.items():
        _require(hits.numbers[name] == values, f"{name} differ from those of the path")
    gaps = found["gap_opens"] * scoring.gap_open + found["gaps"] * scoring.gap_extend
    pair_scores = CompositionScores.of(scoring, spec.options.comp_based_stats)
    if pair_scores is None:
        _require(hits.adjustments.lengths == 0, "an alignment is adjusted, but not by the search")
        score = letters - gaps
    else:
        score = _rescored_letters(hits, runs, pair_scores) - SCALE * gaps
    _require(hits.numbers["scaled_score"] == score, "a score differs from that of its path")
    _require(hits.numbers["score"] == spec.evaluator.reported(score), "a score differs from that of its path")
    _require(score > 0, "a score is not above 0")


def _rescored_letters(hits: Hits, runs: Runs, pair_scores: CompositionScores) -> NDArray[np.int64]:
    """int64[n hits]: the sum of the scores of the aligned letters under the table of each pair.

    ValueError for adjustments that do not fit their targets.
    """
    n_letters, unknown = len(pair_scores.scoring.matrix), pair_scores.scoring.alphabet.letters.index("X")
    targets, masks = _compositions(hits), _masks(hits)
    sums = np.zeros(len(hits.row), np.int64)
    queries = Compositions.of(hits.queries.data, hits.queries.offsets)
    of_pairs = run_offsets(hits.row, hits.numbers["ordinal"])
    for first in range(0, len(of_pairs) - 1, TABLES_AT_ONCE):
        edges = of_pairs[first : first + TABLES_AT_ONCE + 1]
        own = np.arange(len(edges) - 1)
        some = Compositions(targets.counts[edges[:-1]], targets.lengths[edges[:-1]])
        tables = pair_scores.tables(queries, some, hits.row[edges[:-1]], own).reshape(-1)
        table = np.repeat(own, np.diff(edges))
        is_own = (runs.hit >= edges[0]) & (runs.hit < edges[-1]) & (runs.code >= EQUAL)
        for stretch in _stretches(runs, np.flatnonzero(is_own)):
            q, t, starts = _letters(hits, runs, stretch, pair_scores.scoring)
            hit = runs.hit[stretch.run]
            place = hits.slices.offsets[hit] + runs.target[stretch.run] + stretch.skipped - starts
            column = np.arange(int(stretch.length.sum()))
            t = np.where(masks[np.repeat(place, stretch.length) + column], unknown, t)
            number = np.repeat(table[hit - edges[0]], stretch.length)
            scores = tables[(number * n_letters + q) * n_letters + t]
            np.add.at(sums, hit, np.add.reduceat(scores, starts, dtype=np.int64))
    return sums


def _compositions(hits: Hits) -> Compositions:
    """The composition of the target of each hit; ValueError if it is not one, or differs within a target."""
    _require(hits.adjustments.lengths >= COMPOSITION_BYTES, "a target has no composition")
    begins = hits.adjustments.offsets[:-1]
    parts = hits.adjustments.data[begins[:, np.newaxis] + np.arange(COMPOSITION_BYTES)]
    counts = np.ascontiguousarray(parts).view("<i8").astype(np.int64)
    lengths = hits.numbers["target_length"].astype(np.int64)
    _require((counts >= 0) & (counts <= lengths[:, np.newaxis]), "a composition does not fit its target")
    _require(counts.sum(axis=1) <= lengths, "a composition does not fit its target")
    is_same = np.ones(len(lengths), np.bool_)
    is_same[run_offsets(hits.row, hits.numbers["ordinal"])[:-1]] = False
    after = np.flatnonzero(is_same)
    _require(counts[after] == counts[after - 1], "a target has two compositions")
    return Compositions(counts, lengths)


def _masks(hits: Hits) -> NDArray[np.bool_]:
    """bool: which letters of all slices are masked; ValueError for masks of another length."""
    n_bytes, spans = hits.adjustments.lengths - COMPOSITION_BYTES, hits.slices.lengths
    _require((n_bytes == 0) | (n_bytes == (spans + 7) // 8), "a mask does not fit its alignment")
    found = np.zeros(len(hits.slices.data), np.bool_)
    for hit in np.flatnonzero(n_bytes).tolist():
        begin, end = (int(hits.adjustments.offsets[hit + side]) for side in (0, 1))
        bits = np.unpackbits(hits.adjustments.data[begin + COMPOSITION_BYTES : end])[: int(spans[hit])]
        at = int(hits.slices.offsets[hit])
        found[at : at + len(bits)] = bits
    return found


def _require_disjoint(hits: Hits, runs: Runs) -> None:
    """ValueError if two alignments of a query with a strand of a target share an aligned pair of letters.

    A run of aligned letters lies on a diagonal; the runs of different alignments must not overlap there.
    """
    counts = np.diff(run_offsets(hits.row, hits.numbers["ordinal"]))
    is_one_of_several = np.repeat(counts > 1, counts)
    aligned = np.flatnonzero((runs.code >= EQUAL) & is_one_of_several[runs.hit])
    hit, numbers = runs.hit[aligned], hits.numbers
    strand = numbers["strand"][hit].astype(np.int64)
    query = numbers["query_start"][hit] + runs.query[aligned]
    target = np.where(strand > 0, numbers["target_start"][hit], 1 - numbers["target_end"][hit]) + runs.target[aligned]
    order = np.lexsort((query, target - query, strand, numbers["ordinal"][hit], hits.row[hit]))
    ends = (query + runs.length[aligned])[order]
    same = np.ones(max(len(order) - 1, 0), np.bool_)
    for key in (target - query, strand, numbers["ordinal"][hit], hits.row[hit]):
        same &= np.diff(key[order]) == 0
    _require(~same | (query[order][1:] >= ends[:-1]), "two alignments of a target share a pair of letters")


def _letter_scores(hits: Hits, runs: Runs, scoring: Scoring) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """int64[n hits], twice: the sum of the scores of the aligned letters, and the number of positive pairs.

    ValueError if a path has = for different letters, or X for equal ones.
    """
    sums, positives = np.zeros((2, len(hits.row)), np.int64)
    scores, is_positive = scoring.matrix.reshape(-1), positive_pairs(scoring).reshape(-1)
    n_letters, done = len(scoring.matrix), 0
    aligned = np.flatnonzero(runs.code >= EQUAL)
    is_equal = np.repeat(runs.code[aligned] == EQUAL, runs.length[aligned])
    for some in _stretches(runs, aligned):
        q, t, starts = _letters(hits, runs, some, scoring)
        _require((q == t) == is_equal[done : done + len(q)], "a path does not fit its letters")
        done += len(q)
        pair, hit = q.astype(np.intp) * n_letters + t, runs.hit[some.run]
        np.add.at(sums, hit, np.add.reduceat(scores[pair], starts, dtype=np.int64))
        np.add.at(positives, hit, np.add.reduceat(is_positive[pair], starts, dtype=np.int64))
    return sums, positives


@dataclass(frozen=True)
class Stretches:
    """Aligned letters without a gap: `length` columns, starting `skipped` columns after the start of `run`."""

    run: NDArray[np.int64]
    skipped: NDArray[np.int64]
    length: NDArray[np.int64]


def _stretches(runs: Runs, aligned: NDArray[np.int64]) -> Iterator[Stretches]:
    """Yield all stretches in portions of about COLUMNS_AT_ONCE columns, cutting long ones; aligned: runs of = and X."""
    if not len(aligned):
        return
    is_first = np.ones(len(aligned), np.bool_)
    is_first[1:] = (np.diff(aligned) > 1) | (np.diff(runs.hit[aligned]) > 0)
    begins = np.flatnonzero(is_first)
    whole = np.add.reduceat(runs.length[aligned], begins)
    n_pieces = -(-whole // COLUMNS_AT_ONCE)
    skipped = COLUMNS_AT_ONCE * (np.arange(n_pieces.sum()) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces))
    run, length = (
        np.repeat(aligned[begins], n_pieces),
        np.minimum(np.repeat(whole, n_pieces) - skipped, COLUMNS_AT_ONCE),
    )
    ends, first = np.cumsum(length), 0
    while first < len(run):
        done = int(ends[first - 1]) if first else 0
        end = max(first + 1, int(np.searchsorted(ends, done + COLUMNS_AT_ONCE, side="right")))
        yield Stretches(run[first:end], skipped[first:end], length[first:end])
        first = end


def _letters(
    hits: Hits, runs: Runs, some: Stretches, scoring: Scoring
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.int64]]:
    """The aligned query and target codes, complemented on the minus strand, and where each stretch begins in them."""
    hit, starts, numbers = runs.hit[some.run], np.cumsum(some.length) - some.length, hits.numbers
    is_minus = numbers["strand"][hit] < 0
    query = hits.queries.offsets[hits.row[hit]] + numbers["query_start"][hit] + runs.query[some.run] + some.skipped
    before = runs.target[some.run] + some.skipped
    target = np.where(is_minus, hits.slices.offsets[hit + 1] - 1 - before, hits.slices.offsets[hit] + before)
    column = np.arange(int(some.length.sum()))
    q = hits.queries.data[np.repeat(query - starts, some.length) + column]
    if not is_minus.any():
        return q, hits.slices.data[np.repeat(target - starts, some.length) + column], starts
    step = np.where(is_minus, -1, 1)  # on the minus strand, the path runs down the target
    t = hits.slices.data[np.repeat(target - step * starts, some.length) + np.repeat(step, some.length) * column]
    return np.where(np.repeat(is_minus, some.length), complements(scoring.alphabet)[q], q), t, starts

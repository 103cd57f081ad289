"""Whether each alignment of a peer shares an aligned pair with one of exaln that scores at least as high.

Theory: as long as no round has aligned a pair of a path, the path is possible in every round, so no round scores less
than it. Any path with a score of at least the least of exaln must therefore share a pair with an alignment of exaln
that scores at least as high. This holds for every path, whoever found it: an exception is a fault of exaln.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from several_peers_parts.paths import Letters, Path

DEFAULT_CAP = 100
"""Alignments per target that `exaln search` reports by default."""

COMMON_LETTERS = set("ACDEFGHIKLMNPQRSTVWY")

Group = tuple[str, str, str]
"""Query, target, strand."""


@dataclass
class Comparison:
    """Counts of a case, and whatever should not be."""

    n_peer: int = 0
    n_covered: int = 0
    n_covered_with_cap: int = 0
    n_same_ends: int = 0
    n_same_path: int = 0
    n_ours: int = 0
    n_covered_by_peer: int = 0
    """Those for which the claim holds the other way: they share a pair with one of the peer that scores as high."""
    n_not_in_peer: int = 0
    """Alignments of exaln that share no pair with any of the peer."""
    n_pairs: int = 0
    """Queries and targets with an alignment of the peer."""
    cuts: dict[str, float | None] = field(default_factory=dict)
    """Queries and targets with more than DEFAULT_CAP alignments of exaln, and the E-value of the last that is kept."""
    n_same_scores: int = 0
    """Rounds of a peer that is exact, up to the first whose score differs from that round of exaln."""
    first_different_rounds: list[str] = field(default_factory=list)
    least_score: int | None = None
    exceptions: list[str] = field(default_factory=list)
    n_peer_scores_that_differ: int = 0
    """Alignments whose score is not that which the peer states, and those of them with a rare letter, such as X."""
    n_differ_with_rare_letters: int = 0
    peer_scores_that_differ: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """Of exaln: scores, pairs that are used twice, order, search and align that differ."""

    def content(self) -> dict[str, Any]:
        """For the run file."""
        return {**vars(self), "peer_scores_that_differ": self.peer_scores_that_differ[:20]}


@dataclass
class Pairs:
    """The aligned pairs of a group: sorted keys, and the row and score of their alignments, best first for each key."""

    keys: NDArray[np.int64]
    rows: NDArray[np.int64]
    scores: NDArray[np.int64]

    @staticmethod
    def of(keys: list[NDArray[np.int64]], scores: list[int]) -> Pairs:
        """The pairs of several alignments."""
        lengths = [len(some) for some in keys]
        joined = np.concatenate(keys) if keys else np.empty(0, np.int64)
        of_rows = np.array(scores, np.int64)
        rows = np.repeat(np.arange(len(keys)), lengths)
        order = np.lexsort((-of_rows[rows], joined))
        rows = rows[order]
        return Pairs(joined[order], rows, of_rows[rows])

    def best_of(self, keys: NDArray[np.int64]) -> int:
        """The best score of an alignment that has one of these pairs; 0 if none has."""
        if not len(self.keys):
            return 0
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return int(self.scores[places][self.keys[places] == keys].max(initial=0))


def keys_of(pairs: NDArray[np.int64], letters: Letters, target: str) -> NDArray[np.int64]:
    """int64[n]: one number per aligned pair of a query and a target."""
    keys: NDArray[np.int64] = pairs[0] * len(letters.codes[target]) + pairs[1]
    return keys


def grouped(paths: Iterable[Path]) -> dict[Group, list[Path]]:
    """Alignments by query, target and strand, in their order."""
    groups: dict[Group, list[Path]] = defaultdict(list)
    for path in paths:
        groups[path.query, path.target, path.strand].append(path)
    return groups


def compare(peers: list[Path], ours: list[Path], letters: Letters, *, is_exact: bool) -> Comparison:
    """Compare all alignments of a case. is_exact: the peer also claims the best alignments, so scores are compared."""
    done = Comparison(n_peer=len(peers), n_ours=len(ours), least_score=min((one.score for one in peers), default=None))
    in_order(ours, done)
    rank: dict[int, int] = {}
    by_target: dict[tuple[str, str], int] = defaultdict(int)
    for path in ours:
        by_target[path.query, path.target] += 1
        rank[id(path)] = by_target[path.query, path.target]
    of_peer, of_ours = grouped(peers), grouped(ours)
    peer_pairs = {group[:2] for group in of_peer}
    done.n_pairs = len(peer_pairs)
    for path in ours:
        pair = path.query, path.target
        if rank[id(path)] == DEFAULT_CAP < by_target[pair] and pair in peer_pairs:
            done.cuts[" x ".join(pair)] = path.evalue
    for group in of_peer.keys() | of_ours.keys():
        some = of_ours.get(group, [])
        keys = checked_keys(some, letters, done)
        pairs = Pairs.of(keys, [one.score for one in some])
        kept = [row for row, path in enumerate(some) if rank[id(path)] <= DEFAULT_CAP]
        capped = Pairs.of([keys[row] for row in kept], [some[row].score for row in kept])
        of_group = cover(of_peer.get(group, []), some, pairs, capped, letters, done)
        count_others(some, keys, of_group, done)
        if is_exact:
            count_same_scores(of_peer.get(group, []), some, done)
    return done


def in_order(ours: list[Path], done: Comparison) -> None:
    """Require descending scores within each target."""
    last: dict[tuple[str, str], int] = {}
    for path in ours:
        if path.score > last.get((path.query, path.target), path.score):
            done.faults.append(f"not in order: {path.shown()}")
        last[path.query, path.target] = path.score


def checked_keys(paths: list[Path], letters: Letters, done: Comparison) -> list[NDArray[np.int64]]:
    """The keys of exaln's alignments of a group; requires that scores are right and no pair is used twice."""
    keys = []
    for path in paths:
        pairs = path.pairs()
        keys.append(keys_of(pairs, letters, path.target))
        rescored = path.rescored(pairs, letters)
        if rescored != path.score:
            done.faults.append(f"scores {rescored}: {path.shown()}")
    all_pairs = Pairs.of(keys, [path.score for path in paths])
    for place in np.flatnonzero(np.diff(all_pairs.keys) == 0)[:5]:
        one, other = (paths[int(row)].shown() for row in all_pairs.rows[place : place + 2])
        done.faults.append(f"a pair is used twice: {one}; {other}")
    return keys


def cover(
    peers: list[Path], ours: list[Path], pairs: Pairs, capped: Pairs, letters: Letters, done: Comparison
) -> Pairs:
    """Look for the pairs of the peer's alignments of a group in those of exaln. Returns the peer's pairs."""
    ends = {path.ends for path in ours}
    same = {path.steps_from_ends for path in ours}
    keys, scores = [], []
    for path in peers:
        aligned = path.pairs()
        score = path.rescored(aligned, letters)
        scores.append(score)
        if score != path.score:
            done.n_peer_scores_that_differ += 1
            done.n_differ_with_rare_letters += has_rare_letters(path, aligned, letters)
            done.peer_scores_that_differ.append(f"scores {score}: {path.shown()}")
        keys.append(keys_of(aligned, letters, path.target))
        best = pairs.best_of(keys[-1])
        done.n_covered += best >= score
        done.n_covered_with_cap += capped.best_of(keys[-1]) >= score
        done.n_same_ends += path.ends in ends
        done.n_same_path += path.steps_from_ends in same
        if best < score:
            done.exceptions.append(f"re-scored {score}, best with a shared pair {best}: {path.shown()}")
    return Pairs.of(keys, scores)


def has_rare_letters(path: Path, aligned: NDArray[np.int64], letters: Letters) -> bool:
    """Whether an alignment has a letter for which programs have different scores."""
    both = letters.codes[path.query][aligned[0]], letters.codes[path.target][aligned[1]]
    return not set(letters.scoring.alphabet.decode(np.concatenate(both))) <= COMMON_LETTERS


def count_others(ours: list[Path], keys: list[NDArray[np.int64]], peers: Pairs, done: Comparison) -> None:
    """Look for the pairs of exaln's alignments of a group in those of the peer."""
    for path, mine in zip(ours, keys, strict=True):
        best = peers.best_of(mine)
        done.n_covered_by_peer += best >= path.score
        done.n_not_in_peer += best == 0


def count_same_scores(peers: list[Path], ours: list[Path], done: Comparison) -> None:
    """Count the leading rounds with equal scores."""
    for place, (peer, path) in enumerate(zip(peers, ours, strict=False)):
        if peer.score != path.score:
            is_same = [one.steps_from_ends for one in peers[:place]] == [one.steps_from_ends for one in ours[:place]]
            since = "the same paths" if is_same else "other paths"
            done.first_different_rounds.append(f"after {place} rounds with {since}, {peer.score}: {path.shown()}")
            break
        done.n_same_scores += 1

"""Pairs with several alignments, drawn from a seed: repeats in tandem, inverted, crossing, nested; and how the core is
asked for them.
"""

import numpy as np

from compiled_textbook import table, textbook
from exaln import _core
from exaln.alignments.cigar import OPERATIONS
from exaln.sequences.records import offsets_of


def letters(rng, n_letters, n):
    return rng.integers(0, n_letters, n).astype(np.uint8)


def changed(rng, codes, n_letters, rate):
    """A copy with some letters replaced and some removed."""
    codes = codes.copy()
    is_new = rng.random(len(codes)) < rate
    codes[is_new] = letters(rng, n_letters, int(is_new.sum()))
    return codes[rng.random(len(codes)) >= rate / 2]


def random_pair(rng, n, longest):
    return letters(rng, n, rng.integers(0, longest + 1)), letters(rng, n, rng.integers(0, longest + 1))


def tandem_pair(rng, n, longest):
    """Copies of one unit in both, changed a little."""
    unit, rate = letters(rng, n, rng.integers(1, 9)), rng.choice([0, 0.05, 0.3])
    return tuple(changed(rng, np.resize(unit, rng.integers(1, longest + 1)), n, rate) for _ in range(2))


def inverted_pair(rng, n, longest):
    one = letters(rng, n, rng.integers(1, longest // 2 + 1))
    return np.concatenate([one, one[::-1]]), np.concatenate([one[::-1], changed(rng, one, n, 0.1)])


def crossing_pair(rng, n, longest):
    """ab against ba, ba ba or aba."""
    a, b = (letters(rng, n, rng.integers(1, longest // 4 + 1)) for _ in range(2))
    orders = [[b, a], [b, a, b, a], [a, b, a], [b, b, a, a]]
    return np.concatenate([a, b]), np.concatenate(orders[rng.integers(4)])[:longest]


def nested_pair(rng, n, longest):
    """A repeat that holds a repeat, in one sequence or in both."""
    inner, outer = (letters(rng, n, rng.integers(1, longest // 4 + 1)) for _ in range(2))
    cut = rng.integers(0, len(outer) + 1)
    nested = np.concatenate([outer[:cut], inner, inner, outer[cut:]])
    other = [np.concatenate([inner, outer, inner]), np.concatenate([outer, nested]), nested][rng.integers(3)]
    return nested[:longest], changed(rng, other, n, rng.choice([0, 0.1]))[:longest]


def homopolymers(rng, n, longest):
    return np.full(rng.integers(1, longest + 1), 0, np.uint8), np.full(rng.integers(1, longest + 1), 0, np.uint8)


def unequal_pair(rng, n, longest):
    """One is much longer, and holds copies of the other."""
    short = letters(rng, n, rng.integers(1, 8))
    pieces = [changed(rng, short, n, 0.1) if rng.random() < 0.4 else letters(rng, n, 9) for _ in range(longest // 4)]
    long = np.concatenate(pieces)[: 4 * longest]
    return (short, long) if rng.random() < 0.5 else (long, short)


def tiny_pair(rng, n, longest):
    """None, one or two letters in one of them."""
    pair = letters(rng, n, rng.integers(0, 3)), letters(rng, n, rng.integers(0, longest + 1))
    return pair if rng.random() < 0.5 else pair[::-1]


KINDS = [
    random_pair,
    tandem_pair,
    tandem_pair,
    inverted_pair,
    crossing_pair,
    nested_pair,
    homopolymers,
    unequal_pair,
    tiny_pair,
]


def drawn_pairs(rng, n_letters, n_pairs, longest):
    """Pairs of all kinds, over few letters or many."""
    few = int(rng.choice([1, 2, 4, 20, n_letters]))
    return [KINDS[rng.integers(len(KINDS))](rng, min(few, n_letters), longest) for _ in range(n_pairs)]


def several(pairs, scoring, most, least, **how):
    """What the core finds: for each pair what `textbook` returns, or None if it is not certain.

    least, and upper, margin and known_scores in `how`: a number for each pair. Every path re-scores, and no pair of
    letters is aligned twice.
    """
    columns = {"upper": np.int64, "margin": np.int64, "known_scores": np.int32}
    given = {name: None if how.get(name) is None else np.array(how[name], dtype) for name, dtype in columns.items()}
    rows = np.arange(len(pairs))
    is_certain, owners, scores, positions, _, operations, offsets = _core.align_several(
        *(_joined([pair[side] for pair in pairs]) for side in (0, 1)),
        (rows, rows),
        (np.ascontiguousarray(scoring.matrix, np.int32), scoring.gap_first, scoring.gap_extend),
        most,
        np.array(least, np.int64),
        **given,
        **{name: value for name, value in how.items() if name not in columns},
    )
    found = [[] if certain else None for certain in is_certain.tolist()]
    used = [set() for _ in pairs]
    ends = positions.reshape(-1, 4).tolist()
    for place, (pair, score) in enumerate(zip(owners.tolist(), scores.tolist(), strict=True)):
        runs = operations[offsets[place] : offsets[place + 1]].tolist()
        steps = "".join(OPERATIONS[run & 15] * (run >> 4) for run in runs).replace("=", "M").replace("X", "M")
        assert score == rescored(pairs[pair], ends[place], steps, scoring, used[pair])
        found[pair].append((score, (ends[place][1], ends[place][3]), steps))
    return found


def _joined(sequences):
    return np.concatenate([np.empty(0, np.uint8), *sequences]), offsets_of(map(len, sequences))


def rescored(pair, positions, steps, scoring, used):
    """The score of a path, from its letters and gaps. Adds the pairs of letters that it aligns to `used`."""
    row, end_row, column, end_column = positions
    score, previous = 0, ""
    for step in steps:
        if step == "M":
            assert (row, column) not in used
            used.add((row, column))
            score += int(scoring.matrix[pair[0][row], pair[1][column]])
        else:
            score -= scoring.gap_extend if step == previous else scoring.gap_first
        row, column, previous = row + (step != "D"), column + (step != "I"), step
    assert (row, column) == (end_row, end_column)
    return score


class TargetEnd:
    """The end of a target from a column on, and what is known of the columns before: a case for TargetEnds."""

    def __init__(self, query, target, scoring, first, least):
        h, every = table(query, target, scoring), textbook(query, target, scoring, len(query) * len(target) + 1, least)
        reaches = np.flatnonzero(h[:, first + 1 :].max(axis=0) >= least) if len(target) > first else np.empty(0)
        self.pair = query, target[first:]
        self.upper = int(h[:, first].max())
        self.margin = int(reaches[0]) if len(reaches) else len(target) - first
        self.known_score = int(h[:, first + 1 :].max(initial=0))
        self.alignments = [
            (score, (row, column - first), steps) for score, (row, column), steps in every if column > first
        ]
        self.reaches_back = any(
            column - sum(step != "I" for step in steps) < 0 for _, (_, column), steps in self.alignments
        )

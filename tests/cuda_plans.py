"""Plans of the cuda engine that tests choose: one shape for everything, or a boundary row that is split half-way.

Of small databases the engine's own plans use few shapes; with these every one of them is used.
"""

from exaln.cuda.plan import Half, Strip
from exaln.cuda.variants import SHAPES


def shapes(*, paired):
    return [shape for shape in SHAPES if shape.paired == paired]


def fits(shape, card, targets):
    """Whether a block of the card can have the profile."""
    return shape.shared_bytes(targets.n_letters) <= card.shared_bytes


def rows_of(query, length, first, shape):
    return Half(query, first, max(0, min(shape.strip_rows, length - first)))


def strips(shape, queries, lengths, first=0, end=None, split=None):
    """Consecutive strips of one shape for rows [first, end) of one query, or of two in one word."""
    longest = max(lengths[query] for query in queries)
    last = longest if end is None else end
    for begin in range(first, last, shape.strip_rows):
        low = rows_of(queries[0], lengths[queries[0]], begin, shape)
        high = None if shape.paired else Half(queries[0], begin, 0)
        if len(queries) == 2:
            high = rows_of(queries[1], lengths[queries[1]], begin, shape)
        has_bottom = begin + shape.strip_rows < longest
        yield Strip(shape, low, high, begin > 0, has_bottom, split if begin == first else None)


def in_pairs(lengths):
    """Queries that are not empty, two by two in the order of the call; the last may be alone."""
    queries = [query for query, length in enumerate(lengths) if length]
    return [queries[i : i + 2] for i in range(0, len(queries), 2)]


def plan_of_one_shape(shape):
    """Two queries in a word, or (paired) one query with two targets, whatever their lengths."""

    def plan(lengths, card, targets):
        assert fits(shape, card, targets)
        groups = [[query] for pair in in_pairs(lengths) for query in pair] if shape.paired else in_pairs(lengths)
        return [strip for group in groups for strip in strips(shape, group, lengths)]

    return plan


def plan_with_split(both, rest):
    """Two queries in a word as far as the shorter one goes, then the longer one alone with pairs of targets."""
    assert rest.paired > both.paired

    def plan(lengths, card, targets):
        assert fits(both, card, targets)
        assert fits(rest, card, targets)
        made = []
        for group in in_pairs(lengths):
            longer = max(group, key=lambda query: lengths[query])
            shorter = min(lengths[query] for query in group)
            edge = min(-(-shorter // both.strip_rows) * both.strip_rows, lengths[longer])
            made += strips(both, group, lengths, end=edge)
            made += strips(rest, [longer], lengths, first=edge, split=group.index(longer))
        return made

    return plan


def assert_complete(plan, lengths):
    """Each row of each query comes once, in order; what a strip leaves for the next one is what that one takes."""
    done = dict.fromkeys((query for query, length in enumerate(lengths) if length), 0)
    before = None
    for strip in plan:
        halves = [half for half in (strip.low, strip.high) if half is not None and half.n_rows]
        assert halves
        assert (strip.high is None) == strip.shape.paired
        for half in halves:
            assert half.n_rows <= strip.shape.strip_rows
            assert half.first_row == done[half.query]
            done[half.query] += half.n_rows
        assert strip.has_top == (halves[0].first_row > 0)
        if strip.has_top:
            assert before is not None
            assert before.has_bottom
            assert_goes_on(before, strip, [half.query for half in halves])
        before = strip
        if not strip.has_bottom:
            assert all(done[half.query] == lengths[half.query] for half in halves)
    assert done == {query: lengths[query] for query in done}


def assert_goes_on(before, strip, queries):
    """The boundary row lies in words of two queries or of two targets, and only a split changes that."""
    above = [half.query for half in (before.low, before.high) if half is not None]
    assert set(queries) <= set(above)
    assert before.low.n_rows == before.shape.strip_rows or before.high.n_rows == before.shape.strip_rows
    if strip.split is None:
        assert strip.shape.paired == before.shape.paired
        assert strip.low.query == before.low.query
    else:
        assert strip.shape.paired > before.shape.paired
        assert above[strip.split] == strip.low.query

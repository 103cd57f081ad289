"""Rules of planning that tests choose: strips of one shape, or of several in turn, and no long targets.

The engine's own plans of small databases use few shapes. With these rules every shape is used.
"""

from itertools import chain, cycle

from exaln.engines.cuda.scan.shapes import SHAPES, Packing
from exaln.engines.cuda.scan.strips import Part, Strip

IN_STREAMS = {
    "long_length": lambda lengths, *_: lengths.largest,
    "streamed_long_length": lambda lengths, *_: (lengths.largest, 0.0),
}
"""Rules by which no target is long."""


def shapes(packing):
    """All shapes with this packing."""
    return [shape for shape in SHAPES if shape.packing == packing]


def fits(shape, device, targets):
    """Return whether a block of the device has room for the profile."""
    return shape.shared_bytes(targets.n_letters) <= device.shared_bytes


def take(waiting, shape):
    """Return the parts that fit one half of a strip, taken from waiting queries (number, first row, rows)."""
    parts, lane = [], 0
    while waiting and lane < shape.lanes:
        query, first, n_rows = waiting.pop(0)
        own = min(n_rows, (shape.lanes - lane) * shape.rows)
        parts.append(Part(query, first, own, lane))
        lane += -(-own // shape.rows)
        if own < n_rows:
            waiting.insert(0, (query, first + own, n_rows - own))
    return tuple(parts)


def strips(shapes_in_turn, stacks, lengths):
    """Yield strips of two stacks of queries, from the top; in paired shapes there is one stack."""
    low, high = ([(query, 0, lengths[query]) for query in stack] for stack in stacks)
    for shape in cycle(shapes_in_turn):
        if not (low or high):
            return
        one = take(low, shape)
        other = one if shape.is_paired else take(high, shape)
        continues = any(part.end_row < lengths[part.query] for part in (*one, *other))
        yield Strip(shape, one, other, continues)


def plan_of_shapes(*in_turn):
    """Return a rule for strips: queries alternate between the halves of the words, or are unpaired.

    in_turn: shapes of consecutive strips, all paired or none.
    """

    def plan(lengths, device, targets):
        assert all(fits(shape, device, targets) for shape in in_turn)
        queries = [query for query, length in enumerate(lengths) if length]
        stacks = [([query], []) for query in queries] if in_turn[0].is_paired else [(queries[::2], queries[1::2])]
        return list(chain(*(strips(in_turn, own, lengths) for own in stacks)))

    return plan


def assert_complete(plan, lengths):
    """Check that each row of each query comes once, in order, and that strips continue where the one before ends."""
    done = dict.fromkeys((query for query, length in enumerate(lengths) if length), 0)
    left = [None, None]
    for strip in plan:
        shape = strip.shape
        halves = (strip.low, strip.high)
        assert halves[0] or halves[1]
        assert not shape.is_paired or halves[0] == halves[1]
        assert shape.packing in Packing
        assert strip.has_top == any(query is not None for query in left)
        for half, parts in enumerate(halves):
            assert_stacked(parts, shape)
            if left[half] is not None:
                assert (parts[0].query, parts[0].first_row) == (left[half], done[left[half]])
        for part in strip.parts:
            assert part.first_row == done[part.query]
            assert part.first_row == 0 or part.lane == 0
            done[part.query] += part.n_rows
        left = [
            parts[-1].query if parts and done[parts[-1].query] < lengths[parts[-1].query] else None for parts in halves
        ]
        assert strip.has_bottom == any(query is not None for query in left)
        open_queries = {query for query in done if 0 < done[query] < lengths[query]}
        assert open_queries <= set(left)
        for half, parts in enumerate(halves):
            if left[half] is not None:
                assert parts[-1].lane * shape.rows + parts[-1].n_rows == shape.strip_rows
    assert left == [None, None]
    assert done == {query: lengths[query] for query in done}


def assert_stacked(parts, shape):
    lane = 0
    for part in parts:
        assert part.lane == lane
        assert part.n_rows > 0
        lane += -(-part.n_rows // shape.rows)
    assert lane <= shape.lanes

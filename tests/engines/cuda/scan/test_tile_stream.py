"""The order in which groups of lanes read the tiles of a stream, run on the CPU: every tile once, in order."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import emulated_cuda
from exaln.engines.cuda.runtime.compiler import Source

pytestmark = pytest.mark.skipif(emulated_cuda.COMPILER is None, reason="no g++")

FIRST_TILE = 5
"""Tiles before it are idle."""


def read_tiles(targets_of_chunks, n_groups):
    """Return (tile, id, group) in the order in which groups read them, or None if that does not end; marks; targets."""
    marks, chunks, n_targets = [False] * FIRST_TILE, [], 0
    for targets in targets_of_chunks:
        chunks.append((len(marks), n_targets))
        n_targets += len(targets)
        for n_tiles in targets:
            marks += [False] * (n_tiles - 1) + [True]
    n_chunks, max_steps = len(chunks), 2 * len(marks)
    chunks = np.array([*chunks, (len(marks), n_targets)], np.uint32)
    marks, seen = np.array(marks, np.uint8), np.zeros((max_steps, 3), np.uint32)
    ticket, n_seen = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    read = emulated_cuda.library_of(Source("stream_cursor.cu", folder=Path(emulated_cuda.NATIVE))).launch_read_stream
    emulated_cuda.launch(read, chunks, n_chunks, ticket, marks, n_groups, seen, max_steps, n_seen)
    return None if n_seen[0] == max_steps else seen[: n_seen[0]], marks, n_targets


def assert_every_tile_once(targets_of_chunks, n_groups):
    seen, marks, n_targets = read_tiles(targets_of_chunks, n_groups)
    assert seen is not None, "a group never ends"
    in_order = seen[np.argsort(seen[:, 0], kind="stable")]
    np.testing.assert_array_equal(in_order[:, 0], np.arange(FIRST_TILE, len(marks)))
    ids = np.repeat(np.arange(n_targets), [n for targets in targets_of_chunks for n in targets])
    np.testing.assert_array_equal(in_order[:, 1], ids)


@pytest.mark.parametrize("n_groups", [1, 3])
@pytest.mark.parametrize("n_tiles", range(1, 9))
def test_chunks_of_one_target_are_read_once(n_tiles, n_groups):
    assert_every_tile_once([[n_tiles]] * 7, n_groups)


@given(st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=4), min_size=1, max_size=12), st.integers(1, 8))
def test_chunks_of_any_lengths_are_read_once(targets_of_chunks, n_groups):
    assert_every_tile_once(targets_of_chunks, n_groups)

"""The pieces of a search, as plain data: units, groups of queries and chunks of the database.

A search is a rectangle of queries by residues, and a unit is a rectangle within it. Queries are divided into groups
once, before the search begins. The residues of a group are divided when a worker asks for work, by its speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from exaln.database.manifest import Manifest
from exaln.database.part import n_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_CHUNK_RESIDUES = 1 << 20
LEAST_GROUP_QUERIES, GROUP_QUERIES, MOST_GROUP_QUERIES = 16, 256, 4096
"""Queries in a group: fewer would not fill the kernels of a GPU; more than GROUP_QUERIES only for small databases."""


@dataclass(frozen=True, order=True)
class Unit:
    """Queries [query_first, query_end) against the targets that begin at the residues [first, end)."""

    query_first: int
    query_end: int
    first: int
    end: int

    def __str__(self) -> str:
        return f"queries {self.query_first + 1} to {self.query_end}, residues {self.first:,} to {self.end:,}"


@dataclass(frozen=True)
class Group:
    """Queries [query_first, query_end), searched together. weight: cells per residue of the database, at least 1."""

    query_first: int
    query_end: int
    weight: int

    def unit(self, first: int, end: int) -> Unit:
        """The unit of these queries against the residues [first, end)."""
        return Unit(self.query_first, self.query_end, first, end)


@dataclass(frozen=True)
class Chunk:
    """Neighbouring segments, as a range of residues. A worker fetches a chunk as a whole."""

    first: int
    end: int
    n_bytes: int


def query_groups(lengths: NDArray[np.int64], n_strands: int, chunks: Sequence[Chunk], cells: float) -> list[Group]:
    """Groups of consecutive queries that have about `cells` with the largest chunk, so that a unit is a whole chunk.

    A group has more than GROUP_QUERIES only if it has fewer than `cells` with the whole database.
    """
    n_places, largest = chunks[-1].end, max(chunk.end - chunk.first for chunk in chunks)
    edges, weight, first = [0], 0, 0
    for place, length in enumerate(lengths.tolist()):
        n_queries = place - first
        if (
            (n_queries >= LEAST_GROUP_QUERIES and weight * n_strands * largest >= cells)
            or (n_queries >= GROUP_QUERIES and weight * n_strands * n_places >= cells)
            or n_queries >= MOST_GROUP_QUERIES
        ):
            edges.append(place)
            weight, first = 0, place
        weight += length
    return groups_between([*edges, len(lengths)] if len(lengths) else [0], lengths, n_strands)


def groups_between(edges: Sequence[int], lengths: NDArray[np.int64], n_strands: int) -> list[Group]:
    """The groups of queries between neighbouring edges."""
    return [Group(first, end, max(1, n_strands * int(lengths[first:end].sum()))) for first, end in pairwise(edges)]


def chunks_of(manifest: Manifest) -> list[Chunk]:
    """The segments of a database as chunks, small ones joined: none is much smaller than 1/1024 of the database."""
    enough = max(LEAST_CHUNK_RESIDUES, manifest.n_residues // 1024)
    ends = list(accumulate(entry.residues for entry in manifest.segments))
    ends[-1] = n_places(manifest)
    chunks, first, n_bytes = list[Chunk](), 0, 0
    for entry, end in zip(manifest.segments, ends, strict=True):
        n_bytes += entry.bytes
        if end - first >= enough or end == ends[-1]:
            if end > first:
                chunks.append(Chunk(first, end, n_bytes))
            first, n_bytes = end, 0
    return chunks

"""Pieces of a search: some queries against a range of residues of the database. Plain data.

A search is a rectangle, queries by residues, and a unit is a rectangle in it. Queries are cut into groups once, before
anything runs; the residues of a group are cut when a worker asks for work, to the size that suits it.
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
"""Of queries in a group: with fewer the kernels of a GPU would not be full; more than 256 only for small databases."""


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
    """Queries that are searched together; weight: cells per residue of the database, at least 1."""

    query_first: int
    query_end: int
    weight: int

    def unit(self, first: int, end: int) -> Unit:
        """These queries against the residues [first, end)."""
        return Unit(self.query_first, self.query_end, first, end)


@dataclass(frozen=True)
class Chunk:
    """Neighbouring segments, as a range of residues: what a worker fetches to work on any part of it."""

    first: int
    end: int
    n_bytes: int


def query_groups(lengths: NDArray[np.int64], n_strands: int, chunks: Sequence[Chunk], cells: float) -> list[Group]:
    """Groups of consecutive queries, of about `cells` with the largest chunk: then a unit is a group and a whole chunk.

    That has no more GROUP_QUERIES than it must: more only where even the whole database has less than `cells`.
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
    """The groups with these edges."""
    return [Group(first, end, max(1, n_strands * int(lengths[first:end].sum()))) for first, end in pairwise(edges)]


def chunks_of(manifest: Manifest) -> list[Chunk]:
    """All segments, small ones together, so that no chunk is much smaller than a thousandth of the database."""
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

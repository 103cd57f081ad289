"""Alignments of pairs: `Alignments` holds the columns of many, `Alignment` is one of them.

`alignment_hits` turns them into hits for reports, `alignment_drawing` draws them, `biopython` converts them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np

from exaln.alignments.aligned_pairs import AlignedPairs, PairList
from exaln.alignments.cigar import Paths, cigar, cigar_list
from exaln.alignments.hit_columns import COUNTS, POSITIONS
from exaln.errors import InputError
from exaln.foundation.distinct import distinct
from exaln.foundation.plurals import number_of
from exaln.report import colours
from exaln.scoring.modes import Mode
from exaln.scoring.scoring import Scoring, ScoringLike
from exaln.sequences.records import Records
from exaln.sequences.strands import reverse_complement

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from exaln.alignments.query_hits import PairHits, QueryHits


N_POSITIONS = len(POSITIONS)
SCORE, STRAND = 0, 1 + N_POSITIONS + len(COUNTS)
"""Places of numbers; see `AlignmentSource`."""


class AlignmentSource(Protocol):
    """What an `Alignment` is made from: the columns of many, or one pair that has none yet."""

    @property
    def scoring(self) -> Scoring: ...

    @property
    def mode(self) -> Mode: ...

    def _number_of(self, row: int, place: int) -> int:
        """One of the numbers of an alignment: scaled score, positions (4), counts (6), strand."""
        ...

    def _runs_of(self, row: int) -> NDArray[np.uint32] | memoryview:
        """uint32[n]: the path of one alignment; see `exaln.alignments.cigar.Paths`."""
        ...

    def _as_columns(self) -> Alignments:
        """The columns of which the alignment is a row."""
        ...


class Alignments(Sequence["Alignment"]):
    """Alignments of many pairs as NumPy columns; `alignments[i]` and iteration make `Alignment` objects.

    queries, targets: all sequences; pairs: the rows of the two that make each pair.
    positions: int64[n, 4], query start and end, target start and end, 0-based half-open.
    counts: int32[n, 6], identities, positives, mismatches, gap opens, gap columns, columns.
    strands: int8[n], 1, or -1 where the query aligns with the reverse complement of the target. There the path runs
    along the query and down the target, and positions refer to both sequences as given.
    paths: see `exaln.alignments.cigar.Paths`.
    """

    # fmt: off
    __slots__ = (
        "_scores", "_statistics", "counts", "mode", "pairs", "paths", "positions", "queries", "scoring", "strands",
        "targets",
    )
    # fmt: on

    def __init__(
        self,
        queries: Records,
        targets: Records,
        pairs: PairList,
        aligned: AlignedPairs,
        scoring: Scoring,
        mode: Mode,
        strands: NDArray[np.int8] | None = None,
        statistics: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    ) -> None:
        """aligned: its scores are multiplied by `scoring.scale`. strands: None if all are plus. statistics: bits and
        E-values, float64[n] each; None to compute them for each pair on its own.
        """
        aligned = aligned.counted_in(scoring.alphabet)
        self.queries, self.targets, self.pairs = queries, targets, pairs
        self.positions, self.counts, self.paths = aligned.positions, aligned.counts, aligned.paths
        self.scoring, self.mode, self._scores = scoring, mode, aligned.scores
        self.strands = np.ones(len(aligned), np.int8) if strands is None else strands
        self._statistics = statistics

    def __len__(self) -> int:
        return len(self._scores)

    @overload
    def __getitem__(self, place: int) -> Alignment: ...

    @overload
    def __getitem__(self, place: slice) -> Alignments: ...

    def __getitem__(self, place: int | slice) -> Alignment | Alignments:
        if not isinstance(place, slice):
            return Alignment(self, range(len(self))[place])
        rows = np.arange(len(self))[place]
        aligned = AlignedPairs(self._scores, self.positions, self.counts, self.paths).taken(rows)
        pairs = PairList(self.pairs.query[rows], self.pairs.target[rows])
        given = (self.queries, self.targets, pairs, aligned, self.scoring, self.mode)
        statistics = None if self._statistics is None else (self._statistics[0][rows], self._statistics[1][rows])
        return Alignments(*given, self.strands[rows], statistics)

    def __iter__(self) -> Iterator[Alignment]:
        return map(partial(Alignment, self), range(len(self)))

    def _number_of(self, row: int, place: int) -> int:
        """One of the numbers of an alignment; see `AlignmentSource`."""
        if place == SCORE:
            return self._scores.item(row)
        if place <= N_POSITIONS:
            return self.positions.item(row, place - 1)
        if place < STRAND:
            return self.counts.item(row, place - 1 - N_POSITIONS)
        return self.strands.item(row)

    def _runs_of(self, row: int) -> NDArray[np.uint32]:
        """uint32[n]: the path of one alignment."""
        return self.paths[row]

    def _as_columns(self) -> Alignments:
        """These alignments."""
        return self

    @property
    def n_pairs(self) -> int:
        """Pairs with different sequences; a pair can have several alignments."""
        return len(distinct(self.pairs.query * len(self.targets) + self.pairs.target))

    @property
    def scores(self) -> NDArray[np.int64] | NDArray[np.float64]:
        """The score of each pair: int64[n], or float64[n] where the scoring has fractions."""
        return self._scores if self.scoring.scale == 1 else self._scores / self.scoring.scale

    @property
    def scaled_scores(self) -> NDArray[np.int64]:
        """int64[n]: the score of each pair, multiplied by `scoring.scale`, as engines compute it."""
        return self._scores

    @property
    def bits(self) -> NDArray[np.float64]:
        """Bit scores, float64[n]; NaN if the mode is not local or the scoring has no statistics."""
        return self._bits_and_evalues()[0]

    @property
    def evalues(self) -> NDArray[np.float64]:
        """E-values, float64[n], in the search space of the query and its target; NaN where `bits` is."""
        return self._bits_and_evalues()[1]

    def _bits_and_evalues(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if self._statistics is None:
            if self.mode.is_local:
                from exaln.statistics.evalues import pair_statistics

                lengths = self.queries.lengths[self.pairs.query], self.targets.lengths[self.pairs.target]
                self._statistics = pair_statistics(self.scoring, self._scores, *lengths)
            else:
                nothing = np.full(len(self), np.nan)
                self._statistics = nothing, nothing
        return self._statistics

    @property
    def cigars(self) -> list[str]:
        """The path of each pair as CIGAR: M, I (consumes the query), D (consumes the target)."""
        return cigar_list(self.paths)

    @property
    def cigars_extended(self) -> list[str]:
        """The path of each pair as CIGAR with = for equal and X for different letters in place of M."""
        return cigar_list(self.paths, extended=True)

    @property
    def btops(self) -> list[str]:
        """The path of each pair as BLAST's traceback operations (BTOP): counts of equal letters, else both letters."""
        from exaln.report.aligned_rows import btops

        return btops(self.pair_hits(also_empty=True))

    def to_arrow(self) -> Any:
        """A pyarrow.Table, one row per alignment; `report.arrow` describes its columns."""
        from exaln.report.arrow import pairs_table

        return pairs_table(self.queries, self.targets, self._columns(), self.paths)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame, one row per alignment."""
        return self.to_arrow().to_pandas()

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {
            "query_index": self.pairs.query,
            "target_index": self.pairs.target,
            "strand": self.strands,
            **{name: self.positions[:, place] for place, name in enumerate(POSITIONS)},
            "score": self.scores,
            "bits": self.bits,
            "evalue": self.evalues,
            **{name: self.counts[:, place] for place, name in enumerate(COUNTS)},
        }

    def query_hits(self, first_query: int = 0, first_target: int = 0, *, joined: bool = False) -> Iterator[QueryHits]:
        """Yield the hits of each pair, from which reports are made; pairs where nothing aligns have none.

        joined: neighbouring pairs of one query are yielded together. first_query, first_target: places in the input of
        the first query and target.
        """
        from exaln.pairwise.alignment_hits import query_hits

        return query_hits(self, first_query, first_target, joined=joined)

    def pair_hits(self, first_query: int = 0, first_target: int = 0, *, also_empty: bool = False) -> PairHits:
        """The hits of all pairs at once, for reports with one line per pair.

        also_empty: include pairs where nothing aligns. first_query, first_target: as in `query_hits`.
        """
        from exaln.pairwise.alignment_hits import pair_hits

        return pair_hits(self, first_query, first_target, also_empty=also_empty)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Plot the alignments of one pair together. Returns a matplotlib figure and writes it as `Alignment.plot` does.

        Paths on the minus strand run down the target, in a colour of their own. Raises InputError if the alignments are
        those of several pairs, or if there are none.
        """
        from exaln.pairwise.alignment_drawing import alignments_plot

        if self.n_pairs != 1:
            found = f"of {number_of(self.n_pairs, 'pair')}" if len(self) else "none"
            raise InputError(
                f"a plot shows the alignments of one pair, but these are {found}; a slice has some of them"
            )
        return alignments_plot(self, path)

    def __repr__(self) -> str:
        pairs = number_of(self.n_pairs, "pair")
        found = pairs if self.n_pairs == len(self) else f"{number_of(len(self), 'alignment')} of {pairs}"
        return f"<Alignments: {found}, {self.mode}, {self.scoring.describe()}>"

    def _repr_html_(self) -> str:
        """The first pairs as a table, for notebooks."""
        from exaln.pairwise.alignment_drawing import alignments_html

        return alignments_html(self)


def _number_or_none(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)


def _number(place: int, text: str) -> Any:
    return property(lambda self: self._source._number_of(self._row, place), doc=text)


class Alignment:
    """The optimal alignment of two sequences. Positions are 0-based half-open. Letters outside a free end are not part
    of it. If nothing aligns, the path is empty.
    """

    __slots__ = ("_row", "_source")

    def __init__(self, source: AlignmentSource, row: int = 0) -> None:
        """One alignment of a source."""
        self._source, self._row = source, row

    @property
    def _all(self) -> Alignments:
        """The columns, of which this alignment is row `_row`."""
        self._source = columns = self._source._as_columns()
        return columns

    query_start: int = _number(1, "Start of the alignment in the query.")
    query_end: int = _number(2, "End of the alignment in the query.")
    target_start: int = _number(3, "Start of the alignment in the target.")
    target_end: int = _number(4, "End of the alignment in the target.")
    identities: int = _number(5, "Columns with equal letters.")
    positives: int = _number(6, "Columns whose letters are equal or, in proteins, score above 0.")
    mismatches: int = _number(7, "Columns with different letters.")
    gap_opens: int = _number(8, "Runs of gap columns.")
    gaps: int = _number(9, "Gap columns.")
    columns: int = _number(10, "Columns of the alignment.")

    @property
    def score(self) -> int | float:
        """The score, in the units of the scoring as given."""
        return self.scoring.unscale(self._source._number_of(self._row, SCORE))

    @property
    def bits(self) -> float | None:
        """The bit score; None if the mode is not local or the scoring has no statistics."""
        return _number_or_none(self._all.bits[self._row])

    @property
    def evalue(self) -> float | None:
        """The E-value in the search space of this query and this target; None where `bits` is."""
        return _number_or_none(self._all.evalues[self._row])

    @property
    def strand(self) -> int:
        """1, or -1 where the query aligns with the reverse complement of the target."""
        return self._source._number_of(self._row, STRAND)

    @property
    def scoring(self) -> Scoring:
        """The matrix and the gap costs."""
        return self._source.scoring

    @property
    def mode(self) -> Mode:
        """Which ends are free."""
        return self._source.mode

    @property
    def query_sequence(self) -> str:
        """Letters of the whole query."""
        return self.scoring.alphabet.decode(self.query)

    @property
    def target_sequence(self) -> str:
        """Letters of the whole target, as given."""
        return self.scoring.alphabet.decode(self.target)

    @property
    def query_aligned(self) -> str:
        """Letters of the aligned part of the query, with - for gaps."""
        return self._aligned()[0]

    @property
    def target_aligned(self) -> str:
        """Letters of the aligned part of the target along the query, with - for gaps."""
        return self._aligned()[1]

    def _aligned(self) -> tuple[str, str]:
        from exaln.report.aligned_rows import rows_of_paths

        target = self.target[self.target_start : self.target_end]
        if self.strand < 0:
            target = reverse_complement(target, self.scoring.alphabet)
        paths = Paths(self.operations, np.array([0, len(self.operations)], np.int64))
        rows = rows_of_paths([self.query[self.query_start : self.query_end]], [target], paths, self.scoring.alphabet)
        return rows.query.tobytes().decode("ascii"), rows.target.tobytes().decode("ascii")

    @property
    def query(self) -> NDArray[np.uint8]:
        """Codes of the whole query."""
        return self._all.queries.sequence(int(self._all.pairs.query[self._row]))

    @property
    def target(self) -> NDArray[np.uint8]:
        """Codes of the whole target."""
        return self._all.targets.sequence(int(self._all.pairs.target[self._row]))

    @property
    def query_id(self) -> str:
        """The id of the query; "seq1" if it has none."""
        return self._all.queries.ids[int(self._all.pairs.query[self._row])]

    @property
    def target_id(self) -> str:
        """The id of the target; "seq1" if it has none."""
        return self._all.targets.ids[int(self._all.pairs.target[self._row])]

    @property
    def operations(self) -> NDArray[np.uint32]:
        """uint32[n]: the runs of the path; see `exaln.alignments.cigar.Paths`."""
        return self._all.paths[self._row]

    @property
    def cigar(self) -> str:
        """The path as CIGAR: M, I (consumes the query), D (consumes the target)."""
        return cigar(self._source._runs_of(self._row))

    @property
    def cigar_extended(self) -> str:
        """The path as CIGAR with = for equal and X for different letters in place of M."""
        return cigar(self._source._runs_of(self._row), extended=True)

    @property
    def btop(self) -> str:
        """The path as BLAST's traceback operations: counts of equal letters, and the two letters of other columns."""
        return self._all[self._row : self._row + 1].btops[0]

    @property
    def identity(self) -> float:
        """Identities per column, between 0 and 1."""
        return self.identities / self.columns if self.columns else 0.0

    def text(self, *, colour: bool = False, width: int | None = None) -> str:
        """The alignment as `print` shows it, drawn in lines of `width` columns (60 by default)."""
        from exaln.pairwise.alignment_drawing import alignment_text

        return alignment_text(self, colour=colour, width=width)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Plot the alignment. Returns a matplotlib figure, also written to `path` (.svg, .png or .html) if given.

        The plot is a dot plot with the path and the identity along it; for up to 30 letters it is the table of scores.
        On the minus strand it is always a dot plot, in which the path runs down the target.
        """
        from exaln.pairwise.alignment_drawing import alignments_plot

        return alignments_plot([self], path)

    def to_biopython(self) -> Any:
        """A Bio.Align.Alignment: the target is its first sequence, the query its second."""
        from exaln.pairwise.biopython import to_biopython

        return to_biopython(self)

    @staticmethod
    def from_biopython(alignment: Any, scoring: ScoringLike | None = None) -> Alignment:
        """The path of a Bio.Align.Alignment of two sequences, optimal or not, scored with `scoring`.

        The mode is global if the path covers both sequences, else local.
        """
        from exaln.pairwise.biopython import from_biopython

        return from_biopython(alignment, scoring)

    def __repr__(self) -> str:
        where = f"query {self.query_start}:{self.query_end}, target {self.target_start}:{self.target_end}"
        kind = ("" if self.mode.is_local else f" {self.mode}") + ("" if self.strand > 0 else " minus strand")
        return f"<Alignment{kind} score {self.score}, {where}, {self.cigar or 'empty'}>"

    def __str__(self) -> str:
        """The alignment drawn, in colours if stdout is a terminal. `text` does not look at stdout."""
        return self.text(colour=colours.are_wanted(sys.stdout))

    def _repr_html_(self) -> str:
        """The alignment drawn, for notebooks; if it is too long, only its `repr`."""
        from exaln.pairwise.alignment_drawing import alignment_html

        return alignment_html(self)

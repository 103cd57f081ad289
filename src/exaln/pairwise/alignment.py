"""Alignments of pairs, as columns and one by one: scores, where they lie, their paths; `print` draws one."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from exaln.alignments.aligned_pairs import AlignedPairs, PairList
from exaln.alignments.cigar import DELETION, DIFFERENT, EQUAL, INSERTION, Paths, cigar, cigar_list, taken
from exaln.alignments.query_hits import PairHits, QueryHits
from exaln.foundation import arguments
from exaln.foundation.html_table import html_table, html_text
from exaln.foundation.plurals import number_of
from exaln.report import colours
from exaln.report.clean import one_line
from exaln.scoring.modes import GLOBAL, LOCAL, Mode
from exaln.scoring.scoring import Scoring, ScoringLike, as_scoring
from exaln.sequences.inputs import detect_alphabet
from exaln.sequences.records import Records, Text
from exaln.sequences.strands import reverse_complement
from exaln.statistics.evalues import pair_statistics

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from exaln.plots.files import PlottedPair

POSITIONS = ("query_start", "query_end", "target_start", "target_end")
MOST_DRAWN = 100_000
"""Longer alignments are not drawn with letters beside a plot."""

SHOWN, LONGEST_CIGAR = 10, 60
"""Of alignments in a notebook: rows, and letters of a CIGAR."""

COUNTS = ("identities", "positives", "mismatches", "gap_opens", "gaps", "columns")
FEW_ROWS = 8


class Alignments(Sequence["Alignment"]):
    """Alignments of many pairs: NumPy columns, of which `alignments[i]` and iteration make `Alignment` objects.

    queries, targets: all sequences; pairs: which of them make a pair, rows of the two.
    positions: int64[n, 4], query start and end, target start and end, 0-based half-open.
    counts: int32[n, 6], identities, positives, mismatches, gap opens, gap columns, columns.
    strands: int8[n], 1, or -1 where the query aligns with the reverse complement of the target: then the path runs
    along the query and down the target, and positions are those of both sequences as given.
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
        """aligned: with scores multiplied by `scoring.scale`. strands: all plus without them. statistics: bits and
        E-values, float64[n] each; without them those of each pair on its own.
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

    @property
    def scores(self) -> NDArray[np.int64] | NDArray[np.float64]:
        """The score of each pair: int64[n], or float64[n] where the scoring has fractions."""
        return self._scores if self.scoring.scale == 1 else self._scores / self.scoring.scale

    @property
    def scaled_scores(self) -> NDArray[np.int64]:
        """The score of each pair as engines have it, int64[n]: multiplied by `scoring.scale`."""
        return self._scores

    @property
    def bits(self) -> NDArray[np.float64]:
        """Bit scores, float64[n]; NaN where there are none: in other modes than local, and without statistics."""
        return self._bits_and_evalues()[0]

    @property
    def evalues(self) -> NDArray[np.float64]:
        """E-values, float64[n], in the search space of the query and that target; NaN where there are none."""
        return self._bits_and_evalues()[1]

    def _bits_and_evalues(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if self._statistics is None:
            if self.mode.is_local:
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
        """The same with = for equal and X for different letters in place of M."""
        return cigar_list(self.paths, extended=True)

    def to_arrow(self) -> Any:
        """A pyarrow.Table, one row per pair; `report.arrow` says what its columns mean."""
        from exaln.report.arrow import pairs_table

        return pairs_table(self.queries, self.targets, self._columns(), self.paths)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame, one row per pair."""
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
        """What reports are made of: one for each pair, without a hit where nothing aligns.

        With `joined` neighbouring pairs of a query are together. The first query and target are these of the input.
        """
        pairs: Iterator[list[int]] = ([row] for row in range(len(self)))
        if joined:
            query = self.pairs.query.tolist()
            pairs = (list(rows) for _, rows in groupby(range(len(self)), query.__getitem__))
        for rows in pairs:
            yield self._query_hits(rows, first_query, first_target)

    def pair_hits(self, first_query: int = 0, first_target: int = 0, *, also_empty: bool = False) -> PairHits:
        """The same for reports line by line: all pairs at once, those where nothing aligns only with `also_empty`."""
        rows = np.arange(len(self)) if also_empty else np.flatnonzero(self.counts[:, 5])
        query = self.pairs.query[rows]
        of_queries = _texts_and_codes(self.queries, query)
        return PairHits(
            indices=(first_query + query).tolist(),
            query_ids=of_queries[0],
            query_descriptions=of_queries[1],
            queries=of_queries[2],
            query_qualities=[self.queries.quality(row) for row in query.tolist()],
            **self._hit_columns(rows, taken(self.paths, rows), first_target),
        )

    def _query_hits(self, rows: list[int], first_query: int, first_target: int) -> QueryHits:
        query = int(self.pairs.query[rows[0]])
        if len(rows) == 1:
            found: Any = slice(rows[0], rows[0] + 1 if self.counts[rows[0], 5] else rows[0])
            paths = Paths(self.paths.operations, self.paths.offsets[found.start : found.stop + 1])
        else:
            found = np.array([row for row in rows if self.counts[row, 5]], np.int64)
            paths = taken(self.paths, found)
        return QueryHits(
            index=first_query + query,
            query_id=self.queries.ids[query],
            query_description=self.queries.descriptions[query],
            query=self.queries.sequence(query),
            query_quality=self.queries.quality(query),
            **self._hit_columns(found, paths, first_target),
        )

    def _hit_columns(self, rows: Any, paths: Paths, first_target: int) -> dict[str, Any]:
        """What all kinds of hits have."""
        target = self.pairs.target[rows]
        ids, descriptions, codes = _texts_and_codes(self.targets, target)
        return {
            "alphabet": self.queries.alphabet,
            "scoring": self.scoring,
            "target_ids": ids,
            "target_descriptions": descriptions,
            "targets": codes,
            "ordinal": first_target + target,
            "score": self._scores[rows],
            "bits": self.bits[rows],
            "evalue": self.evalues[rows],
            "strand": self.strands[rows],
            "paths": paths,
            **dict(zip(POSITIONS, self.positions[rows].T, strict=True)),
            **dict(zip(COUNTS, self.counts[rows].T, strict=True)),
        }

    def __repr__(self) -> str:
        return f"<Alignments: {number_of(len(self), 'pair')}, {self.mode}, {self.scoring.describe()}>"

    def _repr_html_(self) -> str:
        """The first pairs as a table, for notebooks."""
        names = ["query", "target", "score", "identity", "query range", "target range", "cigar"]
        rows = [
            [
                one_line(one.query_id),
                one_line(one.target_id),
                str(one.score),
                f"{100 * one.identity:.1f}%",
                f"{one.query_start}:{one.query_end}",
                f"{one.target_start}:{one.target_end}" + ("" if one.strand > 0 else " minus"),
                one.cigar if len(one.cigar) <= LONGEST_CIGAR else one.cigar[: LONGEST_CIGAR - 3] + "...",
            ]
            for one in self[:SHOWN]
        ]
        rows += [["..."] + [""] * (len(names) - 1)] if len(self) > SHOWN else []
        return html_table(repr(self).strip("<>"), names, rows)


def _texts_and_codes(records: Records, rows: NDArray[np.int64]) -> tuple[list[str], list[str], list[NDArray[np.uint8]]]:
    """Ids, descriptions and codes of these rows; of many, whole columns are read."""
    some = rows.tolist()
    ids: Sequence[str] | Text = records.ids if len(some) < FEW_ROWS else records.ids.to_list()
    titles: Sequence[str] | Text = records.descriptions if len(some) < FEW_ROWS else records.descriptions.to_list()
    codes, offsets = records.codes, records.offsets if len(some) < FEW_ROWS else records.offsets.tolist()
    sequences = [codes[offsets[row] : offsets[row + 1]] for row in some]
    return [ids[row] for row in some], [titles[row] for row in some], sequences


def _number_or_none(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)


def _position(place: int, text: str) -> Any:
    return property(lambda self: int(self._all.positions[self._row, place]), doc=text)


def _count(place: int, text: str) -> Any:
    return property(lambda self: int(self._all.counts[self._row, place]), doc=text)


class Alignment:
    """The optimal alignment of two sequences. Positions are 0-based half-open; letters that a free end leaves over are
    not part of it. Where nothing aligns the path is empty.
    """

    __slots__ = ("_all", "_row")

    def __init__(self, alignments: Alignments, row: int) -> None:
        """The alignment of one pair of many."""
        self._all, self._row = alignments, row

    query_start: int = _position(0, "Where the alignment begins in the query.")
    query_end: int = _position(1, "Where the alignment ends in the query.")
    target_start: int = _position(2, "Where the alignment begins in the target.")
    target_end: int = _position(3, "Where the alignment ends in the target.")
    identities: int = _count(0, "Columns with equal letters.")
    positives: int = _count(1, "Columns whose letters are equal or, of proteins, score above 0.")
    mismatches: int = _count(2, "Columns with different letters.")
    gap_opens: int = _count(3, "Runs of gap columns.")
    gaps: int = _count(4, "Gap columns.")
    columns: int = _count(5, "All columns.")

    @property
    def score(self) -> int | float:
        """In the units of the scoring as given."""
        return self.scoring.unscale(int(self._all._scores[self._row]))

    @property
    def bits(self) -> float | None:
        """The bit score; None in other modes than local, and where there are no statistics for the scoring."""
        return _number_or_none(self._all.bits[self._row])

    @property
    def evalue(self) -> float | None:
        """The E-value in the search space of this query and this target; None where there is none."""
        return _number_or_none(self._all.evalues[self._row])

    @property
    def strand(self) -> int:
        """1, or -1 where the query aligns with the reverse complement of the target."""
        return int(self._all.strands[self._row])

    @property
    def scoring(self) -> Scoring:
        """The matrix and the gap costs."""
        return self._all.scoring

    @property
    def mode(self) -> Mode:
        """Which ends are free."""
        return self._all.mode

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
        """The name of the query, seq1 if it has none."""
        return self._all.queries.ids[int(self._all.pairs.query[self._row])]

    @property
    def target_id(self) -> str:
        """The name of the target, seq1 if it has none."""
        return self._all.targets.ids[int(self._all.pairs.target[self._row])]

    @property
    def operations(self) -> NDArray[np.uint32]:
        """The path, see `exaln.alignments.cigar.Paths`."""
        return self._all.paths[self._row]

    @property
    def cigar(self) -> str:
        """The path as CIGAR: M, I (consumes the query), D (consumes the target)."""
        return cigar(self.operations)

    @property
    def cigar_extended(self) -> str:
        """The path as CIGAR with = for equal and X for different letters in place of M."""
        return cigar(self.operations, extended=True)

    @property
    def identity(self) -> float:
        """Identical letters per column, between 0 and 1."""
        return self.identities / self.columns if self.columns else 0.0

    def text(self, *, colour: bool = False, width: int | None = None) -> str:
        """The alignment drawn, as `print` shows it, in lines of `width` columns (60)."""
        from exaln.report.drawing import WIDTH, draw

        arguments.flag("colour", colour)
        width = WIDTH if width is None else arguments.integer("width", width, least=1)
        score = f"score {self.score}" + ("" if self.mode.is_local else f", {self.mode}")
        if not self.columns:
            return f"{score}: no similarity" if self.mode.is_local else f"{score}: no letters are aligned"
        share = f"{self.identities}/{self.columns} ({100 * self.identity:.0f}%)"
        picture = draw(
            self.query,
            self.target,
            self.operations,
            scoring=self.scoring,
            query_start=self.query_start,
            target_start=self.target_start,
            strand=self.strand,
            colour=colour,
            width=width,
        )
        minus = "" if self.strand > 0 else ", minus strand"
        return f"{score}, identities {share}, gaps {self.gaps}{minus}\n\n{picture}"

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """A matplotlib figure, also written to `path` (.svg, .png or .html) if that is given.

        A dot plot with the path and the identity along it; for pairs of up to 30 letters the table of scores.
        """
        from exaln.plots.files import check_path, draw, save

        if path is not None:
            check_path(arguments.path("path", path, "the path of a file, .svg, .png or .html"))
        pair = self._plotted()
        figure = draw(pair)
        if path is not None:
            save(pair, figure, path)
        return figure

    def _plotted(self) -> PlottedPair:
        from exaln.plots.files import PlottedPair

        target, target_start = self._target_along_query()
        return PlottedPair(
            query=self.query,
            target=target,
            query_name=self.query_id,
            target_name=self.target_id + ("" if self.strand > 0 else " (reverse complement)"),
            operations=self.operations,
            query_start=self.query_start,
            target_start=target_start,
            score=self.score,
            scoring=self.scoring,
            mode=self.mode,
            text=self.text()
            if self.columns <= MOST_DRAWN
            else f"{self.columns:,} columns are too many to be drawn here.",
        )

    def _target_along_query(self) -> tuple[NDArray[np.uint8], int]:
        """Codes of the strand of the target that is aligned, and where the alignment begins in it."""
        if self.strand > 0:
            return self.target, self.target_start
        return reverse_complement(self.target, self.scoring.alphabet), len(self.target) - self.target_end

    def to_biopython(self) -> Any:
        """A Bio.Align.Alignment: the target is its first sequence, the query its second."""
        from exaln.alignments.biopython import make_alignment

        query, target = (self.query_sequence, self.query_id), (self.target_sequence, self.target_id)
        place = (self.query_start, self.target_start) if self.strand > 0 else (self.query_end, self.target_start)
        operations = self.operations if self.strand > 0 else self.operations[::-1]
        return make_alignment(query, target, operations, *place, self.score, strand=self.strand)

    @staticmethod
    def from_biopython(alignment: Any, scoring: ScoringLike | None = None) -> Alignment:
        """The path of a Bio.Align.Alignment of two sequences, optimal or not, with what it scores here.

        The mode is global if the path covers both sequences, else local.
        """
        from exaln.alignments.biopython import as_runs, coordinates_of, letters_of, with_equality

        query, target = letters_of(alignment)
        texts = [arguments.encoded("alignment", letters) for letters, _ in (query, target)]
        rules = Scoring.default(detect_alphabet(texts)) if scoring is None else as_scoring(scoring)
        codes = [rules.alphabet.encode(letters) for letters, _ in (query, target)]
        found = coordinates_of(alignment)
        query_end = found.query_start + int(found.query_steps.sum())
        target_end = found.target_start + int(found.target_steps.sum())
        positions = [found.query_start, query_end, found.target_start, target_end]
        query_part, target_part = codes[0][found.query_start : query_end], codes[1][found.target_start : target_end]
        columns = with_equality(found.columns(), query_part, target_part)
        runs = as_runs(columns)
        score, counts = _rescored(columns, runs, query_part, target_part, rules)
        mode = GLOBAL if positions == [0, len(codes[0]), 0, len(codes[1])] else LOCAL
        paths = Paths(runs, np.array([0, len(runs)], np.int64))
        aligned = AlignedPairs(score, np.array([positions], np.int64), counts, paths)
        first = PairList(np.zeros(1, np.int64), np.zeros(1, np.int64))
        queries, targets = (
            Records.of(rules.alphabet, [one], [name or "seq1"])
            for one, (_, name) in zip(codes, (query, target), strict=True)
        )
        return Alignments(queries, targets, first, aligned, rules, mode)[0]

    def __repr__(self) -> str:
        where = f"query {self.query_start}:{self.query_end}, target {self.target_start}:{self.target_end}"
        kind = ("" if self.mode.is_local else f" {self.mode}") + ("" if self.strand > 0 else " minus strand")
        return f"<Alignment{kind} score {self.score}, {where}, {self.cigar or 'empty'}>"

    def __str__(self) -> str:
        """Drawn, in colours if stdout is a terminal; `text` is the same without looking at stdout."""
        return self.text(colour=colours.are_wanted(sys.stdout))

    def _repr_html_(self) -> str:
        """The alignment drawn, for notebooks; what is too long to be looked at is only named."""
        names = f"{one_line(self.query_id)} x {one_line(self.target_id)}"
        return html_text(names, self.text() if self.columns <= MOST_DRAWN else repr(self))


def _rescored(
    columns: NDArray[np.uint32],
    runs: NDArray[np.uint32],
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    scoring: Scoring,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The score of a path, int64[1], and its counts, int32[1, 6], as in `AlignedPairs`."""
    is_pair = (columns != INSERTION) & (columns != DELETION)
    pairs = scoring.matrix[query[is_pair[columns != DELETION]], target[is_pair[columns != INSERTION]]]
    gap_opens = int(np.isin(runs & 15, (INSERTION, DELETION)).sum())
    gaps = int((~is_pair).sum())
    score = int(pairs.sum(dtype=np.int64)) - gap_opens * scoring.gap_open - gaps * scoring.gap_extend
    equal, different = int((columns == EQUAL).sum()), int((columns == DIFFERENT).sum())
    counts = [equal, int((pairs > 0).sum()), different, gap_opens, gaps, len(columns)]
    return np.array([score], np.int64), np.array([counts], np.int32)

"""The hits of a search in Python: an Arrow table of alignments, and each target that is hit as a `Hit` object."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, Self, overload

import numpy as np

from exaln.alignments.query_hits import covered
from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.foundation.distinct import run_offsets
from exaln.foundation.html_table import html_table
from exaln.foundation.plurals import number_of
from exaln.report.clean import one_line
from exaln.report.columns import number_text
from exaln.search.hit_source import HitColumns, HitSource
from exaln.sequences.byte_streams import printable
from exaln.statistics.evalues import format_bits, format_evalue

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from exaln.alignments.query_hits import QueryHits
    from exaln.pairwise.alignment import Alignment

_HITS_AT_ONCE = 1 << 10


class HitAlignment(HitColumns):
    """One alignment of a hit; the attributes are the columns of `report.arrow`. Positions are 0-based half-open.

    bits and evalue are None if the scoring has no statistics, evalue2 without `shuffles`. `alignment()` returns the
    alignment with its letters.
    """

    __slots__ = ("_source",)

    @classmethod
    def of(cls, row: dict[str, Any], source: HitSource | None) -> Self:
        """The alignment in a row of the table. source: has the sequences; None if there is none."""
        found = cls(**row)
        object.__setattr__(found, "_source", source)
        return found

    def alignment(self) -> Alignment:
        """The alignment with the letters of both sequences: `print` draws it, and `plot()` plots it.

        The target is read from the database. Raises InputError for hits that come from a file or a table, which have no
        sequences.
        """
        return self._source_of_letters().alignments([self])[0]

    def __repr__(self) -> str:
        return f"<HitAlignment {self._described()}>"

    def _described(self) -> str:
        """Query, target, score, E-value, ranges and strand, in one line."""
        evalue = "" if self.evalue is None else f", E-value {format_evalue(self.evalue)}"
        query, target = f"query {self.query_start}:{self.query_end}", f"target {self.target_start}:{self.target_end}"
        strand = "" if self.strand > 0 else " minus strand"
        names = f"of {_short(self.query_id)} with {_short(self.target_id)}"
        return f"{names}, score {number_text(self.score)}{evalue}, {query}, {target}{strand}"

    def _source_of_letters(self) -> HitSource:
        """The search that found the hit; InputError if there is none."""
        source: HitSource | None = getattr(self, "_source", None)  # a pickled copy has none
        if source is None:
            raise InputError(f"the hit with {arguments.shown(self.target_id)} {NO_SEQUENCES}")
        return source


class HitAlignments(tuple[HitAlignment, ...]):
    """The alignments of a hit, best first: a tuple that is printed with one line per alignment."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))


class Hit(HitAlignment):
    """A target that is hit. `alignments` are its alignments, best first; the attributes are those of the best one."""

    __slots__ = ("_alignments",)

    @staticmethod
    def of_rows(rows: list[dict[str, Any]], source: HitSource | None) -> Hit:
        """The hit in consecutive rows of the table."""
        hit = Hit.of(rows[0], source)
        object.__setattr__(hit, "_alignments", HitAlignments(HitAlignment.of(row, source) for row in rows))
        return hit

    @property
    def alignments(self) -> HitAlignments:
        """All alignments of the query with this target, best first."""
        found = getattr(self, "_alignments", None)
        return HitAlignments([self]) if found is None else found  # dataclasses.replace leaves it out

    def __repr__(self) -> str:
        n = len(self.alignments)
        best = f", best of {n} alignments" if n > 1 else ""
        return f"<Hit {self._described()}{best}>"

    @property
    def query_covered(self) -> int:
        """Letters of the query that are in any of the alignments."""
        ranges = np.array([(one.query_start, one.query_end) for one in self.alignments], np.int64)
        return int(covered(ranges[:, 0], ranges[:, 1], np.array([0, len(ranges)]))[0])

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Plot all alignments of the query with this target together, as `Alignments.plot` does.

        The target is read from the database; see `alignment` for the errors.
        """
        return self._source_of_letters().alignments(self.alignments).plot(path)

    def __reduce__(self) -> tuple[Callable[..., Hit], tuple[list[dict[str, Any]], None]]:
        """Copy and pickle the numbers only, without the database."""
        return Hit.of_rows, ([asdict(one) for one in self.alignments], None)


NO_SEQUENCES = "comes from a table, which has no sequences; hits of exaln.search have them"


class Hits(Sequence[Hit]):
    """The hits of all queries, query by query, best first, in an Arrow table.

    A hit is a target with one alignment or several. `hits[0]` and iteration give `Hit` objects, a slice gives Hits, and
    `hits.of(query)` gives those of one query. The columns are available as a pyarrow, pandas or polars table with one
    row per alignment. Sequences are not in the table. `Hit.alignment` and most formats of `write` take them from the
    queries and the database of the search; hits made from a table have none.
    """

    def __init__(self, table: Any, source: HitSource | None = None) -> None:
        """table: a pyarrow.Table with the columns of `report.arrow`. source: the search that found the hits."""
        self._table = table
        self._source = source

    @staticmethod
    def collect(hits: Iterable[QueryHits], source: HitSource | None = None) -> Hits:
        """Collect the hits of each query into one table."""
        from exaln.report.arrow import hits_table

        return Hits(hits_table(hits), source)

    def of(self, query: int | str) -> Hits:
        """The hits of one query, given by its index (from 0) or its id; empty if it has none.

        Raises InputError if the queries are known and this is none of them.
        """
        if isinstance(query, str):
            is_known = self._source is None or query in self._source.queries.ids.to_list()
            column = "query_id"
        else:
            number = arguments.integer("query", query)
            is_known = self._source is None or number < len(self._source.queries)
            column, query = "query_index", number
        if not is_known:
            assert self._source is not None
            expected = f"the id of a query, or a number below {len(self._source.queries)}"
            raise arguments.wrong("query", query, expected)
        import pyarrow.compute as pc

        return Hits(self._table.filter(pc.equal(self._table[column], query)), self._part_of_source())

    def _part_of_source(self) -> HitSource | None:
        """The source for a part of these hits."""
        return None if self._source is None else replace(self._source, is_whole=False)

    @cached_property
    def _offsets(self) -> NDArray[np.int64]:
        """int64[hits + 1]: the first row of each hit, and the number of rows."""
        return run_offsets(*(self._table[name].to_numpy() for name in ("query_index", "target_ordinal")))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @property
    def n_alignments(self) -> int:
        """Alignments of all hits, the rows of the table."""
        return int(self._table.num_rows)

    @overload
    def __getitem__(self, place: int) -> Hit: ...

    @overload
    def __getitem__(self, place: slice) -> Hits: ...

    def __getitem__(self, place: int | slice) -> Hit | Hits:
        if not isinstance(place, slice):
            number = range(len(self))[place]
            return next(self._hits(number, number + 1))
        chosen = range(len(self))[place]
        if chosen == range(len(self)):
            return Hits(self._table, self._source)
        offsets = self._offsets
        if chosen.step == 1:
            first, end = offsets[chosen.start], offsets[chosen.start + len(chosen)]
            return Hits(self._table.slice(first, end - first), self._part_of_source())
        rows = [row for number in chosen for row in range(offsets[number], offsets[number + 1])]
        return Hits(self._table.take(rows), self._part_of_source())

    def __iter__(self) -> Iterator[Hit]:
        for first in range(0, len(self), _HITS_AT_ONCE):
            yield from self._hits(first, min(first + _HITS_AT_ONCE, len(self)))

    def _hits(self, first: int, end: int) -> Iterator[Hit]:
        """Hits [first, end)."""
        offsets = self._offsets[first : end + 1]
        rows = self._table.slice(offsets[0], offsets[-1] - offsets[0]).to_pylist()
        for begin, stop in pairwise((offsets - offsets[0]).tolist()):
            yield Hit.of_rows(rows[begin:stop], self._source)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hits) and bool(self._table.equals(other._table))

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[Hits], tuple[Any]]:
        """Copy and pickle only the table: the database may be far larger than the hits."""
        return Hits, (self._table,)

    def to_arrow(self, *, btop: bool = False) -> Any:
        """The pyarrow.Table, without a copy, one row per alignment.

        btop: add the column `btop`, BLAST's traceback operations. Raises InputError if the hits have no sequences.
        """
        return self._with_btop() if arguments.flag("btop", btop) else self._table

    def to_pandas(self, *, btop: bool = False) -> Any:
        """A pandas.DataFrame, one row per alignment; btop: as in `to_arrow`."""
        _require("pandas")
        return self.to_arrow(btop=btop).to_pandas()

    def to_polars(self, *, btop: bool = False) -> Any:
        """A polars.DataFrame, one row per alignment; btop: as in `to_arrow`."""
        return _require("polars").from_arrow(self.to_arrow(btop=btop))

    def _with_btop(self) -> Any:
        import pyarrow as pa

        from exaln.report.aligned_rows import btops

        if self._source is None:
            raise InputError(f"btop needs the aligned letters, but this {NO_SEQUENCES}")
        texts = [text for hits in self._source.query_hits(self._table) for text in btops(hits)]
        return self._table.append_column("btop", pa.array(texts, pa.large_string()))

    def write(self, path: str | os.PathLike[str] | BinaryIO, outfmt: str | Sequence[str] | None = None) -> None:
        """Write a report: the same bytes as `exaln search --out path --outfmt outfmt`.

        The format is `outfmt` ("7", "6 std qcovs cigar", "json", ...), or follows from the extension of `path`: .tsv,
        .csv, .txt, .json, .xml, .parquet, .arrow, .feather, .fasta, .sam, .paf or .gff; text formats also with .gz or
        .zst. Hits made from a table have no sequences and can only be written to Parquet and Arrow files.
        """
        from exaln.report.arrow import write_table
        from exaln.report.writing import parse_outfmt, write_report

        arguments.binary_file("path", path, "write", "the path of a file, or a file that is open for bytes")
        name = os.fspath(path) if isinstance(path, str | os.PathLike) else "-"
        if outfmt is None:
            _require_extension(name)
        form = parse_outfmt(_words(outfmt), name)
        if self._source is not None:
            found = self._source.query_hits(self._table)
            write_report(form, found, self._source.summary, path, whole=self._source.whole_targets)
        elif form.is_binary:
            write_table(self._table, form.kind, path)
        else:
            raise InputError(f"{printable(_name_of(path))}: what is written {NO_SEQUENCES}; write .parquet or .arrow")

    def __repr__(self) -> str:
        return _preview(self)

    def _repr_html_(self) -> str:
        """The table of `repr`, for notebooks."""
        columns = _columns(self)
        return html_table(_heading(self), list(columns), _shown_rows(self, columns))


def _words(outfmt: str | Sequence[str] | None) -> str | list[str] | None:
    """`outfmt` checked, as `parse_outfmt` takes it."""
    if outfmt is None:
        return None
    expected = "a format, such as '7' or '6 std cigar'"
    if isinstance(outfmt, str):
        return arguments.text("outfmt", outfmt, expected)
    return [arguments.text("outfmt", word, expected) for word in arguments.items("outfmt", outfmt, expected)]


def _require_extension(name: str) -> None:
    """Raise InputError unless the extension of a file name gives the format."""
    from exaln.foundation.output_file import compression_of, extension_of
    from exaln.report.formats import EXTENSIONS

    compression_of(name)  # raises for compressions other than .gz and .zst
    if extension_of(name) not in ("", *EXTENSIONS):
        raise InputError(
            f"{printable(name)}: hits are written to {', '.join(EXTENSIONS)}; outfmt= gives another format"
        )


def _name_of(path: str | os.PathLike[str] | BinaryIO) -> str:
    return os.fspath(path) if isinstance(path, str | os.PathLike) else str(getattr(path, "name", "output"))


def _require(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError:
        raise InputError(f"to_{package} needs {package}, which is not installed: pip install {package}") from None


SHOWN = 10
NAME = 24

_COLUMNS: dict[str, Callable[[Hit], str]] = {
    "query_id": lambda hit: _short(hit.query_id),
    "target_id": lambda hit: _short(hit.target_id),
    "score": lambda hit: number_text(hit.score),
    "bits": lambda hit: "" if hit.bits is None else format_bits(hit.bits),
    "evalue": lambda hit: "" if hit.evalue is None else format_evalue(hit.evalue),
    "identity": lambda hit: f"{hit.percent_identity:.1f}%",
    "query": lambda hit: f"{hit.query_start}:{hit.query_end}",
    "target": lambda hit: f"{hit.target_start}:{hit.target_end}" + ("" if hit.strand > 0 else " minus"),
}
"""Of the best alignment of each hit."""

Columns = dict[str, Callable[[Hit], str]]


def _columns(hits: Hits) -> Columns:
    """What is shown of each hit; if a hit has several alignments, also how many."""
    if hits.n_alignments == len(hits):
        return _COLUMNS
    return _COLUMNS | {"alignments": lambda hit: f"{len(hit.alignments):,}"}


def _preview(hits: Hits) -> str:
    """The hits as a short table: the first SHOWN - 1 and the last if there are more than SHOWN."""
    if len(hits) == 0:
        return _heading(hits)
    columns = _columns(hits)
    rows = [list(columns), *_shown_rows(hits, columns)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([_heading(hits), *lines])


def _heading(hits: Hits) -> str:
    alignments = f", {number_of(hits.n_alignments, 'alignment')}" if hits.n_alignments != len(hits) else ""
    return f"Hits: {number_of(len(hits), 'hit')}{alignments}"


def _shown_rows(hits: Hits, columns: Columns) -> list[list[str]]:
    rows = [_texts(hit, columns) for hit in (hits if len(hits) <= SHOWN else hits[: SHOWN - 1])]
    if len(hits) > SHOWN:
        rows += [["..."] + [""] * (len(columns) - 1), _texts(hits[-1], columns)]
    return rows


def _texts(hit: Hit, columns: Columns) -> list[str]:
    return [text(hit) for text in columns.values()]


def _short(name: str) -> str:
    return one_line(name if len(name) <= NAME else name[: NAME - 3] + "...")

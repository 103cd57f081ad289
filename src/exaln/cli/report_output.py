"""The output of a search: a report in some format, or the part file of a shard."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exaln.cli.messages import is_terminal
from exaln.errors import InputError

if TYPE_CHECKING:
    from exaln.alignments.query_hits import QueryHits
    from exaln.cluster.shards import Shard
    from exaln.database.database import Database
    from exaln.database.part import DatabasePart
    from exaln.report.fasta_report import WholeTargets
    from exaln.report.writing import Format
    from exaln.search.spec import SearchSpec


@dataclass(frozen=True)
class ReportOutput:
    """--out and --outfmt; the default on a terminal is a table as wide as the screen."""

    out: str
    form: Format
    on_screen: bool

    @staticmethod
    def of(out: str, outfmt: tuple[str, ...]) -> ReportOutput:
        """The output that the options name."""
        from exaln.report.writing import parse_outfmt

        on_screen = out == "-" and is_terminal(sys.stdout)
        form = parse_outfmt(outfmt or ("table" if on_screen else None), out)
        if form.is_binary and on_screen:
            raise InputError(f"{form.kind} is not text; give --out FILE")
        return ReportOutput(out, form, on_screen)

    @property
    def has_qualities(self) -> bool:
        """True if the report contains the base qualities of the queries."""
        return self.form.kind == "sam"

    def part_of(self, database: Database) -> Database | DatabasePart:
        """The part of the database to search: all of it."""
        return database

    def write(self, hits: Iterable[QueryHits], spec: SearchSpec, whole: WholeTargets | None = None) -> None:
        """Write the report. whole: reads whole targets, for FASTA."""
        from exaln.report.writing import write_report

        width = shutil.get_terminal_size().columns if self.on_screen else None
        write_report(self.form, hits, spec.summary, self.out, width=width, whole=whole)


@dataclass(frozen=True)
class PartOutput:
    """--out of a search with --shard: a part file."""

    out: str
    shard: Shard
    on_screen: bool = False
    has_qualities: bool = True  # exaln merge may write SAM

    @staticmethod
    def of(out: str, outfmt: tuple[str, ...], shard: str) -> PartOutput:
        """The output that the options name."""
        from exaln.cluster.shards import Shard

        if outfmt:
            raise InputError("--shard writes a part file; give --outfmt to exaln merge instead")
        if out == "-":
            raise InputError("--shard writes a part file; name it, such as --out part-1.parquet")
        if not out.lower().endswith(".parquet"):
            raise InputError(f"{out}: --shard writes a Parquet file; use a name that ends in .parquet")
        return PartOutput(out, Shard.parse(shard))

    def part_of(self, database: Database) -> Database | DatabasePart:
        """The part of the database to search: the shard."""
        if not database.is_stored:
            raise InputError("--shard needs a database, not a sequence file; build one with exaln makedb")
        return self.shard.of(database)

    def write(self, hits: Iterable[QueryHits], spec: SearchSpec, whole: WholeTargets | None = None) -> None:
        """Write the part file, which needs no whole targets."""
        from exaln.cluster.shards import write_part

        write_part(hits, spec, self.shard, self.out)

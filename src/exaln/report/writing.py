"""The entry point to all reports: hits, query by query, are written to a file in the chosen format.

Reports are streamed: hits that were written are not kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, BinaryIO, cast

from exaln.foundation.output_file import open_output, open_text_output
from exaln.report.formats import CIGAR_KINDS, Format, parse_outfmt
from exaln.report.summary import SearchSummary

if TYPE_CHECKING:
    from exaln.alignments.query_hits import AnyHits, QueryHits
    from exaln.report.fasta_report import WholeTargets

__all__ = ["Format", "SearchSummary", "parse_outfmt", "write_report"]


def write_report(
    form: Format,
    hits: Iterable[AnyHits],
    summary: SearchSummary,
    out: str | os.PathLike[str] | BinaryIO,
    *,
    width: int | None = None,
    colour: bool = False,
    whole: WholeTargets | None = None,
) -> None:
    """Write the hits of all queries to a path, "-" or an open file; hits: a QueryHits per query, in input order.

    Formats by row or by pair (see `Format`) also take PairHits, which is faster if each query has one hit.

    A path is written as a temporary file and renamed at the end, so the report is there as a whole or not at all. The
    extensions .gz and .zst compress text. width: characters per line of the screen table. colour: draw alignments
    with ANSI colours. whole: reads whole targets, for FASTA.
    """
    with (open_output if form.is_binary else open_text_output)(out) as file:
        _write(form, hits, summary, file, width, colour, whole)


def _write(
    form: Format,
    hits: Iterable[AnyHits],
    summary: SearchSummary,
    file: BinaryIO,
    width: int | None,
    colour: bool,
    whole: WholeTargets | None,
) -> None:
    """Write one format. Each is imported only when used: importing pyarrow alone takes longer than a small search."""
    by_query = cast("Iterable[QueryHits]", hits)
    if form.kind in ("6", "7", "10"):
        from exaln.report.tabular import write_commented, write_csv, write_tabs

        if form.kind == "7":
            write_commented(file, by_query, summary, form.columns)
        else:
            (write_tabs if form.kind == "6" else write_csv)(file, hits, form.columns)
    elif form.kind == "0":
        from exaln.report.pairwise_text import write_pairwise

        write_pairwise(file, hits, summary, colour=colour)
    elif form.kind == "table":
        from exaln.report.screen_table import WIDTH, write_table

        write_table(file, by_query, width or WIDTH)
    elif form.kind == "json":
        from exaln.report.json_report import write_json

        write_json(file, hits, summary)
    elif form.kind == "5":
        from exaln.report.blast_xml import write_blast_xml

        write_blast_xml(file, by_query, summary)
    elif form.kind == "15":
        from exaln.report.blast_json import write_blast_json

        write_blast_json(file, by_query, summary)
    elif form.kind == "gff":
        from exaln.report.gff import write_gff

        write_gff(file, hits, summary)
    elif form.kind == "fasta":
        from exaln.report.fasta_report import write_fasta

        write_fasta(file, by_query, aligned=form.aligned, whole=whole)
    elif form.kind in CIGAR_KINDS:
        if form.kind == "sam":
            from exaln.report.sam import write_sam

            write_sam(file, hits, summary, extended=form.extended)
        else:
            from exaln.report.paf import write_paf

            write_paf(file, hits, extended=form.extended)
    else:
        from exaln.report.arrow import write_ipc, write_parquet

        (write_parquet if form.kind == "parquet" else write_ipc)(file, hits, summary)

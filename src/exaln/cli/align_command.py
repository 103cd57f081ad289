"""align: pairs of sequences, record by record, with the alignment drawn."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from exaln.cli import options
from exaln.cli.command import Command
from exaln.cli.database_commands import require_stdin_once
from exaln.cli.messages import Messages, is_terminal, pass_messages
from exaln.errors import InputError

if TYPE_CHECKING:
    from exaln.alphabet import Alphabet
    from exaln.engines.base import Engine
    from exaln.query_hits import QueryHits
    from exaln.records import Records
    from exaln.scoring import Scoring


@click.command(cls=Command, example="exaln align first.fasta second.fasta")
@click.argument("query", metavar="FIRST")
@click.argument("target", metavar="SECOND")
@options.out
@options.outfmt
@options.scoring
@options.alphabet
@options.strip_gaps
@options.engine
@options.threads
@pass_messages
def align(
    messages: Messages,
    /,
    query: str,
    target: str,
    out: str,
    outfmt: tuple[str, ...],
    alphabet: Alphabet | None,
    strip_gaps: bool,
    engine: str,
    threads: int | None,
    **chosen: Any,
) -> None:
    """Align the records of two files pair by pair: the first with the first, the second with the second.

    A file with a single record is aligned with every record of the other. The local optimum of each pair, drawn as text
    unless --outfmt or the extension of --out says otherwise.
    """
    from exaln.engines import choose_engine
    from exaln.fasta import read_records
    from exaln.report import SearchSummary, parse_outfmt, write_report

    require_stdin_once([query, target])
    form = parse_outfmt(outfmt or ("0" if out == "-" else None), out)
    if form.is_binary and out == "-" and is_terminal(sys.stdout):
        raise InputError(f"{form.kind} is not text; give --out FILE")
    queries = read_records(query, alphabet=alphabet, strip_gaps=strip_gaps)
    targets = read_records(target, alphabet=queries.alphabet, strip_gaps=strip_gaps)
    rules = options.make_scoring(queries.alphabet, chosen)
    working = choose_engine(engine, threads, for_pairs=True)
    messages.detail(f"{rules.describe()}; {working.describe()}")
    summary = SearchSummary(target, len(targets), targets.n_residues, rules, is_pairs=True)
    pairs = list(paired(queries, targets, query, target))
    hits = (aligned_pair(i, t, queries.rows(q, q + 1), targets.rows(t, t + 1), rules, working) for i, q, t in pairs)
    write_report(form, hits, summary, out)


def paired(queries: Records, targets: Records, query_name: str, target_name: str) -> Iterator[tuple[int, int, int]]:
    """Number, query and target of each pair."""
    n_queries, n_targets = len(queries), len(targets)
    if n_queries != n_targets and 1 not in (n_queries, n_targets):
        raise InputError(
            f"{query_name} has {n_queries} records and {target_name} has {n_targets}: they go pair by pair, "
            "so the numbers must be equal, or one of them 1"
        )
    for number in range(max(n_queries, n_targets)):
        yield number, min(number, n_queries - 1), min(number, n_targets - 1)


def aligned_pair(
    number: int, target_number: int, query: Records, target: Records, scoring: Scoring, engine: Engine
) -> QueryHits:
    """The alignment of one pair, as the only hit of its query; no hit if nothing is similar."""
    import numpy as np

    from exaln.cigar import Paths
    from exaln.pairwise import align_records
    from exaln.query_hits import QueryHits

    found = align_records(query, target, scoring, engine)
    n = 1 if found.columns else 0

    def column(value: int, kind: type[np.generic]) -> Any:
        return np.full(n, value, kind)

    return QueryHits(
        index=number,
        query_id=query.ids[0],
        query_description=query.descriptions[0],
        query=query.sequence(0),
        alphabet=query.alphabet,
        scoring=scoring,
        target_ids=[target.ids[0]] * n,
        target_descriptions=[target.descriptions[0]] * n,
        targets=[target.sequence(0)] * n,
        ordinal=column(target_number, np.int64),
        score=column(round(found.score * scoring.scale), np.int64),
        bits=np.full(n, np.nan),
        evalue=np.full(n, np.nan),
        strand=column(1, np.int8),
        query_start=column(found.query_start, np.int64),
        query_end=column(found.query_end, np.int64),
        target_start=column(found.target_start, np.int64),
        target_end=column(found.target_end, np.int64),
        paths=Paths(found.operations, np.array([0, *[len(found.operations)] * n], np.int64)),
        identities=column(found.identities, np.int32),
        positives=column(found.positives, np.int32),
        mismatches=column(found.mismatches, np.int32),
        gap_opens=column(found.gap_opens, np.int32),
        gaps=column(found.gaps, np.int32),
        columns=column(found.columns, np.int32),
    )

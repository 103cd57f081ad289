"""The command explain: what a search would do, without doing it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from exaln.cli import options
from exaln.cli.command import Command
from exaln.cli.database_commands import require_stdin_once
from exaln.cli.search_command import make_options
from exaln.cli.text_columns import aligned

if TYPE_CHECKING:
    from exaln.sequences.alphabet import Alphabet


@click.command(cls=Command, example="exaln explain --query query.fasta --db proteins.exaln")
@options.queries
@options.searched
@options.as_json
@options.filters
@options.masks
@options.preset
@options.scoring
@options.alphabet
@options.strip_gaps
@options.max_record_size
@options.engine
def explain(
    query: str,
    databases: tuple[str, ...],
    as_json: bool,
    alphabet: Alphabet | None,
    strip_gaps: bool,
    max_record_size: int | None,
    engine: options.EngineOptions,
    **chosen: Any,
) -> None:
    """Show what a search would do, without doing it: engine, cells, kernels by length, memory, batches, time.

    Takes the options of search. Nothing is scored, and no memory of a GPU is used.
    """
    from exaln.search.explain import explain as explain_search
    from exaln.search.pipeline import Search
    from exaln.sequences.fasta import read_records

    require_stdin_once([query, *databases])
    reading: dict[str, Any] = {"strip_gaps": strip_gaps, "max_record_size": max_record_size}
    opened = options.open_searched(databases, alphabet, **reading)
    chosen = options.with_preset(chosen, opened.alphabet)
    scoring = options.make_scoring(opened.alphabet, chosen)
    search = Search(opened, scoring, engine.choose(), make_options(chosen, opened))
    queries = read_records(query, alphabet=alphabet, like=opened.alphabet, **reading)
    plan = explain_search(search, queries)
    click.echo(json.dumps(plan.to_values(), indent=2) if as_json else aligned(plan.lines()))

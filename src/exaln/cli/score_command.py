"""The command score: exact scores of queries against a database, without alignments."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from exaln.cli import options
from exaln.cli.command import Command, Option
from exaln.cli.database_commands import counted, require_stdin_once
from exaln.cli.messages import Messages, is_terminal, one_line, pass_messages
from exaln.errors import InputError
from exaln.foundation.plurals import number_of
from exaln.foundation.progress import ScoringProgress

if TYPE_CHECKING:
    from exaln.database.database import Database
    from exaln.engines.contracts import Engine
    from exaln.scoring.scoring import Scoring
    from exaln.search.ranking import BestTargets
    from exaln.sequences.alphabet import Alphabet
    from exaln.sequences.records import Records

TABLE_WIDTH = 120
TABLE_PADDING = 12
MIN_DESCRIPTION = 20


@click.command(cls=Command, example="exaln score --query query.fasta --db proteins.exaln --max-target-seqs 10")
@options.queries
@options.searched
@options.out
@click.option(
    "--max-target-seqs",
    "top",
    cls=Option,
    blast=["-max_target_seqs"],
    old=["--top"],
    type=click.IntRange(min=1),
    metavar="K",
    help="Report only the K best targets of each query, best first. [default: all, in the order of the input]",
)
@click.option("--min-score", type=float, metavar="N", help="Report only pairs with at least this score.")
@click.option(
    "--format",
    "layout",
    type=click.Choice(["tsv", "table"]),
    help="table adds descriptions and needs --max-target-seqs. [default: table for --max-target-seqs on a terminal, "
    "otherwise tsv]",
)
@options.scoring
@options.alphabet
@options.strip_gaps
@options.max_record_size
@options.engine
@pass_messages
def score(
    messages: Messages,
    /,
    query: str,
    databases: tuple[str, ...],
    out: str,
    top: int | None,
    min_score: float | None,
    layout: str | None,
    alphabet: Alphabet | None,
    strip_gaps: bool,
    max_record_size: int | None,
    engine: options.EngineOptions,
    **scoring: Any,
) -> None:
    """Print the exact Smith-Waterman score of every query and target.

    Columns: qseqid, sseqid, score, separated by tabs. Nucleotides are compared as given, not on the other strand.
    """
    from exaln.foundation.output_file import open_text_output, require_extension

    if layout == "table" and top is None:
        raise click.UsageError("--format table needs --max-target-seqs")
    require_extension(out, "a table", (".tsv", ".tab", ".txt"))
    require_stdin_once([query, *databases])
    chosen_engine = engine.choose()
    reading: dict[str, Any] = {"strip_gaps": strip_gaps, "max_record_size": max_record_size}
    run = prepare(query, databases, alphabet, reading, scoring, chosen_engine, min_score)
    messages.detail(f"{' '.join(databases)}: {counted(run.database)}")
    messages.detail(f"{query}: {number_of(len(run.queries), 'query')}, {number_of(run.queries.n_residues, 'residue')}")
    messages.detail(f"{run.scoring.describe()}; {run.engine.describe()}")
    on_screen = out == "-" and is_terminal(sys.stdout)
    shown = messages.shows_progress and not (on_screen and top is None)
    work = ScoringProgress(shown=shown, total=run.queries.n_residues * run.database.n_residues)
    with open_text_output(out) as file:
        if top is None:
            write_all(run, file, work, out)
        elif layout == "table" or (layout is None and on_screen):
            write_table(run, find_best(run, top, work), file, on_screen=on_screen)
        else:
            write_best(run, find_best(run, top, work), file)
    messages.details(chosen_engine.scan_report())
    messages.notes(chosen_engine.notes())
    pairs = len(run.queries) * run.database.n_targets
    messages.note(f"{number_of(pairs, 'pair')} in {work.spent(run.engine.describe())}")


@dataclass(frozen=True)
class Run:
    """Everything that a scoring run needs. minimum: score cutoff in the engine's units; None reports every pair."""

    queries: Records
    database: Database
    scoring: Scoring
    engine: Engine
    minimum: int | None


def prepare(
    query: str,
    databases: Sequence[str],
    alphabet: Alphabet | None,
    reading: dict[str, Any],
    scoring: dict[str, Any],
    engine: Engine,
    min_score: float | None,
) -> Run:
    """Open everything that the options name; reading: strip_gaps and max_record_size of sequence files."""
    from exaln.sequences.fasta import read_records

    opened = options.open_searched(databases, alphabet, **reading)
    rules = options.make_scoring(opened.alphabet, scoring)
    rules.require_positive("a search")
    minimum = None if min_score is None else scaled_minimum(min_score, rules)
    queries = read_records(query, alphabet=alphabet, like=opened.alphabet, **reading)
    return Run(queries, opened, rules, engine, minimum)


def scaled_minimum(minimum: float, scoring: Scoring) -> int:
    """The smallest integer score, in the engine's units, that is at least `minimum`."""
    if not math.isfinite(minimum):
        raise InputError(f"--min-score is {minimum}; it must be a finite number")
    return min(math.ceil(Fraction(str(minimum)) * scoring.scale), 2**31 - 1)


def write_all(run: Run, file: BinaryIO, work: ScoringProgress, out: str) -> None:
    """Write every pair as it is scored."""
    from exaln.search.score_table import score_lines

    found = score_lines(run.queries, run.database, run.scoring, run.engine, minimum=run.minimum, progress=work)
    with work:
        for lines in work.ends_before(found, out):
            file.write(lines)


def find_best(run: Run, k: int, work: ScoringProgress) -> BestTargets:
    """The k best targets of each query."""
    from exaln.database.views import target_ordinals
    from exaln.engines.tasks import QueryRows, ScanTask
    from exaln.foundation.mapped_file import read_unchanged
    from exaln.search.ranking import BestTargets

    best = BestTargets(len(run.queries), k, run.minimum or 0)
    with work:
        rows = QueryRows.of_sequences(run.queries, run.scoring)
        blocks = run.engine.score_blocks(ScanTask(rows, run.engine.open(run.database), progress=work))
        for block in read_unchanged(run.database.require_unchanged, blocks):
            ordinals = target_ordinals(run.database, block.rows)
            best.add(block.first_query, block.scores, ordinals)
    return best


def best_rows(run: Run, best: BestTargets) -> Iterator[list[tuple[str, str, str]]]:
    """Target, score and description of the best targets, for each query."""
    from exaln.search.score_table import best_targets, score_texts

    for targets, scores in zip(best_targets(run.database, best.ordinals), best.scores, strict=True):
        texts = score_texts(scores, run.scoring)
        yield [(target, text, description) for (target, description), text in zip(targets, texts, strict=True)]


def write_best(run: Run, best: BestTargets, file: BinaryIO) -> None:
    """Write the best targets of each query as tab-separated lines."""
    from exaln.report.clean import one_line as cleaned

    for query, rows in enumerate(best_rows(run, best)):
        name = cleaned(run.queries.ids[query])
        lines = [f"{name}\t{cleaned(target)}\t{score}\n" for target, score, _ in rows]
        file.write("".join(lines).encode())


def write_table(run: Run, best: BestTargets, file: BinaryIO, *, on_screen: bool) -> None:
    """Write the best targets of each query as a table with descriptions."""
    for query, rows in enumerate(best_rows(run, best)):
        title = f"{run.queries.ids[query]} {run.queries.descriptions[query]}"
        file.write(drawn_table(title, rows, on_screen=on_screen).encode())


def drawn_table(title: str, rows: list[tuple[str, str, str]], *, on_screen: bool) -> str:
    """A table of targets, scores and descriptions as text, as wide as the screen or TABLE_WIDTH."""
    import io

    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    text = io.StringIO()
    console = Console(file=text, force_terminal=on_screen, width=Console().width if on_screen else TABLE_WIDTH)
    table = Table(title=Text(one_line(title), "bold"), title_justify="left", box=box.SIMPLE_HEAD)
    for heading, justify in (("target", "left"), ("score", "right"), ("description", "left")):
        table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    taken = max((len(target) + len(score) for target, score, _ in rows), default=0) + TABLE_PADDING
    for target, score, description in rows:
        shortened = Text(one_line(description), end="")
        shortened.truncate(max(console.width - taken, MIN_DESCRIPTION), overflow="ellipsis")
        table.add_row(Text(one_line(target)), score, shortened)
    console.print(table)
    return text.getvalue()

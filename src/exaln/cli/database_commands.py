"""The commands on databases: makedb, append, compact, dbinfo, verify, fetch and export."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import click

from exaln.cli import options
from exaln.cli.command import Command, Option
from exaln.cli.messages import Messages, is_terminal, pass_messages
from exaln.cli.standard_streams import TerminalText
from exaln.cli.text_columns import aligned
from exaln.errors import DatabaseError, DatabaseProblems, InputError
from exaln.foundation.plurals import number_of
from exaln.foundation.progress import CheckingProgress, ReadingProgress

if TYPE_CHECKING:
    from exaln.database.database import Database
    from exaln.sequences.alphabet import Alphabet


_mask = click.option(
    "--mask",
    metavar="METHOD",
    help="Store masks of seg, dust or tantan, besides lower-case letters; as --method of exaln mask. "
    "[default: lower case only]",
)


@click.command(cls=Command, example="exaln makedb --in proteins.fasta.gz --db proteins.exaln")
@options.inputs
@click.option(
    "--db",
    "-d",
    "database",
    cls=Option,
    blast=["-db", "-out"],
    multiple=True,
    callback=options.single,
    required=True,
    metavar="NAME",
    help="Name of the new database; the extension .exaln is added if it is missing.",
)
@options.alphabet
@options.strip_gaps
@options.max_record_size
@_mask
@click.option("--force", is_flag=True, help="Replace an existing database.")
@options.threads
@pass_messages
def makedb(
    messages: Messages,
    inputs: tuple[str, ...],
    database: str,
    alphabet: Alphabet | None,
    strip_gaps: bool,
    max_record_size: int | None,
    mask: str | None,
    force: bool,
    threads: int | None,
) -> None:
    """Build a database from sequence files."""
    from exaln.database.database import Database

    require_stdin_once(inputs)
    with ReadingProgress(shown=messages.shows_progress) as work:
        built = Database.build(
            inputs,
            database,
            alphabet=alphabet,
            strip_gaps=strip_gaps,
            max_record_size=max_record_size,
            mask=mask,
            force=force,
            threads=threads,
            progress=work,
        )
    messages.detail(f"{built.path}: {number_of(len(built.segments), 'segment')}, {built.info.n_bytes:,} bytes")
    messages.note(f"{built.path}: {counted(built)} in {work.spent()}")


@click.command(cls=Command, example="exaln append --in more.fasta --db proteins.exaln")
@options.inputs
@options.database
@options.alphabet
@options.strip_gaps
@options.max_record_size
@_mask
@options.threads
@pass_messages
def append(
    messages: Messages,
    inputs: tuple[str, ...],
    database: str,
    alphabet: Alphabet | None,
    strip_gaps: bool,
    max_record_size: int | None,
    mask: str | None,
    threads: int | None,
) -> None:
    """Add sequences to a database."""
    require_stdin_once(inputs)
    old = open_directory(database)
    with ReadingProgress(shown=messages.shows_progress) as work:
        new = old.append(
            inputs,
            alphabet=alphabet,
            strip_gaps=strip_gaps,
            max_record_size=max_record_size,
            mask=mask,
            threads=threads,
            progress=work,
        )
    added = new.n_targets - old.n_targets
    messages.note(f"{new.path}: {added:,} added, now {counted(new)}, in {work.spent()}")


@click.command(cls=Command, example="exaln compact --db proteins.exaln")
@options.database
@options.threads
@pass_messages
def compact(messages: Messages, database: str, threads: int | None) -> None:
    """Merge the small segments that many appends leave."""
    old = open_directory(database)
    with ReadingProgress(shown=messages.shows_progress) as work:
        new = old.compact(threads=threads, progress=work)
    before = number_of(len(old.segments), "segment")
    messages.note(f"{new.path}: {before} before, {len(new.segments)} now, in {work.seconds:.1f} s")


@click.command(cls=Command, example="exaln dbinfo --db proteins.exaln")
@options.databases
@options.max_record_size
@options.as_json
def dbinfo(databases: tuple[str, ...], max_record_size: int | None, as_json: bool) -> None:
    """Describe a database, or several as one."""
    values = database_values(open_any(databases, max_record_size))
    if len(databases) > 1:
        values["path"] = " ".join(databases)
    click.echo(json.dumps(values, indent=2) if as_json else aligned([(k, shown(v)) for k, v in values.items()]))


@click.command(cls=Command, example="exaln verify --db proteins.exaln")
@options.database
@pass_messages
def verify(messages: Messages, database: str) -> None:
    """Check every byte of a database against its hashes, and every rule of the format.

    The exit code is 2 if anything is wrong; the damaged segment is named.
    """
    opened = open_directory(database)
    residues = 0
    with CheckingProgress(shown=messages.shows_progress, total=opened.n_residues) as work:
        for segment in opened.segments:
            with suppress(DatabaseError):  # `problems` lists it
                segment.check()
            residues += segment.n_residues
            work(residues)
        problems = opened.problems()
    if problems:
        raise DatabaseProblems(problems)
    n_segments = number_of(len(opened.segments), "segment")
    messages.note(
        f"{opened.path}: fine: {n_segments}, {counted(opened)}; "
        f"checked hashes, letters, order, ids, masks and counts in {work.seconds:.1f} s"
    )


@click.command(cls=Command, example="exaln fetch --db proteins.exaln P69905 P68871")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@options.databases
@click.option(
    "--ids",
    "ids_file",
    cls=Option,
    blast=["-entry_batch"],
    reads=True,
    metavar="FILE",
    help="File with one id per line. - is stdin.",
)
@options.max_record_size
@options.out
@options.width
def fetch(
    ids: tuple[str, ...],
    databases: tuple[str, ...],
    ids_file: str | None,
    max_record_size: int | None,
    out: str,
    width: int,
) -> None:
    """Print the sequences with these ids as FASTA, in the order of the ids.

    Accessions work too: P69905 finds sp|P69905|HBA_HUMAN.
    """
    all_ids = [*ids, *(read_ids(ids_file) if ids_file else [])]
    if not all_ids:
        raise InputError("no ids given; name them as arguments, or a file of ids with --ids")
    open_any(databases, max_record_size).export(sequence_output(out), width=width, ids=all_ids)


@click.command(cls=Command, example="exaln export --db proteins.exaln --out proteins.fasta")
@options.databases
@options.max_record_size
@options.out
@options.width
def export(databases: tuple[str, ...], max_record_size: int | None, out: str, width: int) -> None:
    """Print all sequences of a database as FASTA, in the order of the input."""
    open_any(databases, max_record_size).export(sequence_output(out), width=width)


def sequence_output(out: str) -> str | BinaryIO:
    """The output for FASTA. Files and pipes get headers unchanged; a terminal gets no control characters."""
    if out == "-" and is_terminal(sys.stdout):
        return cast(BinaryIO, TerminalText(sys.stdout.buffer))
    return out


def require_stdin_once(sources: Sequence[str]) -> None:
    """InputError if stdin (-) is named twice."""
    if list(sources).count("-") > 1:
        raise InputError("stdin (-) is named twice, but can be read only once")


def open_any(names: Sequence[str], max_record_size: int | None = None) -> Database:
    """Databases or sequence files, opened as one database."""
    from exaln.database.database import Database

    require_stdin_once(names)
    opened = Database.open(names, max_record_size=max_record_size)
    options.check_blast_kind(opened.alphabet)
    return opened


def open_directory(path: str) -> Database:
    """A database on disk; DatabaseError for a sequence file or stdin."""
    from pathlib import Path

    from exaln.foundation.paths import is_folder

    is_file = path == "-"
    with suppress(OSError):  # opening it reports the problem
        is_file = is_file or is_folder(Path(path)) is False
    if is_file:
        raise DatabaseError(f"{path}: not a database; build one with exaln makedb")
    return open_any([path])


def counted(database: Database) -> str:
    """The size of a database in words: 60 protein sequences, 16,624 residues."""
    n_sequences = number_of(database.n_targets, f"{database.alphabet.name} sequence")
    return f"{n_sequences}, {number_of(database.n_residues, 'residue')}"


def read_ids(path: str) -> list[str]:
    """The first word of each line that is not blank; a leading `>` is dropped, so FASTA headers work."""
    try:
        with click.open_file(path, encoding="utf-8") as file:
            words = [line.removeprefix(">").split() for line in file]
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text; one id per line is needed") from None
    return [word[0] for word in words if word]


def database_values(database: Database) -> dict[str, Any]:
    """What dbinfo prints, as values for JSON."""
    info = database.info
    return {
        "path": str(info.path) if info.path else None,
        "alphabet": info.alphabet.name,
        "letters": info.alphabet.letters,
        "sequences": info.n_targets,
        "residues": info.n_residues,
        "shortest": info.shortest,
        "mean_length": round(info.n_residues / max(1, info.n_targets), 1),
        "longest": info.longest,
        "segments": info.n_segments,
        "bytes": info.n_bytes,
        "format_version": info.format_version,
        "written_by": info.written_by,
    }


def shown(value: Any) -> str:
    """A value of dbinfo as text."""
    if value is None:
        return "in memory"
    return f"{value:,}" if isinstance(value, int | float) else str(value)

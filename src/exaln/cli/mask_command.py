"""The command mask: stretches of low complexity and repeats of sequences, as masked FASTA or intervals."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from exaln.cli import options
from exaln.cli.command import Command, Option
from exaln.cli.database_commands import open_any, require_stdin_once, sequence_output
from exaln.cli.messages import Messages, pass_messages
from exaln.errors import InputError
from exaln.foundation.plurals import number_of
from exaln.foundation.progress import ReadingProgress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from exaln.masking.methods import Masking
    from exaln.sequences.alphabet import Alphabet
    from exaln.sequences.records import Records

    Batch = tuple[Records, NDArray[np.int32]]


@click.command(cls=Command, example="exaln mask --in proteins.fasta --method seg --out masked.fasta")
@options.input_files(required=False)
@click.option("--db", "-d", "database", cls=Option, reads=True, metavar="DB", help="A database, in place of --in.")
@click.option(
    "--method",
    metavar="METHOD",
    help='seg, dust, tantan or lowercase; their numbers may follow: "seg 12 2.2 2.5" (window, locut, hicut), '
    '"dust 20 64 1" (level, window, linker), "tantan 0.005 0.05 0.9 0.5" (repeat start, repeat end, decay, least '
    "probability). [default: seg for proteins, dust for nucleotides]",
)
@options.out
@click.option(
    "--outfmt",
    cls=Option,
    blast=["-outfmt"],
    type=click.Choice(["fasta", "interval", "bed"]),
    default="fasta",
    show_default=True,
    help="Masked sequences, or the stretches as segmasker lists them or as BED.",
)
@click.option("--hard", is_flag=True, help="Write X or N in place of masked letters. [default: lower case]")
@options.width
@options.alphabet
@options.strip_gaps
@options.max_record_size
@options.threads
@pass_messages
def mask(
    messages: Messages,
    /,
    inputs: tuple[str, ...],
    database: str | None,
    method: str | None,
    out: str,
    outfmt: str,
    hard: bool,
    width: int,
    alphabet: Alphabet | None,
    threads: int | None,
    **reading: Any,
) -> None:
    """Mask stretches of low complexity and repeats in sequences.

    FASTA has masked letters in lower case. Lower case of the input is kept only by --method lowercase.
    """
    from exaln.foundation.output_file import open_output
    from exaln.foundation.resources import usable_threads
    from exaln.masking.methods import Masking
    from exaln.masking.output import masked_text

    if bool(inputs) == (database is not None):
        raise InputError("name sequence files with --in, or a database with --db")
    if hard and outfmt != "fasta":
        raise InputError(f"--hard is for FASTA; leave it out with --outfmt {outfmt}")
    require_stdin_once(inputs)
    chosen = None if method is None else _parsed(method)
    n_sequences = n_residues = n_masked = 0
    with (
        ReadingProgress(shown=messages.shows_progress and out != "-") as work,
        closing(_batches(inputs, database, alphabet, threads, reading, work)) as batches,
    ):
        first = next(batches, None)
        if first is None:
            raise InputError("no sequences found; FASTA or FASTQ with at least one record is needed")
        masking: Masking = chosen or Masking.usual(first[0].alphabet)
        masking.require_fit(first[0].alphabet)
        with open_output(sequence_output(out)) as file:
            for records, rows in chain([first], batches):
                found = masking.find(records, threads=usable_threads(threads))
                file.write(masked_text(records, found, rows, outfmt, hard=hard, width=width))
                merged = found.merged()
                n_sequences, n_residues = n_sequences + len(records), n_residues + records.n_residues
                n_masked += int((merged.ends - merged.begins).sum())
    share = 100 * n_masked / max(1, n_residues)
    messages.note(
        f"{number_of(n_masked, 'residue')} masked by {masking.method}, {share:.1f} % of "
        f"{number_of(n_sequences, 'sequence')}, in {work.spent()}"
    )


def _parsed(method: str) -> Masking:
    from exaln.masking.methods import Masking

    try:
        return Masking.parse(method, "method")
    except InputError as error:
        raise InputError(f"--method: {error}") from None


def _batches(
    inputs: tuple[str, ...],
    database: str | None,
    alphabet: Alphabet | None,
    threads: int | None,
    reading: dict[str, Any],
    work: ReadingProgress,
) -> Generator[Batch, None, None]:
    """The records to mask, and the order in which to write them."""
    import numpy as np

    from exaln.database.source_files import read_inputs

    if database is not None:
        for segment in open_any([database]).segments:
            yield segment.records, segment.input_order
            segment.require_unchanged()
        return
    for records in read_inputs(inputs, alphabet=alphabet, threads=threads, progress=work, **reading):
        yield records, np.arange(len(records), dtype=np.int32)

"""exaln.mask: masks for whatever a user holds as sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exaln.foundation import arguments
from exaln.foundation.resources import usable_threads
from exaln.masking.hard import hard_masked
from exaln.masking.methods import Masking
from exaln.sequences.alphabet import as_alphabet
from exaln.sequences.inputs import as_records

if TYPE_CHECKING:
    from exaln.sequences.alphabet import Alphabet
    from exaln.sequences.inputs import Sequences
    from exaln.sequences.records import Records


def mask(
    sequences: Sequences,
    method: str | None = None,
    *,
    hard: bool = False,
    alphabet: Alphabet | str | None = None,
    threads: int | None = None,
) -> Records:
    """The sequences with stretches of low complexity or repeats masked, as `Records`.

    sequences: a string, several, a dict of sequences by id, `Records`, or the pathlib.Path of a file. method: seg,
    dust, tantan or lowercase, and its numbers, as in "seg 12 2.2 2.5"; seg for proteins and dust for nucleotides if not
    given. hard: put X or N in place of masked letters. Without it the stretches are in `mask` and `mask_offsets` of the
    records, which `search` uses with query_mask="lowercase".

    >>> records = mask("MKVLAAGHTWERQQQQQQQQQQQQDVNPYFSCIM")
    >>> records.mask.tolist()
    [[12, 24]]
    >>> hidden = mask("MKVLAAGHTWERQQQQQQQQQQQQDVNPYFSCIM", hard=True)
    >>> hidden.alphabet.decode(hidden.sequence(0))
    'MKVLAAGHTWERXXXXXXXXXXXXDVNPYFSCIM'
    """
    records = as_records(sequences, as_alphabet(alphabet), "sequences")
    masking = Masking.usual(records.alphabet) if method is None else Masking.parse(method, "method")
    arguments.flag("hard", hard)
    n_threads = usable_threads(None if threads is None else arguments.integer("threads", threads, least=1))
    masked = masking.find(records, threads=n_threads).masks(records)
    return hard_masked(masked) if hard else masked

"""The methods by name, with their parameters as users write them: "seg", "seg 12 2.2 2.5", "dust 20 64 1"."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.masking.dust import DustParameters, dust_intervals, require_nucleotide
from exaln.masking.intervals import Intervals
from exaln.masking.seg import SegParameters, require_protein, seg_intervals
from exaln.masking.tantan import TantanParameters, require_either, tantan_intervals

if TYPE_CHECKING:
    from exaln.sequences.alphabet import Alphabet
    from exaln.sequences.records import Records

Parameters = SegParameters | DustParameters | TantanParameters

PARAMETERS: dict[str, type[Parameters]] = {"seg": SegParameters, "dust": DustParameters, "tantan": TantanParameters}
LOWERCASE = "lowercase"
METHODS = (*PARAMETERS, LOWERCASE)


@dataclass(frozen=True)
class Masking:
    """A method with its parameters; None for lowercase, which keeps the masks that records have.

    >>> Masking.parse("seg 10 1.8 2.1").parameters
    SegParameters(window=10, locut=1.8, hicut=2.1)
    """

    method: str
    parameters: Parameters | None

    @staticmethod
    def parse(text: str, name: str = "mask") -> Masking:
        """The masking of a method's name, which numbers may follow; InputError for anything else.

        name: what messages call the argument.
        """
        method, *numbers = arguments.text(name, text, f"one of {', '.join(METHODS)}").split() or [""]
        arguments.choice(name, method, METHODS)
        if method == LOWERCASE:
            if numbers:
                raise InputError(f"{text!r}: lowercase has no parameters")
            return Masking(method, None)
        kind = PARAMETERS[method]
        names = [field.name for field in fields(kind)]
        try:
            values: list[Any] = [int(number) if number.lstrip("+-").isdigit() else float(number) for number in numbers]
        except ValueError:
            values = []
        if len(values) < len(numbers) or len(values) > len(names):
            raise InputError(f"{text!r}: {method} takes up to {len(names)} numbers: {', '.join(names)}")
        return Masking(method, kind(**dict(zip(names, values, strict=False))))

    @staticmethod
    def usual(alphabet: Alphabet) -> Masking:
        """What BLAST uses: seg for proteins, dust for nucleotides; InputError for other alphabets."""
        if alphabet.is_nucleotide:
            return Masking.parse("dust")
        if alphabet.name == "protein":
            return Masking.parse("seg")
        raise InputError(f"no method masks {alphabet.name} sequences; use lowercase")

    def require_fit(self, alphabet: Alphabet) -> None:
        """Raise InputError if the method is not for such sequences, or needs a library that is not installed."""
        if isinstance(self.parameters, SegParameters):
            require_protein(alphabet)
        elif isinstance(self.parameters, DustParameters):
            require_nucleotide(alphabet)
        elif isinstance(self.parameters, TantanParameters):
            require_either(alphabet)

    def find(self, records: Records, *, threads: int = 1) -> Intervals:
        """The stretches to mask, as the method lists them. InputError if it is not for such sequences."""
        if isinstance(self.parameters, SegParameters):
            return seg_intervals(records, self.parameters, threads=threads)
        if isinstance(self.parameters, DustParameters):
            return dust_intervals(records, self.parameters, threads=threads)
        if isinstance(self.parameters, TantanParameters):
            return tantan_intervals(records, self.parameters, threads=threads)
        return Intervals.of_records(records)

    def added(self, records: Records, *, threads: int = 1) -> Records:
        """The records with these stretches masked, besides their lower-case letters."""
        if self.parameters is None:
            return records
        return Intervals.of_records(records).joined(self.find(records, threads=threads)).masks(records)

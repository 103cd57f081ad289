"""Options that several commands share, each defined once, with its names in BLAST+."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import click

from exaln.cli.command import Option
from exaln.errors import InputError

if TYPE_CHECKING:
    from exaln.alphabet import Alphabet
    from exaln.database import Database
    from exaln.scoring import Scoring

Function = TypeVar("Function", bound=Callable[..., Any])

BLAST_KINDS = {"prot": "protein", "nucl": "dna"}
SIZE = re.compile(r"(\d+\.?\d*|\.\d+) ?([KMGT]?)(?:i?B)?", re.IGNORECASE)


def parse_alphabet(ctx: click.Context, parameter: click.Parameter, value: str | None) -> Alphabet | None:
    """protein, dna, rna, letters of one's own, or what makeblastdb calls prot and nucl."""
    from exaln.alphabet import Alphabet

    return None if value is None else Alphabet.parse(BLAST_KINDS.get(value, value))


def parse_size(text: str) -> int:
    """Bytes: a number, of which K, M, G and T make 1024, 1024 * 1024 and so on times as many.

    >>> parse_size("8G"), parse_size("0.5GiB"), parse_size("500 mb"), parse_size("1000000")
    (8589934592, 536870912, 524288000, 1000000)
    """
    match = SIZE.fullmatch(text.strip())
    n_bytes = int(Fraction(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " ")) if match else 0
    if n_bytes < 1:
        raise InputError(f"{text!r} is no size; write bytes, or a number with K, M, G or T, such as 8G or 500M")
    return n_bytes


def parse_devices(text: str) -> tuple[int, ...]:
    """Numbers of GPUs, as exaln info and nvidia-smi count them.

    >>> parse_devices("0"), parse_devices("0,2, 1")
    ((0,), (0, 2, 1))
    """
    numbers = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch("[0-9]{1,4}", number) for number in numbers):
        raise InputError(f"{text!r} are no GPUs; write their numbers with commas between them, such as 0,1")
    return tuple(map(int, numbers))


def _parsed_by(parse: Any) -> Any:
    """A callback that parses the text of an option, and names the option where it cannot."""

    def callback(ctx: click.Context, parameter: click.Parameter, value: str | None) -> Any:
        try:
            return None if value is None else parse(value)
        except InputError as error:
            raise InputError(f"{parameter.opts[0]}: {error}") from None

    return callback


inputs = click.option(
    "--in",
    "inputs",
    cls=Option,
    blast=["-in"],
    many=True,
    required=True,
    metavar="FILE...",
    help="FASTA or FASTQ, plain or compressed; several may follow. - is stdin.",
)
database = click.option(
    "--db", "database", cls=Option, blast=["-db"], required=True, metavar="DB", help="Database, NAME.exaln."
)
searched = click.option(
    "--db",
    "database",
    cls=Option,
    blast=["-db", "-subject"],
    required=True,
    metavar="DB",
    help="Database, or a sequence file.",
)
queries = click.option(
    "--query", cls=Option, blast=["-query"], required=True, metavar="FILE", help="FASTA or FASTQ. - is stdin."
)
alphabet = click.option(
    "--alphabet",
    cls=Option,
    blast=["-dbtype"],
    callback=parse_alphabet,
    metavar="KIND",
    help="protein (prot), dna (nucl), rna, or your own letters in upper case. [default: detected]",
)
strip_gaps = click.option("--strip-gaps", is_flag=True, help="Remove - and . from sequences instead of refusing them.")
out = click.option(
    "--out", cls=Option, blast=["-out"], default="-", metavar="FILE", help="Where to write. [default: stdout]"
)
mode = click.option(
    "--mode",
    default="local",
    show_default=True,
    metavar="MODE",
    help="local, global, semiglobal (all of FIRST within SECOND), overlap (all ends free), or free: with the ends that "
    "are, such as free:qs,te (qs, qe: start and end of FIRST; ts, te: of SECOND).",
)
width = click.option(
    "--width",
    cls=Option,
    blast=["-line_length"],
    type=click.IntRange(min=0),
    default=60,
    show_default=True,
    metavar="N",
    help="Letters per line; 0: one line per sequence.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
threads = click.option(
    "--threads",
    cls=Option,
    blast=["-num_threads"],
    type=click.IntRange(min=1),
    metavar="N",
    help="Up to 16 per core. [default: one each]",
)
engine = click.option(
    "--engine", default="auto", show_default=True, metavar="NAME", help="auto, cuda, cpu or reference; see exaln info."
)
devices = click.option(
    "--devices", callback=_parsed_by(parse_devices), metavar="N,...", help="GPUs to use. [default: all]"
)
memory = click.option(
    "--memory",
    callback=_parsed_by(parse_size),
    metavar="SIZE",
    help="What a long pair may use, such as 8G. [default: what is free]",
)
gpu_memory = click.option(
    "--gpu-memory",
    callback=_parsed_by(parse_size),
    metavar="SIZE",
    help="Per GPU, such as 8G. [default: all free]",
)


SEARCH_FORMATS = (
    "table for reading, 0 pairwise text, 6 tabular, 7 with comments, 10 csv, json, parquet, arrow, fasta; "
    "columns may follow: 6 std qcovs cigar. [default: by the extension of --out]"
)


def outfmt(formats: str) -> Callable[[Function], Function]:
    """--outfmt of a command with these formats."""
    return click.option("--outfmt", cls=Option, blast=["-outfmt"], many=True, metavar="FORMAT", help=formats)


def scoring(command: Any) -> Any:
    """--matrix, --match, --mismatch, --gapopen and --gapextend."""
    number = {"type": float, "metavar": "N"}
    options = [
        click.option(
            "--matrix",
            cls=Option,
            blast=["-matrix"],
            metavar="NAME",
            help="Built-in matrix or matrix file. [default: BLOSUM62 for proteins]",
        ),
        click.option(
            "--match",
            cls=Option,
            blast=["-reward"],
            help="Score of equal letters. [default: 2 for nucleotides]",
            **number,
        ),
        click.option(
            "--mismatch",
            cls=Option,
            blast=["-penalty"],
            help="Score of others. [default: -3 for nucleotides]",
            **number,
        ),
        click.option(
            "--gapopen",
            cls=Option,
            blast=["-gapopen"],
            help="A gap of length k costs gapopen + k * gapextend. [default: as the matrix needs, 11 for BLOSUM62]",
            **number,
        ),
        click.option(
            "--gapextend",
            cls=Option,
            blast=["-gapextend"],
            help="[default: as the matrix needs, 1 for BLOSUM62]",
            **number,
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def certificates(command: Any) -> Any:
    """--tls-ca, --tls-cert, --tls-key and --insecure."""
    options = [
        click.option("--tls-ca", metavar="FILE", help="Certificate of the authority of the cluster, PEM."),
        click.option("--tls-cert", metavar="FILE", help="Own certificate."),
        click.option("--tls-key", metavar="FILE", help="Key of the own certificate."),
        click.option("--insecure", is_flag=True, help="Allow other machines without encryption."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def cluster(command: Any) -> Any:
    """--cluster and what goes with it."""
    options = [
        click.option(
            "--cluster",
            metavar="WHERE",
            help="Search on a Dask cluster: tls://HOST:PORT or the file of a scheduler, local:N for N workers "
            "on this machine, or slurm.",
        ),
        click.option("--cluster-config", metavar="FILE", help="Jobs of --cluster slurm, TOML."),
        click.option("--plan", is_flag=True, help="Print how the cluster would search, and for how long."),
        click.option("--resume", metavar="DIR", help="Keep finished work of the cluster there, and go on with it."),
        certificates,
    ]
    for option in reversed(options):
        command = option(command)
    return command


def make_scoring(alphabet: Alphabet, chosen: dict[str, Any]) -> Scoring:
    """The scoring that the options of `scoring` ask for."""
    from exaln.scoring import Scoring

    return Scoring(
        chosen["matrix"],
        match=chosen["match"],
        mismatch=chosen["mismatch"],
        gap_open=chosen["gapopen"],
        gap_extend=chosen["gapextend"],
        alphabet=alphabet,
    )


def open_searched(database: str, alphabet: Alphabet | None, *, strip_gaps: bool) -> Database:
    """The database of --db, which must be of the kind of --alphabet if that is given."""
    from exaln.database import Database

    opened = Database.open(database, alphabet=alphabet, strip_gaps=strip_gaps)
    if alphabet is not None and opened.alphabet != alphabet:
        raise InputError(f"{database}: a {opened.alphabet.name} database, but --alphabet says {alphabet.name}")
    return opened

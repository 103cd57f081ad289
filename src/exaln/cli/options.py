"""Options that several commands share, each defined once, with its BLAST+ names.

A group of options that belong together is one decorator (`scoring`, `engine`, `cluster`). To add an option to every
command of a group, add it there, and list its name in `panels`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from exaln.cli.blast_names import NO, OTHER_TASKS, YES
from exaln.cli.command import BLAST_KIND, Option
from exaln.errors import InputError

if TYPE_CHECKING:
    from exaln.database.database import Database
    from exaln.engines.contracts import Engine
    from exaln.scoring.scoring import Scoring
    from exaln.sequences.alphabet import Alphabet

Function = TypeVar("Function", bound=Callable[..., Any])

BLAST_KINDS = {"prot": "protein", "nucl": "dna"}
SIZE = re.compile(r"(\d+\.?\d*|\.\d+) ?([KMGT]?)(?:i?B)?", re.IGNORECASE)


COMPOSITION_MODES = {"0f": 0, "1": 1, "2td": 2, "3": 3}
"""The spellings of each mode of -comp_based_stats, one character each."""


def parse_composition_mode(ctx: click.Context, parameter: click.Parameter, value: str) -> int:
    """The mode of --comp-based-stats, in any spelling of BLAST's."""
    for spellings, mode in COMPOSITION_MODES.items():
        if len(value) == 1 and value.lower() in spellings:
            return mode
    raise InputError(f"--comp-based-stats {value!r} is not a mode; choose 0, 1, 2 or 3")


def parse_alphabet(ctx: click.Context, parameter: click.Parameter, value: str | None) -> Alphabet | None:
    """The alphabet of --alphabet: protein, dna, rna, custom letters, or makeblastdb's prot and nucl."""
    from exaln.sequences.alphabet import Alphabet

    return None if value is None else Alphabet.parse(BLAST_KINDS.get(value, value))


def parse_size(text: str) -> int:
    """A size in bytes, from a number that K, M, G or T may follow (powers of 1024); InputError for anything else.

    >>> parse_size("8G"), parse_size("0.5GiB"), parse_size("500 mb"), parse_size("1000000")
    (8589934592, 536870912, 524288000, 1000000)
    """
    match = SIZE.fullmatch(text.strip())
    n_bytes = int(Fraction(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " ")) if match else 0
    if n_bytes < 1:
        raise InputError(f"{text!r} is not a size; write bytes, or a number with K, M, G or T, such as 8G or 500M")
    return n_bytes


def parse_devices(text: str) -> tuple[int, ...]:
    """GPU numbers, as exaln info and nvidia-smi count them; InputError for anything else.

    >>> parse_devices("0"), parse_devices("0,2, 1")
    ((0,), (0, 2, 1))
    """
    numbers = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch("[0-9]{1,4}", number) for number in numbers):
        raise InputError(f"{text!r} is not a list of GPUs; write their numbers separated by commas, such as 0,1")
    return tuple(map(int, numbers))


def parse_task(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """The name of a BLAST task whose scoring exaln has; UsageError with what to do for others."""
    from exaln.scoring.tasks import TASKS

    if value is None or value.strip().lower() in TASKS:
        return None if value is None else value.strip().lower()
    advice = OTHER_TASKS.get(value.strip().lower(), f"the tasks are {', '.join(TASKS)}")
    raise click.UsageError(f"--task {value} is not available; {advice}", ctx)


def _parsed_by(parse: Any) -> Any:
    """A callback that parses the text of an option; its InputError names the option."""

    def callback(ctx: click.Context, parameter: click.Parameter, value: str | None) -> Any:
        try:
            return None if value is None else parse(value)
        except InputError as error:
            raise InputError(f"{parameter.opts[0]}: {error}") from None

    return callback


def single(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> str | None:
    """The value of an option that may be given once; without this, click would silently take the last one."""
    if len(value) > 1:
        raise click.UsageError(f"{parameter.opts[0]} is given {len(value)} times, but {ctx.info_name} takes one", ctx)
    return value[0] if value else None


def split_databases(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """The names of databases. As in BLAST, -db "a b" names two, unless there is a database "a b"."""
    names: list[str] = []
    for text in value:
        words = _words(text) if any(letter.isspace() for letter in text) and not _exists(text) else [text]
        names += words if any(_exists(word) for word in words) else [text]
    return tuple(names)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return [text]


def _exists(name: str) -> bool:
    """True if there is a file or a database with this name."""
    try:
        return name == "-" or Path(name).exists() or Path(f"{name}.exaln").exists()
    except (OSError, ValueError):
        return False


def input_files(*, required: bool) -> Callable[[Function], Function]:
    """--in of a command."""
    return click.option(
        "--in",
        "inputs",
        cls=Option,
        blast=["-in"],
        many=True,
        reads=True,
        required=required,
        metavar="FILE...",
        help="FASTA or FASTQ files, plain or compressed. - is stdin.",
    )


inputs = input_files(required=True)
database = click.option(
    "--db",
    "-d",
    "database",
    cls=Option,
    blast=["-db"],
    reads=True,
    multiple=True,
    callback=single,
    required=True,
    metavar="DB",
    help="Database, NAME.exaln.",
)
searched = click.option(
    "--db",
    "-d",
    "databases",
    cls=Option,
    blast=["-db", "-subject"],
    reads=True,
    multiple=True,
    callback=split_databases,
    required=True,
    metavar="DB",
    help="Database or sequence file to search; may be repeated.",
)
databases = click.option(
    "--db",
    "-d",
    "databases",
    cls=Option,
    blast=["-db"],
    reads=True,
    multiple=True,
    callback=split_databases,
    required=True,
    metavar="DB",
    help="Database, NAME.exaln; may be repeated.",
)
queries = click.option(
    "--query",
    "-q",
    cls=Option,
    blast=["-query"],
    reads=True,
    required=True,
    metavar="FILE",
    help="Queries, FASTA or FASTQ. - is stdin.",
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
max_record_size = click.option(
    "--max-record-size",
    callback=_parsed_by(parse_size),
    metavar="SIZE",
    help="Refuse records that need more memory than this, such as 32G, and longer headers. "
    "[default: half of the free memory, at most 16G; 64M for headers]",
)
out = click.option(
    "--out",
    "-o",
    cls=Option,
    blast=["-out"],
    writes=True,
    default="-",
    metavar="FILE",
    help="Output file. [default: stdout]",
)
mode = click.option(
    "--mode",
    default="local",
    show_default=True,
    metavar="MODE",
    help="local, global, semiglobal (all of FIRST within SECOND), overlap (all ends free), or free: and the free ends, "
    "such as free:qs,te (qs, qe: start and end of FIRST; ts, te: of SECOND).",
)
width = click.option(
    "--width",
    cls=Option,
    blast=["-line_length"],
    type=click.IntRange(min=0),
    default=60,
    show_default=True,
    metavar="N",
    help="Letters per line; 0 writes each sequence on one line.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
memory = click.option(
    "--memory",
    callback=_parsed_by(parse_size),
    metavar="SIZE",
    help="Memory for a long pair, such as 8G. [default: all free]",
)
engine_name = click.option(
    "--engine",
    default="auto",
    show_default=True,
    metavar="NAME",
    help="auto, cuda, cpu or reference; see exaln info.",
)
devices = click.option(
    "--devices", callback=_parsed_by(parse_devices), metavar="N,...", help="GPUs to use. [default: all]"
)
gpu_memory = click.option(
    "--gpu-memory",
    callback=_parsed_by(parse_size),
    metavar="SIZE",
    help="Memory on each GPU, such as 8G. [default: all free]",
)
threads = click.option(
    "--threads",
    cls=Option,
    blast=["-num_threads"],
    type=click.IntRange(min=1),
    metavar="N",
    help="CPU threads, at most 16 per core. [default: one per core]",
)


def _together(*options: Any) -> Callable[[Any], Any]:
    """A decorator that adds several options, in this order."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@dataclass(frozen=True)
class EngineOptions:
    """--engine, --devices, --gpu-memory (bytes) and --threads; None leaves the choice to exaln."""

    name: str = "auto"
    threads: int | None = None
    devices: tuple[int, ...] | None = None
    gpu_memory: int | None = None

    def choose(self, *, for_pairs: bool = False) -> Engine:
        """The engine that the options ask for; for_pairs: for few pairs. InputError or EngineError if it cannot be."""
        from exaln.engines.choice import choose_engine

        more = {"for_pairs": True} if for_pairs else {}
        return choose_engine(self.name, self.threads, devices=self.devices, gpu_memory=self.gpu_memory, **more)


def engine(command: Any) -> Any:
    """--engine, --devices, --gpu-memory and --threads; the command gets them as one `EngineOptions`, named engine."""

    @wraps(command)
    def collected(
        *args: Any, engine: str, devices: Any, gpu_memory: int | None, threads: int | None, **others: Any
    ) -> Any:
        return command(*args, engine=EngineOptions(engine, threads, devices, gpu_memory), **others)

    return _together(engine_name, devices, gpu_memory, threads)(collected)


PERCENT = click.FloatRange(0, 100)
filters = _together(
    click.option(
        "--evalue",
        cls=Option,
        blast=["-evalue"],
        type=float,
        default=10.0,
        show_default=True,
        metavar="E",
        help="Highest E-value of an alignment.",
    ),
    click.option(
        "--max-target-seqs",
        cls=Option,
        blast=["-max_target_seqs"],
        type=click.IntRange(min=1),
        default=500,
        show_default=True,
        metavar="K",
        help="Report at most this many targets per query, the true best.",
    ),
    click.option(
        "--max-hsps",
        cls=Option,
        blast=["-max_hsps"],
        type=click.IntRange(min=1),
        metavar="N",
        help="Report at most this many alignments per target. [default: all that reach the E-value, up to 100]",
    ),
    click.option(
        "--subject-besthit",
        cls=Option,
        blast=["-subject_besthit"],
        is_flag=True,
        help="Leave out alignments whose range on the query lies within that of a better one with the same target.",
    ),
    click.option(
        "--culling-limit",
        cls=Option,
        blast=["-culling_limit"],
        type=click.IntRange(min=0),
        metavar="N",
        help="Leave out alignments whose range on the query lies within those of N better ones with any targets.",
    ),
    click.option(
        "--comp-based-stats",
        cls=Option,
        blast=["-comp_based_stats"],
        callback=parse_composition_mode,
        default="0",
        metavar="MODE",
        help="Adjust the scores to the composition of each pair of proteins, as BLAST does: 0 no, 1 scaled, "
        "2 optimized or scaled, 3 optimized. [default: 0]",
    ),
    click.option(
        "--margin",
        type=click.FloatRange(min=1),
        default=5.0,
        metavar="X",
        help="With --comp-based-stats: adjust the scores of all pairs that reach X times the E-value without.",
    ),
    click.option("--min-bits", type=float, metavar="N", help="Least bit score of an alignment."),
    click.option(
        "--min-score",
        type=click.IntRange(min=1),
        default=1,
        metavar="N",
        help="Least raw score of an alignment.",
    ),
    click.option(
        "--min-identity",
        cls=Option,
        blast=["-perc_identity"],
        type=PERCENT,
        metavar="%",
        help="Least identity of an alignment.",
    ),
    click.option(
        "--min-query-coverage",
        cls=Option,
        blast=["-qcov_hsp_perc"],
        old=["--query-coverage"],
        type=PERCENT,
        metavar="%",
        help="Least part of the query aligned.",
    ),
    click.option(
        "--min-target-coverage",
        cls=Option,
        old=["--target-coverage"],
        type=PERCENT,
        metavar="%",
        help="Least part of the target aligned.",
    ),
    click.option(
        "--strand",
        cls=Option,
        blast=["-strand"],
        type=click.Choice(["both", "plus", "minus"]),
        default="both",
        show_default=True,
        help="Strand of the targets to search, for nucleotides.",
    ),
    click.option(
        "--ids",
        cls=Option,
        blast=["-seqidlist"],
        reads=True,
        metavar="FILE",
        help="Search only the targets with these ids, one per line.",
    ),
    click.option(
        "--exclude-ids",
        cls=Option,
        blast=["-negative_seqidlist"],
        reads=True,
        metavar="FILE",
        help="Leave out the targets with these ids, one per line.",
    ),
    click.option(
        "--dbsize",
        cls=Option,
        blast=["-dbsize"],
        type=click.IntRange(min=1),
        metavar="N",
        help="Compute E-values for a database of this many residues. [default: its own size]",
    ),
    click.option(
        "--statistics",
        type=click.Choice(["auto", "table", "simulated", "none"]),
        default="auto",
        show_default=True,
        help="Where E-values come from: NCBI's table, or else a simulation (auto), one of these alone, or none.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=1,
        show_default=True,
        metavar="N",
        help="Seed of simulation and shuffles.",
    ),
    click.option(
        "--shuffles",
        type=click.IntRange(min=0),
        default=0,
        metavar="N",
        help="Add evalue2, E-values from N shuffled copies of each target.",
    ),
    click.option(
        "--shuffle-window",
        type=click.IntRange(min=0),
        default=0,
        metavar="W",
        help="Shuffle only within windows of W letters.",
    ),
)
"""The options of a search that decide which hits are reported."""

masks = _together(
    click.option(
        "--query-mask",
        metavar="METHOD",
        help='Mask the queries by seg, dust, tantan or lowercase; numbers may follow, as in "seg 12 2.2 2.5", and '
        "several are separated by commas. [default: none]",
    ),
    click.option(
        "--query-masking",
        type=click.Choice(["hard", "soft"]),
        help="hard: masked letters score as unknown ones. soft: only where it is decided which targets are hits. "
        "[default: hard]",
    ),
    click.option(
        "--target-mask",
        type=click.Choice(["none", "hard", "soft"]),
        default="none",
        show_default=True,
        help="What the masks of the database do: lower-case letters, and those of makedb --mask.",
    ),
    click.option("--seg", cls=Option, blast=["-seg"], hidden=True),
    click.option("--dust", cls=Option, blast=["-dust"], hidden=True),
    click.option("--lcase-masking", cls=Option, blast=["-lcase_masking"], is_flag=True, hidden=True),
    click.option("--soft-masking", cls=Option, blast=["-soft_masking"], type=bool, hidden=True),
)
"""The masks of a search, with BLAST's options; `query_masks` joins them."""


preset = click.option(
    "--preset",
    type=click.Choice(["blast"]),
    help="blast: what blastp and blastn do by default, for every option that is not given: --comp-based-stats 2 for "
    "proteins; --task megablast --query-mask dust --query-masking soft for nucleotides.",
)

SAME_AS = {"seg": "query_mask", "dust": "query_mask", "soft_masking": "query_masking"}
"""BLAST's options, and those of exaln that they stand for."""


def with_preset(chosen: dict[str, Any], alphabet: Alphabet) -> dict[str, Any]:
    """The options of a search, with the values of --preset for those that were not given."""
    if chosen["preset"] is None:
        return chosen
    from exaln.search.presets import preset_values

    source = click.get_current_context().get_parameter_source
    given = {name for name in chosen if source(name) not in (None, ParameterSource.DEFAULT)}
    given |= {SAME_AS[name] for name in given if name in SAME_AS}
    return chosen | preset_values(chosen["preset"], alphabet, given)


def query_masks(chosen: dict[str, Any]) -> dict[str, str]:
    """The options `query_mask` and `query_masking` for what was chosen, in exaln's words and in BLAST's.

    >>> query_masks({"seg": "12 2.2 2.5", "dust": "no", "lcase_masking": True})
    {'query_mask': 'seg 12 2.2 2.5,lowercase', 'query_masking': 'hard'}
    """
    methods = [] if chosen.get("query_mask") is None else [chosen["query_mask"]]
    for method in ("seg", "dust"):
        value = chosen.get(method)
        if value is not None and not re.fullmatch(NO, value.strip().lower()):
            is_usual = re.fullmatch(YES, value.strip().lower())
            methods.append(method if is_usual else f"{method} {value.strip()}")
    if chosen.get("lcase_masking"):
        methods.append("lowercase")
    if len(methods) > 1 and "none" in methods:
        raise InputError("--query-mask is none, but another option masks the queries; leave one of them out")
    soft, masking = chosen.get("soft_masking"), chosen.get("query_masking")
    if soft is not None and masking is not None and (masking == "soft") != soft:
        raise InputError(f"--query-masking is {masking}, but -soft_masking {str(soft).lower()}; leave one of them out")
    return {"query_mask": ",".join(methods) or "none", "query_masking": masking or ("soft" if soft else "hard")}


SEARCH_FORMATS = (
    "table for reading, 0 pairwise text, 5 BLAST's XML, 6 tabular, 7 with comments, 10 csv, 15 BLAST's JSON, json, "
    "parquet, arrow, fasta, sam, paf, gff; columns may follow: 6 std qcovs cigar; extended may follow sam and paf: = "
    "and X in place of M. "
    "[default: by the extension of --out]"
)


def outfmt(formats: str) -> Callable[[Function], Function]:
    """--outfmt of a command with these formats."""
    return click.option("--outfmt", cls=Option, blast=["-outfmt"], many=True, metavar="FORMAT", help=formats)


_NUMBER: dict[str, Any] = {"cls": Option, "type": float, "metavar": "N"}
scoring = _together(
    click.option(
        "--task",
        cls=Option,
        blast=["-task"],
        callback=parse_task,
        metavar="NAME",
        help="Scoring of a BLAST task: blastp, blastp-short (PAM30, gaps 9/1), blastn, blastn-short (1/-3, gaps 5/2), "
        "megablast. Options beside it replace parts.",
    ),
    click.option(
        "--matrix",
        cls=Option,
        blast=["-matrix"],
        reads=True,
        metavar="NAME",
        help="Built-in matrix or matrix file. [default: BLOSUM62 for proteins]",
    ),
    click.option("--match", blast=["-reward"], help="Score of equal letters. [default: 2 for nucleotides]", **_NUMBER),
    click.option(
        "--mismatch",
        blast=["-penalty"],
        help="Score of different letters. [default: -3 for nucleotides]",
        **_NUMBER,
    ),
    click.option(
        "--gap-open",
        blast=["-gapopen"],
        help="A gap of length k costs gap-open + k * gap-extend. [default: by the matrix, 11 for BLOSUM62]",
        **_NUMBER,
    ),
    click.option(
        "--gap-extend",
        blast=["-gapextend"],
        help="Cost of each letter of a gap. [default: by the matrix, 1 for BLOSUM62]",
        **_NUMBER,
    ),
)
"""--task, --matrix, --match, --mismatch, --gap-open and --gap-extend; `make_scoring` reads them."""

certificates = _together(
    click.option(
        "--tls-ca", cls=Option, reads=True, metavar="FILE", help="Certificate authority of the cluster, a PEM file."
    ),
    click.option("--tls-cert", cls=Option, reads=True, metavar="FILE", help="Certificate of this process."),
    click.option("--tls-key", cls=Option, reads=True, metavar="FILE", help="Private key of this process."),
    click.option("--insecure", is_flag=True, help="Allow other machines without encryption."),
)
dashboard = click.option(
    "--dashboard", is_flag=True, help="Serve Dask's status pages, to every user of this machine. [default: none]"
)
cluster = _together(
    click.option(
        "--cluster",
        metavar="WHERE",
        help="Search on a Dask cluster: the address of its scheduler (tls://HOST:PORT) or its scheduler file, local:N "
        "for N workers on this machine, or slurm.",
    ),
    click.option("--cluster-config", cls=Option, reads=True, metavar="FILE", help="Jobs of --cluster slurm, TOML."),
    click.option("--plan", is_flag=True, help="Print how the cluster would search and the estimated time, then stop."),
    click.option(
        "--resume", metavar="DIR", help="Keep finished work in this folder; the same command continues from it."
    ),
    dashboard,
    certificates,
)
"""--cluster and the options that belong to it; `ClusterOptions` reads them."""


def make_scoring(alphabet: Alphabet, chosen: dict[str, Any]) -> Scoring:
    """The scoring that the options of `scoring` ask for; chosen: their values."""
    from exaln.scoring.scoring import Scoring
    from exaln.scoring.tasks import TASKS

    given = {name: chosen[name] for name in ("matrix", "match", "mismatch", "gap_open", "gap_extend")}
    if chosen["task"] is not None:
        task = TASKS[chosen["task"]]
        task.require_molecule(alphabet, f"--task {chosen['task']}")
        given = task.arguments(**given)
    return Scoring(**given, alphabet=alphabet)


def open_searched(
    databases: Sequence[str], alphabet: Alphabet | None, *, strip_gaps: bool, max_record_size: int | None = None
) -> Database:
    """The databases of --db as one; InputError if they are of another kind than --alphabet says."""
    from exaln.database.database import Database

    opened = Database.open(databases, alphabet=alphabet, strip_gaps=strip_gaps, max_record_size=max_record_size)
    if alphabet is not None and opened.alphabet != alphabet:
        raise InputError(
            f"{' '.join(databases)}: a {opened.alphabet.name} database, but --alphabet says {alphabet.name}"
        )
    return opened


def check_blast_kind(alphabet: Alphabet) -> None:
    """InputError if a BLAST option, such as -dbtype nucl, is for other sequences than these."""
    ctx = click.get_current_context(silent=True)
    option, kind = ("", "") if ctx is None else ctx.meta.get(BLAST_KIND, ("", ""))
    if kind and kind != ("nucleotide" if alphabet.is_nucleotide else alphabet.name):
        raise InputError(f"{option} is for {kind} sequences, but these are {alphabet.name}; leave it out")

"""BLAST+ options and programs: those with a counterpart, values that are accepted, and advice for all others."""

import re
import warnings
from pathlib import Path

import pytest

from command import Exaln
from exaln import __version__
from exaln.cli import cli
from exaln.cli.blast_names import FETCH_OPTIONS, MAKEDB_OPTIONS, PROGRAMS, SEARCH_OPTIONS, BlastOption, advice_for
from exaln.cli.command import Command
from golden_data import GOLDEN, rows

PROTEINS = ["-query", GOLDEN / "blastp_columns_query.fasta", "-db", GOLDEN / "blastp_columns_targets.fasta"]
BASES = ["-query", GOLDEN / "blastn_columns_query.fasta", "-db", GOLDEN / "blastn_columns_targets.fasta"]
COMMAND_OF = {"makeblastdb": "makedb", "blastdbcmd": "fetch"}
TABLES = {"search": SEARCH_OPTIONS, "makedb": MAKEDB_OPTIONS, "fetch": FETCH_OPTIONS}
ALL_OPTIONS = [tuple((*row, "")[:3]) for row in rows("blast_options.tsv")]
"""Program, option, and the kind of its value: empty for a flag."""


def names_of(command: str) -> set[str]:
    """Every way to write an option of a command."""
    params = cli.commands[command].params
    return {"-h", "-help", "--help"}.union(*({*param.opts, *getattr(param, "blast", ())} for param in params))


def advised(command: str, option: BlastOption) -> list[str]:
    """All advice that an option gives in a command."""
    return [advice_for(text, names_of(command)) for text in (option.advice, *(option.refused or {}).values())]


# Every option of BLAST+


@pytest.mark.parametrize(("program", "name", "kind"), ALL_OPTIONS, ids=lambda text: str(text).split(",")[0])
def test_every_option_of_blast_is_offered_or_explained(program: str, name: str, kind: str) -> None:
    command = COMMAND_OF.get(program, "search")
    option = TABLES[command].get(name)
    if option is None:
        assert name in names_of(command)
    else:
        assert name not in names_of(command), "an option with a counterpart needs no advice"
        assert option.is_flag == (kind == "")
        assert option.advice


def test_the_list_of_options_is_that_of_eight_programs() -> None:
    programs = {"blastp", "blastn", "blastx", "tblastn", "tblastx", "psiblast", "makeblastdb", "blastdbcmd"}
    assert {program for program, _, _ in ALL_OPTIONS} == programs
    assert len(ALL_OPTIONS) == 440


@pytest.mark.parametrize("command", ["search", "score", "align", "makedb", "append", "fetch", "export", "dbinfo"])
def test_advice_names_options_and_commands_that_exist(command: str) -> None:
    table = {"score": "search", "align": "search", "append": "makedb", "export": "fetch", "dbinfo": "fetch"}
    for option in TABLES[table.get(command, command)].values():
        for advice in advised(command, option):
            check_advice(advice, command)


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_of_blast_are_explained(exaln: Exaln, program: str) -> None:
    code, message = exaln.error(program, "-query", "x", "-db", "y")
    assert code == 1
    assert f"no such command: {program!r}; {PROGRAMS[program]} (see" in message
    assert "did you mean" not in message
    check_advice(PROGRAMS[program], "search")


def check_advice(advice: str, command: str) -> None:
    """The commands that it names exist, and one of them, or the command itself, has each option that it names."""
    named = set(re.findall(r"exaln ([a-z]+)", advice)) - {"searches", "has", "does", "divides"}
    assert named <= set(cli.commands), advice
    known = set().union(*(names_of(one) for one in named or {command}))
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", advice)) <= known, advice


# Values that say what exaln does anyway


@pytest.mark.parametrize(
    "options",
    [
        "-seg no",
        "-comp_based_stats F",
        "-comp_based_stats 0",
        "-comp_based_stats f",
        "-task blastp",
        "-mt_mode 0",
        "-mt_mode 1",
        "-parse_deflines",
        "-soft_masking false",
        "-use_sw_tback",
        "-culling_limit 0",
        "-sorthits 0",
        "-sorthsps 1",
        "-searchsp 0",
        "-line_length 60",
        "-num_iterations 1",
        "-seg=no",
        "-seg no -comp_based_stats F -sorthsps 0 -task blastp -num_threads 2 -mt_mode 1 -parse_deflines",
    ],
)
def test_neutral_values_change_nothing_in_a_protein_search(exaln: Exaln, options: str) -> None:
    assert exaln("search", *PROTEINS, *options.split(), "-outfmt", "6").out == exaln("search", *PROTEINS).out != ""


@pytest.mark.parametrize(
    "options", ["-dust no", "-task blastn", "-no_greedy", "-use_index false", "-sum_stats 0", "-soft_masking F"]
)
def test_neutral_values_change_nothing_in_a_nucleotide_search(exaln: Exaln, options: str) -> None:
    assert exaln("search", *BASES, *options.split()).out == exaln("search", *BASES).out != ""


def test_neutral_values_work_in_the_middle_of_options_with_many_values(exaln: Exaln) -> None:
    usual = exaln("search", *PROTEINS, "-outfmt", "6 qseqid sseqid").out
    assert exaln("search", "-outfmt", "6", "qseqid", "sseqid", "-seg", "no", *PROTEINS).out == usual


def test_neutral_values_of_makeblastdb_and_blastdbcmd(exaln: Exaln, tmp_path: Path) -> None:
    made = exaln(
        "makedb", "-in", PROTEINS[3], "-input_type", "fasta", "-parse_seqids", "-hash_index", "-out", tmp_path / "x"
    )
    assert made.code == 0
    fetched = exaln("fetch", "-db", tmp_path / "x", "-dbtype", "prot", "-outfmt", "%f", "-strand", "plus", "plain")
    assert (fetched.code, fetched.out) == (0, ">plain third\nKWVTFISLLFLFSSAYSRGVFRRDAHKSEVAHRFKDLGEE\n")
    assert "sequences       4" in exaln("dbinfo", "-db", tmp_path / "x", "-info").out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("-task blastp", "-task blastp is for protein sequences, but these are dna; leave it out"),
        ("-word_size 7", "no such option: -word_size; leave it out: every score is the exact optimum"),
        ("-task dc-megablast", "-task dc-megablast is not available; leave it out"),
        ("-task tblastn", "-task tblastn is not available; exaln does not translate"),
        ("-task short", "-task short is not available; the tasks are blastp, blastp-short, blastn"),
        ("-max_hsps 0", "invalid value for '--max-hsps': 0 is not in the range x>=1"),
        ("-max_hsps few", "invalid value for '--max-hsps': 'few' is not a whole number"),
        ("-evalue low", "invalid value for '--evalue': 'low' is not a number"),
        ("-sorthsps 3", "-sorthsps 3 is not available; alignments of a target are sorted by score"),
        ("-sorthsps", "-sorthsps needs a value"),
        ("-db_soft_mask 11", "no such option: -db_soft_mask; use --target-mask soft"),
        ("-comp_based_stats 5", "--comp-based-stats '5' is not a mode; choose 0, 1, 2 or 3"),
        ("-taxids 9606", "no such option: -taxids; exaln has no taxonomy"),
        ("-query_gencode 1", "no such option: -query_gencode; exaln does not translate"),
        ("-num_alignments 5", "no such option: -num_alignments; use --max-target-seqs"),
        ("-sorthits 3", "-sorthits 3 is not available; hits are sorted by E-value"),
        ("-entry_batch x", "no such option: -entry_batch; exaln fetch has it"),
        ("-mt_mod 1", "no such option: -mt_mod"),
    ],
)
def test_other_values_are_refused_with_what_to_do(exaln: Exaln, options: str, says: str) -> None:
    code, message = exaln.error("search", *BASES, *options.split())
    assert code == 1
    assert says in message


@pytest.mark.parametrize(
    ("option", "never"),
    [("-taxids", "--ids"), ("-query_gencode", "--query-coverage"), ("-num_iterations", "--max-target-seqs")],
)
def test_advice_does_not_name_options_that_do_something_else(exaln: Exaln, option: str, never: str) -> None:
    assert never not in exaln.error("search", *PROTEINS, option, "5")[1]


def test_options_of_search_are_not_offered_by_score(exaln: Exaln) -> None:
    assert "no such option: -evalue; exaln search has it" in exaln.error("score", *PROTEINS, "-evalue", "1")[1]
    says = "-seg yes is not available; leave it out: sequences are scored as they are; exaln search has masks"
    assert says in exaln.error("score", *PROTEINS, "-seg", "yes")[1]
    assert "; in exaln search, use --dbsize" in exaln.error("score", *PROTEINS, "-searchsp", "1")[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert exaln("score", *PROTEINS, "-seg", "no").out == exaln("score", *PROTEINS).out != ""


def test_the_kind_of_a_fetched_database_is_checked(exaln: Exaln) -> None:
    code, message = exaln.error("fetch", "-db", PROTEINS[3], "-dbtype", "nucl", "plain")
    assert (code, "-dbtype nucl is for nucleotide sequences, but these are protein" in message) == (1, True)


@pytest.mark.parametrize("command", [["score", *BASES], ["align", BASES[1], BASES[3], "--all"], ["search", *BASES]])
def test_a_task_for_other_letters_is_refused_by_every_command(exaln: Exaln, command: list[object]) -> None:
    assert exaln(*command, "-task", "blastn").code == 0
    code, message = exaln.error(*command, "-task", "blastp")
    assert (code, "-task blastp is for protein sequences, but these are dna" in message) == (1, True)


@pytest.mark.parametrize(
    ("options", "same"),
    [
        ("-task blastp-short", "--matrix PAM30 --gap-open 9 --gap-extend 1"),
        ("--task BLASTP-short --gap-open 10", "--matrix PAM30 --gap-open 10 --gap-extend 1"),
        ("-task blastp -matrix BLOSUM45", "--matrix BLOSUM45"),
        ("-task blastp-short -matrix BLOSUM80", "--matrix BLOSUM80"),
    ],
)
def test_a_task_is_its_scoring_for_proteins(exaln: Exaln, options: str, same: str) -> None:
    search = ["search", *PROTEINS, "--evalue", "1000"]
    found = exaln(*search, *options.split())
    assert found.out == exaln(*search, *same.split()).out != exaln(*search).out


@pytest.mark.parametrize(
    ("options", "same"),
    [
        ("-task blastn-short", "--match 1 --mismatch -3 --gap-open 5 --gap-extend 2"),
        ("-task megablast", "--match 1 --mismatch -2 --gap-open 0 --gap-extend 2.5"),
        ("-task megablast -reward 2 -penalty -3", "--match 2 --mismatch -3 --gap-open 0 --gap-extend 4"),
        ("-task blastn -penalty -2", "--match 2 --mismatch -2 --gap-open 5 --gap-extend 2"),
    ],
)
def test_a_task_is_its_scoring_for_nucleotides(exaln: Exaln, options: str, same: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some have no E-values
        found = exaln("search", *BASES, *options.split())
        assert found.out == exaln("search", *BASES, *same.split()).out != exaln("search", *BASES).out


# -help, -h and -version


def test_help_and_version_as_blast_writes_them(exaln: Exaln) -> None:
    assert exaln("-help").out == exaln("-h").out == exaln("--help").out != ""
    assert exaln("-version").out == exaln("--version").out == f"exaln, version {__version__}\n"


@pytest.mark.parametrize("command", cli.commands)
def test_help_and_version_of_every_command_as_blast_writes_them(exaln: Exaln, command: str) -> None:
    assert isinstance(cli.commands[command], Command)
    assert exaln(command, "-help").out == exaln(command, "-h").out == exaln(command, "--help").out != ""
    assert exaln(command, "-version").out == f"exaln, version {__version__}\n"

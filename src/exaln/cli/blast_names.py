"""BLAST+ options and programs that exaln does not have, with what to do instead.

An option is accepted if its value asks for what exaln does anyway (`-seg no`); otherwise it is refused with advice.
tests/golden/blast_options.tsv lists every option of BLAST+ 2.12, and a test looks for each of them here or among the
options of the commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

YES = "true|t|yes|y|1"
NO = "false|f|no|n|0"
"""The spellings of a Boolean in NCBI's programs, as patterns."""

EXACT = "leave it out: every score is the exact optimum, and there is no heuristic to set"
NO_FILTER = "leave it out: sequences are scored as they are; exaln search has masks, and exaln mask writes them"
OTHER_MASKS = "masks are those of seg, dust, tantan and lower case; use --query-mask"
STORED_MASKS = "makedb stores lower-case letters as masks, and those of --mask seg, dust or tantan"
NO_GI = "GI numbers were retired by NCBI"
NO_TAXONOMY = "exaln has no taxonomy: select the sequences of these organisms before exaln makedb"
NO_TRANSLATION = "exaln does not translate: translate the sequences first, for example with EMBOSS transeq"
NO_PROFILES = "exaln has no profiles: exaln search compares with the sequence of the query itself"
NO_STRATEGY = "leave it out, and keep the command line in a script"
NO_BEST_HITS = "alignments that overlap on the query are all reported; --culling-limit 1 keeps the best of them"
LOCAL = "exaln searches files and databases on this machine"
CUT = "cut the sequences to this range first"
LOG = "messages go to stderr: redirect it with 2> FILE"
OWN_FORMAT = "leave it out: exaln has its own database format"
AS_STORED = "leave it out: headers are printed as they were read"
DESCRIBED = "exaln dbinfo --db DB describes a database"


@dataclass(frozen=True)
class BlastOption:
    """A BLAST option without a counterpart in exaln.

    advice: what to do if it is refused. neutral: a pattern of the values that ask for what exaln does anyway; for a
    flag, True if exaln does what it asks for; None if no value is accepted. refused: advice for certain values.
    kinds: the kind of sequences, protein or nucleotide, that a value is for.
    """

    advice: str
    neutral: str | bool | None = None
    refused: dict[str, str] | None = None
    kinds: dict[str, str] | None = None

    @property
    def is_flag(self) -> bool:
        """True if the option takes no value."""
        return isinstance(self.neutral, bool)

    def accepts(self, value: str) -> bool:
        """True if exaln does anyway what the value asks for; `value` is empty for a flag."""
        if self.neutral is None or isinstance(self.neutral, bool):
            return bool(self.neutral) and not value
        return re.fullmatch(self.neutral, value.strip().lower()) is not None

    def refusal(self, name: str, value: str, known: Iterable[str]) -> str:
        """The message that refuses a value and says what to do; known: the options of the command."""
        advice = advice_for((self.refused or {}).get(value.strip().lower(), self.advice), known)
        if self.neutral is None or self.neutral is False:
            return f"no such option: {name}; {advice}"
        return f"{name} {value} is not available; {advice}" if value else f"{name} needs a value; {advice}"

    def kind(self, value: str) -> str | None:
        """protein or nucleotide if the value is for such sequences, otherwise None."""
        return (self.kinds or {}).get(value.strip().lower())


def _all(names: str, option: BlastOption) -> dict[str, BlastOption]:
    return dict.fromkeys((f"-{name}" for name in names.split()), option)


OTHER_TASKS = {
    **dict.fromkeys(("blastp-fast", "dc-megablast", "rmblastn", "vecscreen"), EXACT),
    **dict.fromkeys(("blastx", "blastx-fast", "tblastn", "tblastn-fast", "tblastx"), NO_TRANSLATION),
    **dict.fromkeys(("psiblast", "phiblastp", "deltablast", "rpsblast"), NO_PROFILES),
}
"""Values of -task that are refused, with what to do."""

SEARCH_OPTIONS: dict[str, BlastOption] = {
    # Queries and targets
    **_all("query_loc subject_loc", BlastOption(CUT)),
    **_all("query_gencode db_gencode max_intron_length", BlastOption(NO_TRANSLATION)),
    **_all("gilist negative_gilist", BlastOption(f"{NO_GI}; list ids in a file for --ids or --exclude-ids")),
    **_all(
        "ipglist negative_ipglist",
        BlastOption("a FASTA file carries no IPG numbers; list ids in a file for --ids or --exclude-ids"),
    ),
    **_all("taxids negative_taxids taxidlist negative_taxidlist", BlastOption(NO_TAXONOMY)),
    "-no_taxid_expansion": BlastOption(NO_TAXONOMY, False),
    "-entrez_query": BlastOption(LOCAL),
    "-remote": BlastOption(LOCAL, False),
    # Heuristics
    **_all("word_size threshold window_size off_diagonal_range gap_trigger", BlastOption(EXACT)),
    **_all("xdrop_ungap xdrop_gap xdrop_gap_final template_type template_length index_name", BlastOption(EXACT)),
    "-use_index": BlastOption(EXACT, NO),
    "-no_greedy": BlastOption(EXACT, True),
    "-use_sw_tback": BlastOption(EXACT, True),
    "-min_raw_gapped_score": BlastOption("use --min-score"),
    "-ungapped": BlastOption(
        "alignments have gaps; costs that rule them out, such as --gap-open 1000, leave no E-values", False
    ),
    # Masks and composition
    "-db_soft_mask": BlastOption("use --target-mask soft: a database has one set of masks, without numbers"),
    "-db_hard_mask": BlastOption("use --target-mask hard: a database has one set of masks, without numbers"),
    **_all("filtering_db window_masker_taxid window_masker_db", BlastOption(OTHER_MASKS)),
    # Statistics
    "-searchsp": BlastOption("use --dbsize: the search space follows from the residues of the database", "0"),
    "-sum_stats": BlastOption("every alignment has the E-value of its own score; write false, or leave it out", NO),
    # Reports
    **_all("best_hit_overhang best_hit_score_edge", BlastOption(NO_BEST_HITS)),
    **_all("num_descriptions num_alignments", BlastOption("use --max-target-seqs, which applies to all formats")),
    "-sorthits": BlastOption("hits are sorted by E-value; write 0, or sort the report", "0"),
    "-sorthsps": BlastOption("alignments of a target are sorted by score; write 1, or leave it out", "[01]"),
    "-show_gis": BlastOption(f"{NO_GI}; ids are printed as in the files", False),
    "-html": BlastOption("use --outfmt 0 for text, or json", False),
    "-line_length": BlastOption("alignments are drawn 60 letters wide", "60"),
    "-parse_deflines": BlastOption(EXACT, True),
    "-mt_mode": BlastOption("leave it out: exaln divides queries and database among threads by itself", "[0-2]"),
    **_all("import_search_strategy export_search_strategy", BlastOption(NO_STRATEGY)),
    # psiblast
    "-num_iterations": BlastOption(NO_PROFILES, "1"),
    **_all("in_pssm out_pssm out_ascii_pssm in_msa msa_master_idx", BlastOption(NO_PROFILES)),
    **_all("pseudocount inclusion_ethresh phi_pattern", BlastOption(NO_PROFILES)),
    **_all("save_pssm_after_last_round save_each_pssm ignore_msa_master", BlastOption(NO_PROFILES, False)),
}
"""Of blastp, blastn, blastx, tblastn, tblastx and psiblast."""

_EXPORT = "export it first: blastdbcmd -db NAME -entry all | exaln makedb --in - --db NAME"
_NUMBERS = "list ids as arguments, or in a file for --ids"

MASKS_OF_SEARCHES: dict[str, BlastOption] = {
    "-seg": BlastOption(NO_FILTER, NO),
    "-dust": BlastOption(NO_FILTER, NO),
    "-soft_masking": BlastOption(NO_FILTER, NO),
    "-lcase_masking": BlastOption("leave it out: lower-case letters score as upper-case ones", False),
}
"""Those of searches that exaln search has, and the commands on pairs have not."""

MAKEDB_OPTIONS: dict[str, BlastOption] = {
    "-input_type": BlastOption("FASTA and FASTQ are read", "fasta", {"blastdb": _EXPORT}),
    "-title": BlastOption("leave it out: reports name a database by its path"),
    "-parse_seqids": BlastOption(OWN_FORMAT, True),
    "-hash_index": BlastOption(OWN_FORMAT, True),
    "-blastdb_version": BlastOption(OWN_FORMAT),
    "-max_file_sz": BlastOption("leave it out: a database of any size is split as needed"),
    **_all("mask_data mask_id mask_desc gi_mask_name", BlastOption(STORED_MASKS)),
    "-gi_mask": BlastOption(STORED_MASKS, False),
    **_all("taxid taxid_map oid_masks metadata_output_prefix", BlastOption("leave it out: " + NO_TAXONOMY)),
    "-logfile": BlastOption(LOG),
}
"""Of makeblastdb."""

FETCH_OPTIONS: dict[str, BlastOption] = {
    "-dbtype": BlastOption(
        "the kinds are prot, nucl and guess", "guess|prot|nucl", None, {"prot": "protein", "nucl": "nucleotide"}
    ),
    "-entry": BlastOption("give ids as arguments of exaln fetch; exaln export prints all sequences"),
    **_all("ipg ipg_batch pig", BlastOption(f"a FASTA file carries no IPG numbers; {_NUMBERS} of exaln fetch")),
    **_all("taxids taxidlist", BlastOption(NO_TAXONOMY)),
    **_all("no_taxid_expansion tax_info", BlastOption(NO_TAXONOMY, False)),
    **_all("info exact_length metadata", BlastOption(DESCRIBED, False)),
    **_all("recursive remove_redundant_dbs", BlastOption(DESCRIBED, False)),
    **_all("list list_outfmt", BlastOption(DESCRIBED)),
    "-show_blastdb_search_path": BlastOption("a database is named by its path; there is no search path", False),
    "-range": BlastOption(CUT.replace("first", "afterwards")),
    "-strand": BlastOption("sequences are printed as they were read; write plus, or leave it out", "plus"),
    "-mask_sequence_with": BlastOption("sequences are printed as they were read, lower case too"),
    "-outfmt": BlastOption("sequences are printed as FASTA; write %f, or leave it out", "%f"),
    "-target_only": BlastOption(AS_STORED, False),
    "-ctrl_a": BlastOption(AS_STORED, True),
    "-long_seqids": BlastOption(AS_STORED, True),
    "-get_dups": BlastOption(AS_STORED, True),
    "-logfile": BlastOption(LOG),
}
"""Of blastdbcmd."""

_BY_COMMAND = {
    "search": SEARCH_OPTIONS,
    **dict.fromkeys(("score", "align"), SEARCH_OPTIONS | MASKS_OF_SEARCHES),
    **dict.fromkeys(("makedb", "append"), MAKEDB_OPTIONS),
    **dict.fromkeys(("fetch", "export", "dbinfo", "verify"), FETCH_OPTIONS),
    "dbinfo": FETCH_OPTIONS | _all("info exact_length", BlastOption(DESCRIBED, True)),
}

_TRANSLATED = "(for example with EMBOSS transeq) and use exaln search"
_SEARCH = "exaln search -query FILE -db DB takes its options"
PROGRAMS: dict[str, str] = {
    **dict.fromkeys(("blastp", "blastn", "blast", "blastall", "legacy_blast"), _SEARCH),
    "megablast": f"{_SEARCH}; for its scoring write --task megablast",
    "blastx": f"exaln does not translate: translate the queries {_TRANSLATED}",
    "tblastn": f"exaln does not translate: translate the database {_TRANSLATED}",
    "tblastx": f"exaln does not translate: translate queries and database {_TRANSLATED}",
    **dict.fromkeys(("psiblast", "deltablast", "rpsblast", "rpsblast+", "rpstblastn"), NO_PROFILES),
    **dict.fromkeys(("makeblastdb", "formatdb"), "exaln makedb -in FILE -out NAME builds a database"),
    **dict.fromkeys(
        ("blastdbcmd", "fastacmd"),
        "exaln fetch prints sequences by id, exaln export all of them, exaln dbinfo describes a database",
    ),
    "blastdbcheck": "exaln verify checks a database",
    "blastdb_aliastool": "exaln search takes several databases (--db A --db B) and lists of ids (--ids FILE)",
    **dict.fromkeys(
        ("blastdbcp", "blastdb_convert", "blastdb_path"),
        "a database is a folder, copied like any other; see exaln dbinfo",
    ),
    **dict.fromkeys(("update_blastdb", "update_blastdb.pl"), "download FASTA files and build with exaln makedb"),
    "blast_formatter": "choose the format with --outfmt of exaln search; parquet keeps all hits for later",
    "dustmasker": "exaln mask -in FILE --method dust -outfmt interval takes its place",
    "segmasker": "exaln mask -in FILE --method seg -outfmt interval takes its place",
    **dict.fromkeys(("windowmasker", "convert2blastmask"), OTHER_MASKS.replace("use", "exaln search has")),
}
"""What to use in place of a BLAST+ program that is given as a command of exaln."""


def blast_option(command: str | None, name: str) -> BlastOption | None:
    """The BLAST option that -name, --name or --na-me stands for in a command; None if BLAST has no such option."""
    return _BY_COMMAND.get(command or "", {}).get(blast_spelling(name))


def blast_spelling(name: str) -> str:
    """The name of an option as BLAST writes it.

    >>> blast_spelling("--max-hsps")
    '-max_hsps'
    """
    return "-" + name.lstrip("-").replace("-", "_")


def advice_for(advice: str, known: Iterable[str]) -> str:
    """The advice; if it names an option that the command lacks, preceded by the command that has it."""
    named = set(re.findall(r"--[a-z][a-z-]*", advice))
    return advice if "exaln " in advice or named <= set(known) else f"in exaln search, {advice}"

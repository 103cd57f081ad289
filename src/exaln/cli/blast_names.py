"""Options of BLAST+ that exaln does not have, and what to say to those who use them."""

EXACT = "every score here is the exact optimum, there is no heuristic to set"
NO_FILTER = "sequences are scored as they are, without filtering or composition-based statistics"
IDS_KEPT = "leave it out: ids are always kept whole and can be fetched"
IN_SEARCH = "exaln search has it"
TRUE_BEST = "use --max-target-seqs: the true best hits are reported, one alignment per target"
SUBSET = "give the ids to exaln search with --ids or --exclude-ids"
LOCAL = "exaln searches files and databases on this machine"

NOT_OFFERED: dict[str, str] = {
    **dict.fromkeys(
        ["-task", "-word_size", "-threshold", "-window_size", "-sum_stats", "-min_raw_gapped_score"], EXACT
    ),
    **dict.fromkeys(
        ["-xdrop_ungap", "-xdrop_gap", "-xdrop_gap_final", "-ungapped", "-use_sw_tback", "-mt_mode"], EXACT
    ),
    **dict.fromkeys(["-seg", "-dust", "-comp_based_stats", "-soft_masking", "-lcase_masking"], NO_FILTER),
    **dict.fromkeys(["-db_soft_mask", "-db_hard_mask", "-mask_data", "-window_masker_db"], NO_FILTER),
    **dict.fromkeys(["-evalue", "-outfmt", "-perc_identity", "-qcov_hsp_perc", "-dbsize", "-strand"], IN_SEARCH),
    **dict.fromkeys(["-seqidlist", "-negative_seqidlist"], IN_SEARCH),
    **dict.fromkeys(["-num_alignments", "-num_descriptions", "-max_hsps", "-subject_besthit"], TRUE_BEST),
    **dict.fromkeys(["-culling_limit", "-best_hit_overhang", "-best_hit_score_edge"], TRUE_BEST),
    **dict.fromkeys(["-gilist", "-negative_gilist", "-taxids", "-taxidlist", "-negative_taxids"], SUBSET),
    "-html": "use --outfmt 0 for text, or json",
    "-searchsp": "use --dbsize",
    **dict.fromkeys(["-query_loc", "-subject_loc", "-range"], "cut the sequences before"),
    **dict.fromkeys(["-parse_seqids", "-hash_index", "-blastdb_version"], IDS_KEPT),
    **dict.fromkeys(["-title", "-taxid", "-taxid_map", "-logfile"], "leave it out: a database keeps sequences only"),
    "-max_file_sz": "leave it out: a database of any size is split as needed",
    "-input_type": "leave it out: FASTA and FASTQ are recognised, compressed or not",
    "-remote": LOCAL,
    "-entry": "give the ids as arguments, or a file of them with --ids",
}

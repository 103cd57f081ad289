"""Options of BLAST+ that exaln does not have, and what to say to those who use them."""

EXACT = "every score here is the exact optimum, there is no heuristic to set"
NO_FILTER = "sequences are scored as they are, without filtering or composition-based statistics"
IDS_KEPT = "leave it out: ids are always kept whole and can be fetched"
SCORES_ONLY = "this command reports scores; use --min-score or --top"
SUBSET = "make a database of the wanted sequences with fetch and makedb"
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
    **dict.fromkeys(["-evalue", "-outfmt", "-num_alignments", "-num_descriptions", "-html", "-max_hsps"], SCORES_ONLY),
    **dict.fromkeys(["-qcov_hsp_perc", "-culling_limit", "-best_hit_overhang", "-subject_besthit"], SCORES_ONLY),
    **dict.fromkeys(
        ["-gilist", "-seqidlist", "-taxids", "-taxidlist", "-negative_seqidlist", "-negative_taxids"], SUBSET
    ),
    **dict.fromkeys(["-query_loc", "-subject_loc", "-range"], "cut the sequences before"),
    **dict.fromkeys(["-parse_seqids", "-hash_index", "-blastdb_version"], IDS_KEPT),
    **dict.fromkeys(["-title", "-taxid", "-taxid_map", "-logfile"], "leave it out: a database keeps sequences only"),
    "-max_file_sz": "leave it out: a database of any size is split as needed",
    "-input_type": "leave it out: FASTA and FASTQ are recognised, compressed or not",
    "-remote": LOCAL,
    "-strand": "the strand as given is scored",
    "-entry": "give the ids as arguments, or a file of them with --ids",
}

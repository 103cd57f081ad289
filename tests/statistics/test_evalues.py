"""E-values, bit scores and score cutoffs, against blastp, blastn, a second implementation and brute force."""

import gzip
import math
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import golden_data
from exaln.errors import InputError
from exaln.scoring.matrices import DATA as MATRICES
from exaln.scoring.scoring import Scoring
from exaln.search.options import SearchOptions
from exaln.statistics.evalues import NucleotideStatistics, Statistics, format_bits, format_evalue, pair_statistics
from exaln.statistics.karlin_altschul import DATA, NucleotideParameters, parameters_of, ungapped_parameters
from exaln.statistics.length_bins import N_BINS, length_bin, shortest_in_bin

BLOSUM62 = Scoring("BLOSUM62")
LIMITS = [1e6, 10, 1e-3, 1e-30]


def statistics_of(scoring: Scoring, db_residues: int = 1_315_854, db_targets: int = 7_616) -> Statistics:
    statistics = Statistics.of(scoring, db_residues=db_residues, db_targets=db_targets)
    assert statistics is not None
    return statistics


def protein_tables() -> list[tuple[str, int, int]]:
    rows = golden_data.rows("blastp_matrices_evalues.tsv")
    return sorted({(row[0], int(row[1]), int(row[2])) for row in rows})


def printed(statistics: Statistics, score: str, query_length: str, target_length: str) -> tuple[str, str]:
    evalue = statistics.evalues([int(score)], int(query_length), [int(target_length)])
    return format_evalue(float(evalue[0])), format_bits(float(statistics.bits([int(score)])[0]))


def spouge(score: int, m: int, n: int, db_residues: int) -> float:
    """E of BLOSUM62 11/1 as blastp computes it, one number at a time."""

    def one(length: int) -> tuple[float, float]:
        left = length - (1.9 * score + 24 * (0.7916 - 1.9))
        sd = max(2 * 42.6028 / 0.267, 42.6028 * score + 24 * (4.96466 - 42.6028)) ** 0.5
        fits = 0.5 * math.erfc(-left / sd / 2**0.5)
        return left * fits + sd * 0.3989422804014327 * math.exp(-0.5 * (left / sd) ** 2), fits

    (p1, fits1), (p2, fits2) = one(m), one(n)
    c = max(2 * 43.6362 / 0.267, 43.6362 * score + 24 * (4.96466 - 43.6362))
    return (p1 * p2 + c * fits1 * fits2) * 0.041 * math.exp(-0.267 * score) * db_residues / n


@pytest.mark.parametrize("row", golden_data.rows("blastp_evalues.tsv"), ids=lambda row: "-".join(row[1:5]))
def test_evalues_and_bits_are_those_that_blastp_prints(row: list[str]) -> None:
    _, _, query_length, target_length, score, evalue, bits = row
    assert printed(statistics_of(BLOSUM62), score, query_length, target_length) == (evalue, bits)


def test_evalues_are_those_of_blastp_for_every_matrix() -> None:
    rows = golden_data.rows("blastp_matrices_evalues.tsv")
    assert len(protein_tables()) == 82
    for name, gap_open, gap_extend, query_length, target_length, score, evalue, bits in rows:
        scoring = Scoring(name, gap_open=int(gap_open), gap_extend=int(gap_extend))
        statistics = statistics_of(scoring, 106_497, 600)
        assert printed(statistics, score, query_length, target_length) == (evalue, bits), repr(scoring)


def test_evalues_are_those_of_blastn_for_every_table() -> None:
    for *values, query_length, target_length, score, evalue, bits in golden_data.rows("blastn_evalues.tsv"):
        match, mismatch, gap_open, gap_extend = map(int, values)
        scoring = Scoring(match=match, mismatch=mismatch, gap_open=gap_open, gap_extend=gap_extend)
        statistics = statistics_of(scoring, 16_499, 35)
        assert printed(statistics, score, query_length, target_length) == (evalue, bits), repr(scoring)


@pytest.mark.skipif("EXALN_DATA" not in os.environ, reason="set EXALN_DATA to the folder of real data")
def test_evalues_are_those_of_all_rows_that_blastp_reported() -> None:
    data = Path(os.environ["EXALN_DATA"])
    queries = sequence_lengths((data / "protein" / "cudasw4_allqueries.fasta").read_text())
    targets = sequence_lengths(gzip.decompress((data / "scop" / "scop20.fasta.gz").read_bytes()).decode())
    statistics = statistics_of(BLOSUM62, sum(targets.values()), len(targets))
    text = (data / "oracle" / "blastp2.12_cbsF_segno_cudasw4q_x_scop20.tsv").read_text()
    rows = [line.split("\t") for line in text.splitlines()]
    assert len(rows) == 317
    for row in rows:
        lengths = str(queries[row[0]]), str(targets[row[1]])
        assert printed(statistics, row[12], *lengths) == (row[10], row[11].strip()), row


def sequence_lengths(fasta: str) -> dict[str, int]:
    records = (record.split("\n", 1) for record in fasta.removeprefix(">").split("\n>"))
    return {header.split()[0]: len("".join(body.split())) for header, body in records}


@pytest.mark.parametrize(
    ("score", "query", "target", "db_targets", "db_residues", "bits", "adjustment", "classic", "finite_size"),
    [
        (50, 150, 350, 500_000, 180_000_000, 23.868, 106, 364.9, 814.6),
        (100, 300, 400, 570_000, 206_000_000, 43.128, 117, 0.002652, 0.001916),
        (200, 1000, 2000, 570_000, 206_000_000, 81.648, 128, 3.062e-14, 2.915e-14),
    ],
)
def test_evalues_computed_with_another_program(
    score: int,
    query: int,
    target: int,
    db_targets: int,
    db_residues: int,
    bits: float,
    adjustment: int,
    classic: float,
    finite_size: float,
) -> None:
    statistics = statistics_of(BLOSUM62, db_residues, db_targets)
    assert float(statistics.bits(score)) == pytest.approx(bits, abs=5e-4)
    assert float(statistics.evalues(score, query, target)) == pytest.approx(finite_size, rel=5e-4)
    parameters = NucleotideParameters(0.267, 0.041, 0.14, 1.9, -30, even_scores_only=False)
    adjusted = NucleotideStatistics(parameters, db_residues=db_residues, db_targets=db_targets)
    assert adjusted.length_adjustment(query) == adjustment
    assert float(adjusted.evalues(score, query, target)) == pytest.approx(classic, rel=5e-4)


@given(st.integers(0, 2500), st.integers(1, 40_000), st.integers(1, 40_000), st.integers(1, 10**12))
def test_evalues_agree_with_a_second_implementation_of_the_formula(
    score: int, m: int, n: int, db_residues: int
) -> None:
    evalue = float(statistics_of(BLOSUM62, db_residues).evalues(score, m, n))
    assert evalue == pytest.approx(spouge(score, m, n, db_residues), rel=1e-9, abs=1e-300)


def test_an_evalue_does_not_depend_on_the_other_values_of_an_array() -> None:
    """Neither the neighbours of a pair nor how arrays lie in memory may change its E-value: ranks depend on it."""
    random = np.random.default_rng(1)
    scores, lengths = random.integers(0, 500, 777), random.integers(1, 5000, 777)
    for statistics in (statistics_of(BLOSUM62), statistics_of(Scoring(match=2, mismatch=-3))):
        together = statistics.evalues(scores, 321, lengths)
        alone = [float(statistics.evalues([s], 321, [n])[0]) for s, n in zip(scores, lengths, strict=True)]
        assert together.tolist() == alone
        assert statistics.evalues(scores[::-3], 321, lengths[::-3]).tolist() == alone[::-3]
        many = statistics.evalues(scores[:, np.newaxis], lengths[:5], 77)
        assert many.shape == (777, 5)
        assert many[:, 2].tolist() == statistics.evalues(scores, int(lengths[2]), 77).tolist()


@pytest.mark.parametrize("scoring", [BLOSUM62, Scoring(match=1, mismatch=-3, gap_open=2, gap_extend=1)])
@pytest.mark.parametrize(("db_residues", "db_targets"), [(0, 0), (1, 1), (100, 50), (2**50, 2**40)])
def test_extreme_lengths_and_scores_give_finite_evalues(scoring: Scoring, db_residues: int, db_targets: int) -> None:
    statistics = statistics_of(scoring, db_residues, db_targets)
    lengths = np.array([0, 1, 2, 12, 35_000, 2**31, 2**51])
    scores = np.array([0, 1, 50, 5000, 2**31 - 1])
    evalues = statistics.evalues(scores[:, np.newaxis, np.newaxis], lengths[:, np.newaxis], lengths)
    assert evalues.shape == (5, 7, 7)
    assert np.all(np.isfinite(evalues))
    assert np.all(evalues >= 0)
    assert np.all(np.diff(evalues, axis=0) <= 0)
    for length in lengths.tolist():
        assert np.all(statistics.minimum_scores(length, 10) >= 1)


@pytest.mark.parametrize(("name", "gap_open", "gap_extend"), protein_tables())
def test_evalue_falls_with_score(name: str, gap_open: int, gap_extend: int) -> None:
    """Also the bound behind the cuts, which is this at the shortest length of a bin."""
    statistics = statistics_of(Scoring(name, gap_open=gap_open, gap_extend=gap_extend))
    scores = np.arange(400)[:, np.newaxis, np.newaxis]
    lengths = np.array([1, 2, 5, 12, 30, 80, 200, 1000, 10_000, 2**40])
    evalues = statistics.evalues(scores, lengths[:, np.newaxis], lengths)
    assert np.all((evalues[1:] < evalues[:-1]) | (evalues[:-1] < 1e-300))


def brute_force_cuts(statistics: Statistics, query_length: int, limit: float, longest: int) -> list[int]:
    """For each bin, the least score from 1 with which some length of the bin has E <= limit."""
    lengths = np.arange(1, longest + 1)
    least = np.zeros(longest, np.int64)
    for start in range(1, 5000, 50):
        scores = np.arange(start, start + 50)
        is_enough = statistics.evalues(scores[:, np.newaxis], query_length, lengths) <= limit
        found = (least == 0) & is_enough.any(axis=0)
        least[found] = scores[is_enough.argmax(axis=0)[found]]
        if least.all():
            break
    bins = length_bin(lengths)
    return [int(least[bins == b].min()) for b in range(1, bins[-1] + 1)]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize(
    ("scoring", "query_length"),
    [
        (BLOSUM62, 12),
        (BLOSUM62, 400),
        (Scoring("BLOSUM62", gap_open=9, gap_extend=1), 60),
        (Scoring("PAM30"), 25),
        (Scoring("PAM250", gap_open=21, gap_extend=1), 1500),
        (Scoring(match=2, mismatch=-3), 200),
        (Scoring(match=1, mismatch=-2, gap_open=2, gap_extend=1), 40),
    ],
)
def test_score_cutoffs_against_brute_force_over_every_length(scoring: Scoring, query_length: int, limit: float) -> None:
    statistics = statistics_of(scoring)
    longest = int(shortest_in_bin(80)) - 1
    exact = np.array(brute_force_cuts(statistics, query_length, limit, longest))
    cuts = statistics.minimum_scores(query_length, limit)[1:80]
    assert len(exact) == 79
    assert np.all(cuts <= exact)
    assert np.all(cuts >= exact - 1)
    narrow = slice(0, 15)
    assert cuts[narrow].tolist() == exact[narrow].tolist()


@given(
    st.sampled_from(protein_tables()),
    st.integers(0, 50_000),
    st.floats(0, 1e9),
    st.one_of(st.integers(0, 2000), st.integers(0, 2**45)),
    st.integers(0, 10**14),
)
def test_score_cutoffs_never_drop_a_hit(
    table: tuple[str, int, int], query_length: int, limit: float, length: int, db_residues: int
) -> None:
    statistics = statistics_of(Scoring(table[0], gap_open=table[1], gap_extend=table[2]), db_residues)
    cut = int(statistics.minimum_scores(query_length, limit)[length_bin(length)])
    assert cut == 1 or np.all(statistics.evalues(np.arange(cut), query_length, length) > limit)


def test_score_cutoffs_are_cached_and_read_only() -> None:
    statistics = statistics_of(BLOSUM62)
    cuts = statistics.minimum_scores(300, 10)
    assert (cuts.dtype, cuts.shape, cuts.flags.writeable) == (np.int32, (N_BINS,), False)
    assert statistics.minimum_scores(300, 10) is cuts
    assert statistics.minimum_scores(300, 1).mean() > cuts.mean()
    assert np.all(statistics.minimum_scores(300, math.inf) == 1)
    assert np.all(statistics.minimum_scores(300, 0) == statistics.minimum_scores(300, 1e-180))
    copied = pickle.loads(pickle.dumps(statistics))
    assert np.array_equal(copied.minimum_scores(301, 10), statistics.minimum_scores(301, 10))


@pytest.mark.parametrize("limit", [-1, math.nan])
def test_negative_and_nan_evalue_limits_are_refused(limit: float) -> None:
    with pytest.raises(InputError, match="E-value limit"):
        statistics_of(BLOSUM62).minimum_scores(300, limit)


def test_odd_scores_count_as_the_even_one_below() -> None:
    blastn = statistics_of(Scoring(match=2, mismatch=-3))
    assert float(blastn.evalues(41, 100, 500)) == float(blastn.evalues(40, 100, 500))
    assert float(blastn.bits(41)) > float(blastn.bits(40))
    assert np.all(blastn.minimum_scores(100, 10) % 2 == 0)


@pytest.mark.parametrize(
    "scoring",
    [
        Scoring("BLOSUM62", gap_open=5, gap_extend=1),
        Scoring("BLOSUM62", gap_open=1000, gap_extend=100),
        Scoring("BLOSUM62", gap_open=9.5, gap_extend=0.5),
        Scoring("PAM120"),
        Scoring("VTML160"),
        Scoring("NUC.4.4", gap_open=10, gap_extend=1),
        Scoring(BLOSUM62.matrix, alphabet="protein"),
        Scoring(match=2, mismatch=-3, alphabet="protein"),
        Scoring(match=1, mismatch=-3, gap_open=5, gap_extend=1),
        Scoring(match=1, mismatch=-2, gap_open=0, gap_extend=0),
        Scoring(match=7, mismatch=-3),
        Scoring(match=1, mismatch=0),
    ],
    ids=repr,
)
def test_without_a_table_there_are_no_statistics(scoring: Scoring) -> None:
    assert Statistics.of(scoring, db_residues=1000, db_targets=10) is None


def test_a_different_matrix_file_with_a_built_in_name_has_no_statistics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (MATRICES / "BLOSUM62.txt").read_text(encoding="ascii")
    Path("BLOSUM62").write_text(text.replace("11", "12"), encoding="ascii")
    impostor = Scoring(Path("BLOSUM62"))
    assert impostor.name == "BLOSUM62"
    assert parameters_of(impostor) is None


def test_equivalent_scorings_have_the_same_statistics() -> None:
    """A unit of score does not matter, nor does it matter whether 5/-4 comes as a matrix."""
    five_four = parameters_of(Scoring(match=5, mismatch=-4, gap_open=10, gap_extend=6))
    assert parameters_of(Scoring("NUC.4.4")) == five_four
    assert parameters_of(Scoring(match=5, mismatch=-4, gap_open=10, gap_extend=6, alphabet="rna")) == five_four
    megablast = Scoring(match=1, mismatch=-2, gap_open=0, gap_extend=2.5)
    assert megablast.scale == 2
    doubled = Scoring(match=2, mismatch=-4, gap_open=0, gap_extend=5)
    assert statistics_of(megablast).bits(100).tolist() == statistics_of(doubled).bits(100).tolist()
    assert float(statistics_of(doubled).bits(100)) == pytest.approx((1.28 * 50 - math.log(0.46)) / math.log(2))


@pytest.mark.parametrize(
    ("match", "mismatch", "lambda_", "k", "h"),
    [
        (1, -3, 1.374, 0.711, 1.31),
        (1, -2, 1.33, 0.621, 1.12),
        (2, -3, 0.634, 0.408, 0.912),
        (1, -1, 1.10, 0.333, 0.549),
    ],
)
def test_ungapped_parameters_that_blastn_prints(match: int, mismatch: int, lambda_: float, k: float, h: float) -> None:
    ours = ungapped_parameters(match, mismatch)[:3]
    assert [float(f"{value:.3g}") for value in ours] == [float(f"{value:.3g}") for value in (lambda_, k, h)]


def test_tables_name_their_source() -> None:
    assert '"source": "NCBI C++ Toolkit' in DATA.read_text(encoding="ascii")


def test_printed_evalues_around_each_change_of_format() -> None:
    evalues = [0.0, 9.9e-181, 1e-180, 8.99e-4, 9.01e-4, 0.0994, 0.1, 0.994, 1.0, 9.94, 10.0, 1234.5, 2.5e6]
    texts = "0.0 0.0 1.00e-180 8.99e-04 0.001 0.099 0.10 0.99 1.0 9.9 10 1234 2500000"
    assert " ".join(map(format_evalue, evalues)) == texts
    assert format_evalue(math.nan) == ""
    assert format_evalue(3.39e-43, digits=0) == "3e-43"
    bits = [-1.25, 9.96, 25.77, 99.9, 99.91, 137.99, 99_999.0, 100_000.0, math.nan]
    expected = ["-1.2", "10.0", "25.8", "99.9", "99", "137", "99999", "1.000e+05", ""]
    assert [format_bits(value) for value in bits] == expected


def scoring_of(text: str) -> Scoring:
    """The scoring of a row of blast_subject.tsv."""
    name, gap_open, gap_extend = text.split()
    if "/" not in name:
        return Scoring(name, gap_open=int(gap_open), gap_extend=int(gap_extend))
    match, mismatch = map(int, name.split("/"))
    return Scoring(match=match, mismatch=mismatch, gap_open=int(gap_open), gap_extend=int(gap_extend))


def test_evalues_of_pairs_are_those_of_blast_with_one_target() -> None:
    """Row by row, and all rows of a scoring at once."""
    rows = golden_data.rows("blast_subject.tsv")
    assert len(rows) == 42
    for text in sorted({row[0] for row in rows}):
        own = [row for row in rows if row[0] == text]
        lengths_and_scores = np.array([[int(value) for value in row[1:4]] for row in own])
        for part in (lengths_and_scores, *np.split(lengths_and_scores, len(own))):
            bits, evalues = pair_statistics(scoring_of(text), part[:, 2], part[:, 0], part[:, 1])
            found = [[format_bits(b), format_evalue(e)] for b, e in zip(bits.tolist(), evalues.tolist(), strict=True)]
            assert found in ([row[4:] for row in own], [row[4:] for row in own if [*map(int, row[1:4])] == [*part[0]]])


def test_pairs_without_statistics_have_no_numbers() -> None:
    bits, evalues = pair_statistics(Scoring(match=7, mismatch=-1, gap_open=1, gap_extend=1), [5, 6], [9, 9], [8, 8])
    assert np.isnan(bits).all()
    assert np.isnan(evalues).all()
    assert [len(values) for values in pair_statistics(BLOSUM62, [], [], [])] == [0, 0]


@pytest.mark.parametrize("alphabet", ["protein", "dna"])
@pytest.mark.parametrize("limit", [1e3, 1e30, 1e200, 1e299, 1e300, 1.7e308, float("inf")])
def test_huge_evalue_limits_pass_everything_without_warnings(alphabet: str, limit: float) -> None:
    scoring = Scoring("BLOSUM62") if alphabet == "protein" else Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2)
    statistics = Statistics.of(scoring, db_residues=10**12, db_targets=10**9)
    assert statistics is not None
    cuts = [statistics.minimum_scores(length, limit) for length in (0, 1, 100, 35_000)]
    assert all(np.all(cut >= 1) for cut in cuts)
    if limit >= 1e30:
        assert all(np.all(cut == 1) for cut in cuts)


@pytest.mark.parametrize("limit", [0.0, -0.0, -1.0, -math.inf, math.nan, float("1e-400")])
def test_limits_of_0_and_less_are_refused(limit: float) -> None:
    with pytest.raises(InputError, match="expected a number above 0"):
        SearchOptions(evalue=limit)

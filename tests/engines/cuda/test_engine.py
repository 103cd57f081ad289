"""The cuda engine gives the cpu engine's scores: recorded ones, random ones of every length class, odd databases."""

import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cuda_cases
import engine_calls
import exaln
import golden_data
import real_data
from cuda_cases import (
    FEW_QUERY_LENGTHS,
    QUERY_LENGTHS,
    all_letters,
    assert_as_cpu,
    mixed_targets,
    random_letters,
    scored,
    scorings,
    shared_engine,
)
from exaln.errors import EngineError, InputError
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, PROTEIN, Alphabet
from exaln.sequences.inputs import as_records
from exaln.sequences.records import Records
from exaln.statistics.length_bins import N_BINS
from kernel_cases import mutated, random_codes
from memory_targets import MemoryTargets, Rows, memory_targets
from oracle import smith_waterman
from strategies import score_arrays
from threads import no_new_threads

pytestmark = pytest.mark.gpu

BLOSUM62 = scorings()["BLOSUM62"]


def encoded(sequences):
    return [PROTEIN.encode(sequence) for sequence in sequences]


# Recorded scores


@pytest.mark.parametrize("n_segments", [1, 3])
def test_golden_scores(engine, n_segments):
    queries, targets, scores = golden_data.queries(), golden_data.targets(), golden_data.scores()
    expected = np.array([[scores[query, target] for target in targets] for query in queries])
    assert expected.size == 600
    found = scored(engine, encoded(queries.values()), encoded(targets.values()), BLOSUM62, n_segments)
    np.testing.assert_array_equal(found, expected)


@real_data.needs_real_data
def test_all_recorded_scores(engine):
    queries, targets = real_data.fasta("protein/cudasw4_allqueries.fasta"), real_data.fasta("scop/scop20.fasta.gz")
    scores = real_data.scores("oracle/cudasw4q_x_scop20.b62_11_1.tsv.gz")
    expected = np.array([[scores[query, target] for target in targets] for query in queries])
    assert expected.size == 152_320
    database = memory_targets(PROTEIN, encoded(targets.values()))
    records = as_records(list(queries.values()), PROTEIN)
    np.testing.assert_array_equal(engine_calls.scores(engine, records, database, BLOSUM62), expected)
    for row in range(len(records)):  # one at a time: two targets in a word instead of two queries
        found = engine_calls.scores(engine, records.rows(row, row + 1), database, BLOSUM62)
        np.testing.assert_array_equal(found[0], expected[row])


def test_titin_against_itself(engine):
    """34,350 residues; the sum of the diagonal, as no other path is as good. Among peptides, which must not wait."""
    titin = random_codes(np.random.default_rng(1), 34_350, 20)
    if real_data.IS_HERE:
        (titin,) = encoded(real_data.fasta("protein/titin_human_Q8WZ42.fa").values())
    assert len(titin) == 34_350
    peptides = [titin[i : i + 1 + i % 40] for i in range(0, 34_000, 34)]
    changed = mutated(np.random.default_rng(2), titin, 20, 0.3)
    for queries in ([titin], [titin, titin[100:2000]]):
        expected = assert_as_cpu(engine, queries, [*peptides, titin, changed], BLOSUM62)
        own = int(np.diagonal(BLOSUM62.matrix)[titin].sum())
        assert expected[0, -2] == own > 100_000


# Random sequences: a million pairs per scoring that is used most, and all length classes of queries, alone and in pairs


def random_case(scoring, lengths, n_targets, seed, longest=3000):
    rng = np.random.default_rng(seed)
    queries = [random_letters(rng, int(length), scoring) for length in lengths]
    targets = mixed_targets(rng, n_targets, scoring, queries, longest)
    return queries, [*targets, all_letters(scoring)]


@pytest.mark.parametrize("name", ["BLOSUM62", "DNA"])
def test_a_million_pairs(engine, name):
    rng = np.random.default_rng(7)
    lengths = [*rng.integers(0, 300, 140), *rng.integers(300, 1300, 50), *rng.integers(1300, 3000, 10)]
    queries, targets = random_case(scorings()[name], lengths, 4999, seed=8)
    assert len(queries) * len(targets) == 1_000_000
    expected = assert_as_cpu(engine, queries, targets, scorings()[name], n_segments=2)
    assert (expected > 1000).any()


@pytest.mark.parametrize("name", ["BLOSUM62", "DNA"])
@pytest.mark.parametrize("seed", [1, 2])
def test_queries_of_every_length_together(engine, name, seed):
    """So that neighbours in length share words, and the rows beyond the shorter one run alone."""
    assert_as_cpu(engine, *random_case(scorings()[name], QUERY_LENGTHS, 700, seed, longest=9000), scorings()[name])


@pytest.mark.parametrize("name", ["BLOSUM62", "DNA"])
def test_queries_of_every_length_alone(engine, name):
    """One query at a time: two targets share a word."""
    scoring = scorings()[name]
    queries, targets = random_case(scoring, QUERY_LENGTHS, 501, seed=3)
    expected = scored(cuda_cases.cpu(), queries, targets, scoring)
    database = memory_targets(scoring.alphabet, targets)
    records = Records.of(scoring.alphabet, queries)
    for row, length in enumerate(QUERY_LENGTHS):
        found = engine_calls.scores(engine, records.rows(row, row + 1), database, scoring)
        np.testing.assert_array_equal(found[0], expected[row], f"query of length {length}")


@pytest.mark.parametrize("name", [name for name in scorings() if name not in ("BLOSUM62", "DNA")])
def test_every_scoring(fast_engine, name):
    queries, targets = random_case(scorings()[name], FEW_QUERY_LENGTHS, 600, seed=4)
    assert_as_cpu(fast_engine, queries, targets, scorings()[name])
    assert_as_cpu(fast_engine, queries[3:4], targets, scorings()[name])
    assert_as_cpu(fast_engine, queries[-1:], targets, scorings()[name])


def test_a_database_of_ordinary_size(fast_engine):
    """As many targets as a device needs to be busy: plans are those of real searches, with two targets in a word, and
    with rows of one query beyond those of its partner."""
    lengths = [144, 150, 300, 375, 380, 520, 1000, 1700]
    queries, targets = random_case(BLOSUM62, lengths, 60_000, seed=21, longest=2000)
    expected = assert_as_cpu(fast_engine, queries, targets, BLOSUM62)
    database = memory_targets(PROTEIN, targets)
    records = Records.of(PROTEIN, queries)
    for first, end in ((3, 4), (7, 8), (1, 4), (6, 8)):
        found = engine_calls.scores(fast_engine, records.rows(first, end), database, BLOSUM62)
        np.testing.assert_array_equal(found, expected[first:end])


@pytest.mark.parametrize("n_queries", [1, 2, 3])
def test_long_gaps_over_the_edges_of_strips_and_tiles(engine, n_queries):
    """Deletions and insertions of 1 to 700 residues all along, cheap to extend, so that gaps pass every boundary."""
    scoring, rng = Scoring("BLOSUM62", gap_open=6, gap_extend=0), np.random.default_rng(6)
    scoring = scoring if n_queries == 1 else BLOSUM62
    whole = random_codes(rng, 2600, 20)
    queries = [whole, whole[:1500], whole[300:2200]][:n_queries]
    targets = [all_letters(scoring)]
    for _ in range(300):
        first, second = sorted(rng.integers(0, 2600, 2).tolist())
        insert = random_codes(rng, int(rng.integers(0, 60)), 20)
        targets.append(np.concatenate([whole[max(0, first - 300) : first], insert, whole[second : second + 300]]))
    assert_as_cpu(engine, queries, targets, scoring)


# Odd databases and queries


@pytest.mark.parametrize("n_queries", [1, 2, 5])
@pytest.mark.parametrize("n_targets", [0, 1, 2, 3, 31, 32, 33, 64, 65])
def test_few_targets(fast_engine, n_queries, n_targets):
    """An odd number leaves one half of a word empty."""
    rng = np.random.default_rng(n_targets)
    queries = [random_codes(rng, int(n), 20) for n in rng.integers(1, 200, n_queries)]
    targets = [random_codes(rng, int(n), 20) for n in rng.integers(0, 90, n_targets)]
    targets = [*targets[:-1], all_letters(BLOSUM62)] if targets else []
    assert_as_cpu(fast_engine, queries, targets, BLOSUM62)


@pytest.mark.parametrize("n_queries", [0, 1, 2, 3])
@pytest.mark.parametrize("n_targets", [0, 1, 2, 3])
def test_nothing_to_score(fast_engine, n_queries, n_targets):
    empty = np.empty(0, np.uint8)
    found = scored(fast_engine, [empty] * n_queries, [empty] * n_targets, BLOSUM62)
    assert (found.shape, found.dtype, found.any()) == ((n_queries, n_targets), np.int32, False)
    some = scored(fast_engine, [empty] * n_queries, [empty, encoded(["WWW"])[0], empty], BLOSUM62, n_segments=2)
    assert not some.any()
    nothing = Records.of(PROTEIN, []), memory_targets(PROTEIN, [])
    found = list(engine_calls.scan(fast_engine, *nothing, BLOSUM62, np.zeros((0, N_BINS), np.int32)))
    assert sum(len(candidates.query) for candidates in found) == 0


@pytest.mark.parametrize("letter", ["X", "*", "A", "W", "U"])
def test_sequences_of_one_letter(engine, letter):
    lengths = [0, 1, 2, 3, 4, 5, 8, 9, 16, 63, 64, 65, 127, 128, 129, 300, 1000, 1025]
    sequences = encoded([letter * n for n in lengths])
    score = int(BLOSUM62.matrix[sequences[1][0], sequences[1][0]])
    expected = [[max(0, score * min(m, n)) for m in lengths] for n in lengths]
    targets = [*sequences, all_letters(BLOSUM62)]
    np.testing.assert_array_equal(scored(engine, sequences, targets, BLOSUM62)[:, :-1], expected)
    for query in (1, 9, 14, 17):
        found = scored(engine, sequences[query : query + 1], targets, BLOSUM62)
        np.testing.assert_array_equal(found[0, :-1], expected[query])


def test_a_database_of_one_letter_alone(fast_engine):
    """As few letters as there can be."""
    sequences = encoded(["W" * n for n in (1, 2, 7, 100)])
    assert scored(fast_engine, sequences[1:3], sequences, BLOSUM62).tolist() == [[11, 22, 22, 22], [11, 22, 77, 77]]


@pytest.mark.parametrize("n_queries", [1, 2])
def test_a_hundred_thousand_short_targets(fast_engine, n_queries):
    rng = np.random.default_rng(9)
    codes = random_codes(rng, 500_000, 20)
    ends = np.cumsum(rng.integers(0, 9, 100_000))
    targets = [*np.split(codes[: ends[-1]], ends[:-1]), all_letters(BLOSUM62)]
    queries = [random_codes(rng, n, 20) for n in (35, 150)[:n_queries]]
    assert_as_cpu(fast_engine, queries, targets, BLOSUM62)


@pytest.mark.parametrize("n_queries", [1, 2])
def test_targets_of_equal_length(fast_engine, n_queries):
    rng = np.random.default_rng(10)
    for length in (1, 4, 5, 127, 128, 512):
        targets = [*random_codes(rng, 3000 * length, 20).reshape(3000, length), all_letters(BLOSUM62)]
        queries = [mutated(rng, np.concatenate(targets[5:9]), 20), targets[7]][:n_queries]
        assert_as_cpu(fast_engine, queries, targets, BLOSUM62)


@pytest.mark.parametrize("n_queries", [1, 2, 3])
def test_a_few_long_targets_among_a_thousand_peptides(engine, n_queries):
    """They are spread over whole blocks; the peptides are not. Queries of one strip and of several."""
    rng = np.random.default_rng(11)
    long = random_codes(rng, 40_000, 20)
    peptides = [random_codes(rng, int(n), 20) for n in rng.integers(0, 30, 1000)]
    targets = [long, *peptides, mutated(rng, long, 20), long[::-1].copy(), all_letters(BLOSUM62)]
    for lengths in ([100, 130, 7], [2100, 3000, 1100], [6000, 400, 4500]):
        queries = [mutated(rng, long[5000 : 5000 + n], 20) for n in lengths[:n_queries]]
        assert_as_cpu(engine, queries, targets, BLOSUM62)


def test_long_targets_alone(fast_engine):
    rng = np.random.default_rng(12)
    long = random_codes(rng, 60_000, 20)
    targets = [long, mutated(rng, long, 20), mutated(rng, long[:30_000], 20)]
    assert_as_cpu(fast_engine, [long[:700], long[20_000:29_000]], targets, BLOSUM62)


@pytest.mark.parametrize("gap_extend", [1, 7, 0])
def test_alignments_all_along_a_long_target(gap_extend):
    """It may be cut into parts: wherever a cut is, an alignment with the longest gap that pays lies across it."""
    match, m, gap_open = 50, 20, 9
    matrix = np.array([[match, -match, -match], [-match, match, -match], [-match, -match, -match]])
    scoring = Scoring(matrix, gap_open=gap_open, gap_extend=gap_extend, alphabet=cuda_cases.custom_alphabet(3))
    query = np.repeat([0, 1], m // 2).astype(np.uint8)
    gap = 5000 if gap_extend == 0 else (m // 2 * match - gap_open - 1) // gap_extend
    expected = m * match - gap_open - gap * gap_extend
    engine, n_residues = shared_engine(), 120_000
    for begin in [0, *np.random.default_rng(22).integers(0, n_residues - gap - m, 40), n_residues - gap - m]:
        target = np.full(n_residues, 2, np.uint8)
        target[begin : begin + m // 2] = 0
        target[begin + m // 2 + gap : begin + m + gap] = 1
        found = scored(engine, [query, query[:7]], [target, query, query[5:]], scoring)
        assert found.tolist() == [[expected, m * match, 15 * match], [7 * match, 7 * match, 5 * match]]


def test_a_chromosome():
    """One target that is most of the database, and queries of one strip and of several."""
    scoring, rng = scorings()["DNA"], np.random.default_rng(23)
    whole = random_codes(rng, 3_000_000, 4)
    queries = [
        mutated(rng, whole[begin : begin + n], 4) for begin, n in ((5, 100), (1_400_000, 1000), (2_996_000, 3900))
    ]
    assert_as_cpu(shared_engine(), queries, [whole[:77], whole, whole[500:900]], scoring)


def test_very_long_queries(fast_engine):
    """More strips than there are lanes, and more residues than 16 bits count."""
    scoring, rng = scorings()["DNA"], np.random.default_rng(20)
    long = random_letters(rng, 100_000, scoring)
    targets = [*mixed_targets(rng, 200, scoring), mutated(rng, long[2000:70_000], 4), long[:300], all_letters(scoring)]
    assert_as_cpu(fast_engine, [long, long[1000:1150]], targets, scoring)
    assert_as_cpu(fast_engine, [long[:70_000]], targets[:150], scoring)


def test_more_queries_than_a_group_holds(fast_engine):
    rng = np.random.default_rng(13)
    queries = [random_codes(rng, int(n), 20) for n in rng.integers(0, 60, 1500)]
    assert_as_cpu(fast_engine, queries, [*mixed_targets(rng, 300, BLOSUM62), all_letters(BLOSUM62)], BLOSUM62)


def test_arrays_that_are_parts_of_larger_ones(fast_engine):
    """Offsets need not begin at 0, codes need not be aligned, and what is mapped from a file cannot be written."""
    rng = np.random.default_rng(14)
    lengths = np.sort(rng.integers(0, 120, 400))
    offsets = np.concatenate([[13], 13 + np.cumsum(lengths)])
    codes = np.frombuffer(bytes(3) + random_codes(rng, int(offsets[-1]) + 9, 27).tobytes(), np.uint8)[3:]
    assert not codes.flags.writeable
    database = MemoryTargets(PROTEIN, (Rows(codes, offsets, np.arange(400)),))
    queries = Records.of(PROTEIN, [random_codes(rng, int(n), 20) for n in rng.integers(1, 200, 9)]).rows(2, 7)
    found, expected = (engine_calls.scores(one, queries, database, BLOSUM62) for one in (fast_engine, cuda_cases.cpu()))
    np.testing.assert_array_equal(found, expected)


def test_one_pair_as_users_ask_for_it():
    scoring = Scoring("BLOSUM50", gap_open=0, gap_extend=8)
    assert exaln.score("HEAGAWGHEE", "PAWHEAE", scoring=scoring, engine=cuda_cases.TESTED) == 28
    alignment = exaln.align("HEAGAWGHEE", "PAWHEAE", scoring=scoring, engine=cuda_cases.TESTED)
    assert (alignment.score, alignment.cigar) == (28, "2M1I2M")
    assert exaln.score("", "PAWHEAE", engine=cuda_cases.TESTED) == 0
    halves = Scoring("BLOSUM62", gap_open=9.5, gap_extend=0.5)
    globins = list(golden_data.fasta("hba_hbb.fasta").values())
    assert exaln.score(*globins, scoring=halves, engine=cuda_cases.TESTED) == 293.5


def test_alphabets_that_do_not_fit_are_refused(fast_engine):
    targets = memory_targets(DNA, [DNA.encode("ACGT")])
    with pytest.raises(InputError, match="the queries are protein, but 2/-3 scores dna"):
        engine_calls.scores(fast_engine, as_records(["HEAG"], PROTEIN), targets, Scoring.default(DNA))
    with pytest.raises(InputError, match="the database is dna, but BLOSUM62 scores protein"):
        list(engine_calls.scan(fast_engine, as_records(["HEAG"], PROTEIN), targets, BLOSUM62))


# Small cases against the textbook. The gap costs are few, because every one is a kernel of its own.

ALPHABETS = {
    PROTEIN: (11, 1),
    DNA: (0, 2),
    Alphabet("custom", "HP*1"): (3, 0),
}


@st.composite
def small_cases(draw):
    alphabet = draw(st.sampled_from(list(ALPHABETS)))
    n_letters = len(alphabet.letters)
    gap_open, gap_extend = ALPHABETS[alphabet]
    scoring = Scoring(draw(score_arrays(n_letters)), gap_open=gap_open, gap_extend=gap_extend, alphabet=alphabet)
    codes = st.lists(st.integers(0, n_letters - 1), max_size=25) | st.lists(
        st.integers(0, min(3, n_letters - 1)), max_size=25
    )
    sequences = codes.map(lambda codes: np.array(codes, np.uint8))
    queries = draw(st.lists(sequences, max_size=5))
    targets = draw(st.lists(sequences, max_size=9))
    if queries and draw(st.booleans()):
        targets.append(queries[0])
    return scoring, queries, [all_letters(scoring), *targets], draw(st.integers(1, 2))


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=small_cases())
def test_small_cases_against_the_textbook(engine, case):
    scoring, queries, targets, n_segments = case
    matrix, gaps = scoring.matrix.tolist(), (scoring.gap_open, scoring.gap_extend)
    expected = [[smith_waterman(q.tolist(), t.tolist(), matrix, *gaps) for t in targets] for q in queries]
    assert scored(engine, queries, targets, scoring, n_segments).tolist() == expected


# Use by programs


def test_progress_grows_and_ends_with_all_cells(fast_engine):
    rng, cells = np.random.default_rng(15), []
    queries, targets = random_case(BLOSUM62, rng.integers(0, 600, 30), 900, seed=16)
    database = memory_targets(PROTEIN, targets, 2)
    engine_calls.scores(fast_engine, Records.of(PROTEIN, queries), database, BLOSUM62, cells.append)
    assert cells == sorted(cells)
    assert cells[-1] == sum(map(len, queries)) * sum(map(len, targets))


def test_an_exception_in_progress_stops_the_scan_and_leaves_the_engine_usable(fast_engine):
    class StopNow(Exception):
        pass

    def stop(cells):
        raise StopNow

    queries, targets = random_case(BLOSUM62, [100, 200, 300], 500, seed=17)
    database = memory_targets(PROTEIN, targets)
    with pytest.raises(StopNow):
        engine_calls.scores(fast_engine, Records.of(PROTEIN, queries), database, BLOSUM62, stop)
    assert_as_cpu(fast_engine, queries, targets, BLOSUM62)


def test_a_scan_that_is_given_up_leaves_no_thread_and_the_engine_usable(fast_engine):
    queries, targets = random_case(BLOSUM62, [100, 200, 300], 900, seed=18)
    records, database = Records.of(PROTEIN, queries), memory_targets(PROTEIN, targets, 3)
    cutoff = np.zeros((3, N_BINS), np.int32)
    list(engine_calls.scan(fast_engine, records, database, BLOSUM62, cutoff))
    with no_new_threads():
        for _ in range(3):
            scan = engine_calls.scan(fast_engine, records, database, BLOSUM62, cutoff)
            next(scan)
            scan.close()
    assert_as_cpu(fast_engine, queries, targets, BLOSUM62)


def test_several_threads_may_use_one_engine(fast_engine):
    queries, targets = random_case(BLOSUM62, [50, 150, 700], 800, seed=19)
    expected, found = scored(cuda_cases.cpu(), queries, targets, BLOSUM62), {}
    threads = [
        threading.Thread(target=lambda i=i: found.update({i: scored(fast_engine, queries, targets, BLOSUM62)}))
        for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [0, 1, 2, 3]
    for scores in found.values():
        np.testing.assert_array_equal(scores, expected)


def test_scores_beyond_31_bits_are_refused(fast_engine):
    """65,537 residues of 32,767 each are the most that 32 bits can prove."""
    scoring = Scoring(np.array([[32767]]), gap_open=32766, gap_extend=1, alphabet=Alphabet("one", "A"))
    fits, too_long = np.zeros(65_537, np.uint8), np.zeros(66_000, np.uint8)
    assert scored(fast_engine, [fits], [fits], scoring).tolist() == [[65_537 * 32_767]]
    with pytest.raises(EngineError, match="does not fit 31 bits"):
        scored(fast_engine, [too_long], [too_long[:5], too_long], scoring)
    assert scored(fast_engine, [fits[:3]], [fits], scoring).tolist() == [[3 * 32_767]]

"""What the contracts can carry beyond sequences against a stored database, on the reference engine against the oracle:
profiles, translated views, scans of a triangle, and alignments with forbidden cells.
"""

import numpy as np
import pytest

import golden_data
import oracle
from engine_calls import located, scan_task
from exaln.alignments.aligned_pairs import PairList
from exaln.database.database import Database
from exaln.database.views import TranslatedView, target_origins
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.reference.engine import ReferenceEngine
from exaln.engines.tasks import PairTask, QueryRows, ScanTask
from exaln.errors import EngineError, InputError
from exaln.pairwise.routing import align_pairs
from exaln.scoring.modes import GLOBAL, LOCAL
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, PROTEIN
from exaln.sequences.inputs import as_records
from exaln.sequences.records import Records
from exaln.statistics.length_bins import N_BINS
from memory_targets import Rows, memory_targets

BLOSUM62 = Scoring("BLOSUM62")
REFERENCE = ReferenceEngine()
N_LETTERS = len(PROTEIN.letters)


def random_proteins(rng, lengths):
    return [rng.integers(0, 20, length).astype(np.uint8) for length in lengths]


def oracle_score(profile, target, scoring):
    """A profile is a matrix whose query letters are its positions."""
    return oracle.smith_waterman(
        range(len(profile)), target.tolist(), profile.tolist(), scoring.gap_open, scoring.gap_extend
    )


# Profiles


def test_profiles_are_scored_position_by_position():
    rng = np.random.default_rng(18)
    profiles = [rng.integers(-9, 12, (length, N_LETTERS)).astype(np.int32) for length in (1, 7, 30, 0)]
    targets = random_proteins(rng, (0, 3, 12, 40, 41))
    queries = QueryRows.of_profiles(profiles, BLOSUM62)
    view = memory_targets(PROTEIN, targets, n_segments=2)
    found = {
        (query, ordinal): score
        for part in REFERENCE.scan(ScanTask(queries, REFERENCE.open(view)))
        for query, ordinal, score in located(part, view).triples
    }
    assert found == {
        (query, ordinal): oracle_score(profile, target, BLOSUM62)
        for query, profile in enumerate(profiles)
        for ordinal, target in enumerate(targets)
    }
    assert max(found.values()) > 50


def test_a_profile_of_matrix_rows_is_its_sequence():
    query, target = (PROTEIN.encode(sequence) for sequence in golden_data.fasta("hba_hbb.fasta").values())
    profile = QueryRows.of_profiles([BLOSUM62.matrix[query]], BLOSUM62)
    sequence = QueryRows.of_sequences(Records.of(PROTEIN, [query]), BLOSUM62)
    targets, first = Records.of(PROTEIN, [target]), np.zeros(1, np.int64)
    for mode in (LOCAL, GLOBAL):
        ours, theirs = (REFERENCE.align(PairTask(rows, targets, first, first, mode)) for rows in (profile, sequence))
        assert ours.scores.tolist() == theirs.scores.tolist()
        assert ours.positions.tolist() == theirs.positions.tolist()
        assert REFERENCE.score(PairTask(profile, targets, first, first, mode)).tolist() == ours.scores.tolist()


def test_engines_without_profiles_raise_a_clear_error():
    rows = QueryRows.of_profiles([np.zeros((5, N_LETTERS), np.int32)], BLOSUM62)
    engine = CpuEngine(1)
    with pytest.raises(EngineError, match="the cpu engine cannot score profiles; use the reference engine"):
        list(
            engine.scan(
                ScanTask(rows, engine.open(memory_targets(PROTEIN, random_proteins(np.random.default_rng(1), [9]))))
            )
        )
    long = QueryRows.of_profiles([np.zeros((2000, N_LETTERS), np.int32)], BLOSUM62)
    first, target = np.zeros(1, np.int64), Records.of(PROTEIN, [np.zeros(2000, np.uint8)])
    with pytest.raises(EngineError, match="the cpu engine cannot score profiles"):
        align_pairs(engine, PairTask(long, target, first, first, LOCAL))
    with pytest.raises(InputError, match=r"a profile needs a score for each of the .* letters of protein"):
        QueryRows.of_profiles([np.zeros((5, 4), np.int32)], BLOSUM62)


# Translated targets

CODONS = {
    "ATG": "M", "TGG": "W", "TAA": "*", "TAG": "*", "TGA": "*", "AAA": "K", "TTT": "F", "GGG": "G", "CCC": "P",
    "GCT": "A", "TGC": "C", "GAT": "D", "GAA": "E", "CAC": "H", "ATC": "I", "CTG": "L", "AAC": "N", "CAG": "Q",
    "CGT": "R", "AGC": "S", "ACC": "T", "GTG": "V", "TAC": "Y",
}  # fmt: skip
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def test_nucleotides_are_searched_in_six_frames():
    """A protein hidden in each frame of longer sequences is found there with the score of the oracle."""
    rng = np.random.default_rng(23)
    protein = "".join(rng.choice(list("MWKFGPACDEHILNQRSTVY"), 25))
    codon_of = {letter: codon for codon, letter in CODONS.items()}
    gene = "".join(codon_of[letter] for letter in protein)
    genomes, expected_frames = [], []
    for frame in (1, 2, 3, -1, -2, -3):
        before = "".join(rng.choice(list("ACGT"), abs(frame) - 1 + 30))
        strand = before + gene + "".join(rng.choice(list("ACGT"), 32))
        genomes.append(strand if frame > 0 else strand[::-1].translate(COMPLEMENT))
        expected_frames.append(frame)
    stored = Database.in_memory([as_records(genomes, DNA)])
    view = TranslatedView(stored)
    assert (view.alphabet, view.n_targets) == (PROTEIN, 36)
    lengths = [(len(genome) - shift) // 3 for genome in genomes for shift in (0, 1, 2, 0, 1, 2)]
    assert view.n_residues == sum(lengths)
    task = scan_task(REFERENCE, as_records([protein], PROTEIN), view, BLOSUM62, np.full((1, N_BINS), 60, np.int32))
    parts = list(REFERENCE.scan(task))
    row, score = (np.concatenate([getattr(part, name) for part in parts]) for name in ("row", "score"))
    order = np.argsort(target_origins(view, row).ordinal)
    assert target_origins(view, row[order]).ordinal.tolist() == list(range(6))
    assert view.frames(row[order]).tolist() == expected_frames
    itself = oracle.smith_waterman(
        PROTEIN.encode(protein).tolist(), PROTEIN.encode(protein).tolist(), BLOSUM62.matrix.tolist(), 11, 1
    )
    assert (score[order] >= itself).all()
    for place, number in enumerate(row[order].tolist()):
        segment = view.segments[0]
        target = segment.codes[segment.offsets[number] : segment.offsets[number + 1]]
        matrix = BLOSUM62.matrix.tolist()
        assert score[order][place] == oracle.smith_waterman(
            PROTEIN.encode(protein).tolist(), target.tolist(), matrix, 11, 1
        )


def test_a_translated_view_is_searched_by_the_cpu_engine_as_well():
    rng = np.random.default_rng(5)
    stored = memory_targets(DNA, [rng.integers(0, 4, length).astype(np.uint8) for length in (2, 3, 50, 300)], 2)
    view, queries, engine = TranslatedView(stored), as_records(["MKVLAAGIVGHE"], PROTEIN), CpuEngine(1)
    ours, theirs = (
        sorted(
            (int(query), int(row), int(score))
            for part in one.scan(scan_task(one, queries, view, BLOSUM62))
            for query, row, score in zip(part.query, part.row, part.score, strict=True)
        )
        for one in (engine, REFERENCE)
    )
    assert ours == theirs
    assert len(ours) == 24


# Scans of a triangle


@pytest.mark.parametrize("engine", [REFERENCE, CpuEngine(2)], ids=["reference", "cpu"])
def test_all_against_all_visits_every_unordered_pair_once(engine):
    """The queries are the rows of the view, and each is compared with the rows after its own."""
    rng = np.random.default_rng(7)
    sequences = sorted(random_proteins(rng, (5, 9, 9, 14, 20, 31)), key=len)
    view = memory_targets(PROTEIN, sequences)
    queries = QueryRows.of_sequences(Records.of(PROTEIN, sequences), BLOSUM62)
    task = ScanTask(queries, engine.open(view), first_row=np.arange(len(sequences)) + 1)
    found = [triple for part in engine.scan(task) for triple in located(part, view).triples]
    matrix = BLOSUM62.matrix.tolist()
    assert sorted(found) == [
        (a, b, oracle.smith_waterman(sequences[a].tolist(), sequences[b].tolist(), matrix, 11, 1))
        for a in range(len(sequences))
        for b in range(a + 1, len(sequences))
    ]


# Forbidden cells


def test_forbidden_cells_leave_the_next_best_alignment():
    """Two copies of a query in the target: with the pairs of the first alignment forbidden, the other copy is found."""
    query = PROTEIN.encode("HEAGAWGHEEWW")
    target = np.concatenate([query, PROTEIN.encode("PPPPP"), query])
    rows = QueryRows.of_sequences(Records.of(PROTEIN, [query]), BLOSUM62)
    first = np.zeros(1, np.int64)
    task = PairTask(rows, Records.of(PROTEIN, [target]), first, first, LOCAL)
    once = REFERENCE.align(task)
    assert once.positions.tolist() == [[0, 12, 0, 12]]
    used = np.stack([np.arange(12), np.arange(12)], axis=1)
    again = PairTask(rows, Records.of(PROTEIN, [target]), first, first, LOCAL, forbidden=(used,))
    found = REFERENCE.align(again)
    assert found.positions.tolist() == [[0, 12, 17, 29]]
    assert found.scores.tolist() == once.scores.tolist() == REFERENCE.score(again).tolist()
    with pytest.raises(EngineError, match="the cpu engine cannot leave out cells"):
        CpuEngine(1).align(again)


def test_a_part_of_a_pair_task_keeps_scores_and_forbidden_cells():
    queries = QueryRows.of_sequences(as_records(["HEAG", "PAWHEAE"], PROTEIN), BLOSUM62)
    listed = PairList(np.array([0, 1, 1]), np.array([1, 0, 1]))
    forbidden = tuple(np.full((1, 2), place) for place in range(3))
    targets = as_records(["HEAG", "PAWHEAE"], PROTEIN)
    task = PairTask(queries, targets, listed.query, listed.target, LOCAL, np.arange(3), forbidden)
    some = task.taken(np.array([2, 0]))
    assert (some.query.tolist(), some.target.tolist(), some.known_scores.tolist()) == ([1, 0], [1, 1], [2, 0])
    assert [cells.tolist() for cells in some.forbidden] == [[[2, 2]], [[0, 0]]]
    assert task.cells.tolist() == [28, 28, 49]


def test_rows_in_memory_are_read_from_their_first_residue_on():
    codes = np.arange(20, dtype=np.uint8)
    rows, read = Rows(codes, np.array([5, 7, 11]), np.arange(2)), np.zeros(4, np.uint8)
    rows.read_codes(1, read)
    assert read.tolist() == [6, 7, 8, 9]

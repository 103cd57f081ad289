"""Scorings in which nothing scores above 0, such as the edit distance, and scores of pairs beyond 32 bits: every engine
against the oracle, in every mode that allows them.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine_calls
import exaln
import strategies
from command import Exaln
from emulated_cuda import COMPILER, EmulatedDriver
from exaln.alignments.aligned_pairs import PairList
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.cuda.engine import CudaEngine
from exaln.engines.cuda.long import device_part
from exaln.engines.cuda.long import regions as cuda_regions
from exaln.engines.cuda.long.shapes import LongShape
from exaln.engines.cuda.pairs import batches as pair_batches
from exaln.engines.cuda.pairs.shapes import PAIR_SHAPES
from exaln.engines.reference.engine import ReferenceEngine
from exaln.errors import InputError
from exaln.pairwise.long.driver import LongOptions, align_long, score_long
from exaln.scoring.matrices import MAX_VALUE
from exaln.scoring.modes import GLOBAL, OVERLAP, SEMIGLOBAL, Mode
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, PROTEIN
from exaln.sequences.records import Records
from fake_cuda import install
from kernel_cases import mutated, random_codes
from long_regions import OnDevices, assert_as, some
from mode_cases import ALL_MODES, FOUR, TWO, aligned, oracle_score

EDITS: dict[str, Any] = {"match": 0, "mismatch": -1, "gap_open": 0, "gap_extend": 1}
EDIT = Scoring(**EDITS)
DEMO = Path(__file__).parents[2] / "examples"
NOT_LOCAL = [mode for mode in ALL_MODES if not mode.is_local]


def levenshtein(first: str, second: str) -> int:
    """The edit distance by the textbook, row by row."""
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, start=1):
        before, row[0] = row[0], i
        for j, b in enumerate(second, start=1):
            before, row[j] = row[j], min(before + (a != b), row[j] + 1, row[j - 1] + 1)
    return row[-1]


@st.composite
def low_scorings(draw: st.DrawFn, alphabet: exaln.Alphabet) -> Scoring:
    """Any scoring without a score above 0: match and mismatch, or a matrix; gaps of every kind."""
    gap_open, gap_extend = draw(strategies.gap_costs)
    gaps = {"gap_open": gap_open, "gap_extend": gap_extend, "alphabet": alphabet}
    if draw(st.booleans()):
        mismatch = draw(st.integers(-10, 0))
        return Scoring(match=draw(st.integers(mismatch, 0)), mismatch=mismatch, **gaps)
    lowest = draw(st.sampled_from([0, 1, 5, 127, 128, 255, MAX_VALUE]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = len(alphabet.letters)
    return Scoring(rng.integers(-lowest, 0, (n, n), endpoint=True), **gaps)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[list[int]], list[list[int]], Scoring]:
    alphabet = draw(st.sampled_from([PROTEIN, DNA, TWO, FOUR]))
    texts = strategies.sequences(alphabet, max_size=20)
    pairs = draw(
        st.lists(strategies.related_pairs(alphabet, max_size=20) | st.tuples(texts, texts), min_size=1, max_size=3)
    )
    codes = [[alphabet.encode(text).tolist() for text in pair] for pair in pairs]
    return [pair[0] for pair in codes], [pair[1] for pair in codes], draw(low_scorings(alphabet))


@pytest.mark.parametrize("mode", NOT_LOCAL, ids=str)
@settings(max_examples=25)
@given(case=cases())
def test_every_engine_agrees_with_the_oracle_where_nothing_scores_above_0(
    mode: Mode, case: tuple[list[list[int]], list[list[int]], Scoring]
) -> None:
    expected = aligned("reference", *case, mode)
    for (score, _, _), query, target in zip(expected, *case[:2], strict=True):
        assert score == oracle_score(query, target, case[2], mode)
        assert score <= 0
    assert aligned("cpu", *case, mode) == expected


@given(first=strategies.sequences(DNA), second=strategies.sequences(DNA))
@settings(max_examples=60)
def test_the_global_score_is_the_edit_distance(first: str, second: str) -> None:
    first, second = (text.upper().translate(str.maketrans("RYSWKMBDHVNU", "ACGTACGTACGT")) for text in (first, second))
    assert -exaln.score(first, second, scoring=EDIT, mode="global") == levenshtein(first, second)
    found = exaln.align(first, second, scoring=EDIT, mode="global")
    assert found.mismatches + found.gaps == levenshtein(first, second)


@pytest.mark.parametrize("mode", [GLOBAL, SEMIGLOBAL, OVERLAP], ids=str)
def test_long_pairs_with_an_edit_distance_scoring_agree_with_the_reference(mode: Mode) -> None:
    rng = np.random.default_rng(5)
    query = random_codes(rng, 700, 4)
    target = mutated(rng, query, 4, 0.2)
    direct = engine_calls.score_pairs(
        ReferenceEngine(),
        Records.of(DNA, [query]),
        Records.of(DNA, [target]),
        PairList(np.zeros(1, int), np.zeros(1, int)),
        EDIT,
        mode,
    )[0]
    for engine in (CpuEngine(1), CpuEngine(2)):
        assert score_long(engine, query, target, EDIT, mode, LongOptions()) == direct
        assert align_long(engine, query, target, EDIT, mode, LongOptions()).score == direct


@pytest.mark.skipif(COMPILER is None, reason="g++ is not installed")
@pytest.mark.parametrize("mode", ["global", "semiglobal", "overlap", "free:qs,te"])
@pytest.mark.parametrize(
    "costs", [EDITS, {"match": -1, "mismatch": -4, "gap_open": 3, "gap_extend": 0}], ids=["edits", "opening"]
)
def test_pairs_without_positive_scores_on_an_emulated_gpu(
    monkeypatch: pytest.MonkeyPatch, mode: str, costs: dict[str, Any]
) -> None:
    install(monkeypatch, EmulatedDriver(), 0)
    monkeypatch.setattr(pair_batches, "PAIR_SHAPES", (PAIR_SHAPES[0],))
    rng = np.random.default_rng(7)
    sequences = [random_codes(rng, n, 4) for n in (7, 30, 1, 0, 12, 35)]
    queries = Records.of(DNA, sequences)
    targets = Records.of(DNA, [mutated(rng, codes, 4, 0.3) for codes in sequences])
    rows = np.arange(len(sequences))
    pairs, scoring, chosen = PairList(rows, rows), Scoring(**costs), Mode.parse(mode)
    traces = engine_calls.align_pairs(ReferenceEngine(), queries, targets, pairs, scoring, chosen)
    found = engine_calls.align_pairs(CudaEngine([0]), queries, targets, pairs, scoring, chosen)
    expected, scores = traces.scores, found.scores
    assert scores.tolist() == expected.tolist()
    assert found.positions.tolist() == traces.positions.tolist()
    assert found.paths.operations.tolist() == traces.paths.operations.tolist()


@pytest.mark.skipif(COMPILER is None, reason="g++ is not installed")
@pytest.mark.parametrize("is_packed", [False, True], ids=["words", "halves of words"])
def test_regions_without_positive_scores_on_an_emulated_gpu(monkeypatch: pytest.MonkeyPatch, is_packed: bool) -> None:
    install(monkeypatch, EmulatedDriver(memory=1 << 30), 20)
    shape = LongShape(4, 64, 1, 8, is_packed=is_packed) if is_packed else LongShape(4, 32, 8, 8)
    monkeypatch.setattr(device_part, "long_shapes", lambda *_: [shape])
    monkeypatch.setattr(cuda_regions, "_may_pack", lambda *_, **__: is_packed)
    rng = np.random.default_rng(3)
    query = random_codes(rng, 300, 4)
    target = mutated(rng, query, 4, 0.2)
    for mode in (GLOBAL, SEMIGLOBAL):
        lines = some(rng, len(query), 5), some(rng, len(target), 5)
        assert_as(OnDevices(memory=1 << 30), CpuEngine(), query, target, EDIT, mode, *lines)


# What is refused


@pytest.mark.parametrize("function", ["align", "score", "align_many", "score_many", "search", "scores"])
def test_local_alignments_and_searches_refuse_a_scoring_without_positive_scores(function: str) -> None:
    scoring = Scoring(**EDITS, alphabet="protein")
    target = DEMO / "domains.fasta" if function in ("search", "scores") else "HEAG"
    with pytest.raises(InputError, match=r"^0/-1: no pair of letters scores above 0, so a .* finds nothing; global"):
        getattr(exaln, function)("HEAG", target, scoring=scoring)


def test_matrices_without_a_score_above_0_are_read(tmp_path: Path) -> None:
    path = tmp_path / "edits.txt"
    path.write_text("H P\nH 0 -1\nP -1 0\n".replace("H P", "  H P", 1))
    scoring = Scoring(path, alphabet="HP", gap_open=0, gap_extend=1)
    assert (scoring.max_score, scoring.min_score) == (0, -1)
    assert exaln.score("HPPH", "HPH", scoring=scoring, mode="global") == -1


def test_edit_distance_on_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = Exaln(capsys)
    first, second = tmp_path / "a.fasta", tmp_path / "b.fasta"
    first.write_text(">a\nKITTEN\n")
    second.write_text(">b\nSITTING\n")
    options = ["--alphabet", "protein", "--match", 0, "--mismatch", -1, "--gap-open", 0, "--gap-extend", 1]
    shown = run("align", first, second, *options, "--mode", "global", "--outfmt", "6", "score", "cigar")
    assert shown.rows == [["-3", "6M1D"]]
    for command in (
        ["align", first, second],
        ["search", "--query", first, "--db", second],
        ["score", "--query", first, "--db", second],
    ):
        code, message = run.error(*command, *options)
        assert (code, "no pair of letters scores above 0" in message) == (1, True)


# Scores beyond 32 bits

STEEP = Scoring(match=1, mismatch=-1, gap_open=0, gap_extend=MAX_VALUE)
N = 66_000


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("turned", [False, True], ids=["long target", "long query"])
def test_gaps_that_pass_31_bits_are_exact(engine: str, turned: bool) -> None:
    pair = ("C" * 3, "ACGT" * (N // 4))
    pair = pair[::-1] if turned else pair
    expected = 3 - (N - 3) * MAX_VALUE
    assert expected < -(2**31)
    assert exaln.score(*pair, scoring=STEEP, mode="global", engine=engine) == expected
    assert exaln.score(*pair, scoring=STEEP, mode="free:qs,ts", engine=engine) == -1


def test_alignments_whose_gaps_pass_31_bits_are_exact() -> None:
    target = "ACGT" * (N // 4)
    found = exaln.align("CCC", target, scoring=STEEP, mode="global")
    assert (found.score, found.gaps, found.identities) == (3 - (N - 3) * MAX_VALUE, N - 3, 3)
    assert exaln.align("", target, scoring=STEEP, mode="global").score == -N * MAX_VALUE
    many = exaln.align_many(["CCC", "ACGT"], [target, "ACGT"], scoring=STEEP, mode="global")
    assert many.scores.tolist() == [3 - (N - 3) * MAX_VALUE, 4]
    assert many.to_arrow()["score"].to_pylist() == many.scores.tolist()


def test_local_scores_of_pairs_beyond_31_bits_are_exact() -> None:
    scoring = Scoring(np.array([[MAX_VALUE]]), gap_open=1, gap_extend=1, alphabet=exaln.Alphabet("one", "A"))
    assert exaln.score("A" * N, "A" * N, scoring=scoring) == N * MAX_VALUE > 2**31


def test_long_pairs_whose_gaps_pass_31_bits_are_exact() -> None:
    chance = random.Random(1)
    query = "".join(chance.choices("ACGT", k=3000))
    target = query + "ACGT" * 17_000
    for engine in (CpuEngine(2),):
        codes = [DNA.encode(text) for text in (query, target)]
        found = align_long(engine, *codes, STEEP, GLOBAL, LongOptions())
        assert found.score == 3000 - 68_000 * MAX_VALUE
        assert score_long(engine, *codes, STEEP, GLOBAL, LongOptions()) == found.score


def test_the_cuda_engine_passes_pairs_beyond_31_bits_to_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    import fake_pairs
    from fake_cuda import FakeDriver

    driver = fake_pairs.install(monkeypatch, FakeDriver())
    queries, targets = Records.of(DNA, [DNA.encode("CCC")]), Records.of(DNA, [DNA.encode("ACGT" * (N // 4))])
    pairs = PairList(np.zeros(1, np.int64), np.zeros(1, np.int64))
    engine = CudaEngine([0])
    assert engine_calls.score_pairs(engine, queries, targets, pairs, STEEP, GLOBAL).tolist() == [
        3 - (N - 3) * MAX_VALUE
    ]
    assert engine_calls.align_pairs(engine, queries, targets, pairs, STEEP, GLOBAL).scores.tolist() == [
        3 - (N - 3) * MAX_VALUE
    ]
    assert [name for name, _, _ in driver.launches if name == "fill_couples"] == []

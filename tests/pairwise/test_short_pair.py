"""The short way of `score` and `align` gives what the general way gives: results, errors, warnings, objects."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import exaln
import oracle
import strategies
from exaln import _core
from exaln.engines.cpu import short_pairs as cpu_short_pairs
from exaln.engines.cpu.engine import LONG_PAIRS
from exaln.errors import ExalnError
from exaln.foundation.resources import THREADS_PER_CORE, available_threads
from exaln.pairwise import pairs, short_pair
from exaln.scoring.modes import GLOBAL, LOCAL
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import BUILT_IN, DNA, PROTEIN, RNA, Alphabet
from mode_cases import ALL_MODES, free_ends

ISAS = [name for name, is_usable in _core.isas() if is_usable]
PROPERTIES = [
    "score", "bits", "evalue", "strand", "scoring", "mode", "query_sequence", "target_sequence", "query_aligned",
    "target_aligned", "query_id", "target_id", "cigar", "cigar_extended", "identity", "query_start", "query_end",
    "target_start", "target_end", "identities", "positives", "mismatches", "gap_opens", "gaps", "columns",
]  # fmt: skip
ARRAYS = ["query", "target", "operations"]


@contextmanager
def general_way() -> Iterator[None]:
    """Without the short way."""
    limit, short_pair.MAX_CELLS = short_pair.MAX_CELLS, -1
    try:
        yield
    finally:
        short_pair.MAX_CELLS = limit


@contextmanager
def short_way_only() -> Iterator[None]:
    """Fails if a pair goes the general way."""

    def general(*_: Any) -> Any:
        raise AssertionError("the general way was taken")

    kept = pairs._alignments, pairs._scores
    pairs._alignments = pairs._scores = general  # type: ignore[assignment]
    try:
        yield
    finally:
        pairs._alignments, pairs._scores = kept


def described(one: exaln.Alignment) -> list[Any]:
    """Everything that an alignment says of itself, with types."""
    found: list[Any] = [(name, type(getattr(one, name)), getattr(one, name)) for name in PROPERTIES]
    for name in ARRAYS:
        array = getattr(one, name)
        found.append((name, array.dtype, array.flags.writeable, array.tolist()))
    return [*found, repr(one), one.text(), one._repr_html_()]


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returns, warns of or raises."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = call()
        except ExalnError as error:
            found = type(error), str(error)
    result = described(found) if isinstance(found, exaln.Alignment) else (type(found), found)
    return result, [(one.category, str(one.message)) for one in caught]


def assert_same(query: Any, target: Any, *, is_short: bool = True, **options: Any) -> None:
    """Both ways agree on scores and alignments. is_short: whether the short way must have been taken."""
    score_options = {name: value for name, value in options.items() if name != "strand"}
    calls = (lambda: exaln.score(query, target, **score_options), lambda: exaln.align(query, target, **options))
    for call in calls:
        with general_way():
            expected = outcome(call)
        if is_short:
            with short_way_only():
                assert outcome(call) == expected
        assert outcome(call) == expected


ACGT = st.text("ACGT", max_size=70)


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, str, dict[str, Any]]:
    alphabet = draw(strategies.alphabets)
    query, target = draw(strategies.related_pairs(alphabet, max_size=draw(st.sampled_from([5, 60]))))
    scoring = draw(strategies.scorings(alphabet))
    if draw(st.booleans()):
        gap_open, gap_extend = draw(strategies.fractional_costs)
        scoring = Scoring(match=1.5, mismatch=-2, gap_open=gap_open, gap_extend=gap_extend, alphabet=alphabet)
    options = {"scoring": scoring, "mode": draw(st.sampled_from(ALL_MODES)).name}
    if alphabet in (DNA, RNA):
        options["strand"] = draw(st.sampled_from(["plus", "minus", "both"]))
    return query, target, options


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(cases())
def test_any_scoring_mode_and_strand(case: tuple[str, str, dict[str, Any]]) -> None:
    query, target, options = case
    assert_same(query, target, **options)
    assert_same(query.encode(), target, **options)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_default_scoring_of_any_letters(data: st.DataObject) -> None:
    alphabet = data.draw(st.sampled_from(list(BUILT_IN.values())))
    query, target = data.draw(strategies.related_pairs(alphabet) | st.tuples(ACGT, strategies.sequences(alphabet)))
    assert_same(query, target, is_short=False)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_the_oracle_agrees(data: st.DataObject) -> None:
    alphabet = data.draw(st.sampled_from(list(BUILT_IN.values())))
    query, target = (one.upper() for one in data.draw(strategies.related_pairs(alphabet, max_size=40)))
    scoring, mode = Scoring.default(alphabet), data.draw(st.sampled_from(ALL_MODES))
    codes = [alphabet.encode(one).tolist() for one in (query, target)]
    costs = scoring.matrix.tolist(), scoring.gap_open, scoring.gap_extend
    if mode.is_local:
        expected = oracle.smith_waterman(*codes, *costs)
    else:
        expected = oracle.aligned_score(*codes, *costs, free=free_ends(mode))
    with short_way_only():
        assert exaln.score(query, target, scoring=scoring, mode=mode) == expected
        assert exaln.align(query, target, scoring=scoring, mode=mode).score == expected


@pytest.mark.parametrize(
    "mode", ["local", "global", "semiglobal", "overlap", "free:qs,te", " free:qs", "free:", "free:te,qs"]
)
def test_modes_by_name(mode: str) -> None:
    assert_same("ACGTTACGAC", "TTACGTACGACCC", is_short=mode not in (" free:qs", "free:"), mode=mode)


@pytest.mark.parametrize("isa", [*ISAS, "", "sse9"])
def test_the_instruction_set_may_be_forced(monkeypatch: pytest.MonkeyPatch, isa: str) -> None:
    monkeypatch.setenv("EXALN_ISA", isa)
    rng = np.random.default_rng(1)
    query, target = (PROTEIN.decode(rng.integers(0, 20, 90).astype(np.uint8)) for _ in range(2))
    assert_same(query, target, is_short=isa != "sse9")
    used = [pairs for (_, name), (_, pairs) in cpu_short_pairs._cached.items() if name == isa]
    assert bool(used) == (isa != "sse9")


@pytest.mark.parametrize("engine", ["cpu", "reference", "cuda", "turbo", "", 5, None])
@pytest.mark.parametrize("variable", ["auto", "cpu", "reference", "turbo", ""])
def test_engines_by_name_and_by_environment(monkeypatch: pytest.MonkeyPatch, engine: Any, variable: str) -> None:
    monkeypatch.setenv("EXALN_ENGINE", variable)
    assert_same("ACGT", "ACGA", is_short=engine == "cpu", engine=engine)
    assert_same("ACGT", "ACGA", is_short=variable in ("auto", "cpu"), engine="auto")


@pytest.mark.parametrize(
    "threads", [1, 2, THREADS_PER_CORE, THREADS_PER_CORE * available_threads() + 1, 0, -1, 1.0, True, np.int64(2), "2"]
)
def test_threads(threads: Any) -> None:
    assert_same("ACGT", "ACGA", is_short=type(threads) is int and 1 <= threads <= THREADS_PER_CORE, threads=threads)


@pytest.mark.parametrize(
    ("query", "target"),
    [
        ("", ""),
        ("", "ACGT"),
        ("ACGT", b""),
        ("", "HEAGAWGHEE"),
        ("HEAGAWGHEE", "PAWHEAE"),
        ("acgu", "ACGU"),
        ("ACGU", "ACGT"),
        ("ACGT", "MAGIC"),
        ("*", "W*W"),
        ("ACGTNNRY", b"acgtnnry"),
        ("A" * 31, "A" * 33),
        ("ACGT" * 12, "MKVLAW" * 10),
    ],
)
def test_pairs_that_are_short(query: Any, target: Any) -> None:
    assert_same(query, target)
    for mode in (GLOBAL, "semiglobal", "overlap"):
        assert_same(query, target, mode=mode)


@pytest.mark.parametrize(
    ("query", "target"),
    [
        ("ACGT", "AC GT"),
        ("ACGT", "AC-GT"),
        ("ACGT", "AC\nGT"),
        ("ACG1", "ACGT"),
        ("ACGT", "@CGT"),
        ("AC\u00e9T", "ACGT"),
        ("ACGT", "AC\ud800"),
        (b"AC\xffT", "ACGT"),
        ("ACGT" * 13, "MKVLAW" * 10),  # nucleotides against a protein
        ("MKVLAW" * 10, b"gattaca" * 10),
        (["ACGT"], "ACGT"),
        (bytearray(b"ACGT"), "ACGT"),
        (np.array([0, 1], np.uint8), "ACGT"),
        (5, "ACGT"),
        ("ACGT", None),
    ],
)
def test_what_goes_the_general_way(query: Any, target: Any) -> None:
    assert_same(query, target, is_short=False)
    assert_same(query, target, is_short=False, scoring=Scoring.default(DNA))


def test_the_name_of_a_file_is_named_in_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("reads.fasta").write_text(">a\nACGT\n")
    with pytest.raises(exaln.InputError, match=r"to read the file of that name pass pathlib.Path\('reads.fasta'\)"):
        exaln.align("reads.fasta", "ACGT")
    assert_same("reads.fasta", "ACGT", is_short=False)


class Text(str):
    """Text of a class of its own."""


@pytest.mark.parametrize(
    "options",
    [
        {"scoring": "BLOSUM62"},
        {"scoring": "blosum45"},
        {"scoring": "NUC.4.4"},
        {"scoring": "EDNAFULL"},
        {"scoring": "nothing"},
        {"scoring": 5},
        {"scoring": Scoring("BLOSUM62", gap_open=9.5, gap_extend=0.5)},
        {"scoring": Scoring(match=1, mismatch=-1, gap_open=0, gap_extend=0, alphabet=PROTEIN)},
        {"scoring": Scoring(match=0, mismatch=-1, gap_open=0, gap_extend=1)},
        {"scoring": Scoring(match=0, mismatch=-1, gap_open=0, gap_extend=1), "mode": "global"},
        {"scoring": Scoring(match=1, mismatch=-1, alphabet=Alphabet("dna", "ACGT")), "strand": "both"},
        {"scoring": Scoring(match=1, mismatch=-1, alphabet=Alphabet("dna", "ACGT"))},
        {"scoring": Scoring(match=32767, mismatch=-32767, gap_open=0, gap_extend=32767), "mode": "global"},
        {"mode": "glocal"},
        {"mode": 5},
        {"mode": LOCAL},
        {"strand": "both"},
        {"strand": "minus"},
        {"strand": "up"},
        {"strand": None},
        {"strand": "minus", "scoring": "BLOSUM62"},
        {"strand": "both", "scoring": "BLOSUM62"},
    ],
    ids=str,
)
def test_options(options: dict[str, Any]) -> None:
    for query, target in (("ACGTACGGT", "ACGTCCGGTA"), ("CCC", "GGG"), (Text("ACGT"), "ACGT")):
        assert_same(query, target, is_short=False, **options)


def test_options_of_long_pairs_and_of_gpus(tmp_path: Path) -> None:
    for options in ({"work_dir": tmp_path / "work"}, {"memory": 1 << 20}, {"memory": 0}, {"work_dir": 5}):
        call = lambda options=options: exaln.align("ACGT", "ACGA", **options)  # noqa: E731
        with general_way():
            expected = outcome(call)
        assert outcome(call) == expected
    with pytest.raises(ExalnError, match="need --engine cuda"):
        exaln.score("ACGT", "ACGA", engine="cpu", devices=[0])
    with pytest.raises(ExalnError, match="need --engine cuda"):
        exaln.align("ACGT", "ACGA", engine="cpu", gpu_memory=1)


@pytest.mark.parametrize(
    "sizes", [(511, 513), (512, 512), (700, 724), (2048, 2048), (100, 8191), (8000, 524), (1, 8192)]
)
@pytest.mark.parametrize("mode", ["local", "global"])
def test_sizes_around_the_limits(sizes: tuple[int, int], mode: str) -> None:
    """The limit of the short way, and the least number of cells of a long pair."""
    assert LONG_PAIRS[0][1] == 512 * 512
    rng = np.random.default_rng(sum(sizes))
    query = DNA.decode(rng.integers(0, 4, sizes[0]).astype(np.uint8))
    target = (query[50:] + query)[: sizes[1]].ljust(sizes[1], "A")
    limit = max(sizes[0], short_pair.LEAST_ROWS) * sizes[1]
    assert limit <= short_pair.MAX_CELLS
    assert_same(query, target, mode=mode)
    longer = target + "A" * (short_pair.MAX_CELLS // max(sizes[0], short_pair.LEAST_ROWS) - sizes[1] + 1)
    assert_same(query, longer, is_short=False, mode=mode)
    with pytest.raises(AssertionError, match="general way"), short_way_only():
        exaln.score(query, longer)


def test_objects_can_be_copied_pickled_plotted_and_converted(tmp_path: Path) -> None:
    one = exaln.align("HEAGAWGHEE", "PAWHEAE")
    before = pickle.loads(pickle.dumps(one))
    expected = described(one)
    for other in (before, pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
        assert described(other) == expected
    assert one.plot(tmp_path / "pair.svg") is not None
    again = exaln.Alignment.from_biopython(exaln.align("HEAGAWGHEE", "PAWHEAE").to_biopython(), one.scoring)
    assert (again.score, again.cigar_extended) == (one.score, one.cigar_extended)
    assert str(exaln.align("ACGT", "ACGT")).startswith("score 8")


def test_reading_numbers_makes_no_columns() -> None:
    one = exaln.align("ACGTACG", "ACGTTACG")
    assert (one.score, one.query_start, one.columns, one.cigar, one.strand, one.mode.name) == (
        8, 0, 4, "4M", 1, "local",
    )  # fmt: skip
    assert isinstance(one._source, short_pair.ShortPair)
    assert len(one.query) == 7
    assert isinstance(one._source, exaln.Alignments)


def test_scorings_of_the_same_values_and_of_dead_objects_are_told_apart() -> None:
    """The cache goes by identity: an entry keeps its scoring, so that no other can have the same address."""
    for match in range(1, 3 * cpu_short_pairs.MAX_CACHED):
        assert exaln.score("ACGT", "ACGT", scoring=Scoring(match=match, mismatch=-1)) == 4 * match
    assert len(cpu_short_pairs._cached) <= cpu_short_pairs.MAX_CACHED


def test_calls_from_many_threads() -> None:
    texts = ["ACGT" * n + "TTGACA" for n in range(1, 40)]
    expected = [exaln.align(a, b).cigar for a, b in pairwise(texts)]
    wrong = []

    def work() -> None:
        cpu_short_pairs._cached.clear()
        if [exaln.align(a, b).cigar for a, b in pairwise(texts)] != expected:
            wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def _align_for_minutes() -> None:
    for _ in range(10**6):
        exaln.align("ACGT" * 300, "ACGA" * 300)


def test_an_interrupt_stops_a_loop_of_calls() -> None:
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        _align_for_minutes()
    timer.join()
    assert threading.active_count() < 20


def test_default_scorings_and_named_matrices_are_made_once() -> None:
    assert Scoring.default("dna") is Scoring.default(DNA)
    assert exaln.align("ACGT", "ACGT", scoring="BLOSUM62").scoring is exaln.align("WW", "W", scoring="blosum62").scoring
    other = Alphabet("dna", DNA.letters, {"R": "A"})
    assert other == DNA
    assert Scoring.default(other).matrix.tolist() != Scoring.default(DNA).matrix.tolist()
    assert not Scoring.default(PROTEIN).matrix.flags.writeable

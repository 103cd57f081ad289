"""The contract of engines: which one is chosen, what is refused, what leaves an engine after the cut."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exaln
import golden_data
from engine_calls import scan, scores
from exaln import _core
from exaln.engines import choice, contracts
from exaln.engines.choice import ENGINES, choose_engine
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.cuda.engine import CudaEngine
from exaln.engines.reference.engine import ReferenceEngine
from exaln.engines.tasks import QueryRows, Resident, ScanTask, ScoreBlock
from exaln.errors import EngineError, ExalnWarning, InputError, OutOfMemoryError
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, PROTEIN, RNA, Alphabet
from exaln.sequences.inputs import as_records
from exaln.statistics.length_bins import N_BINS, length_bin
from kernel_cases import ISAS
from memory_targets import memory_targets

BLOSUM62 = Scoring("BLOSUM62")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    """No variables, and no GPU, whatever the machine has: test_cuda_engine.py is about those."""
    for name in ("EXALN_ENGINE", "EXALN_ISA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(CudaEngine, "unavailable_reason", staticmethod(lambda: "no GPU today"))
    monkeypatch.setattr(CudaEngine, "is_expected", staticmethod(lambda: False))


def protein_view(sequences, n_segments=1):
    return memory_targets(PROTEIN, [PROTEIN.encode(s) for s in sequences], n_segments)


def test_auto_is_the_fastest_that_is_usable():
    assert ENGINES == ("cuda", "cpu", "reference")
    assert isinstance(choose_engine(), CpuEngine)
    assert isinstance(choose_engine("auto"), CpuEngine)


@pytest.mark.parametrize("name", ["cpu", "reference"])
def test_an_engine_is_chosen_by_name(name, monkeypatch):
    assert choose_engine(name).name == name
    monkeypatch.setenv("EXALN_ENGINE", name)
    assert choose_engine("auto").name == name


def test_an_explicit_engine_overrides_the_environment(monkeypatch):
    monkeypatch.setenv("EXALN_ENGINE", "reference")
    assert choose_engine("cpu").name == "cpu"
    monkeypatch.setenv("EXALN_ENGINE", "auto")
    assert choose_engine("auto").name == "cpu"


@pytest.mark.parametrize("name", ["gpu", "CPU", "", "cuda "])
def test_an_unknown_engine_raises_and_the_message_lists_the_known(name, monkeypatch):
    with pytest.raises(EngineError, match=r"unknown engine .*; choose auto, cuda, cpu, reference"):
        choose_engine(name)
    monkeypatch.setenv("EXALN_ENGINE", name)
    with pytest.raises(EngineError, match="unknown engine"):
        choose_engine("auto")


def test_only_auto_falls_back_to_another_engine_and_warns(monkeypatch):
    monkeypatch.setattr(CpuEngine, "unavailable_reason", staticmethod(lambda: "no core today"))
    with pytest.warns(ExalnWarning, match="engine 'cpu' is passed over: no core today"):
        assert choose_engine("auto").name == "reference"
    with pytest.raises(EngineError, match="engine 'cpu' cannot be used: no core today"):
        choose_engine("cpu")
    monkeypatch.setenv("EXALN_ENGINE", "cpu")
    with pytest.raises(EngineError, match="no core today"):
        choose_engine("auto")


def test_auto_warns_about_an_unusable_gpu_only_where_one_is_expected(monkeypatch):
    assert choose_engine("auto").name == "cpu"
    monkeypatch.setattr(CudaEngine, "is_expected", staticmethod(lambda: True))
    with pytest.warns(ExalnWarning, match="engine 'cuda' is passed over: no GPU today"):
        assert choose_engine("auto").name == "cpu"
    with pytest.raises(EngineError, match="engine 'cuda' cannot be used: no GPU today"):
        choose_engine("cuda")


@pytest.mark.parametrize("isa", ISAS)
def test_each_instruction_set_can_be_forced(isa, monkeypatch):
    monkeypatch.setenv("EXALN_ISA", isa)
    engine = choose_engine("cpu", threads=2)
    assert engine.describe() == f"cpu, {isa}, 2 threads"
    assert exaln.score("HEAGAWGHEE", "PAWHEAE", scoring=Scoring("BLOSUM50", gap_open=0, gap_extend=8)) == 28


@pytest.mark.parametrize("isa", ["mmx", "AVX2", "avx512"])
def test_an_unknown_instruction_set_raises(isa, monkeypatch):
    monkeypatch.setenv("EXALN_ISA", isa)
    with pytest.raises(EngineError, match=f"EXALN_ISA={isa} is unknown; built in are .*portable"):
        choose_engine("cpu")
    with pytest.raises(EngineError, match="unknown"):
        exaln.score("ACGT", "ACGT")


def test_an_instruction_set_that_this_cpu_lacks_raises(monkeypatch):
    monkeypatch.setattr(_core, "isas", lambda: [("avx1024", False), ("portable", True)])
    assert CpuEngine().isa == "portable"
    monkeypatch.setenv("EXALN_ISA", "avx1024")
    with pytest.raises(EngineError, match="EXALN_ISA=avx1024: this CPU does not have it; usable are portable"):
        choose_engine("auto")


def test_the_fastest_usable_instruction_set_is_the_default():
    assert CpuEngine().isa == ISAS[0]
    assert CpuEngine(1).describe() == f"cpu, {ISAS[0]}, 1 thread"


@pytest.mark.parametrize("threads", [0, -1])
def test_zero_threads_are_refused(threads):
    with pytest.raises(InputError, match=f"threads is {threads}; expected a whole number of at least 1"):
        choose_engine("cpu", threads=threads)


@pytest.mark.parametrize("name", ["cpu", "reference"])
@pytest.mark.parametrize("n_segments", [1, 3])
def test_scores_are_in_the_order_of_the_input(name, n_segments):
    queries, targets = list(golden_data.queries().items())[:2], list(golden_data.targets().items())[:12]
    expected = [[golden_data.scores()[query, target] for target, _ in targets] for query, _ in queries]
    view = protein_view([sequence for _, sequence in targets], n_segments)
    records = as_records([sequence for _, sequence in queries], PROTEIN)
    engine = choose_engine(name)
    assert scores(engine, records, view, BLOSUM62).tolist() == expected


@pytest.mark.parametrize("name", ["cpu", "reference"])
def test_progress_ends_with_all_cells(name):
    cells = []
    records = as_records(["HEAGAWGHEE", "PAWHEAE", ""], PROTEIN)
    scores(choose_engine(name), records, protein_view(["AAA", "", "W" * 9], 2), BLOSUM62, cells.append)
    assert cells == sorted(cells)
    assert cells[-1] == 17 * 12


@pytest.mark.parametrize("name", ["cpu", "reference"])
def test_no_queries_and_no_targets_on_every_engine(name):
    engine, nothing, some = choose_engine(name), as_records([], PROTEIN), as_records(["WWW"], PROTEIN)
    assert scores(engine, nothing, protein_view(["A", "AC"]), BLOSUM62).shape == (0, 2)
    assert scores(engine, some, protein_view([]), BLOSUM62).shape == (1, 0)
    assert list(scan(engine, nothing, protein_view([]), BLOSUM62)) == []


@pytest.mark.parametrize("name", ["cpu", "reference"])
def test_a_score_matrix_too_large_for_memory_is_refused_at_once(name, monkeypatch):
    monkeypatch.setattr(contracts, "available_memory", lambda: 4 * 3 * 2 - 1)
    records, view = as_records(["AC", "CC", "W"], PROTEIN), protein_view(["AC", "W"])
    with pytest.raises(OutOfMemoryError, match=r"3 x 2 scores need .* GiB are free; pass fewer queries"):
        scores(choose_engine(name), records, view, BLOSUM62)
    monkeypatch.setattr(contracts, "available_memory", lambda: 4 * 3 * 2)
    assert scores(choose_engine(name), records, view, BLOSUM62).shape == (3, 2)


@pytest.mark.parametrize("name", ["cpu", "reference"])
def test_alphabets_that_do_not_fit_are_refused(name):
    engine, dna = choose_engine(name), Scoring.default(DNA)
    proteins, nucleotides = as_records(["HEAG"], PROTEIN), as_records(["ACGT"], DNA)
    targets = memory_targets(DNA, [DNA.encode("ACGT")])
    with pytest.raises(InputError, match="the queries are protein, but 2/-3 scores dna"):
        scores(engine, proteins, targets, dna)
    with pytest.raises(InputError, match="the database is dna, but BLOSUM62 scores protein"):
        scores(engine, proteins, targets, BLOSUM62)
    custom = as_records(["ACGT"], Alphabet("custom", "ACGT"))
    with pytest.raises(InputError, match="the queries are custom"):
        list(scan(engine, custom, targets, dna))
    assert scores(engine, nucleotides, targets, dna).tolist() == [[8]]
    assert scores(engine, as_records(["ACGU"], RNA), targets, dna).tolist() == [[8]]


@st.composite
def score_blocks(draw):
    n_queries, n_targets = draw(st.integers(0, 4)), draw(st.integers(0, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    block = ScoreBlock(
        first_query=draw(st.integers(0, 3)),
        scores=rng.integers(0, 12, (n_queries, n_targets)).astype(np.int32),
        rows=rng.permutation(100)[:n_targets],
        lengths=rng.integers(0, 40, n_targets),
    )
    n_all = block.first_query + n_queries
    cutoff = draw(st.sampled_from([None, rng.integers(0, 14, (n_all, N_BINS)).astype(np.int32)]))
    return block, cutoff, draw(st.sampled_from([None, rng.integers(0, 100, n_all)]))


@settings(max_examples=300)
@given(score_blocks())
def test_candidates_reach_the_cutoff_from_their_first_row_on(case):
    block, cutoff, first_row = case
    expected = set()
    for place, scores_of_query in enumerate(block.scores):
        query = block.first_query + place
        for score, row, length in zip(scores_of_query, block.rows, block.lengths, strict=True):
            reaches = cutoff is None or score >= cutoff[query, int(length_bin(length))]
            if reaches and (first_row is None or row >= first_row[query]):
                expected.add((query, int(row), int(score)))
    view = protein_view([])
    task = ScanTask(QueryRows.of_sequences(as_records([], PROTEIN), BLOSUM62), Resident(view), cutoff, first_row)
    found = block.candidates(task)
    assert sorted(zip(found.query.tolist(), found.row.tolist(), found.score.tolist(), strict=True)) == sorted(expected)
    assert [found.query.dtype, found.row.dtype, found.score.dtype] == [np.int32, np.int64, np.int32]


@pytest.mark.parametrize("engine", [CpuEngine(2), ReferenceEngine()], ids=["cpu", "reference"])
def test_a_scan_finds_every_pair_above_the_cutoff_once(engine):
    queries = as_records(list(golden_data.queries().values())[:2], PROTEIN)
    view = protein_view(list(golden_data.targets().values())[:9], 2)
    expected = scores(engine, queries, view, BLOSUM62)
    triples = [t for c in scan(engine, queries, view, BLOSUM62, np.full((2, N_BINS), 30, np.int32)) for t in c.triples]
    assert sorted(triples) == [(q, t, int(expected[q, t])) for q, t in np.argwhere(expected >= 30).tolist()]
    assert 0 < len(triples) < expected.size


@pytest.mark.parametrize("threads", [40_000, 2**31, 2**70])
def test_more_threads_than_make_sense_are_capped_and_a_warning_says_so(threads, monkeypatch):
    monkeypatch.setattr("exaln.foundation.resources.available_threads", lambda: 3)
    with pytest.warns(ExalnWarning, match=f"{threads:,} threads are too many for 3 cores; using 48"):
        assert choose_engine("cpu", threads=threads).threads == 48
    assert choose_engine("cpu", threads=48).threads == 48
    assert choose_engine("cpu").threads == 3


def test_the_help_states_the_cap_of_threads():
    from exaln.cli import options
    from exaln.foundation.resources import THREADS_PER_CORE

    parameter = options.threads(lambda: None).__click_params__[0]
    assert f"at most {THREADS_PER_CORE} per core" in parameter.help


READERS = {"thread_pool.py", "code_uploads.py", "given.py"}
"""Reading files takes no time from an engine: it is short, or the engine waits for it."""


def test_threads_are_decided_in_one_place():
    """The option --threads reaches engines only through usable_threads."""
    package = Path(exaln.__file__).parent
    users = {path.name for path in package.rglob("*.py") if "available_threads()" in path.read_text(encoding="utf-8")}
    assert users <= {"resources.py", "about_commands.py", "compiler.py", "hosts.py", *READERS}


def test_the_first_engine_for_few_pairs_is_known_without_importing_it() -> None:
    first = next(name for name in ENGINES if choice.engine_class(name).tuning.serves_few_pairs)
    assert first == choice.FIRST_FOR_FEW_PAIRS

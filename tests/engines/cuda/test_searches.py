"""Whole searches on the GPU from the command line: byte for byte what the cpu engine writes; errors, Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import cuda_cases
import real_data
from command import Exaln
from cuda_cases import TESTED
from exaln.database.database import Database
from exaln.sequences.alphabet import DNA, PROTEIN, Alphabet
from exaln.sequences.strands import other_strand
from golden_data import GOLDEN
from kernel_cases import mutated, random_codes
from process import EXALN, start, write_random
from search_outputs import FORMATS, databases, found, split_fasta

pytestmark = pytest.mark.gpu

QUERIES, TARGETS = GOLDEN / "cudasw4q_part.fasta", GOLDEN / "scop20_part.fasta"
needs_cuda = pytest.mark.skipif(not cuda_cases.IS_CUDA, reason="about GPUs")


def write_fasta(path: Path, alphabet: Alphabet, sequences: list[np.ndarray]) -> Path:
    records = [f">s{number} the {number}th\n{alphabet.decode(codes)}\n" for number, codes in enumerate(sequences)]
    path.write_text("".join(records))
    return path


def assert_same_bytes(folder: Path, queries: Path, database: Path, outfmt: str, *options: object) -> bytes:
    """The engine under test writes what the cpu engine writes, which is returned."""
    expected, ours = (
        found(folder / "hits", queries, database, outfmt, [*options, "--engine", name]) for name in ("cpu", TESTED)
    )
    assert ours == expected, f"{outfmt} {options}"
    return expected


SELECTIONS = [
    ["--evalue", "10"],
    ["--evalue", "1e9"],
    ["--evalue", "1e9", "--max-target-seqs", 1],
    ["--evalue", "1e9", "--max-target-seqs", 5, "--min-identity", 20, "--query-coverage", 10],
    ["--evalue", "1e6", "--min-score", 40, "--target-coverage", 30],
    ["--evalue", "1e9", "--matrix", "PAM250", "--gapopen", 14, "--gapextend", 2, "--min-bits", 5],
    ["--gapopen", 9.5, "--gapextend", 0.5, "--min-score", 30, "--max-target-seqs", 7],
]


@pytest.mark.parametrize("outfmt", FORMATS)
@pytest.mark.usefixtures("streams")
def test_formats(tmp_path: Path, outfmt: str) -> None:
    nine = databases(TARGETS, tmp_path)["nine"]
    for options in SELECTIONS[:2]:
        assert len(assert_same_bytes(tmp_path, QUERIES, nine, outfmt, *options)) > 1000


@pytest.mark.filterwarnings("ignore::exaln.errors.ExalnWarning")
@pytest.mark.parametrize("number", range(len(SELECTIONS)))
@pytest.mark.usefixtures("streams")
def test_selections(tmp_path: Path, number: int) -> None:
    for database in databases(TARGETS, tmp_path).values():
        written = assert_same_bytes(tmp_path, QUERIES, database, "6 std score cigar btop", *SELECTIONS[number])
        assert written.count(b"\n") >= 10


def test_lists_of_ids(tmp_path: Path) -> None:
    ids = re.findall(r"^>(\S+)", TARGETS.read_text(), re.MULTILINE)[5:30]
    (tmp_path / "ids").write_text("\n".join(ids))
    for option in ("--ids", "--exclude-ids"):
        options = ["--evalue", "1e9", option, tmp_path / "ids", "--max-target-seqs", 10]
        written = assert_same_bytes(tmp_path, QUERIES, TARGETS, "6 std", *options).decode().splitlines()
        assert len(written) == 100
        assert all((line.split("\t")[1] in ids) == (option == "--ids") for line in written)


@pytest.fixture(scope="module")
def nucleotides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Reads of both strands, and the contigs that they come from."""
    folder, rng = tmp_path_factory.mktemp("dna"), np.random.default_rng(1)
    contigs = [random_codes(rng, int(n), 4) for n in rng.integers(30, 3000, 400)]
    contigs[7] = random_codes(rng, 50_000, 4)
    reads = []
    for number in range(40):
        source = contigs[rng.integers(len(contigs))] if number % 4 else contigs[7]
        begin = int(rng.integers(0, max(1, len(source) - 200)))
        reads.append(mutated(rng, source[begin : begin + int(rng.integers(20, 1500))], 4, 0.1))
    path = write_fasta(folder / "reads.fasta", DNA, reads)
    from exaln.sequences.fasta import read_records

    turned = other_strand(read_records(path, alphabet=DNA).rows(0, 20))
    reads[:20] = [turned.sequence(row).copy() for row in range(20)]
    database = folder / "contigs.exaln"
    Database.build(write_fasta(folder / "contigs.fasta", DNA, contigs), database)
    return write_fasta(path, DNA, reads), database


@pytest.mark.parametrize("strand", ["both", "plus", "minus"])
@pytest.mark.parametrize("scores", [[], ["--match", 1, "--mismatch", -3, "--gapopen", 5, "--gapextend", 2]])
@pytest.mark.usefixtures("streams")
def test_dna(tmp_path: Path, nucleotides: tuple[Path, Path], strand: str, scores: list[object]) -> None:
    options = ["--strand", strand, "--max-target-seqs", 20, *scores]
    written = assert_same_bytes(tmp_path, *nucleotides, "6 std sstrand score cigar", *options)
    assert written.count(b"\n") > 15


@pytest.mark.parametrize("rest", [["--top", 5], ["--min-score", 30], []])
def test_the_table_of_scores(exaln: Exaln, rest: list[object]) -> None:
    both = [exaln("score", "--query", QUERIES, "--db", TARGETS, "--engine", name, "--quiet", *rest)
            for name in ("cpu", TESTED)]  # fmt: skip
    assert [(result.code, result.err) for result in both] == [(0, "")] * 2
    assert both[0].out == both[1].out
    assert len(both[0].rows) >= 20


@needs_cuda
@pytest.mark.parametrize("options", [["--gpu-memory", "32M"], ["--devices", "0,0"], ["--devices", "0"]])
def test_memory_and_devices_change_nothing(tmp_path: Path, options: list[str]) -> None:
    rng = np.random.default_rng(2)
    targets = [random_codes(rng, int(n), 20) for n in rng.integers(1, 900, 6000)]
    targets[100:140] = [mutated(rng, target, 20, 0.3) for target in targets[:40]]
    queries = write_fasta(tmp_path / "queries.fasta", PROTEIN, targets[:40])
    database = tmp_path / "db.exaln"
    Database.build(write_fasta(tmp_path / "targets.fasta", PROTEIN, targets), database)
    formatted = "6 std cigar"
    expected = found(tmp_path / "hits", queries, database, formatted, ["--engine", "cpu"])
    assert found(tmp_path / "hits", queries, database, formatted, ["--engine", "cuda", *options]) == expected
    assert expected.count(b"\n") > 70


@real_data.needs_real_data
def test_real_proteins(tmp_path: Path) -> None:
    """25 queries against 20,000 proteins."""
    queries = split_fasta(real_data.FOLDER / "protein/mmseqs_QUERY.fasta.gz", 20, tmp_path)[0]
    queries = queries.rename(tmp_path / "queries.fasta")
    database = tmp_path / "db.exaln"
    Database.build(real_data.FOLDER / "protein/mmseqs_DB.fasta.gz", database)
    for options in (["--evalue", "10"], ["--evalue", "1e6", "--max-target-seqs", 50, "--min-identity", 30]):
        written = assert_same_bytes(tmp_path, queries, database, "6 std score cigar btop", *options)
        assert written.count(b"\n") > 500


@needs_cuda
def test_auto_takes_the_gpu_and_says_so(exaln: Exaln, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EXALN_ENGINE", raising=False)
    result = exaln("search", "--query", QUERIES, "--db", TARGETS, "--verbose")
    assert result.code == 0
    assert "cuda" in result.err
    assert exaln("search", "--query", QUERIES, "--db", TARGETS, "--engine", "cpu").out == result.out


# What goes wrong


@needs_cuda
def test_too_little_gpu_memory(exaln: Exaln, tmp_path: Path) -> None:
    out = tmp_path / "hits.tsv"
    code, message = exaln.error(
        "search", "--query", QUERIES, "--db", TARGETS, "--engine", "cuda", "--gpu-memory", "2K", "--out", out
    )
    assert code == 4
    assert "GPU memory are too few; set --gpu-memory" in message
    assert list(tmp_path.iterdir()) == []


@needs_cuda
def test_an_unknown_device(exaln: Exaln, tmp_path: Path) -> None:
    out = tmp_path / "hits.tsv"
    code, message = exaln.error("search", "--query", QUERIES, "--db", TARGETS, "--devices", "97", "--out", out)
    assert code == 3
    assert "97" in message
    assert list(tmp_path.iterdir()) == []


@needs_cuda
def test_no_gpu_to_be_seen(tmp_path: Path) -> None:
    """As on a machine without one: asked for by name it is an error, and auto goes on with the cpu engine."""
    arguments = ["search", "--query", QUERIES, "--db", TARGETS, "--quiet"]
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "EXALN_ENGINE": "auto"}
    for engine, code in (("cuda", 3), ("auto", 0), ("cpu", 0)):
        command = [*EXALN, *map(str, arguments), "--engine", engine]
        ended = subprocess.run(command, env=hidden, capture_output=True, text=True, timeout=120)
        assert ended.returncode == code, ended.stderr
        assert "Traceback" not in ended.stderr
        assert ended.stderr.count("\n") <= 1


@needs_cuda
def test_processes_that_start_at_once_on_an_empty_cache(tmp_path: Path) -> None:
    """Each compiles what it lacks, none reads half a file, and the next one compiles nothing."""
    environment = {**os.environ, "EXALN_CACHE": str(tmp_path / "cache")}
    arguments = ["search", "--query", QUERIES, "--db", TARGETS, "--engine", "cuda", "--quiet"]
    processes = [start(*arguments, env=environment) for _ in range(3)]
    outputs = [(*process.communicate(timeout=150), process.returncode) for process in processes]
    assert outputs == [(outputs[0][0], b"", 0)] * 3
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*") if path.is_file()}
    assert kept
    assert start(*arguments, env=environment).communicate(timeout=60) == (outputs[0][0], b"")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*") if path.is_file()} == kept


HOG = """
import sys
from cuda.bindings import driver

def call(function, *arguments):
    status, *values = function(*arguments)
    assert status == driver.CUresult.CUDA_SUCCESS, status
    return values[0] if len(values) == 1 else values

call(driver.cuInit, 0)
call(driver.cuCtxSetCurrent, call(driver.cuDevicePrimaryCtxRetain, call(driver.cuDeviceGet, 0)))
free, total = call(driver.cuMemGetInfo)
call(driver.cuMemAlloc, free - (int(sys.argv[1]) << 20))
print("taken", flush=True)
sys.stdin.read()
"""


@needs_cuda
@pytest.mark.parametrize("cap", [[], ["--gpu-memory", "20G"]])
def test_a_device_that_others_use(tmp_path: Path, cap: list[str]) -> None:
    """Smaller batches where they help, and otherwise one line that says what to do; never a wrong result."""
    database = tmp_path / "db.exaln"
    Database.build(write_random(tmp_path / "targets.fasta", 40_000, 1000), database)
    queries = write_random(tmp_path / "queries.fasta", 3, 60)
    arguments = ["search", "--query", queries, "--db", database, "--quiet", "--max-target-seqs", 5, "--evalue", "1e6"]
    expected = subprocess.run([*EXALN, *map(str, arguments), "--engine", "cpu"], capture_output=True, check=True).stdout
    assert expected.count(b"\n") == 15
    for megabytes in (1500, 900):  # a context of its own takes half of that
        hog = [sys.executable, "-c", HOG, str(megabytes)]
        with subprocess.Popen(hog, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                assert process.stdout.readline() == b"taken\n"
                with start(*arguments, "--engine", "cuda", *cap) as ours:
                    output, messages = ours.communicate(timeout=120)
            finally:
                process.kill()
        assert b"Traceback" not in messages
        if ours.returncode == 0:
            assert (output, messages) == (expected, b"")
        else:
            assert (ours.returncode, output, messages.count(b"\n")) == (4, b"", 1)
            assert b"--gpu-memory" in messages or b"memory" in messages


def flip_codes(database: Path) -> None:
    """Damage the codes of the first segment."""
    (path,) = database.glob("*.arrow")
    content = bytearray(path.read_bytes())
    place = content.find(Database.open(database).segments[0].codes[:64].tobytes())
    assert place > 0
    content[place + 30] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("memory", [None, "32M"])
def test_damaged_residues_are_found(exaln: Exaln, tmp_path: Path, memory: str | None) -> None:
    """What goes to the device is checked as it is read, resident or streamed."""
    if memory is not None and not cuda_cases.IS_CUDA:
        pytest.skip("about GPUs")
    database, out = tmp_path / "db.exaln", tmp_path / "hits.tsv"
    Database.build(write_random(tmp_path / "targets.fasta", 5000, 600), database)
    flip_codes(database)
    cap = [] if memory is None else ["--gpu-memory", memory]
    code, message = exaln.error("search", "--query", QUERIES, "--db", database, "--engine", TESTED, "--out", out, *cap)
    assert code == 2
    assert "damaged" in message
    assert not out.exists()


@pytest.fixture(scope="module")
def much_work(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Half a minute for the fastest GPU there is."""
    folder = tmp_path_factory.mktemp("work")
    database = folder / "db.exaln"
    Database.build(write_random(folder / "targets.fasta", 20_000, 1500), database)
    return write_random(folder / "queries.fasta", 1200, 5000), database


@pytest.mark.parametrize(
    ("sent", "memory", "delay"),
    [(signal.SIGINT, None, 0.0), (signal.SIGINT, None, 1.5), (signal.SIGINT, "64M", 1.5), (signal.SIGTERM, None, 1.5)],
)
def test_a_signal_ends_a_search_and_leaves_nothing(
    tmp_path: Path, much_work: tuple[Path, Path], sent: int, memory: str | None, delay: float
) -> None:
    """While kernels are compiled or loaded, and in the middle of the scan; resident and streamed."""
    if memory is not None and not cuda_cases.IS_CUDA:
        pytest.skip("about GPUs")
    queries, database = much_work
    out = tmp_path / "out.tsv"
    out.write_text("what was there before\n")
    cap = [] if memory is None else ["--gpu-memory", memory]
    process = start("search", "--query", queries, "--db", database, "--out", out, "--engine", TESTED, "--verbose", *cap)
    assert process.stderr is not None
    while b"finite-size" not in (line := process.stderr.readline()):
        assert line, "it ended before the scan began"
    time.sleep(delay)
    assert process.poll() is None, process.stderr.read()
    began = time.monotonic()
    process.send_signal(sent)
    _, messages = process.communicate(timeout=30)
    assert process.returncode == 128 + sent, messages
    assert time.monotonic() - began < 5
    word = b"interrupted" if sent == signal.SIGINT else b"terminated"
    assert messages.splitlines()[-1] == b"exaln: " + word
    assert b"Traceback" not in messages
    assert [path.name for path in tmp_path.iterdir()] == ["out.tsv"]
    assert out.read_text() == "what was there before\n"

"""search as a process: killed, interrupted, in pipes; and its files in the hands of others."""

import json
import random
import signal
import subprocess
import time
from pathlib import Path

import pandas
import polars
import pyarrow.parquet as pq
import pytest
from Bio import SearchIO

import real_data
from golden_data import GOLDEN
from process import EXALN, on_terminal, start, write_random

QUERIES, TARGETS = GOLDEN / "cudasw4q_part.fasta", GOLDEN / "scop20_part.fasta"


def feed_slowly(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Write the queries piece by piece, for at most so long; whether they were all written."""
    assert process.stdin is not None
    content = QUERIES.read_bytes()
    step, deadline = len(content) // 8 + 1, time.monotonic() + seconds
    try:
        for begin in range(0, len(content), step):
            if time.monotonic() > deadline:
                return False
            process.stdin.write(content[begin : begin + step])
            process.stdin.flush()
            time.sleep(0.02)
        process.stdin.close()
    except BrokenPipeError:
        return False
    return True


@pytest.mark.parametrize("extension", ["tsv", "parquet", "json.gz", "txt"])
def test_kill_9_never_leaves_a_part_under_the_final_name(tmp_path: Path, extension: str) -> None:
    out = tmp_path / f"hits.{extension}"
    arguments = ["search", "--query", "-", "--db", TARGETS, "--evalue", "1e4", "--out", out, "--threads", 1, "--quiet"]
    started = time.monotonic()
    with start(*arguments, stdin=subprocess.PIPE) as process:
        assert feed_slowly(process, 60)
        assert process.wait(60) == 0
    duration, whole = time.monotonic() - started, out.read_bytes()
    chance, outcomes = random.Random(extension), []
    for moment in range(5):
        before = None if moment % 2 else b"what was there before\n"
        out.unlink(missing_ok=True)
        if before is not None:
            out.write_bytes(before)
        # the second half is where files are written; a little beyond the end, too
        patience = duration * chance.uniform(0.4, 1.1)
        started = time.monotonic()
        with start(*arguments, stdin=subprocess.PIPE) as process:
            if moment == 0:  # in the middle for certain: it waits for more queries
                assert process.stdin is not None
                process.stdin.write(QUERIES.read_bytes()[:2000])
                process.stdin.flush()
            else:
                feed_slowly(process, patience)
            time.sleep(max(0.0, started + patience - time.monotonic()))
            process.kill()
        content = out.read_bytes() if out.exists() else None
        assert content in (before, whole)
        outcomes.append(content == whole)
    assert not outcomes[0]


@pytest.mark.parametrize(("sent", "word"), [(signal.SIGINT, b"interrupted"), (signal.SIGTERM, b"terminated")])
def test_a_signal_ends_a_search_and_leaves_no_file(tmp_path: Path, sent: int, word: bytes) -> None:
    sequences, out = write_random(tmp_path / "long.fasta", 300, 30_000), tmp_path / "out.tsv"
    out.write_text("what was there before\n")
    process = start("search", "--query", sequences, "--db", sequences, "--out", out, "--threads", 1, "--verbose")
    assert process.stderr is not None
    while b"finite-size" not in process.stderr.readline():
        assert process.poll() is None
    time.sleep(0.5)
    process.send_signal(sent)
    _, messages = process.communicate(timeout=30)
    assert process.returncode == 128 + sent
    assert messages == b"exaln: " + word + b"\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["long.fasta", "out.tsv"]
    assert out.read_text() == "what was there before\n"


def test_progress_is_silent_in_a_pipe(tmp_path: Path) -> None:
    many = write_random(tmp_path / "some.fasta", 2000, 300)
    few = write_random(tmp_path / "few.fasta", 20, 1000)
    arguments = ["search", "--query", few, "--db", many, "--out", tmp_path / "hits.tsv"]
    assert "GCUPS" in on_terminal("stderr", *arguments)
    ended = subprocess.run([*EXALN, *map(str, arguments)], capture_output=True, check=True, timeout=120)
    assert ended.stdout == b""
    assert ended.stderr.count(b"\n") == 1
    assert b"\x1b" not in ended.stderr
    assert b"\r" not in ended.stderr


def test_a_closed_pipe_ends_search_quietly(tmp_path: Path) -> None:
    many = write_random(tmp_path / "many.fasta", 1500, 40)
    with start("search", "--query", many, "--db", many, "--evalue", "1e9", "--max-target-seqs", 50) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 128 + signal.SIGPIPE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("outfmt", ["6", "0", "json", "parquet"])
def test_a_full_disk_is_exit_code_6(outfmt: str) -> None:
    command = [*EXALN, "search", "--query", str(QUERIES), "--db", str(TARGETS), "--outfmt", outfmt, "--quiet"]
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert ended.returncode == 6
    assert ended.stderr.count(b"\n") == 1


def written(folder: Path, name: str, *options: object, queries: Path = QUERIES, targets: Path = TARGETS) -> Path:
    out = folder / name
    command = ["search", "--query", queries, "--db", targets, "--out", out, "--quiet", *options]
    subprocess.run([*EXALN, *map(str, command)], check=True, timeout=300)
    return out


def check_search_io(folder: Path, queries: Path, targets: Path, n_queries: int) -> int:
    """Biopython reads 6 and 7, and sees the same; how many hits there are."""
    files = {"queries": queries, "targets": targets}
    plain = written(folder, "hits.tsv", "--outfmt", "6", **files)
    commented = written(folder, "hits.txt", "--outfmt", "7", **files)
    read = list(SearchIO.parse(plain, "blast-tab"))
    with_comments = list(SearchIO.parse(commented, "blast-tab", comments=True))
    assert len(with_comments) == n_queries
    by_id = {result.id: result for result in with_comments}
    assert len(by_id) == n_queries
    n_hits = 0
    for result in read:
        same = by_id[result.id]
        assert [hit.id for hit in result] == [hit.id for hit in same]
        for one, other in zip(result.hsps, same.hsps, strict=True):
            assert (one.evalue, one.bitscore, one.query_range, one.hit_range) == (
                other.evalue, other.bitscore, other.query_range, other.hit_range
            )  # fmt: skip
        best = [[hsp.evalue for hsp in hit] for hit in result]
        assert best == [sorted(evalues) for evalues in best]
        assert [evalues[0] for evalues in best] == sorted(evalues[0] for evalues in best)
        n_hits += len(result.hsps)
    assert n_hits == plain.read_bytes().count(b"\n")
    return n_hits


def check_tables(folder: Path, queries: Path, targets: Path, n_hits: int) -> None:
    """pandas and polars read the Parquet, and see what the table of text says."""
    files = {"queries": queries, "targets": targets}
    parquet = written(folder, "hits.parquet", **files)
    text = written(folder, "again.tsv", "--outfmt", "6 qseqid sseqid qstart qend sstart send score cigar", **files)
    lines = [line.split("\t") for line in text.read_text().splitlines()]
    columns = ["query_id", "target_id", "query_start", "query_end", "target_start", "target_end", "score", "cigar"]
    for frame in (pandas.read_parquet(parquet), polars.read_parquet(parquet)):
        assert len(frame) == n_hits
        seen = [list(row) for row in zip(*(frame[name].to_list() for name in columns), strict=True)]
        assert [[q, t, str(a + 1), str(b), str(c + 1), str(d), str(s), p] for q, t, a, b, c, d, s, p in seen] == lines
    assert pq.read_schema(parquet).metadata is not None


def test_other_tools_read_the_output_files(tmp_path: Path) -> None:
    n_hits = check_search_io(tmp_path, QUERIES, TARGETS, 10)
    assert n_hits > 20
    check_tables(tmp_path, QUERIES, TARGETS, n_hits)
    found = json.loads(written(tmp_path, "hits.json").read_text())
    assert found["n_queries"] == 10
    assert found["n_hits"] == sum(len(query["hits"]) for query in found["queries"])
    assert found["n_alignments"] == n_hits
    assert (
        sum(1 + len(hit.get("further_alignments", [])) for query in found["queries"] for hit in query["hits"]) == n_hits
    )


@real_data.needs_real_data
def test_other_tools_read_the_output_of_real_data(tmp_path: Path) -> None:
    queries, targets = (
        real_data.FOLDER / name for name in ("protein/cudasw4_allqueries.fasta", "scop/scop20.fasta.gz")
    )
    check_tables(tmp_path, queries, targets, check_search_io(tmp_path, queries, targets, 20))

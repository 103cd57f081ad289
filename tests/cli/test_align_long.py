"""align from the command line with long sequences: work directory, memory, Ctrl-C and kill -9, progress."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import real_data
from command import Exaln, write
from exaln.pairwise.long import driver
from exaln.pairwise.long.store import MANIFEST_NAME
from exaln.sequences.alphabet import DNA
from long_cases import mutated_pair

COLUMNS = ["--outfmt", "6", "score", "qstart", "qend", "sstart", "send", "cigar"]
COSTS = ["--match", "1", "--mismatch", "-3", "--gapopen", "3", "--gapextend", "2"]
PAIRS = [
    ("MT-human.fa", "MT-orang.fa", 6680, 16569, 16025),
    ("AF133821.1.fasta", "AY352275.1.fasta", 5091, 9418, 9114),
    ("phageP1.fasta.gz", "phageP1_mutated_80.fasta.gz", 6572, 94419, 94639),
    ("phageP1.fasta.gz", "phageP1_mutated_90.fasta.gz", 53163, 94471, 94658),
    ("phageP1.fasta.gz", "phageP1_mutated_99.fasta.gz", 90103, 94481, 94424),
]
"""Scores and ends that others have computed."""


def files(folder: Path, length: int) -> list[str]:
    """Two files with one long sequence each."""
    codes = mutated_pair(length, seed=9)
    return [str(write(folder / f"{name}.fa", **{name: DNA.decode(one)})) for name, one in zip("ab", codes, strict=True)]


def test_a_work_directory_does_not_change_the_result(exaln: Exaln, tmp_path: Path) -> None:
    sequences, work = files(tmp_path, 2000), tmp_path / "work"
    plain = exaln("align", *sequences, *COLUMNS)
    assert (plain.code, plain.err) == (0, "")
    first = exaln("align", *sequences, *COLUMNS, "--work-dir", work)
    again = exaln("align", *sequences, *COLUMNS, "--work-dir", work)
    assert plain.out == first.out == again.out
    assert first.err.endswith(": starting\n")
    assert again.err.endswith(": this pair is already aligned\n")
    assert exaln("align", *sequences, *COLUMNS, "--work-dir", work, "--quiet").err == ""
    (next(work.iterdir()) / MANIFEST_NAME).write_text("{}")
    damaged = exaln("align", *sequences, *COLUMNS, "--work-dir", work)
    assert (damaged.code, damaged.out) == (2, "")
    assert "manifest.json: damaged: " in damaged.err


def test_verbose_says_how_much_was_pruned(exaln: Exaln, tmp_path: Path) -> None:
    sequences = files(tmp_path, 20_000)
    found = exaln("align", *sequences, *COLUMNS, *COSTS, "--verbose", "--engine", "cpu")
    assert found.code == 0
    share = re.search(r"exaln: ([0-9.]+) % of 4e\+08 cells were pruned", found.err)
    assert share is not None
    assert float(share[1]) > 5
    in_files = exaln("align", *sequences, *COLUMNS, *COSTS, "--engine", "cpu", "--work-dir", tmp_path / "work")
    assert (in_files.code, in_files.out) == (0, found.out)


def test_a_pair_that_exceeds_the_memory_limit_is_refused(exaln: Exaln, tmp_path: Path) -> None:
    sequences = files(tmp_path, 20_000)
    refused = exaln("align", *sequences, *COLUMNS, "--memory", "1M")
    assert (refused.code, refused.out) == (4, "")
    assert "20,000 and 20,006 letters needs at least 0.6 MiB of memory" in refused.err
    assert "--work-dir keeps it on a disk" in refused.err
    assert exaln("align", *sequences, *COLUMNS, "--memory", "2M").code == 0
    assert exaln("align", *sequences, "--memory", "much").code == 1


def test_an_unwritable_work_directory_is_refused(exaln: Exaln, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = exaln("align", *files(tmp_path, 2000), "--work-dir", tmp_path / "file")
    assert (result.code, result.out) == (6, "")
    assert "file: cannot be written" in result.err


SLOWLY = """
import sys, time
from exaln.engines.cpu.engine import CpuEngine
from exaln.__main__ import run
real_fill, real_traceback = CpuEngine.fill, CpuEngine.traceback

def fill(self, task):
    time.sleep(0.15)
    return real_fill(self, task)

def traceback(self, pair):
    step = real_traceback(self, pair)

    def slow_step(*arguments):
        time.sleep(0.15)
        return step(*arguments)

    return slow_step

CpuEngine.fill, CpuEngine.traceback = fill, traceback
CpuEngine.slab_rows = lambda self, n_rows, n_columns: 500
sys.exit(run(sys.argv[1:]))
"""
"""A second for each stage."""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("stage", ["scores", "path"])
def test_an_interrupted_alignment_continues(
    exaln: Exaln,
    tmp_path: Path,
    how: signal.Signals,
    stage: str,
) -> None:
    sequences, work = files(tmp_path, 3000), tmp_path / "work"
    expected = exaln("align", *sequences, *COLUMNS).out
    command = [sys.executable, "-c", SLOWLY, "align", *sequences, *COLUMNS, "--work-dir", str(work), "--engine", "cpu"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(work, '"state": null' if stage == "scores" else '"gap"')
        process.send_signal(how)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == {signal.SIGKILL: -9, signal.SIGINT: 130}[how]
    assert out == ""
    result = exaln("align", *sequences, *COLUMNS, "--work-dir", work)
    assert result.out == expected
    assert ("resuming after" if stage == "scores" else "resuming the path") in result.err


def wait_for(work: Path, text: str) -> None:
    """Until a manifest has it."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        for manifest in work.glob(f"*/{MANIFEST_NAME}"):
            if text in manifest.read_text():
                return
        time.sleep(0.01)
    raise AssertionError(f"{text} has not come")


def test_the_progress_bar_shows_the_stages(tmp_path: Path) -> None:
    sequences = files(tmp_path, 3000)
    command = [
        sys.executable,
        "-c",
        SLOWLY,
        "align",
        *sequences,
        "--work-dir",
        str(tmp_path / "work"),
        "--engine",
        "cpu",
    ]
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen([*command, "--out", str(tmp_path / "x.paf")], stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                some = os.read(ours, 1 << 16)
            except OSError:
                break
            if not some:
                break
            shown += some
        assert process.wait(30) == 0
    os.close(ours)
    text = shown.decode()
    assert "Aligning: scores" in text
    assert "Aligning: path" in text
    assert "GCUPS" in text
    assert "M letters/s" in text


def test_stages_of_several_pairs_share_a_bar() -> None:
    from exaln.foundation.progress import PairProgress

    with PairProgress(shown=True, shares_screen=True) as work:
        for done in (100, 200):
            work.stage(driver.SCORES, 100, 100)
            work.stage(driver.PATH, 10, 20)
            work(done)
        assert work.rate() == ""  # nothing was computed here
        work.stage(driver.SCORES, 40, 100)
        work.stage(driver.SCORES, 100, 100)
        work(300)
    assert work.done == 300
    assert work.rate() == f"{60 / work.seconds / 1e9:.3g} GCUPS"


@real_data.needs_real_data
@pytest.mark.parametrize(("first", "second", "score", "query_end", "target_end"), PAIRS)
@pytest.mark.parametrize("memory", ["3M", "1G"])
def test_real_pairs_have_the_published_scores_and_ends(
    exaln: Exaln,
    first: str,
    second: str,
    score: int,
    query_end: int,
    target_end: int,
    memory: str,
) -> None:
    paths = [real_data.FOLDER / "dna" / name for name in (first, second)]
    memory = "8M" if "phage" in first and memory == "3M" else memory
    rows = exaln("align", *paths, *COSTS, "--memory", memory, *COLUMNS).rows
    assert [int(rows[0][place]) for place in (0, 2, 4)] == [score, query_end, target_end]


LIMITED = """
import resource, sys
from exaln.__main__ import run
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
sys.exit(run(sys.argv[1:]))
"""


def test_a_full_disk_is_one_error_line_and_the_work_can_continue(exaln: Exaln, tmp_path: Path) -> None:
    sequences, work = files(tmp_path, 3000), tmp_path / "work"
    arguments = ["align", *sequences, *COLUMNS, "--work-dir", str(work)]
    full = subprocess.run([sys.executable, "-c", LIMITED, *arguments], capture_output=True, text=True, check=False)
    assert (full.returncode, full.stdout) == (6, "")
    assert full.stderr.splitlines()[-1].startswith(f"exaln: error: {work}")
    assert len(full.stderr.splitlines()) == 2
    assert exaln(*arguments).out == exaln("align", *sequences, *COLUMNS).out

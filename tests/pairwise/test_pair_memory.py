"""The memory of a call with a million pairs is bounded by bytes per pair, above what the caller holds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CALL = """
import sys
from pathlib import Path
import numpy as np
import pyarrow as pa
import exaln

def status(name):
    line = next(line for line in open("/proc/self/status") if line.startswith(name + ":"))
    return int(line.split()[1]) * 1024

form, function = sys.argv[1:]
n, length = 1_000_000, 40
codes = np.random.default_rng(1).integers(0, 4, (n, length), np.uint8)
made = codes
if form != "codes":
    whole = np.frombuffer(b"ACGT", np.uint8)[codes].tobytes().decode()
    made = [whole[begin : begin + length] for begin in range(0, n * length, length)]
    made = pa.array(made) if form == "arrow" else made
    del whole, codes
call = exaln.align_many if function == "align" else exaln.score_many
options = {"scoring": exaln.Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2), "engine": "cpu", "threads": 2}
call(made[:1000], made[:1000], **options)
Path("/proc/self/clear_refs").write_text("5")
before = status("VmRSS")
found = call(made, made, **options)
print((status("VmHWM") - before) / n)
scores = found.scores if function == "align" else found
assert (scores == 2 * length).all()
if function == "align":
    held = status("VmRSS") - before
    Path("/proc/self/clear_refs").write_text("5")
    now = status("VmRSS")
    cigars = found.cigars
    assert len(cigars) == n and cigars[-1] == "40M"
    print((status("VmHWM") - now) / n)
"""
BYTES_PER_PAIR = {"align": 700, "score": 400}
"""Both sides as codes, and what is computed of them."""

CIGAR_BYTES = 200


def _can_measure() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


@pytest.mark.skipif(not _can_measure(), reason="needs /proc, and the permission to reset the peak of memory")
@pytest.mark.parametrize("function", BYTES_PER_PAIR)
@pytest.mark.parametrize("form", ["str", "codes", "arrow"])
def test_a_million_pairs_take_bounded_memory(form: str, function: str) -> None:
    command = [sys.executable, "-c", CALL, form, function]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    per_pair, *cigars = map(float, done.stdout.split())
    assert per_pair < BYTES_PER_PAIR[function]
    assert all(bytes_of_one < CIGAR_BYTES for bytes_of_one in cigars)

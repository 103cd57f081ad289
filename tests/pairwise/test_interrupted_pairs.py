"""Ctrl-C in the middle of align_many and score_many: KeyboardInterrupt soon, nothing computes on, and the next call
works.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from interrupts import cpu_seconds_of, interrupted, moments, names_in

CALL = """
import os, sys, threading, time
import numpy as np
import pyarrow as pa
import exaln

form, function, what, expected = sys.argv[1:]
n, length = (60_000, 60) if what == "short pairs" else (1_500, 2_000)
scoring = exaln.Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2)
codes = np.random.default_rng(1).integers(0, 4, (n, length)).astype(np.uint8)
made = codes
if form != "codes":
    whole = np.frombuffer(b"ACGT", np.uint8)[codes].tobytes().decode()
    made = [whole[begin : begin + length] for begin in range(0, n * length, length)]
    made = pa.array(made) if form == "arrow" else made
call = exaln.align_many if function == "align" else exaln.score_many
few = {"scoring": scoring, "engine": "cpu"}
call(made[:3], made[:3], **few)
n_threads = threading.active_count()
if expected == "only the start":
    sys.exit()
try:
    found = call(made, made, threads=2, **few)
    if function == "align":
        found.cigars
except KeyboardInterrupt:
    now = os.times()
    time.sleep(0.5)
    then = os.times()
    assert then.user + then.system - now.user - now.system < 0.2, "something still computes"
    assert threading.active_count() <= n_threads, threading.enumerate()
    assert exaln.score_many(made[:2], made[:2], **few).tolist() == [2 * length] * 2
    print("interrupted")
    sys.exit(77)
print("complete", flush=True)
"""


@pytest.mark.parametrize("form", ["str", "codes", "arrow"])
@pytest.mark.parametrize("function", ["align", "score"])
@pytest.mark.parametrize("what", ["short pairs", "long pairs"])
def test_a_call_can_be_interrupted_at_any_moment(tmp_path: Path, form: str, function: str, what: str) -> None:
    command = [sys.executable, "-c", CALL, form, function, what]
    started = cpu_seconds_of([*command, "only the start"], tmp_path)
    whole = cpu_seconds_of([*command, ""], tmp_path)
    # The first moments are in the text, the last in CIGARs. Clocks of CPU time are coarse: not too near to the start.
    for after in moments(started + 0.1, max(whole - 0.1, started + 0.2)):
        ended = interrupted([*command, ""], tmp_path, after)
        if ended.code in (0, -signal.SIGINT):  # SIGINT kills the interpreter while it shuts down
            assert ended.out == "complete\n"
            continue
        assert (ended.code, ended.out, ended.err) == (77, "interrupted\n", ""), after
        assert ended.is_prompt, (after, ended)
        assert names_in(tmp_path) == ["tmp"]

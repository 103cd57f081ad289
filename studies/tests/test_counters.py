"""Counters: a stand-in for the profiler, its table, and its failures."""

import re
import sys

import pytest

from exaln.errors import EngineError
from exaln_studies import counters
from exaln_studies.study import Bench, NotMeasurable

PROFILER = """#!{python}
import json, pathlib, sys
options = dict(zip(sys.argv[1:], sys.argv[2:]))
assert options["--profile-from-start"] == "off"
names = options["--metrics"].split(",")
at = sys.argv.index("exaln_studies.profiled")
assert sys.argv[at + 1] == "small"
pathlib.Path(sys.argv[at + 2]).write_text(json.dumps([{{"kernel": "a"}}, {{"kernel": "b"}}]))
columns = [[str(100 * number + launch) for number in range(len(names))] for launch in range({n_launches})]
lines = ["==PROF== Connected to process 1", *(",".join(f'"{{one}}"' for one in row) for row in [
    ["ID", "Kernel Name", *names], ["", "", *["inst"] * len(names)],
    *([str(launch), "k", *row] for launch, row in enumerate(columns))])]
pathlib.Path(options["--log-file"]).write_text(chr(10).join(lines))
print("{says}")
sys.exit({code})
"""


def profiler(tmp_path, monkeypatch, n_launches=2, message="", code=0):
    path = tmp_path / counters.PROFILER
    path.write_text(PROFILER.format(python=sys.executable, n_launches=n_launches, says=message, code=code))
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


def test_counters_are_read_from_the_table_of_the_profiler(tmp_path, monkeypatch):
    profiler(tmp_path, monkeypatch)
    bench = Bench(quick=False, threads=1)
    rows = list(counters.counted(bench, "small", {"loads": "l.sum", "stores": "s.sum"}))
    assert rows == [{"kernel": "a", "loads": 0, "stores": 100}, {"kernel": "b", "loads": 1, "stores": 101}]
    assert bench.n_checks == 3


@pytest.mark.parametrize(
    ("more", "error", "says"),
    [
        ({"n_launches": 1}, EngineError, "launches that were counted: the result is 1, and must be 2"),
        ({"code": 1, "message": "==ERROR== no permission"}, NotMeasurable, "ncu failed: ==ERROR== no permission"),
    ],
)
def test_a_profiler_that_fails_is_an_error(tmp_path, monkeypatch, more, error, says):
    profiler(tmp_path, monkeypatch, **more)
    with pytest.raises(error, match=re.escape(says)):
        list(counters.counted(Bench(quick=False, threads=1), "small", {"loads": "l.sum"}))


def test_a_missing_profiler_is_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotMeasurable, match="ncu of NVIDIA Nsight Compute is not installed"):
        list(counters.counted(Bench(quick=False, threads=1), "small", {"loads": "l.sum"}))

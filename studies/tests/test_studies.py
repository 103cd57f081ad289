"""Studies: what a run keeps, how runs of several machines become one page, and what the command line says."""

import json
import re
import sys
from dataclasses import replace

import pytest

from exaln.__main__ import run
from exaln.errors import EngineError, InputError
from exaln_studies import NAMES, counters, study_named
from exaln_studies import run as studies_run
from exaln_studies.figures import rendered
from exaln_studies.measurements import Measurements, PartRun, merged
from exaln_studies.page import page_text
from exaln_studies.study import Bars, Bench, Figure, Line, NotMeasurable, Part, Section, Study, Table

PICTURE = Figure(
    "line", "A line", "x", "y", [Line("measured", [1, 2], [3, 4]), Line("model", [1, 2], [3, 3], dashed=True)]
)
BARS = Bars("bars", "Bars", "ms", ["a", "b"], [("computing", [1, 2]), ("waiting", [3, 4])])


def small_study(measure=None):
    def counted(bench):
        bench.check("one", 1, 1)
        yield {"length": 10, "seconds": 0.5}

    parts = (Part("first", "cpu", "on a core", measure or counted), Part("second", "gpu", "on a device", counted))
    sections = (
        Section("Of the first", "first", lambda found: ["Text.", Table(["s"], [["0.5"]]), PICTURE, BARS]),
        Section("Of the second", "second", lambda found: ["More text."]),
    )
    return Study("small", "A small study", "*A paper*, 2026.", "What it is about.", parts, sections)


def part_run(part, seconds):
    machine = {"processor": "A CPU", "cores": 4}
    row = {"seconds": seconds}
    return PartRun(part, "cpu", machine, None, "exaln study", "2026-01-02T03:04:05", "0.1.0", False, 1.0, 3, [row])


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(studies_run, "_no_gpu", lambda: "there is none")


def test_a_study_is_measured_and_written(tmp_path, no_gpu):
    told = []
    found = studies_run.measure(small_study(), quick=True, threads=1, note=told.append)
    assert told == ["not measured here: second (there is none)", "measuring part first: on a core"]
    page = studies_run.write(small_study(), found, tmp_path / "made")
    text = page.read_text()
    assert "| s |\n|---|\n| 0.5 |" in text
    assert "Not measured yet: `exaln study small --part second`, on a machine with an NVIDIA GPU." in text
    assert "More text" not in text
    assert "1 comparisons, no difference" in text
    for name in re.findall(r"\(([\w-]+\.svg)\)", text):
        assert (tmp_path / "made" / name).read_text().startswith("<?xml")
    assert {path.name for path in page.parent.iterdir()} == {
        "small.md",
        "small.json",
        "small-line.svg",
        "small-bars.svg",
    }


def test_pages_come_out_of_files_again(tmp_path, no_gpu):
    found = studies_run.measure(small_study(), quick=False, threads=1)
    studies_run.write(small_study(), found, tmp_path / "one")
    again = merged("small", [tmp_path / "one" / "small.json"])
    assert again == found
    studies_run.write(small_study(), again, tmp_path / "two")
    for path in (tmp_path / "one").iterdir():
        assert (tmp_path / "two" / path.name).read_bytes() == path.read_bytes()


def test_runs_of_two_machines_are_merged_and_the_last_one_counts(tmp_path):
    files = []
    for number, parts in enumerate((("first", "second"), ("second",))):
        measured = Measurements("small")
        for part in parts:
            measured.add(part_run(part, number))
        files.append(tmp_path / f"{number}.json")
        files[-1].write_text(measured.text())
        assert json.loads(measured.text())["study"] == "small"
    found = merged("small", files)
    assert [row["seconds"] for part in ("first", "second") for row in found.rows(part)] == [0, 1]
    assert found.values("first", "seconds") == [0]
    assert found.one("second", seconds=1) == {"seconds": 1}
    assert found.one("second", seconds=2) is None
    assert "More text." in page_text(small_study(), found)[0]


def test_what_is_not_measured_again_is_kept(tmp_path, no_gpu):
    before = Measurements("small", {"second": part_run("second", 9)})
    file = tmp_path / "small.json"
    file.write_text(before.text())
    found = studies_run.measure(small_study(), quick=True, threads=1, known=[file])
    assert list(found.runs) == ["second", "first"]


def test_a_wrong_result_is_an_error_and_so_is_a_part_that_compares_nothing(no_gpu):
    def wrong(bench):
        bench.check("the score", [1, 2], [1, 3])
        yield {}

    with pytest.raises(EngineError, match=r"^the score: the result is \[1, 2\], and must be \[1, 3\]$"):
        studies_run.measure(small_study(wrong), quick=True, threads=1)
    with pytest.raises(EngineError, match="part first of the study compared no result"):
        studies_run.measure(small_study(lambda bench: iter([{}])), quick=True, threads=1)


def test_parts_by_name(no_gpu):
    with pytest.raises(EngineError, match="the part second needs a GPU: there is none"):
        studies_run.measure(small_study(), quick=True, threads=1, parts=["second"])
    with pytest.raises(InputError, match="the study small has no part 'third'; there are first, second"):
        studies_run.measure(small_study(), quick=True, threads=1, parts=["third"])


def test_measurements_are_kept_without_matplotlib(tmp_path, monkeypatch, no_gpu):
    def missing(block):
        raise InputError("plots need matplotlib")

    monkeypatch.setattr(studies_run.figures, "rendered", missing)
    found = studies_run.measure(small_study(), quick=True, threads=1)
    with pytest.raises(InputError, match=r"measurements are in .*small\.json, but the page is missing: plots need"):
        studies_run.write(small_study(), found, tmp_path)
    assert merged("small", [tmp_path / "small.json"]) == found


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 1, "study": "other", "runs": []}', '{"format": 1}'])
def test_files_that_are_no_measurements(tmp_path, content):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(InputError, match=r"x\.json: no "):
        merged("small", [tmp_path / "x.json"])


@pytest.mark.parametrize(("load", "is_busy"), [(0.3, False), (11.0, True)])
def test_a_page_says_that_the_machine_was_busy(load, is_busy):
    run = part_run("first", 1)
    run.machine["load"] = load
    text, _ = page_text(small_study(), Measurements("small", {"first": run}))
    assert ("Measured on a busy machine" in text) == is_busy
    assert ("busy: 11.0 cores at work when it began" in text) == is_busy


def test_plots_do_not_depend_on_the_clock():
    assert rendered(PICTURE) == rendered(PICTURE)
    assert rendered(BARS, "png").startswith(b"\x89PNG")


@pytest.mark.parametrize("name", NAMES)
def test_every_study_loads_and_its_sections_have_parts(name):
    study = study_named(name)
    assert study.name == name
    assert {section.part for section in study.sections} <= {part.name for part in study.parts}
    text, drawn = page_text(study, Measurements(name))
    assert drawn == []
    assert text.count("Not measured yet") == len(study.sections)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["study"], 1, "missing argument"),
        (["study", "nobody"], 1, "nobody"),
        (["study", "chaibou-sie", "--part", "x"], 1, "has no part 'x'; there are sequential, threads, gpu"),
        (["study", "chaibou-sie", "--from", "no.json"], 1, "no.json: No such file"),
        (["study", "chaibou-sie", "--quick", "--from", "no.json"], 1, "--from measures nothing"),
    ],
)
def test_what_the_command_refuses(capsys, monkeypatch, tmp_path, arguments, code, says):
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == code
    assert says in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_quick_study_on_the_command_line(capsys, monkeypatch, tmp_path):
    from exaln_studies import chaibou_sie

    monkeypatch.setattr(chaibou_sie, "QUICK_LENGTHS", (60, 90))
    monkeypatch.setattr(studies_run, "_no_gpu", lambda: "there is none")
    monkeypatch.chdir(tmp_path)
    assert run(["study", "chaibou-sie", "--quick", "--threads", "2"]) == 0
    assert "written to studies/chaibou-sie.md" in capsys.readouterr().err
    text = (tmp_path / "studies" / "chaibou-sie.md").read_text()
    assert "Te = " in text
    files = ["--from", "studies/chaibou-sie.json", "--out", "again"]
    assert run(["study", "chaibou-sie", *files]) == 0
    assert (tmp_path / "again" / "chaibou-sie.md").read_text() == text


def test_rows_are_kept_while_a_part_runs(monkeypatch, no_gpu):
    monkeypatch.setattr(studies_run, "KEPT_EVERY_SECONDS", -1.0)
    kept = []

    def measure(bench):
        for number in range(2):
            bench.check("number", number, number)
            yield {"number": number}
        raise EngineError("the machine went away")

    with pytest.raises(EngineError, match="went away"):
        studies_run.measure(
            small_study(measure), quick=True, threads=1, keep=lambda found: kept.append(found.runs["first"])
        )
    assert [(run.is_whole, run.checks) for run in kept] == [(False, 1), (False, 2)]
    assert kept[-1].rows == [{"number": 0}, {"number": 1}]
    cut_short = Measurements("small", {"first": kept[-1]})
    assert cut_short.rows("first") == []
    assert "Not measured yet: `exaln study small --part first`" in page_text(small_study(), cut_short)[0]


def test_a_gradual_part_is_shown_even_if_it_was_cut_short():
    study = small_study()
    gradual = replace(study, parts=(replace(study.parts[0], is_gradual=True), study.parts[1]))
    found = Measurements("small", {"first": replace(part_run("first", 1), is_whole=False)})
    assert "0.5" not in page_text(study, found)[0]
    text, _ = page_text(gradual, found)
    assert "| 0.5 |" in text
    assert "| 1 s, cut short |" in text


def test_a_study_goes_on_without_a_part_that_cannot_be_measured(no_gpu):
    def measure(bench):
        raise NotMeasurable("something is missing")
        yield

    told = []
    found = studies_run.measure(small_study(measure), quick=True, threads=1, note=told.append)
    assert found.runs == {}
    assert told[-1] == "not measured here: first (something is missing)"
    with pytest.raises(NotMeasurable, match="something is missing"):
        studies_run.measure(small_study(measure), quick=True, threads=1, parts=["first"])


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


def profiler(tmp_path, monkeypatch, n_launches=2, says="", code=0):
    path = tmp_path / counters.PROFILER
    path.write_text(PROFILER.format(python=sys.executable, n_launches=n_launches, says=says, code=code))
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


def test_counters_of_the_profiler(tmp_path, monkeypatch):
    profiler(tmp_path, monkeypatch)
    bench = Bench(quick=False, threads=1)
    rows = list(counters.counted(bench, "small", {"loads": "l.sum", "stores": "s.sum"}))
    assert rows == [{"kernel": "a", "loads": 0, "stores": 100}, {"kernel": "b", "loads": 1, "stores": 101}]
    assert bench.n_checks == 3


@pytest.mark.parametrize(
    ("more", "error", "says"),
    [
        ({"n_launches": 1}, EngineError, "launches that were counted: the result is 1, and must be 2"),
        ({"code": 1, "says": "==ERROR== no permission"}, NotMeasurable, "ncu failed: ==ERROR== no permission"),
    ],
)
def test_a_profiler_that_does_not_count(tmp_path, monkeypatch, more, error, says):
    profiler(tmp_path, monkeypatch, **more)
    with pytest.raises(error, match=re.escape(says)):
        list(counters.counted(Bench(quick=False, threads=1), "small", {"loads": "l.sum"}))


def test_no_profiler(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotMeasurable, match="ncu of NVIDIA Nsight Compute is not installed"):
        list(counters.counted(Bench(quick=False, threads=1), "small", {"loads": "l.sum"}))


def test_cores_at_work(monkeypatch, tmp_path):
    assert 0 <= studies_run.cores_at_work(0.05) <= 1024
    monkeypatch.setattr(studies_run, "STAT", tmp_path / "missing")
    assert studies_run.cores_at_work() >= 0


def test_a_bench_counts_what_it_compares():
    bench = Bench(quick=True, threads=1)
    bench.check("numbers", [1, 2], [1, 2])
    bench.check("words", ("a", 1), ("a", 1))
    assert bench.n_checks == 2
    assert bench.seconds(lambda: None) < 1

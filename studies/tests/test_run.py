"""Runs of studies: what is measured and saved, how runs of several machines become one page, and how it looks."""

import json
import re
from dataclasses import replace

import pytest

from exaln.errors import EngineError, InputError
from exaln_studies import NAMES, run, study_named
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
    monkeypatch.setattr(run, "_no_gpu", lambda: "there is none")


def test_a_study_is_measured_and_written(tmp_path, no_gpu):
    notes = []
    result = run.measure(small_study(), quick=True, threads=1, note=notes.append)
    assert notes == ["not measured here: second (there is none)", "measuring part first: on a core"]
    page = run.write(small_study(), result, tmp_path / "made")
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


def test_a_page_made_again_from_its_measurements_is_the_same(tmp_path, no_gpu):
    result = run.measure(small_study(), quick=False, threads=1)
    run.write(small_study(), result, tmp_path / "one")
    again = merged("small", [tmp_path / "one" / "small.json"])
    assert again == result
    run.write(small_study(), again, tmp_path / "two")
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


def test_parts_that_are_not_measured_again_are_kept(tmp_path, no_gpu):
    before = Measurements("small", {"second": part_run("second", 9)})
    file = tmp_path / "small.json"
    file.write_text(before.text())
    result = run.measure(small_study(), quick=True, threads=1, earlier=[file])
    assert list(result.runs) == ["second", "first"]


def test_a_wrong_result_is_an_error_and_so_is_a_part_that_compares_nothing(no_gpu):
    def wrong(bench):
        bench.check("the score", [1, 2], [1, 3])
        yield {}

    with pytest.raises(EngineError, match=r"^the score: the result is \[1, 2\], and must be \[1, 3\]$"):
        run.measure(small_study(wrong), quick=True, threads=1)
    with pytest.raises(EngineError, match="part first of the study compared no result"):
        run.measure(small_study(lambda bench: iter([{}])), quick=True, threads=1)


def test_a_named_part_must_exist_and_be_measurable(no_gpu):
    with pytest.raises(EngineError, match="the part second needs a GPU: there is none"):
        run.measure(small_study(), quick=True, threads=1, parts=["second"])
    with pytest.raises(InputError, match="the study small has no part 'third'; there are first, second"):
        run.measure(small_study(), quick=True, threads=1, parts=["third"])


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 1, "study": "other", "runs": []}', '{"format": 1}'])
def test_files_that_are_not_measurements_are_refused(tmp_path, content):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(InputError, match=r"x\.json: not "):
        merged("small", [tmp_path / "x.json"])


@pytest.mark.parametrize(("load", "is_busy"), [(0.3, False), (11.0, True)])
def test_a_page_says_that_the_machine_was_busy(load, is_busy):
    first = part_run("first", 1)
    first.machine["load"] = load
    text, _ = page_text(small_study(), Measurements("small", {"first": first}))
    assert ("Measured on a busy machine" in text) == is_busy
    assert ("busy: 11.0 cores in use at the start" in text) == is_busy


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


def test_rows_are_saved_while_a_part_runs(monkeypatch, no_gpu):
    monkeypatch.setattr(run, "SAVED_EVERY_SECONDS", -1.0)
    saved = []

    def measure(bench):
        for number in range(2):
            bench.check("number", number, number)
            yield {"number": number}
        raise EngineError("the machine went away")

    with pytest.raises(EngineError, match="went away"):
        run.measure(small_study(measure), quick=True, threads=1, save=lambda so_far: saved.append(so_far.runs["first"]))
    assert [(one.is_whole, one.checks) for one in saved] == [(False, 1), (False, 2)]
    assert saved[-1].rows == [{"number": 0}, {"number": 1}]
    interrupted = Measurements("small", {"first": saved[-1]})
    assert interrupted.rows("first") == []
    assert "Not measured yet: `exaln study small --part first`" in page_text(small_study(), interrupted)[0]


def test_a_gradual_part_is_shown_even_if_it_was_interrupted():
    study = small_study()
    gradual = replace(study, parts=(replace(study.parts[0], is_gradual=True), study.parts[1]))
    found = Measurements("small", {"first": replace(part_run("first", 1), is_whole=False)})
    assert "0.5" not in page_text(study, found)[0]
    text, _ = page_text(gradual, found)
    assert "| 0.5 |" in text
    assert "| 1 s, interrupted |" in text


def test_a_study_goes_on_without_a_part_that_cannot_be_measured(no_gpu):
    def measure(bench):
        raise NotMeasurable("something is missing")
        yield

    notes = []
    result = run.measure(small_study(measure), quick=True, threads=1, note=notes.append)
    assert result.runs == {}
    assert notes[-1] == "not measured here: first (something is missing)"
    with pytest.raises(NotMeasurable, match="something is missing"):
        run.measure(small_study(measure), quick=True, threads=1, parts=["first"])


def test_busy_cores_are_counted(monkeypatch, tmp_path):
    assert 0 <= run.busy_cores(0.05) <= 1024
    monkeypatch.setattr(run, "STAT", tmp_path / "missing")
    assert run.busy_cores() >= 0


def test_a_bench_counts_what_it_compares():
    bench = Bench(quick=True, threads=1)
    bench.check("numbers", [1, 2], [1, 2])
    bench.check("words", ("a", 1), ("a", 1))
    assert bench.n_checks == 2
    assert bench.seconds(lambda: None) < 1

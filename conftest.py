"""Settings and fixtures for all tests, of exaln (tests/) and of the studies (studies/tests)."""

import faulthandler
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from command import Exaln
from exaln.engines.contracts import Engine
from threads import no_new_threads

# No time limit per example: a busy machine is no failure. The blob lets anyone repeat a failure seen elsewhere.
settings.register_profile("exaln", deadline=None, print_blob=True)
settings.load_profile("exaln")


GPU_SECONDS = 180
"""A test of the GPU that takes longer hangs: all threads are shown, and the run ends. A file may have its own limit."""

STDERR = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep the true stderr, which is another file while a test runs. Let Ctrl-C act in the programs that tests start.

    A shell starts a command in the background with SIGINT ignored, and so are the programs that it starts.
    """
    config.stash[STDERR] = os.dup(2)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close it."""
    os.close(config.stash[STDERR])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Watch the tests of the GPU, where a mistake may well be a wait without end."""
    if item.get_closest_marker("gpu") is None:
        return (yield)
    seconds = getattr(item.module, "GPU_SECONDS", GPU_SECONDS)  # type: ignore[attr-defined]
    faulthandler.dump_traceback_later(seconds, exit=True, file=item.config.stash[STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests marked gpu run only where the cuda engine can, and say why not elsewhere."""
    if item.get_closest_marker("gpu") is None:
        return
    import cuda_cases

    if reason := cuda_cases.unavailable_reason():
        pytest.skip(reason)


@pytest.fixture
def simulation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A test that asks for this simulates statistics, with few pairs and an empty cache, whose folder this is."""
    from exaln.simulation import estimate, kept

    monkeypatch.setattr(estimate, "PLAN", ((400, 192), (800, 32)))
    monkeypatch.setattr(kept, "_in_memory", {})
    monkeypatch.setenv("EXALN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def no_simulation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In other tests these scorings have no statistics: many are drawn, and a simulation takes a second."""
    if "simulation" in request.fixturenames:
        return
    from exaln.simulation import kept
    from exaln.simulation.estimate import NoGumbelLawError

    def refuse(*_: object) -> None:
        raise NoGumbelLawError("tests do not simulate")

    monkeypatch.setattr(kept, "parameters_of_any", refuse)


@pytest.fixture
def exaln(capsys: pytest.CaptureFixture[str]) -> Exaln:
    """The command line, in this process."""
    return Exaln(capsys)


@pytest.fixture
def no_thread_is_left() -> Iterator[None]:
    """The test must end all threads that it starts."""
    with no_new_threads():
        yield


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all engines score all targets in streams, even if they are too few for that to pay."""
    import cuda_cases

    cuda_cases.score_in_streams(monkeypatch)


@pytest.fixture(params=["streams", "planned"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Two engines for tests of the cuda engine: one that scores all targets in streams, and one that plans."""
    import cuda_cases

    if request.param == "streams" and not cuda_cases.IS_CUDA:
        pytest.skip("one way to compute")
    return cuda_cases.stream_engine() if request.param == "streams" else cuda_cases.shared_engine()


@pytest.fixture
def fast_engine() -> Engine:
    """An engine that scores all targets in streams."""
    import cuda_cases

    return cuda_cases.stream_engine()

"""Settings for all tests."""

import pytest
from hypothesis import settings

# No time limit per example: a busy machine is no failure. The blob lets anyone repeat a failure seen elsewhere.
settings.register_profile("exaln", deadline=None, print_blob=True)
settings.load_profile("exaln")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests marked gpu run only where the cuda engine can, and say why not elsewhere."""
    if item.get_closest_marker("gpu") is None:
        return
    import cuda_cases

    if reason := cuda_cases.unavailable_reason():
        pytest.skip(reason)



@pytest.fixture(params=[True, False], ids=["dpx", "no-dpx"])
def dpx(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """With the instructions of compute capability 9.0, if the card has them, and without, as on older cards."""
    import cuda_cases

    if not request.param:
        if not cuda_cases.IS_CUDA:
            pytest.skip("one way to compute")
        monkeypatch.setenv("EXALN_CUDA_DPX", "0")
    return bool(request.param)

"""One device on a driver without a GPU: memory within a budget, work in order, errors of the driver."""

import sys

import numpy as np
import pytest

from exaln.engines.cuda.runtime import device as device_module
from exaln.engines.cuda.runtime.compiler import Source
from exaln.engines.cuda.runtime.device import Device, DeviceMemoryError, DeviceProperties
from exaln.engines.cuda.scan.arguments import ExpandArguments
from exaln.errors import EngineError, OutOfMemoryError
from fake_cuda import CUresult, FakeDriver, install

CUT = Source("collect.cu", (("BINS", 400),))


@pytest.fixture
def driver(monkeypatch):
    return install(monkeypatch, FakeDriver(memory=1 << 30), 4)


@pytest.fixture
def device(driver):
    opened = Device(0)
    opened.set_budget(1 << 20)
    return opened


def test_properties_of_a_device_are_those_that_plans_depend_on(device, monkeypatch):
    assert str(device) == "GPU 0 (Fake GPU)"
    assert device.properties == DeviceProperties(n_sms=4, shared_bytes=232448, dpx=True, arch="sm_90")
    monkeypatch.setenv("EXALN_CUDA_DPX", "0")
    assert not Device(0).properties.dpx


def test_without_a_budget_a_device_leaves_some_memory_to_others(device, driver):
    device.set_budget(None)
    assert device.budget == (1 << 30) - device_module.RESERVE
    held = device.allocate(100 << 20)
    device.set_budget(None, share=2)
    assert device.budget == held.n_bytes + ((924 << 20) - device_module.RESERVE) // 2


def test_a_device_on_which_nothing_can_be_begun_is_refused(driver, monkeypatch):
    monkeypatch.setattr(driver, "cuDevicePrimaryCtxRetain", lambda device: (CUresult.CUDA_ERROR_OUT_OF_MEMORY, None))
    with pytest.raises(OutOfMemoryError, match="others use its memory, none is left") as raised:
        Device(0, driver)
    assert raised.value.exit_code == 4


def test_a_device_that_others_have_filled_is_refused(device, driver):
    driver.used += (1 << 30) - (520 << 20)
    with pytest.raises(OutOfMemoryError, match=r"520 MiB are free.*set --gpu-memory"):
        device.set_budget(None)
    driver.used -= 8 << 20
    device.set_budget(None)
    assert device.budget == 16 << 20
    driver.used += 500 << 20
    device.set_budget(1 << 20)
    assert device.budget == 1 << 20


def test_memory_is_counted_and_given_back(device, driver):
    held = device.allocate(1000)
    assert device.used == driver.used == 1000
    held.free()
    held.free()
    assert device.used == driver.used == 0
    held = device.allocate(10)
    del held
    assert driver.used == 0


def test_the_budget_is_kept(device):
    held = device.allocate(1 << 19)
    with pytest.raises(DeviceMemoryError, match="1 MiB more cannot be had, 0 MiB of 1 MiB are in use"):
        device.allocate((1 << 19) + 1)
    assert held.n_bytes + device.allocate(1 << 19).n_bytes == 1 << 20


def test_a_full_device_is_out_of_memory_and_says_what_to_set(device):
    device.set_budget(1 << 40)
    with pytest.raises(OutOfMemoryError, match=r"2,048 MiB more cannot be had.*set --gpu-memory") as caught:
        device.allocate(2 << 30)
    assert caught.value.exit_code == 4
    assert device.used == 0


def test_copies_and_fills_are_done_in_order(device):
    stream, numbers = device.stream(), np.arange(100, dtype=np.int32)
    memory, back = device.allocate(400), np.zeros(100, np.int32)
    device.upload(memory.address, numbers, stream)
    numbers[:] = 0
    device.fill(memory.address + 40, 7, 2, stream)
    device.download(back, memory.address, stream)
    assert back.tolist() == [*range(10), 7, 7, *range(12, 100)]


def test_streams_wait_for_events(device):
    first, second = device.stream(), device.stream()
    memory, back = device.allocate(4), np.zeros(1, np.uint32)
    for value in range(20):
        device.fill(memory.address, value, 1, first)
        device.let_wait(second, device.record(device.event(), first))
        device.fill(memory.address, 100 + value, 1, second)
        device.let_wait(first, device.record(device.event(), second))
    done = device.record(device.event(), second)
    device.wait(done)
    assert device.is_done(done)
    device.download(back, memory.address, second)
    assert back[0] == 119


def test_more_shared_memory_is_asked_for(device):
    few, many = device.kernel(CUT, "cut", 1000), device.kernel(CUT, "cut", 200_000)
    assert few.handle.max_shared >= 1000
    assert many.handle.max_shared == 200_000
    assert device.kernel(CUT, "cut", 200_000) is many


def test_a_fault_names_the_kernel_and_the_device(device):
    stream = device.stream()
    device.launch(device.kernel(CUT, "cut"), 1, 32, stream, [1, 2, 0, 1, 1, 8, 8, 1, 8, 8, 0, 0])
    message = r"^GPU 0 \(Fake GPU\): kernel cut failed: CUDA_ERROR_ILLEGAL_ADDRESS$"
    with pytest.raises(EngineError, match=message) as caught:
        device.wait(device.record(device.event(), stream))
    assert caught.value.exit_code == 3
    assert device.is_broken


def test_arguments_of_another_kernel_are_refused(device):
    with pytest.raises(AssertionError):
        device.launch(device.kernel(CUT, "cut"), 1, 32, device.stream(), ExpandArguments(0, 0))


def test_an_impossible_launch_is_an_error(device):
    with pytest.raises(EngineError, match="cuLaunchKernel failed: CUDA_ERROR_INVALID_VALUE"):
        device.launch(device.kernel(CUT, "cut"), 1, 2000, device.stream(), [0] * 12)


def test_a_device_that_is_not_there(driver):
    with pytest.raises(EngineError, match="GPU 3"):
        Device(3)


def test_without_the_bindings_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(EngineError, match=r'pip install "exaln\[cuda\]"'):
        device_module.load_driver()

"""One card on a driver without a GPU: memory within a budget, work in order, errors in our words."""

import sys

import numpy as np
import pytest

from exaln.cuda import card as card_module
from exaln.cuda.card import Card, CardMemoryError
from exaln.cuda.compiler import Source
from exaln.cuda.sending import PIECE_BYTES, Sender
from exaln.errors import EngineError, OutOfMemoryError
from fake_cuda import CUresult, FakeDriver, install

CUT = Source("collect.cu", (("BINS", 400),))


@pytest.fixture
def driver(monkeypatch):
    return install(monkeypatch, FakeDriver(memory=1 << 30), 4)


@pytest.fixture
def card(driver):
    opened = Card(0)
    opened.set_budget(1 << 20)
    return opened


def test_facts(card, monkeypatch):
    assert str(card) == "GPU 0 (Fake GPU)"
    assert (card.facts.arch, card.facts.n_sms, card.facts.shared_bytes, card.facts.dpx) == ("sm_90", 4, 232448, True)
    monkeypatch.setenv("EXALN_CUDA_DPX", "0")
    assert not Card(0).facts.dpx


def test_without_a_budget_a_card_leaves_some_memory_to_others(card, driver):
    card.set_budget(None)
    assert card.budget == (1 << 30) - card_module.RESERVE
    held = card.allocate(100 << 20)
    card.set_budget(None, share=2)
    assert card.budget == held.n_bytes + ((924 << 20) - card_module.RESERVE) // 2


def test_a_card_on_which_nothing_can_be_begun_is_refused(driver, monkeypatch):
    monkeypatch.setattr(driver, "cuDevicePrimaryCtxRetain", lambda device: (CUresult.CUDA_ERROR_OUT_OF_MEMORY, None))
    with pytest.raises(OutOfMemoryError, match="others use its memory, none is left") as raised:
        Card(0, driver)
    assert raised.value.exit_code == 4


def test_a_card_that_others_have_filled_is_refused(card, driver):
    driver.used += (1 << 30) - (520 << 20)
    with pytest.raises(OutOfMemoryError, match=r"520 MiB are free.*set --gpu-memory"):
        card.set_budget(None)
    driver.used -= 8 << 20
    card.set_budget(None)
    assert card.budget == 16 << 20
    driver.used += 500 << 20
    card.set_budget(1 << 20)
    assert card.budget == 1 << 20


def test_memory_is_counted_and_given_back(card, driver):
    held = card.allocate(1000)
    assert card.used == driver.used == 1000
    held.free()
    held.free()
    assert card.used == driver.used == 0
    held = card.allocate(10)
    del held
    assert driver.used == 0


def test_the_budget_is_kept(card):
    held = card.allocate(1 << 19)
    with pytest.raises(CardMemoryError, match="1 MiB more cannot be had, 0 MiB of 1 MiB are in use"):
        card.allocate((1 << 19) + 1)
    assert held.n_bytes + card.allocate(1 << 19).n_bytes == 1 << 20


def test_a_full_card_is_out_of_memory_and_says_what_to_set(card):
    card.set_budget(1 << 40)
    with pytest.raises(OutOfMemoryError, match=r"2,048 MiB more cannot be had.*set --gpu-memory") as caught:
        card.allocate(2 << 30)
    assert caught.value.exit_code == 4
    assert card.used == 0


def test_copies_and_fills(card):
    stream, numbers = card.stream(), np.arange(100, dtype=np.int32)
    memory, back = card.allocate(400), np.zeros(100, np.int32)
    card.upload(memory.address, numbers, stream)
    numbers[:] = 0
    card.fill(memory.address + 40, 7, 2, stream)
    card.download(back, memory.address, stream)
    assert back.tolist() == [*range(10), 7, 7, *range(12, 100)]


def test_streams_wait_for_events(card):
    first, second = card.stream(), card.stream()
    memory, back = card.allocate(4), np.zeros(1, np.uint32)
    for value in range(20):
        card.fill(memory.address, value, 1, first)
        card.let_wait(second, card.record(card.event(), first))
        card.fill(memory.address, 100 + value, 1, second)
        card.let_wait(first, card.record(card.event(), second))
    done = card.record(card.event(), second)
    card.wait(done)
    assert card.is_done(done)
    card.download(back, memory.address, second)
    assert back[0] == 119


def test_more_shared_memory_is_asked_for(card):
    few, many = card.kernel(CUT, "cut", 1000), card.kernel(CUT, "cut", 200_000)
    assert few.handle.max_shared >= 1000
    assert many.handle.max_shared == 200_000
    assert card.kernel(CUT, "cut", 200_000) is many


def test_a_fault_names_the_kernel_and_the_card(card):
    stream = card.stream()
    card.launch(card.kernel(CUT, "cut"), 1, 32, stream, [1, 2, 0, 1, 1, 8, 8, 1, 8, 8, 0, 0])
    message = r"^GPU 0 \(Fake GPU\): kernel cut failed: CUDA_ERROR_ILLEGAL_ADDRESS$"
    with pytest.raises(EngineError, match=message) as caught:
        card.wait(card.record(card.event(), stream))
    assert caught.value.exit_code == 3
    assert card.is_broken


def test_an_impossible_launch_is_an_error(card):
    with pytest.raises(EngineError, match="cuLaunchKernel failed: CUDA_ERROR_INVALID_VALUE"):
        card.launch(card.kernel(CUT, "cut"), 1, 2000, card.stream(), [0] * 12)


def test_a_card_that_is_not_there(driver):
    with pytest.raises(EngineError, match="GPU 3"):
        Card(3)


def test_without_the_bindings_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(EngineError, match=r'pip install "exaln\[cuda\]"'):
        card_module.load_driver()


@pytest.mark.parametrize("n", [0, 1000, PIECE_BYTES + 1, 3 * PIECE_BYTES + 17])
@pytest.mark.parametrize("has_core", [True, False])
def test_codes_are_sent_whole(card, driver, n, has_core, monkeypatch):
    if not has_core:
        monkeypatch.setitem(sys.modules, "exaln._core", None)
    card.set_budget(1 << 29)
    codes = np.random.default_rng(n).integers(0, 256, n).astype(np.uint8)
    memory, stream, back = card.allocate(n), card.stream(), np.zeros(n, np.uint8)
    sender = Sender(card, stream)
    for _ in range(2):
        sender.send(memory.address, sender.prepare([codes[: n // 3], codes[n // 3 :]]))
        card.download(back, memory.address, stream)
        np.testing.assert_array_equal(back, codes)
    assert driver.sent == 2 * n

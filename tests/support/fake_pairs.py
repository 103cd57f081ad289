"""The kernels of pairs.cu for the fake driver: the reference engine aligns the pairs, from what the host has sent."""

import numpy as np

import fake_cuda
from exaln.engines.cuda.pairs.arguments import (
    FillCouplesArguments,
    GatherArguments,
    LetterArguments,
    PackCouplesArguments,
    TracebackArguments,
)
from exaln.engines.cuda.pairs.batches import COUNTS, PAIR, POSITIONS, RESULT
from exaln.engines.reference.path import reference_alignment
from exaln.scoring.modes import LOCAL, Mode
from kernel_cases import Costs


def mark_letters(driver, a, constants):
    codes, found = driver.view(a.codes, np.uint8, a.n), driver.view(a.found, np.uint8, 32)
    is_used = np.zeros(256, np.uint8)
    is_used[codes] = 1
    found |= np.packbits(is_used, bitorder="little")


def pack_couples(driver, a, constants):
    """Check that the letters of every pair are on the device."""
    for pair in driver.view(a.pairs, PAIR, a.n_pairs):
        driver.view(a.queries + int(pair["query"]), np.uint8, pair["m"])
        driver.view(a.targets + int(pair["target"]), np.uint8, pair["n"])


def fill_couples(driver, a, constants):
    assert driver.view(a.ticket, np.uint32, 1)[0] == 0, "the ticket was not set to 0"


def trace_back(driver, a, constants):
    size = constants.LETTERS + 1
    table = driver.view(a.table, np.uint32, 2 * size * size).reshape(2, size, size)
    assert np.array_equal(table[0] << 16, table[1])
    matrix = table[0].astype(np.uint16).view(np.int16)[1:, 1:]
    costs = Costs(matrix, constants.GAP_FIRST - constants.GAP_EXTEND, constants.GAP_EXTEND)
    ends = constants.QUERY_START, constants.QUERY_END, constants.TARGET_START, constants.TARGET_END
    mode = LOCAL if constants.LOCAL else Mode("any", False, *map(bool, ends))
    fold = driver.view(a.fold, np.uint8, 256)
    starts = driver.view(a.run_starts, np.uint64, a.n_pairs + 1).tolist()
    results = driver.view(a.results, RESULT, a.n_pairs)
    for number, pair in enumerate(driver.view(a.pairs, PAIR, a.n_pairs)):
        query = fold[driver.view(a.queries + int(pair["query"]), np.uint8, pair["m"])] - 1
        target = fold[driver.view(a.targets + int(pair["target"]), np.uint8, pair["n"])] - 1
        found = reference_alignment(query, target, costs, mode)
        operations = found.operations if constants.PATHS else []
        values = {"score": found.score, "n_runs": len(operations)}
        values |= dict(zip((*POSITIONS, *COUNTS), (*found.positions, *found.counts), strict=True))
        for name, value in values.items():
            results[number][name] = value
        if operations:
            runs = driver.view(a.runs_of_all, np.uint32, starts[-1])[starts[number] : starts[number + 1]]
            runs[: len(operations)] = operations[::-1]


def gather_runs(driver, a, constants):
    starts, offsets = (driver.view(at, np.uint64, a.n_pairs + 1).tolist() for at in (a.run_starts, a.offsets))
    runs, out = driver.view(a.runs, np.uint32, starts[-1]), driver.view(a.operations, np.uint32, offsets[-1])
    for number in range(a.n_pairs):
        n = offsets[number + 1] - offsets[number]
        out[offsets[number] : offsets[number + 1]] = runs[starts[number] : starts[number] + n][::-1]


def install(monkeypatch, driver):
    """Make the cuda engine run pairs on a fake driver."""
    kernels = {
        mark_letters: LetterArguments,
        pack_couples: PackCouplesArguments,
        fill_couples: FillCouplesArguments,
        trace_back: TracebackArguments,
        gather_runs: GatherArguments,
    }
    for kernel, arguments in kernels.items():
        monkeypatch.setitem(fake_cuda.ARGUMENTS, arguments.kernels[0], arguments)
        monkeypatch.setitem(fake_cuda.KERNELS, arguments.kernels[0], kernel)
    return fake_cuda.install(monkeypatch, driver, 0)

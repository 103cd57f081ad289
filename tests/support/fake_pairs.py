"""The kernels of pairs.cu for the fake driver: the reference engine aligns the pairs, from what the host has sent."""

import numpy as np

import fake_cuda
from exaln.engines.cuda.pairs.arguments import FillCouplesArguments, PackCouplesArguments, TracebackArguments
from exaln.engines.reference.path import reference_alignment
from exaln.scoring.modes import LOCAL, Mode
from kernel_cases import Costs
from pair_plans import COUNTS, LAYOUT, PAIR, POSITIONS, RESULT


def pack_couples(driver, a, constants):
    """Check that the letters of every pair are on the device."""
    for pair in driver.view(a.pairs, PAIR, a.n_pairs):
        driver.view(a.queries + int(pair["query"]), np.uint8, pair["m"])
        driver.view(a.targets + int(pair["target"]), np.uint8, pair["n"])


def fill_couples(driver, a, constants):
    """Check the counters, and that the parts of every couple are large enough for its pairs."""
    assert not driver.view(a.counters, np.uint32, 4).any(), "the counters were not set to 0"
    pairs = driver.view(a.pairs, PAIR, a.n_pairs)
    layouts = driver.view(a.layouts, LAYOUT, -(-a.n_pairs // 2))
    for number, layout in enumerate(layouts):
        own = pairs[2 * number : 2 * number + 2]
        assert layout["n_tiles"] == -(-int(own["n"].max()) // 4)
        assert layout["n_strips"] == -(-int(own["m"].max()) // (constants.LANES * constants.ROWS))
        driver.view(a.arena + int(layout["tiles"]), np.uint32, 4 * int(layout["n_tiles"]))


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
    counters = driver.view(a.counters, np.uint32, 4)
    results, pairs = driver.view(a.results, RESULT, a.n_pairs), driver.view(a.pairs, PAIR, a.n_pairs)
    for number in driver.any_order(a.n_pairs):
        pair = pairs[number]
        query = fold[driver.view(a.queries + int(pair["query"]), np.uint8, pair["m"])] - 1
        target = fold[driver.view(a.targets + int(pair["target"]), np.uint8, pair["n"])] - 1
        found = reference_alignment(query, target, costs, mode)
        operations = found.operations if constants.PATHS else []
        values = {"score": found.score, "n_runs": len(operations), "first_run": counters[2]}
        values |= dict(zip((*POSITIONS, *COUNTS), (*found.positions, *found.counts), strict=True))
        for name, value in values.items():
            results[number][name] = value
        if constants.PATHS:
            driver.view(a.runs_of_all, np.uint32, starts[-1])[starts[number] : starts[number + 1]] = 0
            path = driver.view(a.operations, np.uint32, starts[-1])[counters[2] :]
            path[: len(operations)] = operations
        counters[2] += len(operations)


def install(monkeypatch, driver):
    """Make the cuda engine run pairs on a fake driver."""
    kernels = {
        pack_couples: PackCouplesArguments,
        fill_couples: FillCouplesArguments,
        trace_back: TracebackArguments,
    }
    for kernel, arguments in kernels.items():
        monkeypatch.setitem(fake_cuda.ARGUMENTS, arguments.kernels[0], arguments)
        monkeypatch.setitem(fake_cuda.KERNELS, arguments.kernels[0], kernel)
    return fake_cuda.install(monkeypatch, driver, 0)

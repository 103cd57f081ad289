// What the bindings share: long work that can be interrupted, and the areas that bindings.cpp puts together.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "bindings/arrays.hpp"

namespace exaln {

// More threads than this are a mistake; to start them would take minutes.
constexpr int MAX_THREADS = 1 << 14;

inline void require_threads(int threads) {
    if (threads < 1) throw std::invalid_argument("threads must be at least 1");
    if (threads > MAX_THREADS) throw std::invalid_argument("threads must be at most 16384");
}

void bind_kernels(nb::module_& m);
void bind_scores(nb::module_& m);
void bind_pairs(nb::module_& m);
void bind_region(nb::module_& m);

// Runs `work()` on another thread without the GIL and calls `tick()` with it ten times a second, so that
// Ctrl-C and progress are heard. If tick throws, `stop()` is called and the exception goes on once the work
// has ended.
template <class Work, class Tick, class Stop>
void run_interruptibly(Work work, Tick tick, Stop stop) {
    std::exception_ptr failure;
    std::mutex guard;
    std::condition_variable ended;
    bool done = false;
    auto finish = [&](std::exception_ptr exception) {
        const std::lock_guard<std::mutex> lock(guard);
        failure = exception, done = true;
        ended.notify_all();
    };
    std::thread worker([&] {
        try {
            work();
            finish(nullptr);
        } catch (...) {
            finish(std::current_exception());
        }
    });
    auto wait_a_tick = [&] {
        const nb::gil_scoped_release released;
        std::unique_lock<std::mutex> lock(guard);
        return ended.wait_for(lock, std::chrono::milliseconds(100), [&] { return done; });
    };
    try {
        while (!wait_a_tick()) {
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
            tick();
        }
    } catch (...) {
        stop();
        const nb::gil_scoped_release released;
        worker.join();
        throw;
    }
    worker.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace exaln

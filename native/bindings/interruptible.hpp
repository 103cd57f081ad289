// Long work without the GIL that Ctrl-C can interrupt and that reports its progress.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "threads/progress.hpp"

namespace exaln {

// Runs `work()` on another thread without the GIL and, ten times a second, handles signals and calls `tick()`
// with the GIL. If either raises an exception, `progress.cancelled` is set, and the exception is rethrown
// once the work has ended.
template <class Work, class Tick>
void run_interruptibly(Progress& progress, Work work, Tick tick) {
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
        const nanobind::gil_scoped_release released;
        std::unique_lock<std::mutex> lock(guard);
        return ended.wait_for(lock, std::chrono::milliseconds(100), [&] { return done; });
    };
    try {
        while (!wait_a_tick()) {
            if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
            tick();
        }
    } catch (...) {
        progress.cancelled = true;
        const nanobind::gil_scoped_release released;
        worker.join();
        throw;
    }
    worker.join();
    if (failure) std::rethrow_exception(failure);
}

// Runs `work()` without the GIL: directly if it is quick, otherwise interruptibly. Quick work ends before a
// user could interrupt it, and is not worth starting a thread.
template <class Work, class Tick>
void run_released(bool is_quick, Progress& progress, Work work, Tick tick) {
    if (is_quick) {
        const nanobind::gil_scoped_release released;
        work();
    } else {
        run_interruptibly(progress, work, tick);
    }
}

}  // namespace exaln

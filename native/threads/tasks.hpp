// Runs a list of tasks on several threads; each thread takes the next task when it is free.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace exaln {

// Calls `work(worker, i)` for every i < n_tasks on up to `threads` threads, including the calling one. Each
// thread has its own worker, made by `make_worker()`; after the last task every worker is passed to
// `collect`. The first exception (std::system_error if a thread cannot be started) ends the distribution of
// tasks and is rethrown once all threads have finished.
template <class MakeWorker, class Work, class Collect>
void run_tasks(size_t n_tasks, int threads, MakeWorker make_worker, Work work, Collect collect) {
    std::atomic<size_t> next{0};
    std::exception_ptr failure;
    std::mutex guard;
    auto loop = [&] {
        try {
            auto worker = make_worker();
            for (size_t i = next.fetch_add(1); i < n_tasks; i = next.fetch_add(1)) work(*worker, i);
            const std::lock_guard<std::mutex> lock(guard);
            collect(*worker);
        } catch (...) {
            const std::lock_guard<std::mutex> lock(guard);
            if (!failure) failure = std::current_exception();
            next = n_tasks;
        }
    };
    const size_t n_threads = std::min<size_t>(size_t(std::max(threads, 1)), n_tasks);
    std::vector<std::thread> others;
    try {
        for (size_t t = 1; t < n_threads; ++t) others.emplace_back(loop);
    } catch (...) {  // a thread could not be started; those that run must be joined before rethrowing
        const std::lock_guard<std::mutex> lock(guard);
        if (!failure) failure = std::current_exception();
        next = n_tasks;
    }
    loop();
    for (std::thread& thread : others) thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace exaln

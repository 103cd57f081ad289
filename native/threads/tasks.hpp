// A list of tasks shared by threads: each takes the next one when it is free.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace exaln {

// Grows on demand, keeps its memory, 64-byte aligned.
class Scratch {
  public:
    Scratch() = default;
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { release(); }

    void* reserve(size_t bytes) {
        if (bytes > capacity_) {
            release();
            memory_ = ::operator new(bytes, std::align_val_t(64));
            capacity_ = bytes;
        }
        return memory_;
    }

  private:
    void release() {
        if (memory_) ::operator delete(memory_, std::align_val_t(64));
        memory_ = nullptr, capacity_ = 0;
    }
    void* memory_ = nullptr;
    size_t capacity_ = 0;
};

// Runs `work(worker, i)` for every i < n_tasks on up to `threads` threads, this one among them. Each thread
// has a worker of its own, made by `make_worker()`; all of them are passed to `collect` afterwards. The first
// exception, std::system_error for a thread that could not be started among them, stops the handing out and
// is thrown here.
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
    } catch (...) {  // the system refused a thread: those that run must be joined before this is thrown
        const std::lock_guard<std::mutex> lock(guard);
        if (!failure) failure = std::current_exception();
        next = n_tasks;
    }
    loop();
    for (std::thread& thread : others) thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace exaln

// Threads that go through a row of steps together: nobody begins a step before all have ended the one before.
// What the studies of the papers fill their tables with, one step per diagonal.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace exaln {

inline double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Looks for a while, then lets others run: with more threads than cores, the one waited for may need this
// one.
class StepBarrier {
  public:
    explicit StepBarrier(int threads) : threads_(threads) {}

    void wait() {
        const unsigned step = step_.load(std::memory_order_relaxed);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
            arrived_.store(0, std::memory_order_relaxed);
            step_.store(step + 1, std::memory_order_release);
            return;
        }
        for (int looks = 0; step_.load(std::memory_order_acquire) == step; ++looks)
            if (looks > LOOKS) std::this_thread::yield();
    }

  private:
    static constexpr int LOOKS = 2000;
    const int threads_;
    std::atomic<int> arrived_{0};
    std::atomic<unsigned> step_{0};
};

// Calls work(thread, step) for every step on every thread. Returns the seconds that each thread waited.
template <class Work>
std::vector<double> run_steps(int threads, int64_t n_steps, Work work) {
    StepBarrier barrier(threads);
    std::vector<double> waited(size_t(threads), 0.0);
    auto loop = [&](int thread) {
        double seconds = 0;
        for (int64_t step = 0; step < n_steps; ++step) {
            work(thread, step);
            if (threads == 1) continue;
            const double begun = seconds_now();
            barrier.wait();
            seconds += seconds_now() - begun;
        }
        waited[size_t(thread)] = seconds;
    };
    // Nobody begins before all threads are there: if the system refuses one, the others are sent home.
    enum Start { WAIT, GO, GO_HOME };
    std::atomic<int> start{WAIT};
    auto begin = [&](int thread) {
        while (start.load(std::memory_order_acquire) == WAIT) std::this_thread::yield();
        if (start.load(std::memory_order_acquire) == GO) loop(thread);
    };
    std::vector<std::thread> others;
    try {
        for (int thread = 1; thread < threads; ++thread) others.emplace_back(begin, thread);
    } catch (...) {
        start.store(GO_HOME, std::memory_order_release);
        for (std::thread& other : others) other.join();
        throw;
    }
    start.store(GO, std::memory_order_release);
    loop(0);
    for (std::thread& other : others) other.join();
    return waited;
}

}  // namespace exaln

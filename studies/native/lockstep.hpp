// Threads that run a sequence of steps in lockstep: no thread starts a step before every thread has
// finished the previous one. The studies fill their tables this way, one diagonal per step.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace exaln_studies {

inline double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A reusable barrier. A waiting thread spins for a while and then yields: with more threads than cores, the
// last thread to arrive may need this core.
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
        for (int spins = 0; step_.load(std::memory_order_acquire) == step; ++spins)
            if (spins > MAX_SPINS) std::this_thread::yield();
    }

  private:
    static constexpr int MAX_SPINS = 2000;
    const int threads_;
    std::atomic<int> arrived_{0};
    std::atomic<unsigned> step_{0};
};

// Calls work(thread, step) for every step on every thread. Returns the seconds that each thread spent
// waiting.
template <class Work>
std::vector<double> run_in_lockstep(int threads, int64_t n_steps, Work work) {
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
    // Threads start only when all of them exist. If the system refuses one, the others end without work.
    enum Start { WAIT, GO, CANCEL };
    std::atomic<int> start{WAIT};
    auto begin = [&](int thread) {
        while (start.load(std::memory_order_acquire) == WAIT) std::this_thread::yield();
        if (start.load(std::memory_order_acquire) == GO) loop(thread);
    };
    std::vector<std::thread> others;
    try {
        for (int thread = 1; thread < threads; ++thread) others.emplace_back(begin, thread);
    } catch (...) {
        start.store(CANCEL, std::memory_order_release);
        for (std::thread& other : others) other.join();
        throw;
    }
    start.store(GO, std::memory_order_release);
    loop(0);
    for (std::thread& other : others) other.join();
    return waited;
}

}  // namespace exaln_studies

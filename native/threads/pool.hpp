// A thread pool for many short lists of tasks, where starting threads would take as long as the work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace exaln {

// Tasks are numbered across all lists. A thread that has claimed a number below the end of the current list
// works on that list, and run() does not return before all its tasks are done. A thread that wakes up late
// finds no task left, and run() does not wait for it.
class ThreadPool {
  public:
    using Work = std::function<void(size_t thread, size_t task)>;

    // The calling thread and up to `threads` - 1 others, which wait for tasks until the pool is destroyed.
    // Throws std::system_error if a thread cannot be started.
    explicit ThreadPool(int threads) {
        try {
            for (int number = 1; number < threads; ++number)
                others_.emplace_back([this, number] { take_tasks(size_t(number)); });
        } catch (...) {
            stop();
            throw;
        }
    }
    ~ThreadPool() { stop(); }
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    size_t size() const { return others_.size() + 1; }

    // Calls `work(thread, i)` for every i < n_tasks, where thread < size() is the number of the thread that
    // runs it. Rethrows the first exception; tasks that have not started by then are skipped.
    void run(size_t n_tasks, const Work& work) {
        work_ = &work, first_ = end_.load(), failure_ = nullptr, has_failed_ = false;
        const size_t end = first_ + n_tasks;
        end_.store(end);
        if (n_asleep_.load() > 0 && n_tasks > 1) wake();
        while (take_task(0)) {
        }
        while (n_done_.load(std::memory_order_acquire) < end) std::this_thread::yield();
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    static constexpr int SPINS = 64, YIELDS = 1000;  // before sleeping: the next list often follows at once

    void take_tasks(size_t thread) {
        for (int idle = 0; !is_stopping_.load(std::memory_order_relaxed); ++idle) {
            if (take_task(thread)) {
                idle = 0;
            } else if (idle > SPINS + YIELDS) {
                sleep();
                idle = 0;
            } else if (idle > SPINS) {
                std::this_thread::yield();
            }
        }
    }

    // A thread increments n_asleep_ before its last look at the list; run() publishes the list before it
    // reads n_asleep_. So one of them always sees the other, and no wake-up is lost.
    void sleep() {
        std::unique_lock<std::mutex> lock(guard_);
        ++n_asleep_;
        woken_.wait(lock, [&] { return is_stopping_ || next_.load() < end_.load(); });
        --n_asleep_;
    }

    void wake() {
        {
            const std::lock_guard<std::mutex> lock(guard_);
        }
        woken_.notify_all();
    }

    // Runs the next task; false if there is none.
    bool take_task(size_t thread) {
        size_t task = next_.load(std::memory_order_relaxed);
        do {
            if (task >= end_.load(std::memory_order_acquire)) return false;
        } while (!next_.compare_exchange_weak(task, task + 1, std::memory_order_relaxed));
        try {
            if (!has_failed_.load(std::memory_order_relaxed)) (*work_)(thread, task - first_);
        } catch (...) {
            const std::lock_guard<std::mutex> lock(guard_);
            if (!failure_) failure_ = std::current_exception();
            has_failed_ = true;
        }
        n_done_.fetch_add(1, std::memory_order_release);
        return true;
    }

    void stop() {
        is_stopping_ = true;
        wake();
        for (std::thread& other : others_) other.join();
    }

    std::atomic<size_t> next_{0}, end_{0}, n_done_{0};  // tasks claimed, published, done
    std::atomic<int> n_asleep_{0};
    std::condition_variable woken_;
    std::atomic<bool> is_stopping_{false}, has_failed_{false};
    const Work* work_ = nullptr;
    size_t first_ = 0;  // number of the current list's first task
    std::mutex guard_;
    std::exception_ptr failure_;
    std::vector<std::thread> others_;  // declared last: the threads use every other field
};

}  // namespace exaln

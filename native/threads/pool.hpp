// Threads that work on one list of tasks after another, each of them so short that to start threads anew
// would take as long.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace exaln {

// Tasks of all lists are numbered through. Who has taken a number below the end of the list at hand works on
// that list: it is not over before all its tasks are done. A thread that comes late finds nothing to do, and
// nobody waits for it.
class Crew {
  public:
    using Work = std::function<void(size_t member, size_t task)>;

    // This thread and up to `threads` - 1 others, which wait for tasks until the object dies. Throws
    // std::system_error if one could not be started.
    explicit Crew(int threads) {
        try {
            for (int number = 1; number < threads; ++number)
                others_.emplace_back([this, number] { follow(size_t(number)); });
        } catch (...) {
            dismiss();
            throw;
        }
    }
    ~Crew() { dismiss(); }
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    size_t size() const { return others_.size() + 1; }

    // Calls `work(member, i)` for every i < n_tasks; member < size() says who does it. The first exception
    // is thrown here; what was not begun by then is left out.
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
    static constexpr int SPINS = 64, YIELDS = 1000;  // a list often follows the one before at once

    void follow(size_t member) {
        for (int idle = 0; !is_dismissed_.load(std::memory_order_relaxed); ++idle) {
            if (take_task(member)) {
                idle = 0;
            } else if (idle > SPINS + YIELDS) {
                sleep();
                idle = 0;
            } else if (idle > SPINS) {
                std::this_thread::yield();
            }
        }
    }

    // Who falls asleep says so first and looks for tasks then; who has tasks gives them first and looks for
    // sleepers then: one of them sees the other.
    void sleep() {
        std::unique_lock<std::mutex> lock(guard_);
        ++n_asleep_;
        woken_.wait(lock, [&] { return is_dismissed_ || next_.load() < end_.load(); });
        --n_asleep_;
    }

    void wake() {
        {
            const std::lock_guard<std::mutex> lock(guard_);
        }
        woken_.notify_all();
    }

    // Whether there was one.
    bool take_task(size_t member) {
        size_t task = next_.load(std::memory_order_relaxed);
        do {
            if (task >= end_.load(std::memory_order_acquire)) return false;
        } while (!next_.compare_exchange_weak(task, task + 1, std::memory_order_relaxed));
        try {
            if (!has_failed_.load(std::memory_order_relaxed)) (*work_)(member, task - first_);
        } catch (...) {
            const std::lock_guard<std::mutex> lock(guard_);
            if (!failure_) failure_ = std::current_exception();
            has_failed_ = true;
        }
        n_done_.fetch_add(1, std::memory_order_release);
        return true;
    }

    void dismiss() {
        is_dismissed_ = true;
        wake();
        for (std::thread& other : others_) other.join();
    }

    std::atomic<size_t> next_{0}, end_{0}, n_done_{0};  // tasks that were taken, given, done
    std::atomic<int> n_asleep_{0};
    std::condition_variable woken_;
    std::atomic<bool> is_dismissed_{false}, has_failed_{false};
    const Work* work_ = nullptr;
    size_t first_ = 0;  // of the list at hand
    std::mutex guard_;
    std::exception_ptr failure_;
    std::vector<std::thread> others_;  // the last member: they use all others
};

}  // namespace exaln

// Threads that work on one list of tasks after another, each of them so short that to start threads anew
// would take as long.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace exaln {

class Crew {
  public:
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
    // stops the handing out and is thrown here.
    void run(size_t n_tasks, const std::function<void(size_t member, size_t task)>& work) {
        work_ = &work, n_tasks_ = n_tasks, next_ = 0, n_busy_ = others_.size(), failure_ = nullptr;
        round_.fetch_add(1, std::memory_order_release);
        take_tasks(0);
        while (n_busy_.load(std::memory_order_acquire) > 0) std::this_thread::yield();
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    void follow(size_t member) {
        for (size_t seen = 0;; ++seen) {
            for (int spins = 0; round_.load(std::memory_order_acquire) == seen; ++spins)
                if (spins > 64) std::this_thread::yield();
            if (is_dismissed_.load(std::memory_order_relaxed)) return;
            take_tasks(member);
            n_busy_.fetch_sub(1, std::memory_order_release);
        }
    }

    void take_tasks(size_t member) {
        try {
            for (size_t i = next_.fetch_add(1); i < n_tasks_; i = next_.fetch_add(1)) (*work_)(member, i);
        } catch (...) {
            const std::lock_guard<std::mutex> lock(guard_);
            if (!failure_) failure_ = std::current_exception();
            next_ = n_tasks_;
        }
    }

    void dismiss() {
        is_dismissed_ = true;
        round_.fetch_add(1, std::memory_order_release);
        for (std::thread& other : others_) other.join();
    }

    std::vector<std::thread> others_;
    std::atomic<size_t> round_{0}, next_{0}, n_busy_{0};
    std::atomic<bool> is_dismissed_{false};
    const std::function<void(size_t, size_t)>* work_ = nullptr;
    size_t n_tasks_ = 0;
    std::mutex guard_;
    std::exception_ptr failure_;
};

}  // namespace exaln

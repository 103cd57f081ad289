// The handler of SIGBUS: replaces bytes of a mapped file that cannot be read by zeros, and records the fault.
#include "sequences/mapped_ranges.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace exaln {
namespace {

// A signal handler may neither lock nor allocate, so the table has a fixed size.
constexpr int MAX_RANGES = 1 << 16;

struct Range {
    std::atomic<uintptr_t> begin{0}, end{0};  // end == 0: unused
    std::atomic<bool> has_faulted{false};
};

Range ranges[MAX_RANGES];
std::atomic<int> n_ranges{0};  // numbers that were ever used
std::mutex guard;              // protects everything below, and writes to the table
int first_free = 0;            // all numbers below are in use
uintptr_t page_bytes = 4096;
struct sigaction previous{};
// Thread-local variables may be allocated on first use, which a handler must not trigger; these exist from
// the start of the thread.
__attribute__((tls_model("initial-exec"))) thread_local bool is_passing_on = false;

Range* range_of(uintptr_t address) {
    const int n = n_ranges.load(std::memory_order_acquire);
    for (int i = 0; i < n; ++i)
        if (address < ranges[i].end.load(std::memory_order_acquire) &&
            address >= ranges[i].begin.load(std::memory_order_relaxed))
            return &ranges[i];
    return nullptr;
}

// Maps zeros from the page of the fault to the end of the range, all of which is beyond the end of the file.
bool put_zeros(Range& range, uintptr_t address) {
    const uintptr_t first = address / page_bytes * page_bytes, end = range.end.load();
    range.has_faulted = true;
    return mmap(reinterpret_cast<void*>(first), end - first, PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

// Does what would happen without this handler. A handler installed later may pass the signal back to this
// one; is_passing_on ends that recursion.
void pass_on(int number, siginfo_t* info, void* context) {
    const bool is_handled = previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN;
    if (is_handled && !is_passing_on) {
        is_passing_on = true;
        if (previous.sa_flags & SA_SIGINFO)
            previous.sa_sigaction(number, info, context);
        else
            previous.sa_handler(number);
        is_passing_on = false;
        return;
    }
    signal(number, SIG_DFL);
    if (info->si_code <= 0) raise(number);  // sent by a process; a fault recurs by itself
}

void handle(int number, siginfo_t* info, void* context) {
    const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    Range* const range = info->si_code > 0 ? range_of(address) : nullptr;
    if (range == nullptr || !put_zeros(*range, address)) pass_on(number, info, context);
}

// Installs the handler, and again if another handler has replaced it.
void install() {
    struct sigaction present{}, own{};
    sigaction(SIGBUS, nullptr, &present);
    if ((present.sa_flags & SA_SIGINFO) && present.sa_sigaction == handle) return;
    previous = present;
    own.sa_sigaction = handle;
    own.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&own.sa_mask);
    sigaction(SIGBUS, &own, nullptr);
}

}  // namespace

int watch_range(void* begin, size_t size) {
    const std::lock_guard<std::mutex> lock(guard);
    page_bytes = uintptr_t(sysconf(_SC_PAGESIZE));
    install();
    int number = first_free;
    while (number < MAX_RANGES && ranges[number].end.load() != 0) ++number;
    if (number == MAX_RANGES) return -1;
    first_free = number + 1;
    const auto first = reinterpret_cast<uintptr_t>(begin);
    Range& range = ranges[number];
    range.has_faulted = false;
    range.begin = first;
    range.end = (first + size + page_bytes - 1) / page_bytes * page_bytes;
    if (number >= n_ranges.load()) n_ranges = number + 1;
    return number;
}

void unwatch_range(int number) {
    const std::lock_guard<std::mutex> lock(guard);
    ranges[number].end = 0;
    if (number < first_free) first_free = number;
}

bool has_faulted(int number) {
    return ranges[number].has_faulted;
}

}  // namespace exaln

// SEG: stretches of low complexity in proteins.
//
// The entropy of each window is compared with two cuts; neighbours of a window at or below `locut` join it
// while they are at or below `hicut`. From each such stretch up to MAX_TRIM residues are cut off, so that
// what remains is the part that is least likely by chance. If the window that began the stretch is then not
// in it, the part to its left is searched on its own.
//
// Both sums are kept as integers that change with the residue that leaves a window and the one that enters
// it. Only where they are too close to decide are they added up as NCBI's program does, in floating point and
// from the largest count down, so that stretches are the same.
#include "masking/seg.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>

#include "threads/tasks.hpp"

namespace exaln {
namespace {

constexpr int N_KINDS = 20;
constexpr int MAX_UNKNOWN = 2;  // a window with more unknown letters has no entropy
constexpr int64_t MAX_TRIM = 50;
constexpr int64_t TASK_RESIDUES = 1 << 16;

// ln(n!) in millionths. NCBI's table has six decimals, which decides between parts that are almost equally
// likely.
class LogFactorials {
  public:
    LogFactorials() : table_(TABLE) {
        long double sum = 0;
        for (int64_t n = 0; n < TABLE; ++n) {
            if (n > 1) sum += std::log(static_cast<long double>(n));
            table_[size_t(n)] = std::llround(sum * 1e6L);
        }
    }
    int64_t operator()(int64_t n) const { return n < TABLE ? table_[size_t(n)] : stirling(n); }

  private:
    static constexpr int64_t TABLE = 1 << 12;

    static int64_t stirling(int64_t number) {
        constexpr long double HALF_LN_TWO_PI = 0.918938533204672741780L;
        const long double n = static_cast<long double>(number);
        const long double tail = 1 / (12 * n) - 1 / (360 * n * n * n);
        return std::llround(((n + 0.5L) * std::log(n) - n + HALF_LN_TWO_PI + tail) * 1e6L);
    }
    std::vector<int64_t> table_;
};

const LogFactorials& ln_factorial() {
    static const LogFactorials instance;
    return instance;
}

double decimal(int64_t millionths) {
    return double(millionths) / 1e6;
}

// Numbers of residues of each kind, largest first; the rest are zeros.
struct State {
    int64_t counts[N_KINDS];

    explicit State(const int64_t (&of_kinds)[N_KINDS]) {
        std::copy_n(of_kinds, N_KINDS, counts);
        std::sort(counts, counts + N_KINDS, std::greater<int64_t>());
    }
};

// Whether the entropy of a window is at most a cut.
class EntropyCut {
  public:
    EntropyCut(int window, double cut) : window_(window), cut_(cut), parts_(size_t(window) + 1) {
        for (int n = 1; n <= window; ++n) parts_[size_t(n)] = std::llround(n * std::log2(double(n)) * UNIT);
    }
    // The sum of part(n) over all counts grows as the entropy falls.
    int64_t part(int64_t n) const { return parts_[size_t(n)]; }

    bool holds(int64_t sum, const int64_t (&counts)[N_KINDS], int64_t n_unknown) const {
        const double total = double(window_ - n_unknown);
        if (total == 0) return true;
        const double excess = double(sum) / UNIT - total * (std::log2(total) - cut_);
        if (std::abs(excess) > 1e-6 * window_) return excess > 0;
        return entropy(State(counts), total) <= cut_;
    }

  private:
    static constexpr double UNIT = 1 << 30;

    static double entropy(const State& state, double total) {
        double sum = 0;
        for (int i = 0; i < N_KINDS && state.counts[i] != 0; ++i) {
            const double n = double(state.counts[i]);
            sum += n * std::log(n / total) / std::log(2.0);
        }
        return std::abs(sum / total);
    }

    int64_t window_;
    double cut_;
    std::vector<int64_t> parts_;
};

// The residues of a part of a stretch: how unlikely their state is by chance, as a sum that is larger for
// less likely states. part = sum of ln(count!) over kinds and of ln(kinds with this count!) over counts.
class Composition {
  public:
    Composition() : ln_(ln_factorial()) {}

    void clear(int64_t longest) {
        std::fill_n(counts_, N_KINDS, 0);
        kinds_with_.assign(size_t(longest) + 1, 0);
        kinds_with_[0] = N_KINDS;
        sum_ = ln_(N_KINDS);
    }
    void add(uint8_t kind) {
        if (kind < N_KINDS) change(kind, counts_[kind] + 1);
    }
    void remove(uint8_t kind) {
        if (kind < N_KINDS) change(kind, counts_[kind] - 1);
    }
    void replace(uint8_t old, uint8_t kind) {
        if (old == kind) return;
        remove(old);
        add(kind);
    }

    // The logarithm of the probability of the state of `length` letters; differs from `exact` by less than
    // 1e-7.
    double quick(int64_t length) const {
        if (kinds_with_[0] == N_KINDS) return exact(length);
        return decimal(ln_(N_KINDS) + ln_(length) - sum_) - double(length) * ln_kinds_;
    }
    double exact(int64_t length) const {
        const State state(counts_);
        double ways = decimal(ln_(N_KINDS));
        for (int i = 0, next = 0; i < N_KINDS && state.counts[0] != 0; i = next) {
            while (next < N_KINDS && state.counts[next] == state.counts[i]) ++next;
            ways -= decimal(ln_(next - i));
        }
        double orders = decimal(ln_(length));
        for (int i = 0; i < N_KINDS && state.counts[i] != 0; ++i) orders -= decimal(ln_(state.counts[i]));
        const volatile double all = double(length) * ln_kinds_;  // volatile: rounded before it is subtracted
        return ways + orders - all;
    }

  private:
    void change(uint8_t kind, int64_t count) {
        int64_t& old = counts_[kind];
        sum_ += ln_(count) - ln_(old);
        resize_class(old, -1);
        resize_class(count, 1);
        old = count;
    }
    void resize_class(int64_t count, int change) {
        int& size = kinds_with_[size_t(count)];
        sum_ -= ln_(size);
        size += change;
        sum_ += ln_(size);
    }

    const LogFactorials& ln_;
    const double ln_kinds_ = std::log(double(N_KINDS));
    int64_t counts_[N_KINDS] = {};
    std::vector<int> kinds_with_;  // by count
    int64_t sum_ = 0;
};

struct Stretch {
    int64_t begin, end;
};

// What one thread needs to search sequences.
class Searcher {
  public:
    explicit Searcher(const SegOptions& options)
        : window_(options.window),
          locut_(options.window, options.locut),
          hicut_(options.window, options.hicut) {}

    // Appends the stretches of n kinds, a sequence or a part of one that begins at `offset`. Windows are
    // numbered by where they begin.
    void search(const uint8_t* kinds, int64_t offset, int64_t n, std::vector<Stretch>& found) {
        const std::vector<Level> level = levels(kinds, n);
        const int64_t n_windows = int64_t(level.size());
        int64_t limit = 0;
        for (int64_t i = 0; i < n_windows; ++i) {
            if (level[size_t(i)] != lowest) continue;
            int64_t first = i, last = i;
            while (first > limit && level[size_t(first) - 1] != high) --first;
            while (last + 1 < n_windows && level[size_t(last) + 1] != high) ++last;
            const Stretch kept = trimmed(kinds, {first, last + window_});
            if (i + window_ - 1 < kept.begin)
                search(kinds + first, offset + first, kept.begin - first, found);
            found.push_back({offset + kept.begin, offset + kept.end});
            i = std::min(last, kept.end - 1);
            limit = i + 1;
        }
    }

  private:
    enum Level : uint8_t { high, low, lowest };  // above hicut or none; at most hicut; at most locut

    // Levels of the windows of `kinds`, by where they begin.
    std::vector<Level> levels(const uint8_t* kinds, int64_t n) const {
        std::vector<Level> found(size_t(std::max<int64_t>(n - window_ + 1, 0)));
        int64_t counts[N_KINDS] = {}, n_unknown = 0, sum = 0;
        const auto change = [&](uint8_t kind, int by) {
            if (kind >= N_KINDS) {
                n_unknown += by;
            } else {
                sum -= locut_.part(counts[kind]);
                counts[kind] += by;
                sum += locut_.part(counts[kind]);
            }
        };
        for (int64_t i = 0; i < n; ++i) {
            change(kinds[i], 1);
            const int64_t begin = i - window_ + 1;
            if (begin < 0) continue;
            Level level = high;
            if (n_unknown <= MAX_UNKNOWN && hicut_.holds(sum, counts, n_unknown))
                level = locut_.holds(sum, counts, n_unknown) ? lowest : low;
            found[size_t(begin)] = level;
            change(kinds[begin], -1);
        }
        return found;
    }

    // The part of a stretch that is least likely by chance: among equals the longest, then the first. The
    // window slides forwards for one length and backwards for the next.
    Stretch trimmed(const uint8_t* kinds, const Stretch& stretch) {
        kinds += stretch.begin;
        const int64_t n = stretch.end - stretch.begin;
        composition_.clear(n);
        for (int64_t i = 0; i < n; ++i) composition_.add(kinds[i]);
        Part best{1, 0, n};
        const int64_t shortest = std::max<int64_t>(1, n - MAX_TRIM) + 1;
        for (int64_t length = n; length >= shortest; --length) {
            const bool is_forward = (n - length) % 2 == 0;
            if (length < n) composition_.remove(is_forward ? kinds[length] : kinds[n - length - 1]);
            const Part found = is_forward ? first_of_length(kinds, n, length, best.log_probability)
                                          : last_of_length(kinds, n, length, best.log_probability);
            if (found.log_probability < best.log_probability) best = found;
        }
        return {stretch.begin + best.begin, stretch.begin + best.begin + best.length};
    }

    struct Part {
        double log_probability;
        int64_t begin, length;
    };

    // The least likely part of one length, the first among equals, if it is less likely than `bound`. The
    // window is at the first residue, and is left at the last place.
    Part first_of_length(const uint8_t* kinds, int64_t n, int64_t length, double bound) {
        Part best{bound, 0, length};
        for (int64_t begin = 0;; ++begin) {
            if (composition_.quick(length) < best.log_probability + CLOSE) {
                const double found = composition_.exact(length);
                if (found < best.log_probability) best = {found, begin, length};
            }
            if (begin + length == n) return best;
            composition_.replace(kinds[begin], kinds[begin + length]);
        }
    }

    // The same from the last place to the first.
    Part last_of_length(const uint8_t* kinds, int64_t n, int64_t length, double bound) {
        Part best{bound, 0, length};
        for (int64_t begin = n - length;; --begin) {
            if (composition_.quick(length) < best.log_probability + CLOSE) {
                const double found = composition_.exact(length);
                if (found < best.log_probability || (found == best.log_probability && found < bound))
                    best = {found, begin, length};
            }
            if (begin == 0) return best;
            composition_.replace(kinds[begin + length - 1], kinds[begin - 1]);
        }
    }

    static constexpr double CLOSE = 1e-6;

    const int64_t window_;
    const EntropyCut locut_, hicut_;
    Composition composition_;
};

// The stretches of some neighbouring sequences; counts has their number for each.
struct TaskResult {
    std::vector<Stretch> stretches;
    std::vector<int64_t> counts;
};

void search_range(Searcher& searcher, const Sequences& sequences, const uint8_t (&kinds)[256], int64_t begin,
                  int64_t end, const std::atomic<bool>& cancelled, TaskResult& result) {
    std::vector<uint8_t> kinds_of;
    for (int64_t i = begin; i < end && !cancelled; ++i) {
        const int64_t n = sequences.length(i);
        kinds_of.resize(size_t(n));
        std::transform(sequences.at(i), sequences.at(i) + n, kinds_of.begin(),
                       [&](uint8_t code) { return kinds[code]; });
        const size_t before = result.stretches.size();
        searcher.search(kinds_of.data(), 0, n, result.stretches);
        result.counts.push_back(int64_t(result.stretches.size() - before));
    }
}

// Numbers of the sequences at which tasks begin, and the number of sequences.
std::vector<int64_t> task_bounds(const Sequences& sequences) {
    std::vector<int64_t> bounds{0};
    for (int64_t i = 0; i < sequences.n; ++i)
        if (sequences.offsets[i + 1] - sequences.offsets[bounds.back()] >= TASK_RESIDUES ||
            i + 1 == sequences.n)
            bounds.push_back(i + 1);
    return bounds;
}

}  // namespace

Stretches seg(const Sequences& sequences, const uint8_t (&kinds)[256], const SegOptions& options,
              const std::atomic<bool>& cancelled) {
    if (options.window < 1 || options.window > MAX_WINDOW)
        throw std::invalid_argument("the window of SEG must be from 1 to 65536");
    if (!(options.locut >= 0 && options.locut <= options.hicut))
        throw std::invalid_argument("the cuts of SEG must be 0 <= locut <= hicut");
    const std::vector<int64_t> bounds = task_bounds(sequences);
    std::vector<TaskResult> results(bounds.size() - 1);
    run_tasks(
        results.size(), options.threads, [&] { return std::make_unique<Searcher>(options); },
        [&](Searcher& searcher, size_t i) {
            search_range(searcher, sequences, kinds, bounds[i], bounds[i + 1], cancelled, results[i]);
        },
        [](Searcher&) {});
    Stretches all;
    all.offsets.push_back(0);
    for (const TaskResult& result : results) {
        for (const Stretch& stretch : result.stretches) {
            all.begins.push_back(stretch.begin);
            all.ends.push_back(stretch.end);
        }
        for (const int64_t count : result.counts) all.offsets.push_back(all.offsets.back() + count);
    }
    return all;
}

}  // namespace exaln

// Counts and encodes the letters of rows, a piece of the joined output at a time on each thread.
#include "sequences/text_rows.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "recurrence/costs.hpp"
#include "sequences/letter_args.hpp"
#include "simd/kernels.hpp"
#include "threads/tasks.hpp"

namespace exaln {
namespace {

constexpr int64_t TASK_BYTES = int64_t(1) << 19;  // below this, starting a thread takes as long as the work
constexpr int UNIT = 8;                           // bytes loaded at a time
constexpr uint8_t NOT_A_CODE = 255;

uint64_t load(const uint8_t* bytes) {
    uint64_t word;
    std::memcpy(&word, bytes, UNIT);
    return word;
}

// Counts bytes: the letters of nucleotides in registers, stretches with others in memory.
class Tally {
  public:
    explicit Tally(const Isa& isa) : isa_(isa.widths[0]) {}

    void add(const uint8_t* text, int64_t n) {
        for (int64_t i = 0; i < n;) {
            if (isa_.letters.count && n - i >= isa_.lanes) i += isa_.letters.count(bases_, text + i, n - i);
            if (bases_.n_registers == BaseCounts::MAX_REGISTERS) {
                empty_registers();
                continue;
            }
            const int64_t some = std::min(n - i, STRETCH);
            add_bytewise(text + i, some);
            i += some;
        }
    }

    // Adds the counts, upper and lower case together, to `sum`.
    void add_to(TextRows::Counts& sum) {
        empty_registers();
        for (int byte = 0; byte < 256; ++byte) {
            const bool is_lower = byte >= 'a' && byte <= 'z';
            for (const auto& table : counts_) sum[size_t(is_lower ? byte - 'a' + 'A' : byte)] += table[byte];
        }
    }

  private:
    static constexpr int64_t STRETCH = 512;  // counted in memory after a byte that the kernel does not count

    // Four tables in turn, so that equal letters in succession do not wait for one another.
    void add_bytewise(const uint8_t* text, int64_t n) {
        int64_t i = 0;
        for (; i + UNIT <= n; i += UNIT) {
            const uint64_t word = load(text + i);
            for (int k = 0; k < UNIT; ++k) ++counts_[k % 4][uint8_t(word >> 8 * k)];
        }
        for (; i < n; ++i) ++counts_[0][text[i]];
    }

    void empty_registers() {
        for (int k = 0; k < BaseCounts::N_LETTERS; ++k)
            for (const int8_t count : bases_.lanes[k]) counts_[0][uint8_t(bases_.letters[k])] += count;
        bases_ = BaseCounts();
    }

    const WidthKernels& isa_;
    BaseCounts bases_;
    int64_t counts_[4][256] = {};
};

// The codes of bytes, NOT_A_CODE where there is none.
class Encoder {
  public:
    // Everything from n_codes on is no code.
    Encoder(const TextRows::Table& table, int n_codes, const Isa& isa) : table_(table), isa_(isa.widths[0]) {
        for (uint8_t& code : table_)
            if (code >= n_codes) code = NOT_A_CODE;
        for (int letter = 'A'; letter <= 'Z'; ++letter) {
            const uint8_t code = table_[size_t(letter)];
            if (code == NOT_A_CODE || code != table_[size_t(letter - 'A' + 'a')]) continue;
            letters_.set(letter, code);
            kernel_ = isa_.letters.encode;
        }
    }

    // Writes the codes of n bytes. Returns the place of the first byte that has none, or n.
    int64_t encode(const uint8_t* text, int64_t n, uint8_t* codes) const {
        for (int64_t i = 0; i < n;) {
            if (kernel_ && n - i >= isa_.lanes) i += kernel_(letters_, text + i, n - i, codes + i);
            const int64_t some = kernel_ ? std::min<int64_t>(n - i, isa_.lanes) : n - i;
            if (translate(text + i, some, codes + i) >= MAX_CODES)
                return std::find(codes + i, codes + i + some, NOT_A_CODE) - codes;
            i += some;
        }
        return n;
    }

  private:
    // Writes table_[byte] for n bytes and returns them joined by `or`.
    uint8_t translate(const uint8_t* text, int64_t n, uint8_t* codes) const {
        uint64_t joined = 0;
        int64_t i = 0;
        for (; i + UNIT <= n; i += UNIT) {
            const uint64_t word = load(text + i);
            uint64_t translated = 0;
            for (int k = 0; k < UNIT; ++k) translated |= uint64_t(table_[uint8_t(word >> 8 * k)]) << 8 * k;
            std::memcpy(codes + i, &translated, UNIT);
            joined |= translated;
        }
        for (; i < n; ++i) joined |= codes[i] = table_[text[i]];
        joined |= joined >> 32, joined |= joined >> 16, joined |= joined >> 8;
        return uint8_t(joined);
    }

    TextRows::Table table_;
    LetterArgs letters_;
    const WidthKernels& isa_;
    decltype(isa_.letters.encode) kernel_ = nullptr;  // for alphabets with capital letters
};

// Copies n codes. Returns the place of the first that is not below n_codes, or n.
int64_t copy_codes(const uint8_t* from, int64_t n, int n_codes, uint8_t* codes) {
    uint8_t highest = 0;
    for (int64_t i = 0; i < n; ++i) {
        codes[i] = from[i];
        highest = std::max(highest, codes[i]);
    }
    if (highest < n_codes) return n;
    return std::find_if(codes, codes + n, [&](uint8_t code) { return code >= n_codes; }) - codes;
}

void lower(std::atomic<int64_t>& least, int64_t value) {
    int64_t present = least.load();
    while (value < present && !least.compare_exchange_weak(present, value)) {
    }
}

}  // namespace

void TextRows::reserve(int64_t n_more) {
    starts_.reserve(starts_.size() + size_t(n_more));
    offsets_.reserve(offsets_.size() + size_t(n_more));
}

void TextRows::add(const uint8_t* start, int64_t length, Content content) {
    if (content != Content::letters && contents_.empty()) contents_.resize(starts_.size());
    starts_.push_back(start);
    offsets_.push_back(offsets_.back() + length);
    if (content != Content::letters || has_codes()) {
        contents_.resize(starts_.size());
        contents_.back() = content;
    }
}

int64_t TextRows::n_tasks() const {
    return (n_bytes() + TASK_BYTES - 1) / TASK_BYTES;
}

// The row that the byte at a place of the output comes from.
int64_t TextRows::row_at(int64_t place) const {
    return std::upper_bound(offsets_.begin(), offsets_.end(), place) - offsets_.begin() - 1;
}

template <class Work>
void TextRows::for_each_piece(int64_t task, Work work) const {
    const int64_t end = std::min(n_bytes(), (task + 1) * TASK_BYTES);
    int64_t place = task * TASK_BYTES;
    for (int64_t row = row_at(place); place < end; ++row) {
        const int64_t row_end = std::min(offsets_[size_t(row) + 1], end);
        work(row, starts_[size_t(row)] + (place - offsets_[size_t(row)]), row_end - place, place);
        place = row_end;
    }
}

TextRows::Counts TextRows::count_letters(const Isa& isa, int threads, const Cancelled& cancelled) const {
    Counts counts{};
    const auto count = [&](Tally& tally, size_t task) {
        if (cancelled) return;
        for_each_piece(int64_t(task), [&](int64_t row, const uint8_t* start, int64_t length, int64_t) {
            if (content(row) == Content::letters) tally.add(start, length);
        });
    };
    run_tasks(
        size_t(n_tasks()), threads, [&] { return std::make_unique<Tally>(isa); }, count,
        [&](Tally& tally) { tally.add_to(counts); });
    return counts;
}

std::optional<TextRows::Misfit> TextRows::encode(const Table& table, int n_codes, const Isa& isa, int threads,
                                                 const Cancelled& cancelled, uint8_t* codes) const {
    if (n_codes < 1 || n_codes > MAX_CODES) throw std::invalid_argument("n_codes must be from 1 to 32");
    const Encoder encoder(table, n_codes, isa);
    std::atomic<int64_t> first_misfit{n_bytes()};
    const auto encode_task = [&](int&, size_t task) {
        if (cancelled || int64_t(task) * TASK_BYTES > first_misfit) return;
        for_each_piece(int64_t(task), [&](int64_t row, const uint8_t* start, int64_t length, int64_t place) {
            uint8_t* const own = codes + place;
            const int64_t end = content(row) == Content::codes ? copy_codes(start, length, n_codes, own)
                                                               : encoder.encode(start, length, own);
            if (end < length) lower(first_misfit, place + end);
        });
    };
    run_tasks(size_t(n_tasks()), threads, [] { return std::make_unique<int>(0); }, encode_task, [](int&) {});
    const int64_t place = first_misfit;
    if (place == n_bytes()) return std::nullopt;
    const int64_t row = row_at(place), position = place - offsets_[size_t(row)];
    return Misfit{row, position, starts_[size_t(row)][position]};
}

bool narrow(const uint32_t* characters, int64_t n, int threads, const std::atomic<bool>& cancelled,
            uint8_t* out) {
    std::atomic<uint32_t> joined{0};
    const auto narrow_task = [&](int&, size_t task) {
        if (cancelled) return;
        uint32_t seen = 0;
        const int64_t begin = int64_t(task) * TASK_BYTES, end = std::min(n, begin + TASK_BYTES);
        for (int64_t i = begin; i < end; ++i) {
            seen |= characters[i];
            out[i] = uint8_t(characters[i]);
        }
        joined |= seen;
    };
    run_tasks(
        size_t((n + TASK_BYTES - 1) / TASK_BYTES), threads, [] { return std::make_unique<int>(0); },
        narrow_task, [](int&) {});
    return joined < 128;
}

}  // namespace exaln

// Texts that lie anywhere in memory, as rows: their letters are counted and encoded on several threads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

namespace exaln {

struct Isa;

// Row i has the bytes starts[i][0 .. offsets[i + 1] - offsets[i]); its codes go to offsets[i] of the output.
// A row holds letters, or codes that are copied as they are. The memory of the rows is the caller's.
class TextRows {
  public:
    enum class Content : uint8_t { letters, codes };
    using Counts = std::array<int64_t, 256>;
    using Table = std::array<uint8_t, 256>;
    using Cancelled = std::atomic<bool>;

    // A byte that is not a letter, or not a code.
    struct Misfit {
        int64_t row, position;
        uint8_t byte;
    };

    void reserve(int64_t n_more);
    void add(const uint8_t* start, int64_t length, Content content = Content::letters);

    int64_t count() const { return static_cast<int64_t>(starts_.size()); }
    const uint8_t* start(int64_t row) const { return starts_[size_t(row)]; }
    int64_t length(int64_t row) const { return offsets_[size_t(row) + 1] - offsets_[size_t(row)]; }
    int64_t n_bytes() const { return offsets_.back(); }
    const std::vector<int64_t>& offsets() const { return offsets_; }
    bool has_codes() const { return !contents_.empty(); }
    Content content(int64_t row) const { return has_codes() ? contents_[size_t(row)] : Content::letters; }

    // How often each byte occurs in rows of letters, upper and lower case together as upper case.
    Counts count_letters(const Isa& isa, int threads, const Cancelled& cancelled) const;

    // Writes n_bytes() codes: table[letter], which must be below n_codes, as must the codes of rows of codes.
    // Returns the first byte for which that is not so, in the order of rows and positions; `codes` is then
    // undefined.
    std::optional<Misfit> encode(const Table& table, int n_codes, const Isa& isa, int threads,
                                 const Cancelled& cancelled, uint8_t* codes) const;

  private:
    // Calls work(row, start, length, place) for each row, or part of one, whose place in the output is within
    // task number `task`.
    template <class Work>
    void for_each_piece(int64_t task, Work work) const;
    int64_t row_at(int64_t place) const;
    int64_t n_tasks() const;

    std::vector<const uint8_t*> starts_;
    std::vector<int64_t> offsets_{0};
    std::vector<Content> contents_;  // empty if all rows hold letters
};

// Writes n characters of four bytes as one byte each; false if one is not ASCII.
bool narrow(const uint32_t* characters, int64_t n, int threads, const std::atomic<bool>& cancelled,
            uint8_t* out);

}  // namespace exaln

// Compares letters that are encoded and counted on threads with a table looked up byte by byte. Every row has
// memory of its own that ends with it, so that sanitizers see a read past the end.
#pragma once

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sequences/text_rows.hpp"

namespace exaln {

class TextCheck {
  public:
    explicit TextCheck(uint32_t seed) : random_(seed) {
        table_.fill(255);
        const std::string letters = "ARNDCQEGHILKMFPSTWYV*";
        for (size_t code = 0; code < letters.size(); ++code)
            table_[uint8_t(letters[code])] = table_[uint8_t(letters[code] | 0x20)] = uint8_t(code);
        n_codes_ = int(letters.size());
    }

    // Rows of letters, rarely with '*', codes among them, and at most `n_misfits` bytes that fit neither.
    void add_rows(int n, int64_t longest, int n_misfits) {
        for (int i = 0; i < n; ++i) {
            const bool has_codes = draw(8) == 0;
            const auto length = size_t(draw(uint32_t(longest) + 1));
            const char* const letters = draw(2) == 0 ? "ACGTNacgtn" : "ACDEFGHIKLacdefghikl*";
            const auto n_letters = uint32_t(std::strlen(letters));
            std::unique_ptr<uint8_t[]> row(new uint8_t[length]);
            for (size_t k = 0; k < length; ++k)
                row[k] = has_codes ? uint8_t(draw(uint32_t(n_codes_))) : letters[draw(n_letters)];
            rows_.add(row.get(), int64_t(length),
                      has_codes ? TextRows::Content::codes : TextRows::Content::letters);
            memory_.push_back(std::move(row));
        }
        for (int i = 0; i < n_misfits; ++i) {
            const int64_t row = draw(uint32_t(rows_.count()));
            if (rows_.length(row) > 0)
                memory_[size_t(row)][draw(uint32_t(rows_.length(row)))] = uint8_t(200 + i);
        }
    }

    // The number of the first difference, counted from 1; 0 if there is none.
    int first_difference(const Isa& isa, int threads) const {
        std::unique_ptr<uint8_t[]> codes(new uint8_t[size_t(rows_.n_bytes())]);
        const std::atomic<bool> cancelled{false};
        const auto misfit = rows_.encode(table_, n_codes_, isa, threads, cancelled, codes.get());
        const TextRows::Counts counts = rows_.count_letters(isa, threads, cancelled);
        TextRows::Counts expected{};
        for (int64_t row = 0; row < rows_.count(); ++row) {
            const bool has_codes = rows_.content(row) == TextRows::Content::codes;
            for (int64_t i = 0; i < rows_.length(row); ++i) {
                const uint8_t byte = rows_.start(row)[i], code = has_codes ? byte : table_[byte];
                if (!has_codes) ++expected[byte >= 'a' && byte <= 'z' ? byte - 'a' + 'A' : byte];
                if (code >= n_codes_) return misfit && misfit->row == row && misfit->position == i ? 0 : 1;
                if (!misfit && codes[size_t(rows_.offsets()[size_t(row)] + i)] != code) return 2;
            }
        }
        return misfit ? 3 : counts != expected ? 4 : 0;
    }

  private:
    uint32_t draw(uint32_t n) { return uint32_t(random_() % n); }

    std::mt19937 random_;
    TextRows::Table table_;
    int n_codes_ = 0;
    TextRows rows_;
    std::vector<std::unique_ptr<uint8_t[]>> memory_;
};

}  // namespace exaln

// Decodes sequences and writes them as FASTA records.
#include "sequences/fasta_text.hpp"

#include <algorithm>
#include <stdexcept>

namespace exaln {
namespace {

void append(std::vector<uint8_t>& text, const Rows& rows, int64_t row) {
    const Rows::Bytes bytes = rows.at(row);
    text.insert(text.end(), bytes.begin, bytes.begin + bytes.length);
}

// The letters of one sequence, soft-masked intervals in lower case.
void decode(const FastaColumns& columns, int64_t row, std::vector<uint8_t>& letters) {
    const auto [codes, length] = columns.codes.at(row);
    const auto letter = [&, codes = codes](const Column<uint8_t>& of, int64_t i) {
        const uint8_t code = codes[i];
        if (code >= of.size()) throw std::out_of_range("a code is not a letter of the alphabet");
        return of[code];
    };
    letters.resize(static_cast<size_t>(length));
    for (int64_t i = 0; i < length; ++i) letters[i] = letter(columns.upper, i);
    const int64_t first = columns.mask_offsets[row], last = columns.mask_offsets[row + 1];
    if (first < 0 || last > columns.mask_starts.size())
        throw std::out_of_range("mask offsets lead outside the mask");
    for (int64_t interval = first; interval < last; ++interval) {
        const int64_t start = columns.mask_starts[interval], end = columns.mask_ends[interval];
        if (start < 0 || end > length)
            throw std::out_of_range("a masked interval leads outside its sequence");
        for (int64_t i = start; i < end; ++i) letters[i] = letter(columns.lower, i);
    }
}

void append_record(const FastaColumns& columns, int64_t row, std::vector<uint8_t>& letters,
                   std::vector<uint8_t>& text) {
    text.push_back('>');
    append(text, columns.ids, row);
    if (columns.descriptions.length(row) > 0) {
        text.push_back(' ');
        append(text, columns.descriptions, row);
    }
    text.push_back('\n');
    decode(columns, row, letters);
    const auto length = static_cast<int64_t>(letters.size());
    const int64_t width = columns.width > 0 ? columns.width : std::max<int64_t>(length, 1);
    for (int64_t start = 0; start < length; start += width) {
        const int64_t end = std::min(start + width, length);
        text.insert(text.end(), letters.begin() + start, letters.begin() + end);
        text.push_back('\n');
    }
}

}  // namespace

std::vector<uint8_t> fasta_text(const FastaColumns& columns, const Column<int32_t>& rows) {
    const int64_t count = columns.codes.count();
    if (columns.ids.count() != count || columns.descriptions.count() != count ||
        columns.mask_offsets.size() != count + 1)
        throw std::invalid_argument("columns differ in length");
    if (columns.mask_ends.size() != columns.mask_starts.size())
        throw std::invalid_argument("mask columns differ in length");
    if (columns.lower.size() != columns.upper.size()) throw std::invalid_argument("letters differ in number");
    std::vector<uint8_t> text, letters;
    for (int64_t i = 0; i < rows.size(); ++i) {
        if (rows[i] < 0 || rows[i] >= count) throw std::out_of_range("a row number is out of range");
        append_record(columns, rows[i], letters, text);
    }
    return text;
}

}  // namespace exaln

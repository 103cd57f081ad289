// Writes rows of a segment as FASTA text, soft-masked letters in lower case.
#include "sequences/fasta_text.hpp"

#include <algorithm>
#include <stdexcept>

#include "sequences/rows.hpp"

namespace exaln {
namespace {

struct Sequences {
    Rows ids, descriptions, codes;
    Column<int64_t> mask_starts, mask_ends, mask_offsets;
    Column<uint8_t> upper, lower;  // the letter of each code
    int64_t width;                 // letters per line; 0: all on one line
};

void append(std::vector<uint8_t>& text, const Rows& rows, int64_t row) {
    const Rows::Bytes bytes = rows.at(row);
    text.insert(text.end(), bytes.begin, bytes.begin + bytes.length);
}

// The letters of one sequence, soft-masked stretches in lower case.
void decode(const Sequences& from, int64_t row, std::vector<uint8_t>& letters) {
    const auto [codes, length] = from.codes.at(row);
    const auto letter = [&, codes = codes](const Column<uint8_t>& of, int64_t i) {
        const uint8_t code = codes[i];
        if (code >= of.size()) throw std::out_of_range("a code is not a letter of the alphabet");
        return of[code];
    };
    letters.resize(static_cast<size_t>(length));
    for (int64_t i = 0; i < length; ++i) letters[i] = letter(from.upper, i);
    const int64_t first = from.mask_offsets[row], last = from.mask_offsets[row + 1];
    if (first < 0 || last > from.mask_starts.size())
        throw std::out_of_range("mask offsets lead outside the mask");
    for (int64_t interval = first; interval < last; ++interval) {
        const int64_t start = from.mask_starts[interval], end = from.mask_ends[interval];
        if (start < 0 || end > length)
            throw std::out_of_range("a masked interval leads outside its sequence");
        for (int64_t i = start; i < end; ++i) letters[i] = letter(from.lower, i);
    }
}

void append_record(const Sequences& from, int64_t row, std::vector<uint8_t>& letters,
                   std::vector<uint8_t>& text) {
    text.push_back('>');
    append(text, from.ids, row);
    if (from.descriptions.length(row) > 0) {
        text.push_back(' ');
        append(text, from.descriptions, row);
    }
    text.push_back('\n');
    decode(from, row, letters);
    const auto length = static_cast<int64_t>(letters.size());
    const int64_t width = from.width > 0 ? from.width : std::max<int64_t>(length, 1);
    for (int64_t start = 0; start < length; start += width) {
        const int64_t end = std::min(start + width, length);
        text.insert(text.end(), letters.begin() + start, letters.begin() + end);
        text.push_back('\n');
    }
}

std::vector<uint8_t> fasta_text(const Sequences& from, const Column<int32_t>& rows) {
    const int64_t count = from.codes.count();
    if (from.ids.count() != count || from.descriptions.count() != count ||
        from.mask_offsets.size() != count + 1)
        throw std::invalid_argument("columns differ in length");
    if (from.mask_ends.size() != from.mask_starts.size())
        throw std::invalid_argument("mask columns differ in length");
    if (from.lower.size() != from.upper.size()) throw std::invalid_argument("letters differ in number");
    std::vector<uint8_t> text, letters;
    for (int64_t i = 0; i < rows.size(); ++i) {
        if (rows[i] < 0 || rows[i] >= count) throw std::out_of_range("a row number is out of range");
        append_record(from, rows[i], letters, text);
    }
    return text;
}

}  // namespace

void bind_fasta_text(nb::module_& m) {
    using Bytes = InputArray<uint8_t>;
    using Integers = InputArray<int64_t>;
    m.def(
        "fasta_text",
        [](const Bytes& ids, const Integers& id_offsets, const Bytes& descriptions,
           const Integers& description_offsets, const Bytes& codes, const Integers& offsets,
           const Integers& mask_starts, const Integers& mask_ends, const Integers& mask_offsets,
           const Bytes& upper, const Bytes& lower, int64_t width, const InputArray<int32_t>& rows) {
            std::vector<uint8_t> text;
            {
                nb::gil_scoped_release released;
                const Sequences from{Rows(ids, id_offsets),
                                     Rows(descriptions, description_offsets),
                                     Rows(codes, offsets),
                                     Column<int64_t>(mask_starts),
                                     Column<int64_t>(mask_ends),
                                     Column<int64_t>(mask_offsets),
                                     Column<uint8_t>(upper),
                                     Column<uint8_t>(lower),
                                     width};
                text = fasta_text(from, Column<int32_t>(rows));
            }
            return to_numpy(std::move(text));
        },
        nb::arg("ids"), nb::arg("id_offsets"), nb::arg("descriptions"), nb::arg("description_offsets"),
        nb::arg("codes"), nb::arg("offsets"), nb::arg("mask_starts"), nb::arg("mask_ends"),
        nb::arg("mask_offsets"), nb::arg("upper"), nb::arg("lower"), nb::arg("width"), nb::arg("rows"));
}

}  // namespace exaln

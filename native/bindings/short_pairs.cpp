// exaln._core: short pairs, from letters to scores and alignments in one call, and the letters of two texts.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "bindings/arguments.hpp"
#include "bindings/module.hpp"
#include "pairs/short_pair.hpp"
#include "sequences/class_counts.hpp"
#include "simd/dispatch.hpp"

namespace exaln {
namespace {

// Larger tables are computed without the GIL. For smaller ones giving it away would cost more than it is
// worth: a thread that runs Python may keep it for milliseconds.
constexpr size_t QUICK_CELLS = 1 << 18;  // some 50 us

struct Text {
    const uint8_t* data;
    size_t size;
};

// The bytes of a str, in UTF-8, or of bytes; nothing for other objects, and for characters without UTF-8.
std::optional<Text> text_of(nb::handle object) {
    Py_ssize_t size = 0;
    if (PyUnicode_Check(object.ptr())) {
        const char* text = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
        if (text) return Text{reinterpret_cast<const uint8_t*>(text), size_t(size)};
        PyErr_Clear();
    } else if (PyBytes_Check(object.ptr())) {
        char* text = nullptr;
        PyBytes_AsStringAndSize(object.ptr(), &text, &size);
        return Text{reinterpret_cast<const uint8_t*>(text), size_t(size)};
    }
    return std::nullopt;
}

// ShortPairs with the codes of the bytes of a text. Nucleotides have two strands, and only equal letters of
// theirs count as positive. The result is None for whatever `ShortPairs` or this scoring cannot do.
class BoundShortPairs {
  public:
    BoundShortPairs(const InputArray<int32_t, 2>& matrix, int32_t gap_first, int32_t gap_extend,
                    const InputArray<uint8_t>& codes, const InputArray<uint8_t>& complements,
                    bool is_nucleotide, const std::string& isa)
        : pairs_(make_costs(matrix, gap_first, gap_extend), codes_of(complements), choose_isa(isa)),
          is_nucleotide_(is_nucleotide),
          has_strands_(complements.shape(0) > 0) {
        if (codes.shape(0) != 256) throw std::invalid_argument("codes must have an entry for each byte");
        std::copy(codes.data(), codes.data() + 256, codes_);
        require_letters(pairs_.costs(), complements.data(), int64_t(complements.shape(0)));
        if (has_strands_ && int64_t(complements.shape(0)) != pairs_.costs().n_codes)
            throw std::invalid_argument("every letter needs a complement");
    }

    nb::object score(nb::handle query, nb::handle target, const ModeFlags& mode) const {
        std::optional<int64_t> score;
        Pair pair;
        if (!encode(query, target, make_mode(mode), pair)) return nb::none();
        released(pair, [&] { score = pairs_.score(pair.query, pair.target, pair.mode); });
        return score ? nb::object(nb::int_(*score)) : nb::none();
    }

    nb::object align(nb::handle query, nb::handle target, const ModeFlags& mode, int strand) const {
        std::optional<ScoredAlignment> found;
        Pair pair;
        if (strand < int(Strand::PLUS) || strand > int(Strand::BOTH)) return nb::none();
        auto which = static_cast<Strand>(strand);
        if (which == Strand::BOTH && !is_nucleotide_) which = Strand::PLUS;
        if ((which != Strand::PLUS && !has_strands_) || !encode(query, target, make_mode(mode), pair))
            return nb::none();
        released(pair, [&] { found = pairs_.align(pair.query, pair.target, pair.mode, which); });
        return found ? to_tuple(*found) : nb::none();
    }

  private:
    struct Pair {
        std::vector<uint8_t> query, target;
        Mode mode;
    };

    static std::vector<uint8_t> codes_of(const InputArray<uint8_t>& codes) {
        return {codes.data(), codes.data() + codes.shape(0)};
    }

    nb::object to_tuple(const ScoredAlignment& found) const {
        const Alignment& a = found.alignment;
        const nb::bytes operations(reinterpret_cast<const char*>(a.operations.data()),
                                   a.operations.size() * sizeof(uint32_t));
        const nb::tuple numbers =
            nb::make_tuple(found.score, a.query_start, a.query_end, a.target_start, a.target_end,
                           a.identities, is_nucleotide_ ? a.identities : a.positives, a.mismatches,
                           a.gap_opens, a.gaps, a.columns, found.is_minus ? -1 : 1);
        return nb::make_tuple(numbers, operations);
    }

    // False for a local alignment that would be empty because no letters score above 0.
    bool encode(nb::handle query, nb::handle target, const Mode& mode, Pair& pair) const {
        if (mode.is_local && pairs_.costs().max_score <= 0) return false;
        pair.mode = mode;
        const auto first = text_of(query), second = text_of(target);
        return first && second && encode(*first, pair.query) && encode(*second, pair.target);
    }

    // False if a byte is not a letter of the matrix.
    bool encode(const Text& text, std::vector<uint8_t>& codes) const {
        codes.resize(text.size);
        uint8_t highest = 0;
        for (size_t i = 0; i < text.size; ++i) highest = std::max(highest, codes[i] = codes_[text.data[i]]);
        return highest < pairs_.costs().n_codes;
    }

    template <class Work>
    static void released(const Pair& pair, Work work) {
        if (pair.query.size() * pair.target.size() <= QUICK_CELLS) {
            work();
        } else {
            const nb::gil_scoped_release without_gil;
            work();
        }
    }

    ShortPairs pairs_;
    bool is_nucleotide_, has_strands_;
    uint8_t codes_[256];
};

// The counts of two texts together, of the first, and of the second; None if one is not text.
nb::object class_counts(nb::handle first, nb::handle second, const nb::bytes& members) {
    if (members.size() != 256 * N_CLASSES)
        throw std::invalid_argument("members must have 8 bytes for each byte");
    const auto* classes = static_cast<const uint8_t (*)[N_CLASSES]>(members.data());
    const auto texts = std::make_pair(text_of(first), text_of(second));
    if (!texts.first || !texts.second) return nb::none();
    const auto of_first = count_classes(texts.first->data, texts.first->size, classes),
               of_second = count_classes(texts.second->data, texts.second->size, classes);
    const auto as_tuple = [](const ClassCounts& counts) {
        const auto [n] = counts;
        return nb::make_tuple(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]);
    };
    return nb::make_tuple(as_tuple(of_first + of_second), as_tuple(of_first), as_tuple(of_second));
}

}  // namespace

void bind_short_pairs(nb::module_& m) {
    using nb::arg;
    nb::class_<BoundShortPairs>(m, "ShortPairs")
        .def(nb::init<const InputArray<int32_t, 2>&, int32_t, int32_t, const InputArray<uint8_t>&,
                      const InputArray<uint8_t>&, bool, const std::string&>(),
             arg("matrix"), arg("gap_first"), arg("gap_extend"), arg("codes"), arg("complements"),
             arg("is_nucleotide"), arg("isa"))
        .def("score", &BoundShortPairs::score, arg("query"), arg("target"), arg("mode"))
        .def("align", &BoundShortPairs::align, arg("query"), arg("target"), arg("mode"), arg("strand") = 0);
    m.def("class_counts", class_counts, arg("first"), arg("second"), arg("members"));
}

}  // namespace exaln

// exaln._core: paths of alignments as text.
#include <memory>
#include <stdexcept>

#include "alignments/cigar_text.hpp"
#include "bindings/arguments.hpp"
#include "bindings/module.hpp"

namespace exaln {
namespace {

using Operations = InputArray<uint32_t>;
using Integers = InputArray<int64_t>;

PathColumn make_paths(const Operations& operations, const Integers& offsets) {
    if (offsets.size() == 0) throw std::invalid_argument("offsets must not be empty");
    const PathColumn paths{operations.data(), offsets.data(), int64_t(offsets.size()) - 1};
    for (int64_t i = 0; i < paths.n; ++i)
        if (paths.offsets[i] > paths.offsets[i + 1]) throw std::invalid_argument("offsets must not decrease");
    if (paths.offsets[0] < 0 || paths.offsets[paths.n] > int64_t(operations.size()))
        throw std::invalid_argument("offsets reach beyond the operations");
    return paths;
}

struct CigarText {
    std::vector<int64_t> offsets;
    std::unique_ptr<char[]> data;  // not set to 0: threads write it first

    size_t size() const { return size_t(offsets.back()); }
};

CigarText make_text(const Operations& operations, const Integers& offsets, bool extended, int threads) {
    require_threads(threads);
    const nb::gil_scoped_release released;
    const PathColumn paths = make_paths(operations, offsets);
    CigarText text{std::vector<int64_t>(size_t(paths.n) + 1), nullptr};
    measure_cigars(paths, extended, text.offsets.data(), threads);
    text.data.reset(new char[text.size()]);
    write_cigars(paths, extended, text.offsets.data(), text.data.get(), threads);
    return text;
}

nb::tuple bound_column(const Operations& operations, const Integers& offsets, bool extended, int threads) {
    CigarText text = make_text(operations, offsets, extended, threads);
    const size_t size = text.size();
    auto* bytes = reinterpret_cast<uint8_t*>(text.data.release());
    nb::capsule owner(bytes, [](void* p) noexcept { delete[] static_cast<char*>(p); });
    return nb::make_tuple(NumpyArray<uint8_t>(bytes, {size}, owner), to_numpy(std::move(text.offsets)));
}

// Python strings of a column of ASCII text.
nb::list strings_of(const char* data, const int64_t* offsets, size_t n) {
    nb::list found = nb::steal<nb::list>(PyList_New(Py_ssize_t(n)));
    if (!found.is_valid()) throw nb::python_error();
    for (size_t i = 0; i < n; ++i) {
        const int64_t size = offsets[i + 1] - offsets[i];
        PyObject* text = PyUnicode_DecodeASCII(data + offsets[i], Py_ssize_t(size), nullptr);
        if (!text) throw nb::python_error();
        PyList_SetItem(found.ptr(), Py_ssize_t(i), text);
    }
    return found;
}

nb::list bound_list(const Operations& operations, const Integers& offsets, bool extended, int threads) {
    const CigarText text = make_text(operations, offsets, extended, threads);
    return strings_of(text.data.get(), text.offsets.data(), text.offsets.size() - 1);
}

nb::list bound_strings(const InputArray<uint8_t>& data, const Integers& offsets) {
    if (offsets.size() == 0) throw std::invalid_argument("offsets must not be empty");
    const size_t n = offsets.size() - 1;
    for (size_t i = 0; i < n; ++i)
        if (offsets.data()[i] > offsets.data()[i + 1])
            throw std::invalid_argument("offsets must not decrease");
    if (offsets.data()[0] < 0 || offsets.data()[n] > int64_t(data.size()))
        throw std::invalid_argument("offsets reach beyond the text");
    return strings_of(reinterpret_cast<const char*>(data.data()), offsets.data(), n);
}

}  // namespace

void bind_alignments(nb::module_& m) {
    using nb::arg;
    m.def("cigar_column", bound_column, arg("operations"), arg("offsets"), arg("extended"),
          arg("threads") = 1);
    m.def("cigar_list", bound_list, arg("operations"), arg("offsets"), arg("extended"), arg("threads") = 1);
    m.def("ascii_strings", bound_strings, arg("data"), arg("offsets"));
}

}  // namespace exaln

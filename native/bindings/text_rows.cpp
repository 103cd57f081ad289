// exaln._core: rows of text in Python objects and in columns of other packages.
#include "sequences/text_rows.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "bindings/arguments.hpp"
#include "bindings/arrays.hpp"
#include "bindings/interruptible.hpp"
#include "bindings/module.hpp"
#include "simd/dispatch.hpp"

namespace exaln {
namespace {

using Bytes = InputArray<uint8_t>;
template <class T>
using Rectangle = InputArray<T, 2>;
using LetterTable = nb::ndarray<const uint8_t, nb::shape<256>, nb::c_contig, nb::device::cpu>;
using Content = TextRows::Content;

constexpr int64_t QUICK_BYTES = int64_t(1) << 26;  // about 20 ms on one thread

// Rows, and references to the objects that hold their bytes. Objects must not change while they are used.
struct PythonRows {
    PythonRows() = default;
    PythonRows(const PythonRows&) = delete;

    TextRows rows;
    std::vector<nb::object> owners;
    std::vector<std::unique_ptr<uint8_t[]>> narrowed;  // letters of rows that no object holds
};

// Runs work(cancelled) without the GIL; Ctrl-C ends it.
template <class Work>
void run_on(int64_t n_bytes, int threads, Work work) {
    require_threads(threads);
    Progress progress;
    run_released(n_bytes <= QUICK_BYTES, progress, [&] { work(progress.cancelled); }, [] {});
}

struct Span {
    const uint8_t* start = nullptr;
    int64_t length = 0;
    Content content = Content::letters;
};

// The letters of str and bytes; false for other types and for str that cannot be encoded in UTF-8.
bool text_of(PyObject* item, Span& span) {
    Py_ssize_t length = 0;
    if (PyUnicode_Check(item)) {
        const char* utf8 = PyUnicode_AsUTF8AndSize(item, &length);  // of ASCII text its own memory, no copy
        if (utf8 == nullptr) {
            PyErr_Clear();
            return false;
        }
        span.start = reinterpret_cast<const uint8_t*>(utf8);
    } else if (PyBytes_Check(item)) {
        span.start = reinterpret_cast<const uint8_t*>(PyBytes_AsString(item));
        length = PyBytes_Size(item);
    } else {
        return false;
    }
    span.length = length;
    return true;
}

// The codes of an array of bytes; false if it has gaps, more dimensions or other elements. The buffer is
// given back at once: an array keeps its memory as long as the reference to it.
bool codes_of(PyObject* item, Span& span) {
    Py_buffer view;
    if (PyObject_GetBuffer(item, &view, PyBUF_FORMAT | PyBUF_ND | PyBUF_C_CONTIGUOUS) != 0) {
        PyErr_Clear();
        return false;
    }
    const bool are_codes = view.ndim == 1 && view.format != nullptr && std::string(view.format) == "B";
    span = {static_cast<const uint8_t*>(view.buf), int64_t(view.len), Content::codes};
    PyBuffer_Release(&view);
    return are_codes;
}

// Adds a row for each item. Items that are neither text nor arrays of codes become empty rows; their numbers
// are returned.
std::vector<int64_t> add_items(PythonRows& self, const nb::object& items, const nb::type_object& array) {
    // A tuple of its own, because another thread could change a list and free an item.
    nb::object held = PyTuple_CheckExact(items.ptr()) ? items : nb::steal(PySequence_Tuple(items.ptr()));
    if (!held.is_valid()) throw nb::python_error();
    const Py_ssize_t n = PyTuple_Size(held.ptr());
    auto* const array_type = reinterpret_cast<PyTypeObject*>(array.ptr());
    std::vector<int64_t> others;
    self.owners.push_back(held);
    self.rows.reserve(n);
    for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject* const item = PyTuple_GetItem(held.ptr(), i);
        Span span;
        if (!text_of(item, span) && !(PyObject_TypeCheck(item, array_type) && codes_of(item, span))) {
            others.push_back(i);
            span = {};
        }
        self.rows.add(span.start, span.length, span.content);
    }
    return others;
}

// Adds n rows of `width` letters each, without the NUL bytes at their ends.
void add_padded(TextRows& rows, const uint8_t* letters, int64_t n, int64_t width) {
    rows.reserve(n);
    for (int64_t i = 0; i < n; ++i) {
        const uint8_t* const start = letters + i * width;
        int64_t length = width;
        while (length > 0 && start[length - 1] == 0) --length;
        rows.add(start, length);
    }
}

void add_matrix(PythonRows& self, const Rectangle<uint8_t>& matrix) {
    self.owners.push_back(nb::cast(matrix));
    add_padded(self.rows, matrix.data(), int64_t(matrix.shape(0)), int64_t(matrix.shape(1)));
}

// The same for characters of four bytes; false, and no rows, if one is not ASCII.
bool add_wide_matrix(PythonRows& self, const Rectangle<uint32_t>& matrix, int threads) {
    const auto size = int64_t(matrix.size());
    std::unique_ptr<uint8_t[]> letters(new uint8_t[size_t(size)]);
    bool is_ascii = false;
    run_on(size, threads, [&](auto& cancelled) {
        is_ascii = narrow(matrix.data(), size, threads, cancelled, letters.get());
    });
    if (!is_ascii) return false;
    add_padded(self.rows, letters.get(), int64_t(matrix.shape(0)), int64_t(matrix.shape(1)));
    self.narrowed.push_back(std::move(letters));
    return true;
}

// Adds rows of letters: row i is data[offsets[i] .. offsets[i + 1]).
template <class Offset>
void add_column(PythonRows& self, const Bytes& data, const InputArray<Offset>& offsets) {
    const Column<Offset> ends = column_of(offsets);
    self.owners.push_back(nb::cast(data));
    self.rows.reserve(std::max<int64_t>(ends.size() - 1, 0));
    for (int64_t i = 0; i + 1 < ends.size(); ++i) {
        const int64_t begin = ends[i], end = ends[i + 1];
        if (begin < 0 || begin > end || end > int64_t(data.size()))
            throw std::out_of_range("offsets lead outside the data");
        self.rows.add(data.data() + begin, end - begin);
    }
}

// A string of Arrow's string_view: up to INLINE bytes beside the length, or a place in one of the buffers.
struct View {
    static constexpr int64_t INLINE = 12;
    int32_t length;
    uint8_t prefix[4];
    int32_t buffer, offset;
};
static_assert(sizeof(View) == 16);

void add_views(PythonRows& self, const Bytes& views, const std::vector<Bytes>& buffers) {
    if (views.size() % sizeof(View) != 0) throw std::invalid_argument("a view has 16 bytes");
    const Column<View> column{views.data(), int64_t(views.size() / sizeof(View))};
    self.owners.push_back(nb::cast(views));
    for (const Bytes& buffer : buffers) self.owners.push_back(nb::cast(buffer));
    self.rows.reserve(column.size());
    for (int64_t i = 0; i < column.size(); ++i) {
        const View view = column[i];
        const uint8_t* start = views.data() + i * int64_t(sizeof(View)) + sizeof view.length;
        if (view.length > View::INLINE) {
            if (view.buffer < 0 || size_t(view.buffer) >= buffers.size() || view.offset < 0 ||
                int64_t(view.offset) + view.length > int64_t(buffers[size_t(view.buffer)].size()))
                throw std::out_of_range("a view leads outside its buffer");
            start = buffers[size_t(view.buffer)].data() + view.offset;
        } else if (view.length < 0) {
            throw std::out_of_range("a view has a negative length");
        }
        self.rows.add(start, view.length);
    }
}

void require_row(const PythonRows& self, int64_t row) {
    if (row < 0 || row >= self.rows.count()) throw std::out_of_range("there is no such row");
}

nb::bytes bytes_of(const PythonRows& self, int64_t row, size_t most) {
    require_row(self, row);
    return nb::bytes(self.rows.start(row), std::min(most, size_t(self.rows.length(row))));
}

bool is_codes(const PythonRows& self, int64_t row) {
    require_row(self, row);
    return self.rows.content(row) == Content::codes;
}

NumpyArray<int64_t> letter_counts(const PythonRows& self, int threads, const std::string& isa) {
    const Isa& chosen = choose_isa(isa);
    TextRows::Counts counts{};
    run_on(self.rows.n_bytes(), threads,
           [&](auto& cancelled) { counts = self.rows.count_letters(chosen, threads, cancelled); });
    return to_numpy(std::vector<int64_t>(counts.begin(), counts.end()));
}

nb::object encode(const PythonRows& self, const LetterTable& table, int n_codes,
                  const OutputArray<uint8_t>& codes, int threads, const std::string& isa) {
    const Isa& chosen = choose_isa(isa);
    if (int64_t(codes.size()) != self.rows.n_bytes()) throw std::invalid_argument("codes have another size");
    TextRows::Table letters;
    std::copy_n(table.data(), letters.size(), letters.begin());
    std::optional<TextRows::Misfit> misfit;
    run_on(self.rows.n_bytes(), threads, [&](auto& cancelled) {
        misfit = self.rows.encode(letters, n_codes, chosen, threads, cancelled, codes.data());
    });
    if (!misfit) return nb::none();
    return nb::make_tuple(misfit->row, misfit->position, misfit->byte);
}

}  // namespace

void bind_text_rows(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<PythonRows>(m, "TextRows")
        .def(nb::init<>())
        .def("__len__", [](const PythonRows& self) { return self.rows.count(); })
        .def("add_items", &add_items, "items"_a, "array"_a)
        .def("add_matrix", &add_matrix, "matrix"_a)
        .def("add_wide_matrix", &add_wide_matrix, "matrix"_a, "threads"_a = 1)
        .def("add_column", &add_column<int32_t>, "data"_a, "offsets"_a)
        .def("add_column", &add_column<int64_t>, "data"_a, "offsets"_a)
        .def("add_views", &add_views, "views"_a, "buffers"_a)
        .def_prop_ro("n_bytes", [](const PythonRows& self) { return self.rows.n_bytes(); })
        .def_prop_ro("has_codes", [](const PythonRows& self) { return self.rows.has_codes(); })
        .def("offsets",
             [](const PythonRows& self) { return to_numpy(std::vector<int64_t>(self.rows.offsets())); })
        .def("bytes_of", &bytes_of, "row"_a, "most"_a = SIZE_MAX)
        .def("is_codes", &is_codes, "row"_a)
        .def("letter_counts", &letter_counts, "threads"_a = 1, "isa"_a = "")
        .def("encode", &encode, "table"_a, "n_codes"_a, "codes"_a, "threads"_a = 1, "isa"_a = "");
}

}  // namespace exaln

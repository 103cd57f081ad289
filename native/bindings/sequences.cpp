// exaln._core: the FASTA reader and writer, mapped files, and rows of variable length.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <tuple>

#include "bindings/arguments.hpp"
#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "sequences/fasta_reader.hpp"
#include "sequences/fasta_text.hpp"
#include "sequences/mapped_file.hpp"
#include "sequences/rows.hpp"

namespace exaln {
namespace {

using Bytes = InputArray<uint8_t>;
using Integers = InputArray<int64_t>;
using LetterTable = nb::ndarray<const uint8_t, nb::shape<256>, nb::c_contig, nb::device::cpu>;

// A one-dimensional array, or with n_columns > 0 a two-dimensional one, that owns the memory of the buffer.
template <class T>
nb::object buffer_to_numpy(Buffer<T>& buffer, size_t n_columns = 0) {
    const size_t n = buffer.size();
    T* data = buffer.release();
    nb::capsule owner(data, [](void* memory) noexcept { std::free(memory); });
    const size_t shape[2] = {n_columns == 0 ? n : n / n_columns, n_columns};
    return nb::cast(nb::ndarray<nb::numpy, T>(data, n_columns == 0 ? 1 : 2, shape, owner));
}

nb::tuple columns_to_numpy(RecordColumns columns, bool has_qualities) {
    nb::object qualities = has_qualities ? buffer_to_numpy(columns.qualities) : nb::none();
    return nb::make_tuple(buffer_to_numpy(columns.ids.data), buffer_to_numpy(columns.ids.offsets),
                          buffer_to_numpy(columns.descriptions.data),
                          buffer_to_numpy(columns.descriptions.offsets), buffer_to_numpy(columns.codes),
                          buffer_to_numpy(columns.offsets), buffer_to_numpy(columns.mask, 2),
                          buffer_to_numpy(columns.mask_offsets), qualities);
}

nb::object describe_problem(const FastaReader& reader) {
    if (reader.problem() == Problem::none) return nb::none();
    return nb::make_tuple(name_of(reader.problem()), reader.problem_line(), reader.problem_byte(),
                          reader.record_id());
}

// int64[256]: how often each code occurs in the records not yet taken, including an incomplete one.
nb::object code_counts(const FastaReader& reader) {
    Buffer<int64_t> counts;
    std::fill_n(counts.space(256), 256, int64_t{0});
    counts.advance(256);
    for (int64_t i = 0; i < reader.n_residues(); ++i) ++counts.data()[reader.codes()[i]];
    return buffer_to_numpy(counts);
}

nb::dict tallies(const FastaReader& reader) {
    nb::dict result;
    const auto set = [&](const char* name, const Tally& tally) {
        result[name] = nb::make_tuple(tally.count, tally.first_line);
    };
    set("empty", reader.empty);
    set("gaps", reader.gaps);
    set("latin1", reader.latin1);
    set("unnamed", reader.unnamed);
    return result;
}

void bind_fasta_reader(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<FastaReader>(m, "FastaReader")
        .def(
            "__init__",
            [](FastaReader* self, const LetterTable& table, bool strip_gaps, int64_t max_header_bytes,
               int64_t max_record_bytes, bool keep_qualities) {
                new (self) FastaReader(table.data(), strip_gaps, Limits{max_header_bytes, max_record_bytes},
                                       keep_qualities);
            },
            "table"_a, "strip_gaps"_a = false, "max_header_bytes"_a = std::numeric_limits<int64_t>::max(),
            "max_record_bytes"_a = std::numeric_limits<int64_t>::max(), "keep_qualities"_a = false)
        .def(
            "feed", [](FastaReader& self, const Bytes& data) { return self.feed(data.data(), data.size()); },
            "data"_a, nb::call_guard<nb::gil_scoped_release>())
        .def("finish", &FastaReader::finish)
        .def("set_max_record_bytes", &FastaReader::set_max_record_bytes, "n_bytes"_a)
        .def("take", [](FastaReader& self) { return columns_to_numpy(self.take(), self.has_qualities()); })
        .def("code_counts", &code_counts)
        .def("tallies", &tallies)
        .def_prop_ro("problem", &describe_problem)
        .def_prop_ro("n_complete", &FastaReader::n_complete)
        .def_prop_ro("n_residues", &FastaReader::n_residues)
        .def_prop_ro("n_bytes", &FastaReader::n_bytes);
}

Rows rows_of(const Bytes& data, const Integers& offsets) {
    return {column_of(data), column_of(offsets)};
}

void bind_fasta_text(nb::module_& m) {
    m.def(
        "fasta_text",
        [](const Bytes& ids, const Integers& id_offsets, const Bytes& descriptions,
           const Integers& description_offsets, const Bytes& codes, const Integers& offsets,
           const Integers& mask_starts, const Integers& mask_ends, const Integers& mask_offsets,
           const Bytes& upper, const Bytes& lower, int64_t width, const InputArray<int32_t>& rows) {
            std::vector<uint8_t> text;
            {
                nb::gil_scoped_release released;
                const FastaColumns columns{rows_of(ids, id_offsets),
                                           rows_of(descriptions, description_offsets),
                                           rows_of(codes, offsets),
                                           column_of(mask_starts),
                                           column_of(mask_ends),
                                           column_of(mask_offsets),
                                           column_of(upper),
                                           column_of(lower),
                                           width};
                text = fasta_text(columns, column_of(rows));
            }
            return to_numpy(std::move(text));
        },
        nb::arg("ids"), nb::arg("id_offsets"), nb::arg("descriptions"), nb::arg("description_offsets"),
        nb::arg("codes"), nb::arg("offsets"), nb::arg("mask_starts"), nb::arg("mask_ends"),
        nb::arg("mask_offsets"), nb::arg("upper"), nb::arg("lower"), nb::arg("width"), nb::arg("rows"));
}

void bind_rows(nb::module_& m) {
    m.def(
        "join_pieces",
        [](const std::vector<Bytes>& pieces, const OutputArray<uint8_t>& out, int threads) {
            require_threads(threads);
            std::vector<Piece> views;
            size_t size = 0;
            for (const auto& piece : pieces) {
                views.push_back({piece.data(), piece.size()});
                size += piece.size();
            }
            if (size > out.size()) throw std::out_of_range("the pieces do not fit the output");
            const nb::gil_scoped_release released;
            join_pieces(views, out.data(), threads);
        },
        nb::arg("pieces"), nb::arg("out"), nb::arg("threads") = 1);
    m.def(
        "argsort_stable",
        [](const Integers& keys) {
            std::vector<int32_t> order;
            {
                nb::gil_scoped_release released;
                order = argsort_stable(column_of(keys));
            }
            return to_numpy(std::move(order));
        },
        nb::arg("keys"));
    m.def(
        "argsort_bytes",
        [](const Bytes& data, const Integers& offsets) {
            std::vector<int32_t> order;
            int64_t repeats = 0;
            {
                nb::gil_scoped_release released;
                const Rows rows = rows_of(data, offsets);
                order = argsort_bytes(rows);
                repeats = count_repeats(rows, order);
            }
            return nb::make_tuple(to_numpy(std::move(order)), repeats);
        },
        nb::arg("data"), nb::arg("offsets"));
    m.def(
        "scatter_rows",
        [](const Bytes& data, const Integers& offsets, const Integers& starts,
           const OutputArray<uint8_t>& out) {
            nb::gil_scoped_release released;
            scatter_rows(rows_of(data, offsets), column_of(starts), out.data(),
                         static_cast<int64_t>(out.size()));
        },
        nb::arg("data"), nb::arg("offsets"), nb::arg("starts"), nb::arg("out"));
    m.def(
        "find_bytes",
        [](const Bytes& data, const Integers& offsets, const InputArray<int32_t>& order,
           const Bytes& wanted_data, const Integers& wanted_offsets) {
            std::vector<int64_t> positions;
            {
                nb::gil_scoped_release released;
                positions = find_bytes(rows_of(data, offsets), column_of(order),
                                       rows_of(wanted_data, wanted_offsets));
            }
            return to_numpy(std::move(positions));
        },
        nb::arg("data"), nb::arg("offsets"), nb::arg("order"), nb::arg("wanted_data"),
        nb::arg("wanted_offsets"));
}

// Arrays may outlive the object, so both share the mapping.
struct MappedFile {
    std::shared_ptr<Mapping> mapping;
};

// Runs `work()` and raises its system errors as OSError.
template <class Work>
auto with_os_errors(Work work) {
    try {
        return work();
    } catch (const std::system_error& error) {
        errno = error.code().value();
        PyErr_SetFromErrno(PyExc_OSError);
        throw nb::python_error();
    }
}

using MappedBytes = nb::ndarray<nb::numpy, const uint8_t, nb::ndim<1>>;

MappedBytes bytes_of(const MappedFile& file) {
    auto* shared = new std::shared_ptr<Mapping>(file.mapping);
    nb::capsule owner(shared, [](void* p) noexcept { delete static_cast<std::shared_ptr<Mapping>*>(p); });
    return MappedBytes(file.mapping->data(), {file.mapping->size()}, owner);
}

std::tuple<uint64_t, uint64_t, int64_t, int64_t> identity_of(const MappedFile& file) {
    const Mapping::Identity found = with_os_errors([&] { return file.mapping->identity(); });
    return {found.device, found.inode, found.size, found.modified_ns};
}

void bind_mapped_file(nb::module_& m) {
    nb::class_<MappedFile>(m, "MappedFile")
        .def(
            "__init__",
            [](MappedFile* self, int descriptor) {
                new (self) MappedFile{with_os_errors([&] { return std::make_shared<Mapping>(descriptor); })};
            },
            nb::arg("descriptor"))
        .def_prop_ro("bytes", bytes_of, nb::rv_policy::automatic)
        .def_prop_ro("descriptor", [](const MappedFile& self) { return self.mapping->descriptor(); })
        .def_prop_ro("identity", identity_of)
        .def_prop_ro("has_faulted", [](const MappedFile& self) { return self.mapping->has_faulted(); });
}

}  // namespace

void bind_sequences(nb::module_& m) {
    bind_fasta_reader(m);
    bind_fasta_text(m);
    bind_mapped_file(m);
    bind_rows(m);
}

}  // namespace exaln

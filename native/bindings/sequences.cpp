// exaln._core: the FASTA reader and writer, mapped files, and rows of variable length.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <tuple>

#include "bindings/arguments.hpp"
#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "sequences/column_checks.hpp"
#include "sequences/fasta_blocks.hpp"
#include "sequences/fasta_reader.hpp"
#include "sequences/fasta_text.hpp"
#include "sequences/mapped_file.hpp"
#include "sequences/ordered_column.hpp"
#include "sequences/rows.hpp"
#include "sequences/writeback.hpp"

namespace exaln {
namespace {

using Bytes = InputArray<uint8_t>;
using Integers = InputArray<int64_t>;
using LetterTable = nb::ndarray<const uint8_t, nb::shape<256>, nb::c_contig, nb::device::cpu>;

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

template <class Reader>
nb::object describe_problem(const Reader& reader) {
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

template <class Reader>
nb::dict tallies(const Reader& reader) {
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
        .def("tallies", &tallies<FastaReader>)
        .def_prop_ro("problem", &describe_problem<FastaReader>)
        .def_prop_ro("n_complete", &FastaReader::n_complete)
        .def_prop_ro("n_residues", &FastaReader::n_residues)
        .def_prop_ro("n_bytes", &FastaReader::n_bytes);
}

// The columns of the next block, None after the last. Signals are handled while it is awaited.
nb::object take_block(FastaBlocks& blocks) {
    if (!blocks.has_more()) return nb::none();
    for (;;) {
        const bool is_ready = [&] {
            const nb::gil_scoped_release released;
            return blocks.wait(std::chrono::milliseconds(100));
        }();
        if (is_ready) break;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    RecordColumns columns = with_os_errors([&] {
        const nb::gil_scoped_release released;
        return blocks.take();
    });
    return columns_to_numpy(std::move(columns), false);
}

void bind_fasta_blocks(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<FastaBlocks>(m, "FastaBlocks")
        .def(
            "__init__",
            [](FastaBlocks* self, int descriptor, int64_t size, const LetterTable& table, bool strip_gaps,
               int64_t max_header_bytes, int64_t max_record_bytes, int64_t block_bytes, int threads) {
                require_threads(threads);
                if (size < 1 || block_bytes < 1)
                    throw std::invalid_argument("sizes of files and blocks must be positive");
                FastaBlocks::Options options{{},
                                             strip_gaps,
                                             {max_header_bytes, max_record_bytes},
                                             static_cast<size_t>(block_bytes),
                                             threads};
                std::copy_n(table.data(), options.table.size(), options.table.begin());
                new (self) FastaBlocks(descriptor, size, options);
            },
            "descriptor"_a, "size"_a, "table"_a, "strip_gaps"_a, "max_header_bytes"_a, "max_record_bytes"_a,
            "block_bytes"_a, "threads"_a)
        .def("take", &take_block)
        .def("stop", &FastaBlocks::stop, nb::call_guard<nb::gil_scoped_release>())
        .def("tallies", &tallies<FastaBlocks>)
        .def_prop_ro("problem", &describe_problem<FastaBlocks>)
        .def_prop_ro("bytes_taken", &FastaBlocks::bytes_taken);
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
        [](const Bytes& data, const Integers& offsets, int threads) {
            require_threads(threads);
            std::vector<int32_t> order;
            int64_t repeats = 0;
            {
                nb::gil_scoped_release released;
                const Rows rows = rows_of(data, offsets);
                order = argsort_bytes(rows, threads);
                repeats = count_repeats(rows, order, threads);
            }
            return nb::make_tuple(to_numpy(std::move(order)), repeats);
        },
        nb::arg("data"), nb::arg("offsets"), nb::arg("threads") = 1);
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

// An ordered column and the arrays that it refers to.
struct HeldColumn {
    std::vector<Bytes> data;
    std::unique_ptr<OrderedColumn> column;
};

using Offsets = nb::ndarray<nb::numpy, const int64_t, nb::ndim<1>>;

void bind_ordered_column(nb::module_& m) {
    nb::class_<HeldColumn>(m, "OrderedColumn")
        .def(
            "__init__",
            [](HeldColumn* self, std::vector<Bytes> data, const std::vector<Integers>& offsets,
               const InputArray<int32_t>& ranks, int threads) {
                require_threads(threads);
                if (data.size() != offsets.size())
                    throw std::invalid_argument("each piece needs data and offsets");
                std::unique_ptr<OrderedColumn> column;
                {
                    const nb::gil_scoped_release released;
                    std::vector<Rows> pieces;
                    for (size_t i = 0; i < data.size(); ++i) pieces.push_back(rows_of(data[i], offsets[i]));
                    column = std::make_unique<OrderedColumn>(pieces, column_of(ranks), threads);
                }
                new (self) HeldColumn{std::move(data), std::move(column)};
            },
            nb::arg("data"), nb::arg("offsets"), nb::arg("ranks"), nb::arg("threads") = 1)
        .def_prop_ro(
            "offsets",
            [](const HeldColumn& self) {
                const std::vector<int64_t>& offsets = self.column->offsets();
                return Offsets(offsets.data(), {offsets.size()}, nb::find(self));
            },
            nb::rv_policy::automatic)
        .def(
            "copy",
            [](const HeldColumn& self, int64_t begin, int64_t end, const OutputArray<uint8_t>& out,
               int threads) {
                require_threads(threads);
                if (begin < 0 || end < begin || end - begin > static_cast<int64_t>(out.size()))
                    throw std::out_of_range("the bytes do not fit the output");
                const nb::gil_scoped_release released;
                self.column->copy(begin, end, out.data(), threads);
            },
            nb::arg("begin"), nb::arg("end"), nb::arg("out"), nb::arg("threads") = 1);
}

void bind_column_checks(nb::module_& m) {
    m.def(
        "letters_in",
        [](const Bytes& codes) {
            std::array<bool, 256> is_used{};
            {
                const nb::gil_scoped_release released;
                mark_codes(codes.data(), int64_t(codes.size()), is_used);
            }
            return nb::bytes(reinterpret_cast<const char*>(is_used.data()), is_used.size());
        },
        nb::arg("codes"));
    m.def(
        "problem_of_offsets",
        [](const Integers& offsets, int64_t n_values, bool is_sorted) {
            const nb::gil_scoped_release released;
            return int(problem_of(column_of(offsets), n_values, is_sorted));
        },
        nb::arg("offsets"), nb::arg("n_values"), nb::arg("is_sorted"));
    m.def(
        "length_runs",
        [](const Integers& offsets) {
            LengthRuns runs;
            {
                const nb::gil_scoped_release released;
                runs = length_runs(column_of(offsets));
            }
            return nb::make_tuple(to_numpy(std::move(runs.values)), to_numpy(std::move(runs.firsts)));
        },
        nb::arg("offsets"));
    m.def(
        "take_rows",
        [](const Bytes& data, const Integers& begins, const Integers& ends) {
            std::vector<uint8_t> taken;
            {
                const nb::gil_scoped_release released;
                taken = take_rows(column_of(data), column_of(begins), column_of(ends));
            }
            return to_numpy(std::move(taken));
        },
        nb::arg("data"), nb::arg("begins"), nb::arg("ends"));
}

// Arrays may outlive the object, so both share the mapping.
struct MappedFile {
    std::shared_ptr<Mapping> mapping;
};

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
    bind_fasta_blocks(m);
    bind_fasta_text(m);
    bind_mapped_file(m);
    bind_rows(m);
    bind_ordered_column(m);
    m.def("start_writeback", &start_writeback, nb::arg("descriptor"), nb::arg("begin"), nb::arg("n_bytes"),
          nb::call_guard<nb::gil_scoped_release>());
    bind_column_checks(m);
}

}  // namespace exaln

// Views on NumPy arrays, and NumPy arrays made from vectors: shared by all bindings.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "sequences/buffer.hpp"
#include "sequences/column.hpp"

namespace exaln {

namespace nb = nanobind;

template <typename T, int dimensions = 1>
using InputArray = nb::ndarray<const T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
template <typename T>
using OutputArray = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using NumpyArray = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <typename T>
Column<T> column_of(const InputArray<T>& array) {
    return {array.data(), static_cast<int64_t>(array.size())};
}

// Hands a vector to Python without a copy. The caller holds the GIL.
template <typename T>
NumpyArray<T> to_numpy(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return NumpyArray<T>(owned->data(), {owned->size()}, owner);
}

// The same for a buffer.
template <typename T>
NumpyArray<T> to_numpy(Buffer<T>&& values) {
    const size_t n = values.size();
    T* const data = values.release();
    nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
    return NumpyArray<T>(data, {n}, owner);
}

}  // namespace exaln

// Views of NumPy arrays, and arrays handed to NumPy, as the bindings of the studies use them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

namespace exaln_studies {

namespace nb = nanobind;

template <typename T, int dimensions = 1>
using InputArray = nb::ndarray<const T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
template <typename T>
using OutputArray = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using NumpyArray = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// Hands a vector to Python without a copy. Needs the GIL.
template <typename T>
NumpyArray<T> to_numpy(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return NumpyArray<T>(kept->data(), {kept->size()}, owner);
}

}  // namespace exaln_studies

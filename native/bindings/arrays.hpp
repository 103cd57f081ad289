// Views on NumPy arrays and arrays made here: what every file with bindings shares.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace exaln {

namespace nb = nanobind;

template <typename T, int dimensions = 1>
using InputArray = nb::ndarray<const T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
template <typename T>
using OutputArray = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using NumpyArray = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// A read-only column. Memory-mapped columns need not be aligned for T, so elements are loaded bytewise.
template <typename T>
class Column {
  public:
    explicit Column(const InputArray<T>& array)
        : bytes_(reinterpret_cast<const unsigned char*>(array.data())),
          size_(static_cast<int64_t>(array.size())) {}

    int64_t size() const { return size_; }
    T operator[](int64_t i) const {
        T value;
        std::memcpy(&value, bytes_ + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
        return value;
    }
    const unsigned char* bytes() const { return bytes_; }

  private:
    const unsigned char* bytes_;
    int64_t size_;
};

// Hands a vector to Python without a copy. Needs the GIL.
template <typename T>
NumpyArray<T> to_numpy(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return NumpyArray<T>(kept->data(), {kept->size()}, owner);
}

}  // namespace exaln

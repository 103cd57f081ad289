// A read-only column of numbers that may lie unaligned in a mapped file.
#pragma once

#include <cstdint>
#include <cstring>

namespace exaln {

// Elements are loaded bytewise, because a memory-mapped column need not be aligned for T.
template <typename T>
class Column {
  public:
    Column(const void* data, int64_t size) : bytes_(static_cast<const unsigned char*>(data)), size_(size) {}

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

}  // namespace exaln

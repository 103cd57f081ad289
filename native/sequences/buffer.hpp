// A growable array whose memory can be given to NumPy without a copy.
//
// std::vector zeroes new elements and cannot release its memory. realloc moves large blocks by remapping
// pages, so a sequence of hundreds of megabytes grows without being copied.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace exaln {

template <class T>
class Buffer {
    static_assert(std::is_trivially_copyable<T>::value, "realloc moves the bytes");

  public:
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        swap(other);
        return *this;
    }
    ~Buffer() { std::free(data_); }

    std::size_t size() const { return size_; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    T& back() { return data_[size_ - 1]; }
    const T& back() const { return data_[size_ - 1]; }

    // Uninitialised space for n more elements. Call `advance` after writing some of them.
    T* space(std::size_t n) {
        if (capacity_ - size_ < n) reallocate(std::max(size_ + n, capacity_ + capacity_ / 2));
        return data_ + size_;
    }
    void advance(std::size_t n) { size_ += n; }
    void clear() { size_ = 0; }

    void push(T value) {
        *space(1) = value;
        ++size_;
    }
    void append(const T* values, std::size_t n) {
        if (n == 0) return;
        std::memcpy(space(n), values, n * sizeof(T));
        size_ += n;
    }
    // Removes the elements from `begin` on and returns them.
    Buffer split_off(std::size_t begin) {
        Buffer tail;
        tail.append(data_ + begin, size_ - begin);
        size_ = begin;
        return tail;
    }
    // Gives up the memory, trimmed and never null; the caller frees it with std::free.
    T* release() {
        reallocate(std::max<std::size_t>(size_, 1));
        size_ = capacity_ = 0;
        return std::exchange(data_, nullptr);
    }

  private:
    void swap(Buffer& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }
    void reallocate(std::size_t capacity) {
        void* grown = std::realloc(data_, capacity * sizeof(T));
        if (grown == nullptr) throw std::bad_alloc();
        data_ = static_cast<T*>(grown);
        capacity_ = capacity;
    }

    T* data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace exaln

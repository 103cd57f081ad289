// Memory that a thread uses again for one task after another.
#pragma once

#include <cstddef>
#include <new>

namespace exaln {

// 64-byte aligned memory that grows on demand. Growing discards the contents.
class Scratch {
  public:
    Scratch() = default;
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { release(); }

    // At least this many bytes; reserve(0) returns the present memory.
    void* reserve(size_t bytes) {
        if (bytes > capacity_) {
            release();
            memory_ = ::operator new(bytes, std::align_val_t(64));
            capacity_ = bytes;
        }
        return memory_;
    }

    // The present memory.
    const void* data() const { return memory_; }

  private:
    void release() {
        if (memory_) ::operator delete(memory_, std::align_val_t(64));
        memory_ = nullptr, capacity_ = 0;
    }
    void* memory_ = nullptr;
    size_t capacity_ = 0;
};

}  // namespace exaln

// A file as read-only memory that stays readable whatever happens to the file.
//
// A mapping keeps a descriptor of its file, so that changes are noticed even after the file was deleted or
// renamed. Reading beyond the end of a truncated file raises SIGBUS; a handler replaces the missing bytes by
// zeros and records the fault (mapped_ranges.hpp). Check has_faulted() before returning results.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exaln {

class Mapping {
  public:
    // Maps the file of a descriptor, which is duplicated and stays the caller's. An empty file has no bytes.
    // Throws std::system_error, and std::runtime_error if too many files are mapped.
    explicit Mapping(int descriptor);
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping();

    const uint8_t* data() const { return static_cast<const uint8_t*>(address_); }
    size_t size() const { return size_; }
    int descriptor() const { return descriptor_; }
    // True if bytes could not be read and were replaced by zeros.
    bool has_faulted() const;

    // What identifies the file and its contents as they are now. Throws std::system_error.
    struct Identity {
        uint64_t device, inode;
        int64_t size, modified_ns;
    };
    Identity identity() const;

  private:
    void unmap();

    void* address_ = nullptr;
    size_t size_ = 0;
    int range_ = -1, descriptor_ = -1;
};

}  // namespace exaln

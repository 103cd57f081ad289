// Maps files and keeps their descriptors.
#include "sequences/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "sequences/mapped_ranges.hpp"

namespace exaln {
namespace {

[[noreturn]] void throw_errno(int number) {
    throw std::system_error(number, std::generic_category());
}

struct stat status_of(int descriptor) {
    struct stat status{};
    if (fstat(descriptor, &status) != 0) throw_errno(errno);
    return status;
}

}  // namespace

Mapping::Mapping(int descriptor) : size_(size_t(status_of(descriptor).st_size)) {
    if (size_ > 0) {
        void* const address = mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
        if (address == MAP_FAILED) throw_errno(errno);
        address_ = address;
        range_ = watch_range(address_, size_);
        if (range_ < 0) {
            munmap(address_, size_);
            throw std::runtime_error("too many mapped files");
        }
    }
    descriptor_ = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    if (descriptor_ < 0) {
        const int number = errno;
        unmap();
        throw_errno(number);
    }
}

Mapping::~Mapping() {
    close(descriptor_);
    unmap();
}

bool Mapping::has_faulted() const {
    return range_ >= 0 && exaln::has_faulted(range_);
}

Mapping::Identity Mapping::identity() const {
    const struct stat status = status_of(descriptor_);
    const uint64_t modified =
        uint64_t(status.st_mtim.tv_sec) * 1'000'000'000 + uint64_t(status.st_mtim.tv_nsec);
    return {uint64_t(status.st_dev), uint64_t(status.st_ino), int64_t(status.st_size), int64_t(modified)};
}

void Mapping::unmap() {
    if (range_ < 0) return;
    unwatch_range(range_);
    munmap(address_, size_);
}

}  // namespace exaln

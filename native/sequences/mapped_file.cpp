// exaln._core: MappedFile.
#include "sequences/mapped_file.hpp"

#include <fcntl.h>
#include <nanobind/stl/tuple.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <tuple>

#include "sequences/mapped_ranges.hpp"

namespace exaln {
namespace {

[[noreturn]] void throw_errno() {
    PyErr_SetFromErrno(PyExc_OSError);
    throw nb::python_error();
}

class Mapping {
  public:
    // The file of a descriptor, which stays the caller's. An empty file has no bytes to map.
    explicit Mapping(int file) {
        struct stat status{};
        if (fstat(file, &status) != 0) throw_errno();
        size_ = size_t(status.st_size);
        if (size_ > 0) {
            void* const address = mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
            if (address == MAP_FAILED) throw_errno();
            address_ = address;
            range_ = watch_range(address_, size_);
            if (range_ < 0) {
                munmap(address_, size_);
                throw std::runtime_error("too many mapped files");
            }
        }
        file_ = fcntl(file, F_DUPFD_CLOEXEC, 3);
        const int reason = errno;
        if (file_ < 0) {
            unmap();
            errno = reason;
            throw_errno();
        }
    }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() {
        close(file_);
        unmap();
    }

    const uint8_t* data() const { return static_cast<const uint8_t*>(address_); }
    size_t size() const { return size_; }
    int file() const { return file_; }
    bool has_faulted() const { return range_ >= 0 && exaln::has_faulted(range_); }

  private:
    void unmap() {
        if (range_ < 0) return;
        forget_range(range_);
        munmap(address_, size_);
    }

    void* address_ = nullptr;
    size_t size_ = 0;
    int range_ = -1, file_ = -1;
};

// Arrays may outlive the object, so both share the mapping.
struct MappedFile {
    std::shared_ptr<Mapping> mapping;
};

using Bytes = nb::ndarray<nb::numpy, const uint8_t, nb::ndim<1>>;

Bytes bytes_of(const MappedFile& file) {
    auto* shared = new std::shared_ptr<Mapping>(file.mapping);
    nb::capsule owner(shared, [](void* p) noexcept { delete static_cast<std::shared_ptr<Mapping>*>(p); });
    return Bytes(file.mapping->data(), {file.mapping->size()}, owner);
}

// Device, inode, size and time of the last change in nanoseconds.
std::tuple<uint64_t, uint64_t, int64_t, int64_t> identity_of(const MappedFile& file) {
    struct stat status{};
    if (fstat(file.mapping->file(), &status) != 0) throw_errno();
    const uint64_t changed =
        uint64_t(status.st_mtim.tv_sec) * 1'000'000'000 + uint64_t(status.st_mtim.tv_nsec);
    return {uint64_t(status.st_dev), uint64_t(status.st_ino), int64_t(status.st_size), int64_t(changed)};
}

}  // namespace

void bind_mapped_file(nb::module_& m) {
    nb::class_<MappedFile>(m, "MappedFile")
        .def(
            "__init__",
            [](MappedFile* self, int descriptor) {
                new (self) MappedFile{std::make_shared<Mapping>(descriptor)};
            },
            nb::arg("descriptor"))
        .def_prop_ro("bytes", bytes_of, nb::rv_policy::automatic)
        .def_prop_ro("descriptor", [](const MappedFile& self) { return self.mapping->file(); })
        .def_prop_ro("identity", identity_of)
        .def_prop_ro("has_faulted", [](const MappedFile& self) { return self.mapping->has_faulted(); });
}

}  // namespace exaln

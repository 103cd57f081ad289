#include "mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace exaln {
namespace {

struct Mapping {
    void* address;
    size_t size;
};

// The mapping, or address nullptr and the reason in errno; an empty file cannot be mapped.
Mapping map_file(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return {nullptr, 0};
    struct stat status{};
    Mapping mapping{nullptr, 0};
    if (fstat(file, &status) == 0) {
        mapping.size = static_cast<size_t>(status.st_size);
        void* address = mmap(nullptr, mapping.size, PROT_READ, MAP_SHARED, file, 0);
        if (address != MAP_FAILED) mapping.address = address;
    }
    const int reason = errno;
    close(file);
    errno = reason;
    return mapping;
}

}  // namespace

void bind_mapped_file(nb::module_& m) {
    m.def(
        "map_file",
        [](nb::handle path) {
            PyObject* encoded = nullptr;
            if (!PyUnicode_FSConverter(path.ptr(), &encoded)) throw nb::python_error();
            const nb::object kept = nb::steal(encoded);
            const Mapping mapping = map_file(PyBytes_AsString(encoded));
            if (mapping.address == nullptr) {
                PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path.ptr());
                throw nb::python_error();
            }
            auto* owned = new Mapping(mapping);
            nb::capsule owner(owned, [](void* p) noexcept {
                auto* old = static_cast<Mapping*>(p);
                munmap(old->address, old->size);
                delete old;
            });
            return nb::ndarray<nb::numpy, const uint8_t, nb::ndim<1>>(mapping.address, {mapping.size}, owner);
        },
        nb::arg("path"));
}

}  // namespace exaln

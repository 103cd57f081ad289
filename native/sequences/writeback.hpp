// A hint to the operating system to write parts of a file to the disk now, so that fsync has less left to do.
#pragma once

#include <fcntl.h>

#include <cstdint>

namespace exaln {

// Does not wait, and ignores errors: fsync reports them.
inline void start_writeback([[maybe_unused]] int descriptor, [[maybe_unused]] int64_t begin,
                            [[maybe_unused]] int64_t n_bytes) {
#ifdef SYNC_FILE_RANGE_WRITE
    ::sync_file_range(descriptor, begin, n_bytes, SYNC_FILE_RANGE_WRITE);
#endif
}

}  // namespace exaln

// Expands piecewise linear columns of a batch from their breakpoints: offsets of targets, first tiles,
// chunks.
//
// Targets are sorted by length, so these columns are piecewise linear with few breakpoints, and only those
// are sent. Element i of a column is value + (i - first) * step of its last breakpoint with first <= i.
//
//   breakpoints  of all columns; those of one column ascend by `first` and begin with 0
//   columns      one for each row of blocks
//
// Tests: tests/engines/cuda/scan/test_layout.py, tests/engines/cuda/test_engine.py.

struct Breakpoint {
    unsigned first, step;
    long long value;
};

struct Column {
    unsigned long long address;                    // where the column is written
    long long n, first_breakpoint, n_breakpoints;  // its length, and its breakpoints
    long long stride, is_wide;                     // elements between two numbers; 8 bytes each, or 4
};

extern "C" __global__ void expand(const Breakpoint* __restrict__ breakpoints,
                                  const Column* __restrict__ columns) {
    const Column column = columns[blockIdx.y];
    const Breakpoint* own = breakpoints + column.first_breakpoint;
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < column.n; i += gridDim.x * blockDim.x) {
        long long low = 0, high = column.n_breakpoints;
        while (high - low > 1) {
            const long long middle = (low + high) / 2;
            if (own[middle].first <= i) {
                low = middle;
            } else {
                high = middle;
            }
        }
        const long long value = own[low].value + (i - own[low].first) * (long long)own[low].step;
        if (column.is_wide) {
            reinterpret_cast<long long*>(column.address)[i * column.stride] = value;
        } else {
            reinterpret_cast<unsigned*>(column.address)[i * column.stride] = unsigned(value);
        }
    }
}

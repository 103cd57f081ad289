// Columns of a batch from a few runs: offsets of targets, first tiles, chunks.
//
// Targets are sorted by length, so these columns are straight lines with few bends, and only the bends are
// sent. Element i of a column is value + (i - first) * step of the last run whose `first` is not above i.
//
//   runs        the runs of all columns, each column's in ascending order of `first`, which begins with 0
//   columns     one per row of blocks: where its runs are, where it goes, and how: every `stride` numbers, of
//   8 bytes or 4

struct Run {
    unsigned first, step;
    long long value;
};

struct Column {
    unsigned long long address;
    long long n, first_run, n_runs, stride, is_wide;
};

extern "C" __global__ void expand(const Run* __restrict__ runs, const Column* __restrict__ columns) {
    const Column column = columns[blockIdx.y];
    const Run* own = runs + column.first_run;
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < column.n; i += gridDim.x * blockDim.x) {
        long long low = 0, high = column.n_runs;
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

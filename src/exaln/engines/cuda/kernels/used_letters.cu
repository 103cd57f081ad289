// Marks the letters that occur in sequences: a bit for each code, in the eight words of `found`.
//
// Each block collects its letters in shared memory and adds them to the result at its end. Tests:
// tests/engines/cuda/pairs/.

extern "C" __global__ void mark_letters(const unsigned char* __restrict__ codes, unsigned long long n,
                                        unsigned* found) {
    __shared__ unsigned of_block[8];
    if (threadIdx.x < 8) of_block[threadIdx.x] = 0;
    __syncthreads();
    const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    unsigned seen = 0;  // of the first 32 codes; most alphabets have no others
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const unsigned code = codes[i], bit = 1u << code % 32;
        if (code < 32 && seen & bit) continue;
        if (code < 32) seen |= bit;
        atomicOr(&of_block[code / 32], bit);
    }
    __syncthreads();
    if (threadIdx.x < 8) atomicOr(&found[threadIdx.x], of_block[threadIdx.x]);
}

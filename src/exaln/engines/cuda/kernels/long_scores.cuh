// Number types of long.cu, one score per register: 32 bits, or 64 where a score could exceed them; and the
// 64-bit words in which H and F pass from one strip to the next.
//
// Each queue word carries a round tag, so readers need no flag or fence (long_row_queues.cuh). The row above
// a region comes from no queue; its words have no tag.
//
// F, as the next row needs it, is max(F - gap_extend, H - gap_first), and F <= H. So it lies between
// H - gap_first and H - gap_extend, and 20 bits hold the difference.

#pragma once

#include "constants.cuh"
#include "wide.cuh"

constexpr unsigned TAG_BITS = 12;
constexpr unsigned N_TAGS = (1u << TAG_BITS) - 1;  // tags are 1 .. N_TAGS; cleared memory has 0
static_assert(GAP_FIRST < 1 << 18);

using Tagged = unsigned long long;

// Not constexpr, or the compiler would turn a product with 1 into a sum. Sums and maxima use the busiest
// pipe, products another one.
__constant__ int ONE = 1;

struct Score32 : Wide {
    using Value = int;
    static constexpr int WORDS = 1;  // queue words of a column
    static __device__ int cell(int t, int E, int F) {
        return LOCAL ? __vimax3_s32_relu(t, E, F) : __vimax3_s32(t, E, F);
    }
    static __device__ int add(int a, int b) { return a * ONE + b; }
    static __device__ int diagonal(int d, int w) { return d * ONE + w; }
    static __device__ int join(int above, int is_below, int own) { return above * is_below + own; }
    static __device__ void pack(int H, int F, unsigned tag, Tagged* words) {
        words[0] = Tagged(unsigned(F - H) * (1u << TAG_BITS) + tag) << 32 | unsigned(H);
    }
    static __device__ void pack_untagged(int H, int F, Tagged* words) {
        words[0] = Tagged(unsigned(F)) << 32 | unsigned(H);
    }
    static __device__ bool unpack(const Tagged (&words)[WORDS], bool is_untagged, unsigned tag, int& H,
                                  int& F) {
        const unsigned upper = unsigned(words[0] >> 32);
        H = int(unsigned(words[0])), F = is_untagged ? int(upper) : H + (int(upper) >> TAG_BITS);
        return is_untagged || (upper & N_TAGS) == tag;
    }
};

struct Score64 {
    using Value = long long;
    static constexpr int WORDS = 2;
    static __device__ Value minus_first() { return -GAP_FIRST; }
    static __device__ Value minus_extend() { return -GAP_EXTEND; }
    static __device__ Value add(Value a, Value b) { return a + b; }
    static __device__ Value diagonal(Value d, int w) { return d + w; }
    static __device__ Value max2(Value a, Value b) { return max(a, b); }
    static __device__ Value max3(Value a, Value b, Value c) { return max(max(a, b), c); }
    static __device__ Value cell(Value t, Value E, Value F) {
        return LOCAL ? max(max3(t, E, F), Value(0)) : max3(t, E, F);
    }
    static __device__ Value add_max(Value a, Value b, Value c) { return max(a + b, c); }
    static __device__ Value join(Value above, int is_below, Value own) { return is_below ? above : own; }
    static __device__ void pack(Value H, Value F, unsigned tag, Tagged* words) {
        words[0] = Tagged(H) << TAG_BITS | tag, words[1] = Tagged(F) << TAG_BITS | tag;
    }
    static __device__ void pack_untagged(Value H, Value F, Tagged* words) {
        words[0] = Tagged(H), words[1] = Tagged(F);
    }
    static __device__ bool unpack(const Tagged (&words)[WORDS], bool is_untagged, unsigned tag, Value& H,
                                  Value& F) {
        H = Value(words[0]) >> (is_untagged ? 0 : TAG_BITS),
        F = Value(words[1]) >> (is_untagged ? 0 : TAG_BITS);
        const bool has_tag = (words[0] & words[1] & N_TAGS) == tag && ((words[0] | words[1]) & N_TAGS) == tag;
        return is_untagged || has_tag;
    }
};

template <bool is_large>
struct NumberOf {
    using Type = Score32;
};
template <>
struct NumberOf<true> {
    using Type = Score64;
};

using Number = NumberOf<LARGE>::Type;
using Score = Number::Value;

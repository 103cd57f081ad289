// Codes and counts of letters, a register at a time.
//
// The five low bits of a letter are the same in upper and lower case. They index two tables of 32: the codes,
// and the capital letters that have these codes. A byte whose capital differs from the table's is another
// character; it may still be a letter of the alphabet, such as *, so the caller looks it up in a full table.
#pragma once

#include "sequences/letter_args.hpp"
#include "simd/vec_common.hpp"

namespace {

// Writes the codes of one register of text; false if it has a byte that is none of `letters`.
template <class V>
EXALN_INLINE bool encode_register(const typename V::Table& codes_of, const typename V::Table& capitals_of,
                                  const uint8_t* text, uint8_t* codes) {
    using Lane = typename V::Lane;
    const auto raw = V::load(reinterpret_cast<const Lane*>(text));
    Lane low_bits[V::lanes];
    V::store(low_bits, raw & V::fill(Lane(0x1F)));
    const auto letters = V::load_letters(reinterpret_cast<const uint8_t*>(low_bits));
    const auto capitals = raw & V::fill(Lane(0xDF));
    const auto found = V::choose_equal(capitals, V::lookup(capitals_of, letters),
                                       V::lookup(codes_of, letters), V::fill(Lane(-1)));
    V::store(reinterpret_cast<Lane*>(codes), found);
    return !V::any_greater(V::fill(Lane(0)), found);
}

template <class V>
EXALN_INLINE typename V::Table letter_table(const int8_t (&entries)[64]) {
    typename V::ScoreRow row;
    static_assert(sizeof row == sizeof entries);
    memcpy(&row, entries, sizeof row);
    return V::load_table(row);
}

// Encodes n >= V::lanes bytes up to the first register that has another byte. Returns how many were encoded.
template <class V>
int64_t encode_letters(const exaln::LetterArgs& args, const uint8_t* text, int64_t n, uint8_t* codes) {
    const auto codes_of = letter_table<V>(args.codes), capitals_of = letter_table<V>(args.capitals);
    for (int64_t i = 0;; i = i + 2 * V::lanes <= n ? i + V::lanes : n - V::lanes) {
        if (!encode_register<V>(codes_of, capitals_of, text + i, codes + i)) return i;
        if (i + V::lanes == n) return n;
    }
}

// Counts n bytes, or those before the first register that has another letter, or those before the counts are
// full: whole registers. Returns how many were counted.
template <class V>
int64_t count_bases(exaln::BaseCounts& counts, const uint8_t* text, int64_t n) {
    using Lane = typename V::Lane;
    using Counts = exaln::BaseCounts;
    const auto one = V::fill(Lane(1)), zero = V::fill(Lane(0));
    typename V::Reg sums[Counts::N_LETTERS];
    EXALN_UNROLL
    for (int k = 0; k < Counts::N_LETTERS; ++k)
        sums[k] = V::load(reinterpret_cast<const Lane*>(counts.lanes[k]));
    int64_t i = 0;
    for (; i + V::lanes <= n && counts.n_registers < Counts::MAX_REGISTERS; i += V::lanes) {
        const auto capitals = V::load(reinterpret_cast<const Lane*>(text + i)) & V::fill(Lane(0xDF));
        typename V::Reg hits[Counts::N_LETTERS], any = zero;
        EXALN_UNROLL
        for (int k = 0; k < Counts::N_LETTERS; ++k) {
            hits[k] = V::choose_equal(capitals, V::fill(Lane(counts.letters[k])), one, zero);
            any = V::max(any, hits[k]);
        }
        if (V::any_greater(one, any)) break;
        EXALN_UNROLL
        for (int k = 0; k < Counts::N_LETTERS; ++k) sums[k] = V::add(sums[k], hits[k]);
        ++counts.n_registers;
    }
    EXALN_UNROLL
    for (int k = 0; k < Counts::N_LETTERS; ++k) V::store(reinterpret_cast<Lane*>(counts.lanes[k]), sums[k]);
    return i;
}

}  // namespace

// What kernels for letters take: an alphabet as tables that the five low bits of a letter index, and counts.
#pragma once

#include <cstdint>

namespace exaln {

// The codes of letters and the letters in upper case, each table twice as long as a kernel may need it.
struct LetterArgs {
    static constexpr int8_t NO_LETTER = 0x20;  // no letter in upper case has this bit

    alignas(64) int8_t codes[64] = {};
    alignas(64) int8_t capitals[64];

    LetterArgs() {
        for (int8_t& capital : capitals) capital = NO_LETTER;
    }
    void set(int capital, uint8_t code) {
        codes[capital % 32] = static_cast<int8_t>(code);
        capitals[capital % 32] = static_cast<int8_t>(capital);
    }
};

// How often the letters of nucleotide sequences occur, upper and lower case together; one count per lane.
struct BaseCounts {
    static constexpr int N_LETTERS = 6, MAX_REGISTERS = 127;  // what a lane can count

    int8_t letters[N_LETTERS] = {'A', 'C', 'G', 'T', 'N', 'U'};
    alignas(64) int8_t lanes[N_LETTERS][64] = {};
    int n_registers = 0;
};

}  // namespace exaln

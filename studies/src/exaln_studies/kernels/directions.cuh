// Storage for the directions of a pair of LENGTH x LENGTH cells, in four versions; i and j count from 1.

#pragma once

#include "cells.cuh"

// Bytes, row by row: the threads of a step write LENGTH - 1 bytes apart. Global or shared memory.
template <int LENGTH>
struct GlobalRows {
    unsigned char* bytes;
    static constexpr long long SIZE = (long long)LENGTH * LENGTH;

    __device__ void set(int i, int j, Direction way) { bytes[(i - 1) * LENGTH + j - 1] = way; }
    __device__ unsigned char get(int i, int j) const { return bytes[(i - 1) * LENGTH + j - 1]; }
};

// Bytes of global memory, diagonal by diagonal: the threads of a step write adjacent bytes.
template <int LENGTH>
struct GlobalDiagonals {
    unsigned char* bytes;
    static constexpr long long SIZE = 2LL * LENGTH * LENGTH;

    __device__ void set(int i, int j, Direction way) { bytes[(i + j - 2) * LENGTH + i - 1] = way; }
    __device__ unsigned char get(int i, int j) const { return bytes[(i + j - 2) * LENGTH + i - 1]; }
};

// Two bits each in shared memory. A thread collects the directions of its row in a word of 16 columns.
template <int LENGTH>
struct SharedBits {
    unsigned* words;
    unsigned word = 0;
    static constexpr int PER_WORD = 16, WORDS = (LENGTH + PER_WORD - 1) / PER_WORD;
    static constexpr int BYTES = 4 * LENGTH * WORDS;

    __device__ void set(int i, int j, Direction way) {
        const int place = (j - 1) % PER_WORD;
        word |= unsigned(way) << 2 * place;
        if (place == PER_WORD - 1 || j == LENGTH) {
            words[(i - 1) * WORDS + (j - 1) / PER_WORD] = word;
            word = 0;
        }
    }
    __device__ unsigned char get(int i, int j) const {
        return words[(i - 1) * WORDS + (j - 1) / PER_WORD] >> 2 * ((j - 1) % PER_WORD) & 3;
    }
};

// A query and sorted targets, in the layout of the kernels of the search studies.
//
// clang-format off
//     letters     targets one after another, each padded and starting at a multiple of 4 bytes
//     starts      int64, the first letter of each target;  lengths int32
//     query       its letters, padded to whole strips, `rows` in all
//     matrix      int32[n_letters x n_letters], including the padding letter, whose scores are very low
//     profile     char4[n_letters x rows / 4]: the scores of a letter with four query rows in one word
// clang-format on

#pragma once

#include "cells.cuh"

struct Query {
    const unsigned char* letters;
    const int* matrix;
    const char4* profile;
    int n_letters, rows, gap_first, gap_extend;
};

struct Targets {
    const unsigned char* letters;
    const long long* starts;
    const int* lengths;
};

// H of a cell, and F of the cell below it.
using Below = int2;

__device__ __forceinline__ Below top_border() {
    return make_int2(0, MINUS_INFINITY);
}

// A query and sorted targets as the kernels of the search study see them.
//
//     letters     targets one after another, each from a multiple of 4 bytes on and filled up with PAD_LETTER
//     starts      int64: the first letter of each target;  lengths int32
//     query       its letters, filled up with PAD_LETTER to whole strips, `rows` in all
//     matrix      int32[n_letters x n_letters], PAD_LETTER included: it scores so low that it never matters
//     profile     char4[n_letters x rows / 4]: scores of four rows of the query with a letter, in one word

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

// H of a cell, and F for the cell below it.
using Below = int2;

__device__ __forceinline__ Below top_border() {
    return make_int2(0, NEVER);
}

// Complete int32 tables of H, E and F in global memory, in the two layouts of Xiao, Aji and Feng.
//
// clang-format off
//     by diagonals    diagonal d = i + j, from 0 to m + n, starts at starts[d] and holds rows max(0, d - n)
//                     to min(m, d), including the border. Simple: one after another; coalesced: each starts
//                     at a multiple of 16 or 32 words
//     tiles           32 x 32 cells, row by row, without border; cells beyond m or n are undefined
// clang-format on

#pragma once

#include "cells.cuh"

constexpr int SIDE = 32;

struct Pair {
    const unsigned char *query, *target;
    const int* matrix;
    int n_letters, gap_first, gap_extend, m, n;
};

struct Tables {
    int *H, *E, *F;
};

struct Diagonals {
    const long long* starts;
    int m, n;

    __device__ int n_lines() const { return m + n + 1; }
    __device__ int first_row(int d) const { return max(0, d - n); }
    __device__ int n_cells(int d) const { return min(m, d) - first_row(d) + 1; }
    __device__ int row(int d, int k) const { return first_row(d) + k; }
    __device__ int column(int d, int k) const { return d - row(d, k); }
    __device__ long long at(int i, int j) const { return starts[i + j] + i - first_row(i + j); }
};

struct Tiles {
    int m, n;

    __device__ int rows() const { return (m + SIDE - 1) / SIDE; }
    __device__ int columns() const { return (n + SIDE - 1) / SIDE; }
    __device__ int n_lines() const { return rows() * columns(); }
    __device__ int n_cells(int) const { return SIDE * SIDE; }
    __device__ int row(int tile, int k) const { return tile / columns() * SIDE + k / SIDE + 1; }
    __device__ int column(int tile, int k) const { return tile % columns() * SIDE + k % SIDE + 1; }
    __device__ long long begin(int tile_row, int tile_column) const {
        return ((long long)tile_row * columns() + tile_column) * SIDE * SIDE;
    }
    __device__ long long at(int i, int j) const {
        return begin((i - 1) / SIDE, (j - 1) / SIDE) + (i - 1) % SIDE * SIDE + (j - 1) % SIDE;
    }
};

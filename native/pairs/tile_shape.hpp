// How the table of a pair is cut into tiles (pairs/grid.hpp), and the memory that it takes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace exaln {

// What decides the shape: a table, the bytes of a value, the codes, and the threads that fill it.
struct TableSize {
    int64_t n_rows, n_columns;
    int value_bytes, n_codes, threads;
};

struct TileShape {
    int64_t rows, columns;  // rows: a multiple of ROW_UNIT

    static constexpr int64_t ROW_UNIT = 64;  // of lanes of every width and instruction set
    static constexpr int64_t MOST_ROWS = 4096, MOST_CELLS = int64_t(1) << 28, LEAST_COLUMNS = 64;
    static constexpr int64_t MOST_TILES_ACROSS = 8192;
    static constexpr int64_t KEPT_TILES = 4, TILE_BYTES = 64;

    // As small as is worthwhile, because a traceback fills whole tiles, or as large as the memory requires:
    // boundaries take less of it the larger tiles are. 0 x 0 if no shape fits `max_bytes`.
    static TileShape of(const TableSize& size, double max_bytes) {
        TileShape shape = smallest(size);
        while (shape.bytes(size) > max_bytes && shape.can_grow(size)) shape.grow(size);
        return shape.bytes(size) > max_bytes ? TileShape{0, 0} : shape;
    }

    // Of the shape that takes the least memory, on one thread.
    static double least_bytes(const TableSize& size) {
        TileShape shape = smallest(size);
        double least = shape.bytes(size);
        for (; shape.can_grow(size); least = std::min(least, shape.bytes(size))) shape.grow(size);
        return least;
    }

    // Scores, boundaries of all tiles, the tiles that are kept whole, and what each thread needs.
    double bytes(const TableSize& size) const {
        const double down = double(divided(size.n_rows, rows)),
                     across = double(divided(size.n_columns, columns));
        const double padded = down * double(rows), value = size.value_bytes;
        return value *
                   (double(size.n_codes) * padded + 2 * across * padded + 2 * down * double(size.n_columns)) +
               5 * padded + down * across * double(TILE_BYTES) +
               KEPT_TILES * double(tile_bytes(size.value_bytes)) +
               size.threads * double(columns) * (value * double(rows + 2) + 8);
    }

    // A tile with H and E of all its columns, and their scores.
    int64_t tile_bytes(int value_bytes) const { return (3 * columns + 2) * rows * value_bytes; }

    static int64_t divided(int64_t n, int64_t size) { return (n + size - 1) / size; }

  private:
    // One row of tiles for queries of up to MOST_ROWS, or two for each thread.
    static TileShape smallest(const TableSize& size) {
        const bool is_shared = size.threads > 1;
        const int64_t down =
            std::max<int64_t>(divided(size.n_rows, MOST_ROWS), is_shared ? 2 * size.threads : 1);
        const int64_t rows = divided(divided(size.n_rows, down), ROW_UNIT) * ROW_UNIT;
        TileShape shape{std::max(rows, is_shared ? 4 * ROW_UNIT : ROW_UNIT), LEAST_COLUMNS};
        while (divided(size.n_columns, shape.columns) > MOST_TILES_ACROSS) shape.columns *= 2;
        return shape;
    }

    bool is_one_row(const TableSize& size) const { return rows >= size.n_rows; }
    bool is_one_column(const TableSize& size) const { return columns >= size.n_columns; }
    bool can_grow(const TableSize& size) const {
        return rows * columns < MOST_CELLS && !(is_one_row(size) && is_one_column(size));
    }
    void grow(const TableSize& size) {
        const bool is_wider = is_one_row(size) || (columns < rows && !is_one_column(size));
        (is_wider ? columns : rows) *= 2;
    }
};

}  // namespace exaln

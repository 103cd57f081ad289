// The letters of a region in the layout of the strip kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "long/region.hpp"
#include "long/strip_args.hpp"
#include "pairs/letter_classes.hpp"
#include "simd/kernels.hpp"
#include "threads/scratch.hpp"

namespace exaln {

// Plain letters: those that either match or mismatch, in so few classes that the kernel can look them up.
// Their scores, and the class of each.
struct PlainLetters {
    uint32_t codes = 0;  // bit a for each letter a that is plain
    int32_t match = 0, mismatch = 0;
    uint8_t of_query[MAX_CODES] = {}, of_target[MAX_CODES] = {};

    static PlainLetters of(const Costs& costs, uint32_t codes, bool is_local, int max_classes) {
        PlainLetters plain;
        const LetterClasses found = LetterClasses::of(costs, codes, is_local);
        uint8_t numbers[MAX_CODES] = {};
        int n_classes = 0;
        const auto number = [&](uint8_t letter_class) {
            if (numbers[letter_class] == 0) numbers[letter_class] = uint8_t(++n_classes);
            return uint8_t(numbers[letter_class] - 1);
        };
        for (int code = 0; found.exist && code < costs.n_codes; ++code) {
            if ((codes >> code & 1) == 0) continue;
            plain.of_query[code] = number(found.of_query[code]);
            plain.of_target[code] = number(found.of_target[code]);
        }
        plain.match = found.match, plain.mismatch = found.mismatch;
        plain.codes = found.exist && n_classes <= max_classes ? codes : 0;
        return plain;
    }

    // All letters of a region if they are plain. Otherwise the letters with the highest score against
    // themselves, if most letters of the region are among them.
    static PlainLetters of(const Costs& costs, const Region& region, bool is_local, int max_classes) {
        int64_t counts[MAX_CODES] = {};
        for (int64_t i = 0; i < region.n_rows; ++i) ++counts[region.query[i]];
        for (int64_t j = 0; j < region.n_columns; ++j) ++counts[region.target[j]];
        uint32_t present = 0, best = 0;
        int32_t match = INT32_MIN;
        for (int code = 0; code < costs.n_codes; ++code)
            if (counts[code] > 0)
                present |= uint32_t(1) << code, match = std::max(match, costs.scores[code][code]);
        const PlainLetters all = of(costs, present, is_local, max_classes);
        if (all.codes != 0) return all;
        int64_t n_best = 0;
        for (int code = 0; code < costs.n_codes; ++code)
            if (counts[code] > 0 && costs.scores[code][code] == match)
                best |= uint32_t(1) << code, n_best += counts[code];
        return 2 * n_best > region.n_rows + region.n_columns ? of(costs, best, is_local, max_classes)
                                                             : PlainLetters();
    }
};

// Columns [first, end) of a strip.
struct ColumnRange {
    int64_t first, end;
    int64_t n() const { return end - first; }
};

// The target as planes, one for each column of a tile. A plane has one byte per tile, the last tile first, so
// that the letters of neighbouring lanes, which are at neighbouring tiles, are adjacent. Beyond both ends it
// is 0.
struct TargetPlanes {
    int64_t columns, lanes, n_tiles, bytes;
    std::vector<uint8_t> codes, classes, mixed_tiles;

    TargetPlanes(const WidthKernels& kernels, int64_t n_columns)
        : columns(kernels.columns),
          lanes(kernels.lanes),
          n_tiles(kernels.padded(n_columns) / columns),
          bytes(n_tiles + 2 * (lanes - 1)),
          codes(size_t(bytes * columns)),
          classes(codes.size()),
          mixed_tiles(size_t(bytes)) {}

    void set(int64_t column, uint8_t code, uint8_t letter_class, bool is_plain) {
        const int64_t tile = n_tiles - 1 - column / columns + lanes - 1;
        const auto place = size_t(column % columns * bytes + tile);
        codes[place] = code, classes[place] = letter_class, mixed_tiles[size_t(tile)] |= !is_plain;
    }
};

// The query's letters of one strip, [lane_rows][lanes], and mixed_rows[lane_rows]: 1 for rows in which some
// lane has a letter that is not plain.
struct StripLetters {
    std::vector<uint8_t> codes, classes, mixed_rows;
};

// The letters of a region as the kernel takes them.
class RegionLetters {
  public:
    RegionLetters(const WidthKernels& kernels, const Region& region, const Costs& costs, bool is_local)
        : lanes_(kernels.lanes),
          region_(region),
          plain_(PlainLetters::of(costs, region, is_local, 16 * 8 / kernels.bits)),
          planes_(kernels, region.n_columns) {
        kernels.make_score_rows(costs, score_rows_.reserve(kernels.score_rows_bytes));
        for (int64_t j = 0; j < region.n_columns; ++j) {
            const uint8_t code = region.target[j];
            planes_.set(j, code, plain_.of_target[code], is_plain(code));
        }
    }

    // Sets the letters of a strip with lane_rows rows per lane; arbitrary letters beyond the region.
    void set(int64_t first_row, int64_t lane_rows, StripLetters& strip, StripArgs& args) {
        strip.codes.assign(size_t(lane_rows * lanes_), region_.query[first_row]);
        strip.classes.resize(strip.codes.size());
        strip.mixed_rows.assign(size_t(lane_rows), 0);
        for (int64_t row = 0; row < lane_rows; ++row)
            for (int64_t lane = 0; lane < lanes_; ++lane) {
                const int64_t from = first_row + lane * lane_rows + row;
                uint8_t& code = strip.codes[size_t(row * lanes_ + lane)];
                if (from < region_.n_rows) code = region_.query[from];
                strip.classes[size_t(row * lanes_ + lane)] = plain_.of_query[code];
                strip.mixed_rows[size_t(row)] |= !is_plain(code);
            }
        args.query_codes = strip.codes.data(), args.query_classes = strip.classes.data();
        args.target_codes = planes_.codes.data(), args.target_classes = planes_.classes.data();
        args.mixed_tiles = planes_.mixed_tiles.data(), args.plane_bytes = planes_.bytes;
        args.n_columns = region_.n_columns, args.lane_rows = lane_rows;
        args.n_rows = std::min(lane_rows * lanes_, region_.n_rows - first_row);
        args.score_rows = score_rows_.reserve(0);
        args.match = plain_.match, args.mismatch = plain_.mismatch;
    }

    // Restricts the strip to some columns, which begin with a tile.
    void move_to(const ColumnRange& columns, StripArgs& args) const {
        const int64_t tiles = (columns.end + planes_.columns - 1) / planes_.columns;
        args.target_codes += planes_.n_tiles - tiles, args.target_classes += planes_.n_tiles - tiles;
        args.mixed_tiles += planes_.n_tiles - tiles;
        args.n_columns = columns.n();
    }

  private:
    bool is_plain(uint8_t code) const { return plain_.codes >> code & 1; }

    const int64_t lanes_;
    const Region region_;
    const PlainLetters plain_;
    Scratch score_rows_;
    TargetPlanes planes_;
};

}  // namespace exaln

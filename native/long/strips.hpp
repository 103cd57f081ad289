// What strips of a region's rows are made of: kernels, letters as they take them, runs of rows.
#pragma once

#include <algorithm>
#include <vector>

#include "long/region.hpp"
#include "pairs/plan.hpp"
#include "threads/tasks.hpp"

namespace exaln {

// The kernels of the narrowest lanes that hold a strip of so many rows per lane; null if none do.
inline const WidthKernels* kernels_for(const Isa& isa, const Costs& costs, int64_t n_rows,
                                       int64_t max_lane_rows) {
    for (const WidthKernels& kernels : isa.widths) {
        const int64_t lane_rows = std::min(max_lane_rows, (n_rows + kernels.lanes - 1) / kernels.lanes);
        if (kernels.bits > 8 && StripRange::of(costs, kernels.bits, lane_rows, kernels.columns).usable)
            return &kernels;
    }
    return nullptr;
}

// Letters that match or do not, in so few classes that the kernels can take them: their scores, and the class
// of each.
struct PlainLetters {
    uint32_t codes = 0;  // bit a for each letter a that is plain
    int32_t match = 0, mismatch = 0;
    uint8_t of_query[MAX_CODES] = {}, of_target[MAX_CODES] = {};

    static PlainLetters of(const Costs& costs, uint32_t codes, bool is_local, int most_classes) {
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
        plain.codes = found.exist && n_classes <= most_classes ? codes : 0;
        return plain;
    }

    // All letters of a region if they are, or else those that score as much against themselves as any does,
    // if most are.
    static PlainLetters of(const Costs& costs, const Region& region, bool is_local, int most_classes) {
        int64_t counts[MAX_CODES] = {};
        for (int64_t i = 0; i < region.n_rows; ++i) ++counts[region.query[i]];
        for (int64_t j = 0; j < region.n_columns; ++j) ++counts[region.target[j]];
        uint32_t present = 0, best = 0;
        int32_t match = INT32_MIN;
        for (int code = 0; code < costs.n_codes; ++code)
            if (counts[code] > 0)
                present |= uint32_t(1) << code, match = std::max(match, costs.scores[code][code]);
        const PlainLetters all = of(costs, present, is_local, most_classes);
        if (all.codes != 0) return all;
        int64_t n_best = 0;
        for (int code = 0; code < costs.n_codes; ++code)
            if (counts[code] > 0 && costs.scores[code][code] == match)
                best |= uint32_t(1) << code, n_best += counts[code];
        return 2 * n_best > region.n_rows + region.n_columns ? of(costs, best, is_local, most_classes)
                                                             : PlainLetters();
    }
};

// Columns [first, end) of a strip.
struct Columns {
    int64_t first, end;
    int64_t n() const { return end - first; }
};

// The target as planes, one for each column of a tile: a byte for each tile, the last tile first, so that the
// letters of neighbouring lanes, which are at neighbouring tiles, lie side by side. 0 beyond both ends.
struct TargetPlanes {
    int64_t columns, lanes, n_tiles, bytes;
    std::vector<uint8_t> codes, classes, odd_tiles;

    TargetPlanes(const WidthKernels& kernels, int64_t n_columns)
        : columns(kernels.columns),
          lanes(kernels.lanes),
          n_tiles(kernels.padded(n_columns) / columns),
          bytes(n_tiles + 2 * (lanes - 1)),
          codes(size_t(bytes * columns)),
          classes(codes.size()),
          odd_tiles(size_t(bytes)) {}

    void set(int64_t column, uint8_t code, uint8_t letter_class, bool is_plain) {
        const int64_t tile = n_tiles - 1 - column / columns + lanes - 1;
        const auto place = size_t(column % columns * bytes + tile);
        codes[place] = code, classes[place] = letter_class, odd_tiles[size_t(tile)] |= !is_plain;
    }
};

// The query's letters of one strip, [lane_rows][lanes], and which rows have others than plain ones in some
// lane.
struct StripLetters {
    std::vector<uint8_t> codes, classes, odd_rows;
};

// The letters of a region as the kernels take them.
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

    // Of a strip of so many rows of each lane, from a row on; any letters beyond the region.
    void set(int64_t first_row, int64_t lane_rows, StripLetters& strip, StripArgs& args) {
        strip.codes.assign(size_t(lane_rows * lanes_), region_.query[first_row]);
        strip.classes.resize(strip.codes.size());
        strip.odd_rows.assign(size_t(lane_rows), 0);
        for (int64_t row = 0; row < lane_rows; ++row)
            for (int64_t lane = 0; lane < lanes_; ++lane) {
                const int64_t from = first_row + lane * lane_rows + row;
                uint8_t& code = strip.codes[size_t(row * lanes_ + lane)];
                if (from < region_.n_rows) code = region_.query[from];
                strip.classes[size_t(row * lanes_ + lane)] = plain_.of_query[code];
                strip.odd_rows[size_t(row)] |= !is_plain(code);
            }
        args.query_codes = strip.codes.data(), args.query_classes = strip.classes.data();
        args.target_codes = planes_.codes.data(), args.target_classes = planes_.classes.data();
        args.odd_tiles = planes_.odd_tiles.data(), args.plane_bytes = planes_.bytes;
        args.n_columns = region_.n_columns, args.lane_rows = lane_rows;
        args.n_rows = std::min(lane_rows * lanes_, region_.n_rows - first_row);
        args.score_rows = score_rows_.reserve(0);
        args.match = plain_.match, args.mismatch = plain_.mismatch;
    }

    // Some columns of the strip, from a whole tile on.
    void move_to(const Columns& columns, StripArgs& args) const {
        const int64_t tiles = (columns.end + planes_.columns - 1) / planes_.columns;
        args.target_codes += planes_.n_tiles - tiles, args.target_classes += planes_.n_tiles - tiles;
        args.odd_tiles += planes_.n_tiles - tiles;
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

// Rows of a lane as runs: cut at each stop (ascending, the last at the end), and where plain rows meet
// others.
inline std::vector<RowRun> make_runs(const std::vector<int64_t>& stops,
                                     const std::vector<uint8_t>& odd_rows) {
    std::vector<RowRun> runs;
    int32_t stop = 0;
    for (size_t row = 0; row < odd_rows.size(); ++row) {
        const bool is_plain = odd_rows[row] == 0, is_stop = int64_t(row) + 1 == stops[size_t(stop)];
        if (runs.empty() || runs.back().stop >= 0 || runs.back().are_plain != is_plain)
            runs.push_back({0, is_plain, -1});
        runs.back().end = int64_t(row) + 1;
        if (is_stop) runs.back().stop = stop++;
    }
    return runs;
}

}  // namespace exaln

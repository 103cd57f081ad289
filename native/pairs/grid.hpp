// The table of a pair in local mode, in which pairs of letters can be forbidden: a grid of tiles, each filled
// by the tile kernel from its boundary and filled again where its boundary or its forbidden pairs change.
//
// clang-format off
//     +------+------+------+     Kept of each tile: its left boundary (H, E), and of each row of tiles the
//     | .  . |      |      |     boundary below it (H, F). A tile that a traceback has come to is kept whole.
//     +------+-\----+------+
//     |      |  \ x | x  . |     \  an alignment, now forbidden      x  filled again
//     +------+----\-+------+     .  kept. Values only fall, so what changes lies below and to the right of
//     |      |    x \ x  . |        the path; tiles beyond one whose values come out as before stay as they
//     +------+------+------+        are. Tiles are filled again when their values are needed.
// clang-format on
//
// Tiles of an anti-diagonal do not depend on one another, so threads can fill them side by side.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "pairs/alignment.hpp"
#include "pairs/path.hpp"
#include "pairs/tile_args.hpp"
#include "pairs/tile_shape.hpp"
#include "recurrence/modes.hpp"
#include "recurrence/ranges.hpp"
#include "simd/kernels.hpp"
#include "threads/pool.hpp"
#include "threads/progress.hpp"
#include "threads/scratch.hpp"

namespace exaln {

// A pair, and the kernels of the width of its values.
struct GridPair {
    const uint8_t *query, *target;
    int64_t n_rows, n_columns;
    const Costs& costs;
    const WidthKernels& kernels;
};

// Memory that a thread, or all threads of a pool, use for one grid after another.
struct GridMemory {
    struct OfThread {
        Scratch state, columns, bottom;
        std::vector<const void*> scores;
    };
    Scratch letters, scores, lefts, lines;
    std::vector<int32_t> places;
    std::vector<std::unique_ptr<OfThread>> threads;
    std::vector<std::unique_ptr<Scratch>> tiles;

    void provide(size_t n_threads) {
        while (threads.size() < n_threads) threads.push_back(std::make_unique<OfThread>());
    }
};

template <class Lane>
class Grid {
  public:
    // The pair has rows and columns. pool: null for the calling thread alone. keeps: how many tiles may be
    // kept whole.
    Grid(const GridPair& pair, const TileShape& shape, int64_t keeps, GridMemory& memory, ThreadPool* pool,
         Progress& progress)
        : pair_(pair),
          shape_(shape),
          keeps_(size_t(keeps)),
          down_(TileShape::divided(pair.n_rows, shape.rows)),
          across_(TileShape::divided(pair.n_columns, shape.columns)),
          limit_(TileRange::of(pair.costs, pair.kernels.bits).limit),
          tiles_(new Tile[size_t(down_ * across_)]),
          memory_(memory),
          pool_(pool),
          progress_(progress) {
        memory.provide(pool ? pool->size() : 1);
        stripe_query();
        const int64_t padded = first_value(down_);
        lefts_ = reserve(memory.lefts, 2 * padded * across_);
        lines_ = reserve(memory.lines, (down_ - 1) * line_size());
        start_with(0, Lane(-pair.costs.gap_first));
    }

    // Forbids the pairs of letters that an alignment aligns. `settle` must follow.
    void forbid(const Alignment& alignment) {
        int64_t row = alignment.query_start, column = alignment.target_start;
        for (const uint32_t operation : alignment.operations) {
            const uint32_t kind = operation & 15;
            for (uint32_t length = operation >> 4; length > 0; --length) {
                if (kind >= EQUAL) forbid(row, column);
                row += kind != DELETION, column += kind != INSERTION;
            }
        }
    }

    // Fills all tiles that may have changed. False if values do not fit the width; after the first time they
    // always do. The table is undefined once progress.cancelled is set.
    bool settle() {
        const bool fits = settle(across_);
        is_filled_ = true;
        return fits;
    }

    // The first column from which the table holds for a longer target too, of which this one is the end and
    // in which H is between 0 and `upper` in the column before; n_columns or more if there is none. -1 if
    // values do not fit the width.
    //
    // Values of the longer target's table are between those that come from 0 and those that come from
    // `upper`, so they are known where both agree, whatever pairs are forbidden to the left. E enters after a
    // gap of at least one letter from there.
    int64_t certain_from(int64_t upper) {
        if (upper == 0) return 0;
        if (upper > limit_) return -1;
        start_with(Lane(upper), Lane(upper - pair_.costs.gap_extend));
        last_renewed_ = -1;
        if (!settle()) return -1;
        const int64_t certain = (last_renewed_ + 1) * shape_.columns;
        start_with(0, Lane(-pair_.costs.gap_first));
        settle();
        return certain;
    }

    // The best score if it is at least `least`, which is above 0, or a lower one that it does not exceed.
    //
    // Where pairs were forbidden since a tile was filled, its best score can only be lower now. So tiles are
    // filled again only where that matters: up to the first column of tiles that has the best score of all.
    int64_t best(int64_t least) {
        for (;;) {
            int64_t best = 0, column = 0;
            for (int64_t c = 0; c < across_; ++c)
                for (int64_t r = 0; r < down_; ++r)
                    if (tile(r, c).best > best) best = tile(r, c).best, column = c;
            if (best < least || progress_.cancelled || !has_dirty(column + 1)) return best;
            settle(column + 1);
        }
    }

    // The alignment with the best score, as `best` has found it, by the path rule.
    Alignment trace(int64_t score) {
        const EndCell end = find_end(score);
        return make_alignment(pair_.query, pair_.target, pair_.costs, end.score, end.row, end.column,
                              trace_back(end));
    }

  private:
    struct ForbiddenCell {
        int32_t row, column;  // in the tile
    };
    struct Tile {
        std::atomic<bool> is_dirty{true};
        int64_t best = 0;
        std::vector<ForbiddenCell> forbidden;
        Lane* whole = nullptr;  // H and E before each column and after the last; the scores of each column
    };

    const GridPair pair_;
    const TileShape shape_;
    const size_t keeps_;
    const int64_t down_, across_, limit_;
    const std::unique_ptr<Tile[]> tiles_;
    GridMemory& memory_;
    ThreadPool* const pool_;
    Progress& progress_;
    Lane *lefts_, *lines_, *scores_;
    std::vector<Tile*> kept_;  // those that are kept whole, in the order of memory_.tiles
    size_t next_kept_ = 0;
    bool is_filled_ = false;
    int64_t last_renewed_ = -1;  // the last column of tiles of which one was filled
    std::atomic<bool> has_overflowed_{false};

    static Lane* reserve(Scratch& scratch, int64_t n) {
        return static_cast<Lane*>(scratch.reserve(size_t(std::max<int64_t>(n, 1)) * sizeof(Lane)));
    }

    Tile& tile(int64_t r, int64_t c) { return tiles_[size_t(r * across_ + c)]; }
    bool has_dirty(int64_t n_columns) {
        for (int64_t r = 0; r < down_; ++r)
            for (int64_t c = 0; c < n_columns; ++c)
                if (tile(r, c).is_dirty) return true;
        return false;
    }
    int64_t rows_of(int64_t r) const { return std::min(shape_.rows, pair_.n_rows - r * shape_.rows); }
    int64_t columns_of(int64_t c) const {
        return std::min(shape_.columns, pair_.n_columns - c * shape_.columns);
    }
    int64_t segments(int64_t r) const { return TileShape::divided(rows_of(r), pair_.kernels.lanes); }
    // Values of a column of a tile, and in the columns of all tiles above.
    int64_t size(int64_t r) const { return segments(r) * pair_.kernels.lanes; }
    int64_t first_value(int64_t r) const {
        return r < down_ ? r * shape_.rows : (down_ - 1) * shape_.rows + size(down_ - 1);
    }

    // H, then E, before the first column of a tile.
    Lane* left(int64_t r, int64_t c) { return lefts_ + 2 * (c * first_value(down_) + first_value(r)); }
    // H at the bottom of a row of tiles, beginning left of the first column; F that leaves it.
    int64_t line_size() const { return 2 * pair_.n_columns + 1; }
    Lane* line_H(int64_t r) { return lines_ + r * line_size(); }
    Lane* line_F(int64_t r) { return line_H(r) + pair_.n_columns + 1; }
    const Lane* scores_of(int64_t r, uint8_t letter) const {
        return scores_ + pair_.costs.n_codes * first_value(r) + letter * size(r);
    }

    void stripe_query() {
        const int64_t padded = first_value(down_);
        auto* letters = static_cast<uint8_t*>(memory_.letters.reserve(size_t(padded)));
        std::fill_n(letters, padded, uint8_t(pair_.costs.pad));
        scores_ = reserve(memory_.scores, pair_.costs.n_codes * padded);
        memory_.places.resize(size_t(pair_.n_rows));
        for (int64_t r = 0; r < down_; ++r) {
            int32_t* const places = memory_.places.data() + r * shape_.rows;
            const int64_t n = segments(r), lanes = pair_.kernels.lanes;
            for (int64_t row = 0, lane = 0; row < rows_of(r); ++lane)
                for (int64_t segment = 0; segment < n && row < rows_of(r); ++segment, ++row) {
                    places[row] = int32_t(segment * lanes + lane);
                    letters[first_value(r) + places[row]] = pair_.query[r * shape_.rows + row];
                }
            pair_.kernels.make_tile_scores(pair_.costs, letters + first_value(r), n,
                                           scores_ + pair_.costs.n_codes * first_value(r));
        }
    }

    // Sets H to the left of the first column, and E that enters it.
    void start_with(Lane H, Lane E) {
        for (int64_t r = 0; r < down_; ++r) {
            std::fill_n(left(r, 0), size(r), H);
            std::fill_n(left(r, 0) + size(r), size(r), E);
            if (r + 1 < down_) *line_H(r) = H;
            tile(r, 0).is_dirty = true;
        }
    }

    // Fills those of the first columns of tiles that may have changed.
    bool settle(int64_t n_columns) {
        std::vector<int64_t> dirty;  // rows of the tiles of an anti-diagonal
        for (int64_t diagonal = 0; diagonal < down_ + n_columns - 1; ++diagonal) {
            dirty.clear();
            for (int64_t r = std::max<int64_t>(0, diagonal - n_columns + 1);
                 r < std::min(down_, diagonal + 1); ++r)
                if (tile(r, diagonal - r).is_dirty) dirty.push_back(r);
            if (!dirty.empty()) last_renewed_ = std::max(last_renewed_, diagonal - dirty.front());
            const auto fill = [&](size_t thread, size_t i) { renew(dirty[i], diagonal - dirty[i], thread); };
            if (pool_ && dirty.size() > 1) {
                pool_->run(dirty.size(), fill);
            } else {
                for (size_t i = 0; i < dirty.size(); ++i) fill(0, i);
            }
            if (has_overflowed_) return false;
            if (progress_.cancelled) break;
        }
        return true;
    }

    void forbid(int64_t row, int64_t column) {
        const int64_t r = row / shape_.rows, c = column / shape_.columns;
        const ForbiddenCell cell{int32_t(row - r * shape_.rows), int32_t(column - c * shape_.columns)};
        Tile& own = tile(r, c);
        own.forbidden.push_back(cell);
        own.is_dirty = true;
        if (own.whole) lower(r, whole_scores(own, r, c) + cell.column * size(r), cell);
    }

    // Makes the score of a forbidden cell in the striped scores of its column the lowest value.
    void lower(int64_t r, Lane* scores, const ForbiddenCell& cell) const {
        scores[memory_.places[size_t(r * shape_.rows + cell.row)]] = std::numeric_limits<Lane>::min();
    }

    // In a tile that is kept whole: H and E before a column, and the scores of the first.
    Lane* whole_H(const Tile& own, int64_t r, int64_t column) const { return own.whole + column * size(r); }
    Lane* whole_E(const Tile& own, int64_t r, int64_t c, int64_t column) const {
        return own.whole + (columns_of(c) + 1 + column) * size(r);
    }
    Lane* whole_scores(const Tile& own, int64_t r, int64_t c) const {
        return own.whole + 2 * (columns_of(c) + 1) * size(r);
    }

    const uint8_t* letters_of(int64_t c) const { return pair_.target + c * shape_.columns; }

    // The scores of each column of a tile: those of its letter, or a copy if pairs are forbidden.
    void collect_scores(int64_t r, int64_t c, const Tile& own, GridMemory::OfThread& mine) {
        const int64_t n = columns_of(c), column_size = size(r);
        mine.scores.resize(size_t(n));
        for (int64_t column = 0; column < n; ++column)
            mine.scores[size_t(column)] = own.whole ? whole_scores(own, r, c) + column * column_size
                                                    : scores_of(r, letters_of(c)[column]);
        if (own.whole || own.forbidden.empty()) return;
        Lane* next = reserve(mine.columns, std::min(n, int64_t(own.forbidden.size())) * column_size);
        for (const ForbiddenCell& cell : own.forbidden) {
            const void*& scores = mine.scores[size_t(cell.column)];
            if (scores == scores_of(r, letters_of(c)[cell.column])) {
                memcpy(next, scores, size_t(column_size) * sizeof(Lane));
                scores = next, next += column_size;
            }
            lower(r, static_cast<Lane*>(const_cast<void*>(scores)), cell);
        }
    }

    // Fills a tile from its boundary. Sets its best value, and `args` to where its right and bottom lie.
    void fill(int64_t r, int64_t c, size_t thread, TileArgs& args) {
        Tile& own = tile(r, c);
        GridMemory::OfThread& mine = *memory_.threads[thread];
        const int64_t n = columns_of(c), column_size = size(r);
        const size_t bytes = size_t(column_size) * sizeof(Lane);
        collect_scores(r, c, own, mine);
        args.costs = &pair_.costs, args.n_segments = segments(r), args.n_columns = n;
        Lane* const state = own.whole ? own.whole : reserve(mine.state, 2 * column_size);
        args.H = state, args.E = own.whole ? whole_E(own, r, c, 0) : state + column_size;
        args.stride = own.whole ? column_size : 0;
        memcpy(args.H, left(r, c), bytes);
        memcpy(args.E, left(r, c) + column_size, bytes);
        args.scores = mine.scores.data();
        if (r > 0)
            args.top_H = line_H(r - 1) + c * shape_.columns, args.top_F = line_F(r - 1) + c * shape_.columns;
        if (r + 1 < down_) {
            Lane* const bottom = reserve(mine.bottom, 2 * n);
            args.bottom_H = bottom, args.bottom_F = bottom + n;
        }
        own.best = pair_.kernels.fill_tile(args);
        if (own.best > limit_) has_overflowed_ = true;
        args.H = static_cast<Lane*>(args.H) + n * args.stride,
        args.E = static_cast<Lane*>(args.E) + n * args.stride;
    }

    // Copies values to a boundary. Returns whether that has changed it.
    bool replace(Lane* boundary, const void* values, int64_t n) const {
        const size_t bytes = size_t(n) * sizeof(Lane);
        if (is_filled_ && memcmp(boundary, values, bytes) == 0) return false;
        memcpy(boundary, values, bytes);
        return true;
    }

    // Fills a tile, and marks those to which it has brought new values.
    void renew(int64_t r, int64_t c, size_t thread) {
        if (progress_.cancelled.load(std::memory_order_relaxed) || has_overflowed_) return;
        TileArgs args{};
        fill(r, c, thread, args);
        tile(r, c).is_dirty = false;
        const int64_t n = columns_of(c), first = c * shape_.columns;
        if (c + 1 < across_) {
            const bool has_new_H = replace(left(r, c + 1), args.H, size(r));
            if (replace(left(r, c + 1) + size(r), args.E, size(r)) || has_new_H)
                tile(r, c + 1).is_dirty = true;
        }
        if (r + 1 < down_) {
            const Lane corner = line_H(r)[first + n];
            const bool has_new_H = replace(line_H(r) + first + 1, args.bottom_H, n);
            if (replace(line_F(r) + first, args.bottom_F, n) || has_new_H) tile(r + 1, c).is_dirty = true;
            if (c + 1 < across_ && corner != line_H(r)[first + n]) tile(r + 1, c + 1).is_dirty = true;
        }
    }

    // Keeps a tile whole, in place of one that came long ago if there is no room.
    Tile& keep_whole(int64_t r, int64_t c) {
        Tile& own = tile(r, c);
        if (own.whole) return own;
        const size_t slot = next_kept_++ % keeps_;
        if (slot < kept_.size()) {
            kept_[slot]->whole = nullptr;
        } else {
            kept_.push_back(nullptr);
        }
        kept_[slot] = &own;
        if (slot >= memory_.tiles.size()) memory_.tiles.push_back(std::make_unique<Scratch>());
        const int64_t n = columns_of(c), column_size = size(r);
        own.whole = reserve(*memory_.tiles[slot], (3 * n + 2) * column_size);
        Lane* const scores = whole_scores(own, r, c);
        for (int64_t column = 0; column < n; ++column)
            memcpy(scores + column * column_size, scores_of(r, letters_of(c)[column]),
                   size_t(column_size) * sizeof(Lane));
        for (const ForbiddenCell& cell : own.forbidden) lower(r, scores + cell.column * column_size, cell);
        TileArgs args{};
        fill(r, c, 0, args);
        return own;
    }

    // The first cell with a score, by column, then by row: in the first column of tiles that has it.
    EndCell find_end(int64_t score) {
        EndCell end{0, 0, 0};
        for (int64_t c = 0; c < across_ && end.score == 0; ++c)
            for (int64_t r = 0; r < down_; ++r)
                if (tile(r, c).best == score) find_end(r, c, score, end);
        if (end.score == 0) throw std::logic_error("no cell has the score of its tile");
        return end;
    }
    void find_end(int64_t r, int64_t c, int64_t score, EndCell& end) {
        const Tile& own = keep_whole(r, c);
        const int32_t* const places = memory_.places.data() + r * shape_.rows;
        for (int64_t column = 0; column < columns_of(c); ++column) {
            const Lane* const H = whole_H(own, r, column + 1);
            if (!holds(H, size(r), Lane(score))) continue;
            for (int64_t row = 0; row < rows_of(r); ++row)
                if (H[places[row]] == score)
                    return end.consider(score, r * shape_.rows + row + 1, c * shape_.columns + column + 1);
        }
    }
    static bool holds(const Lane* values, int64_t n, Lane value) {
        Lane found = 0;
        for (int64_t i = 0; i < n; ++i) found = Lane(found | (values[i] == value ? 1 : 0));
        return found != 0;
    }

    // A tile in which a traceback is, with its first row and column and the H around it.
    struct Place {
        const Tile* own;
        int64_t r, c, first_row, first_column, size;
        const int32_t* places;
        const Lane *H, *E, *scores, *above;  // above: H of the row above, from the column to the left on

        bool holds(int64_t row, int64_t column) const { return row >= first_row && column >= first_column; }
        int64_t at(int64_t row, int64_t column) const {
            return (column - first_column) * size + places[row - first_row];
        }
        int64_t H_of(int64_t row, int64_t column) const {
            if (row >= first_row) return H[at(row, column + 1)];
            return above ? above[column + 1 - first_column] : 0;
        }
    };
    Place place_of(int64_t row, int64_t column) {
        const int64_t r = row / shape_.rows, c = column / shape_.columns;
        const Tile& own = keep_whole(r, c);
        return {&own,
                r,
                c,
                r * shape_.rows,
                c * shape_.columns,
                size(r),
                memory_.places.data() + r * shape_.rows,
                whole_H(own, r, 0),
                whole_E(own, r, c, 0),
                whole_scores(own, r, c),
                r > 0 ? line_H(r - 1) + c * shape_.columns : nullptr};
    }

    // The steps of the path that ends in a cell, from its end to its start. E and F of a gap's cells follow
    // from that of its last: it opens where H less gap_first gives it, or else goes on with gap_extend more.
    std::vector<uint8_t> trace_back(const EndCell& end) {
        const int64_t gap_first = pair_.costs.gap_first, gap_extend = pair_.costs.gap_extend;
        std::vector<uint8_t> steps;
        PathState path{end.row - 1, end.column - 1, end.score};  // left: H, or E or F in a gap
        Place place = place_of(path.row, path.column);
        while (!path.is_complete(true)) {
            if (path.row < 0 || path.column < 0) throw std::logic_error("no path has the score of its pair");
            if (!place.holds(path.row, path.column)) place = place_of(path.row, path.column);
            if (path.gap == PathState::NO_GAP) {
                const int64_t before = place.H_of(path.row - 1, path.column - 1),
                              at = place.at(path.row, path.column);
                if (before + place.scores[at] == path.left) {
                    steps.push_back(STEP_BOTH), --path.row, --path.column, path.left = before;
                    continue;
                }
                path.gap = place.E[at] == path.left ? PathState::IN_E : PathState::IN_F;
            }
            const bool is_E = path.gap == PathState::IN_E;
            steps.push_back(is_E ? STEP_TARGET : STEP_QUERY);
            const int64_t before = place.H_of(path.row - !is_E, path.column - is_E);
            path.row -= !is_E, path.column -= is_E;
            if (before - gap_first == path.left) {
                path.left = before, path.gap = PathState::NO_GAP;
            } else {
                path.left += gap_extend;
            }
        }
        return steps;
    }
};

}  // namespace exaln

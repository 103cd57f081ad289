// Local scores of any height in 8-bit lanes: each lane has a base that follows the scores of its pair, and
// stores values relative to it.
//
// clang-format off
//            columns of a tile
//   corner o------------------+      A block is some rows of a tile. Within a block all values are relative
//          |  block           |      to one base per lane, chosen so that H of the corner, above and to
//          |                  |      the left of the block, is always stored as the same number.
//   corner o------------------+      BlockRange in recurrence/ranges.hpp proves that all other values then
//          |  next block      |      fit the lane.
//          +------------------+
// clang-format on
//
// From block to block, H and F of the columns are moved to the next base. H and E of the rows stay relative
// to the base of their block in the tile on the left, and are moved when they are read.
//
// Bases and best scores have 16 bits and are updated by scalar loops over the lanes, once per block.
#pragma once

#include "pairs/ends.hpp"

namespace {

template <class V>
class PairBases {
    using Lane = typename V::Lane;
    using Reg = typename V::Reg;
    static constexpr int lowest = -(1 << (8 * sizeof(Lane) - 1)), highest = -lowest - 1;

  public:
    PairBases(const exaln::PairArgs& args, const PairWorkspace<V>& work)
        : range_(exaln::BlockRange::of(*args.costs, 8 * int(sizeof(Lane)), V::columns)),
          gap_first_(args.costs->gap_first),
          of_blocks_(work.bases),
          best_(static_cast<int16_t*>(args.best)) {
        begin_pairs(args, work.tiles.state);
    }

    int64_t rows_of_a_block() const { return range_.rows; }
    Reg corner() const { return V::fill(Lane(range_.corner)); }
    Reg floor() const { return V::load(floors_); }
    Reg row_shift() const { return V::load(row_shifts_); }  // to be added to H and E of the block's rows
    Reg best() const { return V::load(bests_); }
    Reg threshold() const { return V::load(thresholds_); }

    void enter_tile(Tile<V>& tile) {
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) tile.H[c] = corner(), tile.F[c] = opened();
        for (int lane = 0; lane < V::lanes; ++lane)
            bases_[lane] = int16_t(-range_.corner), best_before_[lane] = best_[lane];
    }

    // block_corner is relative to the base of the block above.
    EXALN_INLINE void enter_block(int64_t block, Tile<V>& tile, Reg block_corner) {
        V::store(corners_, block_corner);
        move(of_blocks_ + block * V::lanes);
        const Reg shift = V::sub(corner(), block_corner);
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c)
            tile.H[c] = V::add(tile.H[c], shift), tile.F[c] = V::add(tile.F[c], shift);
    }

    // Sets the best scores so far relative to the bases, and the thresholds above which cells are examined.
    // In the tile where the best was found, an equal score may stand in a smaller column, so its threshold is
    // 1 lower.
    void set_thresholds() {
        for (int lane = 0; lane < V::lanes; ++lane) {
            const int16_t relative = int16_t(best_[lane] - bases_[lane]);
            const int16_t threshold = int16_t(relative - (best_[lane] != best_before_[lane]));
            bests_[lane] = Lane(relative < highest ? relative : highest);
            thresholds_[lane] = Lane(threshold < highest ? threshold : highest);
        }
    }

    void update_best(Reg best_of_block) {
        V::store(bests_, best_of_block);
        for (int lane = 0; lane < V::lanes; ++lane) {
            const int16_t score = int16_t(bases_[lane] + bests_[lane]);
            best_[lane] = best_[lane] > score ? best_[lane] : score;
        }
    }

  private:
    void begin_pairs(const exaln::PairArgs& args, Lane* state) {
        const int64_t n_blocks = (args.n_rows + range_.rows - 1) / range_.rows;
        alignas(64) int16_t begins[V::lanes];
        for (int lane = 0; lane < V::lanes; ++lane) begins[lane] = int16_t(-(args.columns_before[lane] == 0));
        const auto base = int16_t(-range_.corner);
        for (int64_t block = 0; block < n_blocks; ++block)
            for (int lane = 0; lane < V::lanes; ++lane) {
                int16_t& of_block = of_blocks_[block * V::lanes + lane];
                of_block = int16_t((of_block & ~begins[lane]) | (base & begins[lane]));
            }
        const Reg mask = beginning_lanes<V>(args);
        for (int64_t row = 0; row < args.n_rows; ++row, state += 2 * V::lanes)
            reset_row<V>(state, mask, corner(), opened());
    }

    Reg opened() const { return V::fill(Lane(range_.corner - gap_first_)); }

    void move(int16_t* __restrict of_block) {
        const auto corner = int16_t(range_.corner);
        for (int lane = 0; lane < V::lanes; ++lane) {
            const int16_t base = int16_t(bases_[lane] + corners_[lane] - corner), floor = int16_t(-base);
            row_shifts_[lane] = Lane(of_block[lane] - base);
            floors_[lane] = Lane(floor > lowest ? floor : lowest);
            bases_[lane] = of_block[lane] = base;
        }
    }

    const exaln::BlockRange range_;
    const int64_t gap_first_;
    int16_t *of_blocks_, *best_;
    alignas(64) int16_t bases_[V::lanes], best_before_[V::lanes];
    alignas(64) Lane corners_[V::lanes], row_shifts_[V::lanes], floors_[V::lanes], bests_[V::lanes],
        thresholds_[V::lanes];
};

}  // namespace

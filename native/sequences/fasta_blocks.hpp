// A FASTA file parsed on several threads, block by block, with the results of a single FastaReader.
//
// A '>' behind a line end begins a record wherever it stands in a FASTA file, so the file can be read from
// any place. A block has the records that begin in its range of the file; the last of them may end far behind
// it.
// clang-format off
//
//     file      >a..ACD..>b..ACDEFGHIKLMNPQRSTVWYACDEFGHIKLMN..>c..>d..ACDE..
//     ranges    |         0         |         1         |         2         |
//     parsed    [a       b                                   ][c  d         ]     nothing begins in range 1
//
// clang-format on
// Line numbers and the numbers of unnamed records are known once all blocks before are. Then the lines of a
// block's problem and warnings move, and a block with unnamed records is parsed again.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sequences/fasta_reader.hpp"

namespace exaln {

class FastaBlocks {
  public:
    struct Options {
        std::array<std::uint8_t, 256> table;
        bool strip_gaps;
        Limits limits;
        std::size_t block_bytes;
        int threads;
    };

    // Parses the file of a descriptor, which stays the caller's, from its beginning. `size` is that of the
    // file; what is appended meanwhile belongs to the last block. Throws std::system_error if no thread can
    // be started.
    FastaBlocks(int descriptor, std::int64_t size, const Options& options);
    FastaBlocks(const FastaBlocks&) = delete;
    FastaBlocks& operator=(const FastaBlocks&) = delete;
    ~FastaBlocks();

    // Waits up to `patience` for the next block. False if it is not ready yet.
    bool wait(std::chrono::milliseconds patience);
    // The records of the block that `wait` has waited for. Throws std::system_error if it could not be read.
    RecordColumns take();
    // False after the last block, and after one with a problem.
    bool has_more() const { return n_taken_ < n_blocks_ && problem_ == Problem::none; }
    // Ends the threads.
    void stop();

    // Bytes of the file in blocks that were taken; the last record of a block is counted as if it ended
    // there.
    std::int64_t bytes_taken() const;

    Problem problem() const { return problem_; }
    std::int64_t problem_line() const { return problem_line_; }
    std::uint8_t problem_byte() const { return problem_byte_; }
    const std::string& record_id() const { return record_id_; }

    Tally empty, gaps, latin1, unnamed;

  private:
    struct Block;

    void work();
    void parse(std::size_t number, Block& block) const;
    void parse_records(std::size_t number, Block& block) const;
    std::size_t read(unsigned char* out, std::int64_t place) const;
    void count(const FastaReader& reader);

    int descriptor_;
    std::int64_t size_;
    Options options_;
    std::size_t n_blocks_, n_ahead_;

    std::mutex guard_;
    std::condition_variable has_room_, is_ready_;
    std::vector<std::unique_ptr<Block>> ready_;  // block i at place i % n_ahead_
    std::size_t next_ = 0, n_taken_ = 0;
    std::atomic<bool> is_stopping_{false};

    std::int64_t n_lines_ = 0, n_records_ = 0;  // in blocks that were taken
    Problem problem_ = Problem::none;
    std::int64_t problem_line_ = 0;
    std::uint8_t problem_byte_ = 0;
    std::string record_id_;
    std::vector<std::thread> threads_;  // declared last: the threads use every other field
};

}  // namespace exaln

// Threads that parse the blocks of a FASTA file, and the merging of what they count.
#include "sequences/fasta_blocks.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

namespace exaln {

namespace {

// Bytes read and parsed at a time: they stay in the cache of a core.
constexpr std::size_t PIECE = std::size_t(1) << 18;
constexpr std::size_t MAX_RESERVED = std::size_t(1) << 24;  // letters

// The place of the first '>' behind a line end, from `from` on; n if there is none. `before` is the byte
// before the data.
std::size_t find_record(const unsigned char* data, std::size_t from, std::size_t n, unsigned char before) {
    while (from < n) {
        const void* found = std::memchr(data + from, '>', n - from);
        if (found == nullptr) return n;
        from = static_cast<std::size_t>(static_cast<const unsigned char*>(found) - data);
        const unsigned char last = from == 0 ? before : data[from - 1];
        if (last == '\n' || last == '\r') return from;
        ++from;
    }
    return n;
}

void add(Tally& total, const Tally& part, std::int64_t n_lines_before) {
    if (total.count == 0 && part.count > 0) total.first_line = part.first_line + n_lines_before;
    total.count += part.count;
}

}  // namespace

struct FastaBlocks::Block {
    std::unique_ptr<FastaReader> reader;
    std::exception_ptr failure;
};

FastaBlocks::FastaBlocks(int descriptor, std::int64_t size, const Options& options)
    : descriptor_(descriptor),
      size_(size),
      options_(options),
      n_blocks_(static_cast<std::size_t>(size - 1) / options.block_bytes + 1),
      n_ahead_(2 * static_cast<std::size_t>(options.threads)),
      ready_(n_ahead_) {
    const std::size_t n_threads = std::min(static_cast<std::size_t>(options.threads), n_blocks_);
    try {
        for (std::size_t i = 0; i < n_threads; ++i) threads_.emplace_back([this] { work(); });
    } catch (...) {
        stop();
        throw;
    }
}

FastaBlocks::~FastaBlocks() {
    stop();
}

void FastaBlocks::stop() {
    {
        const std::lock_guard<std::mutex> lock(guard_);
        is_stopping_ = true;
    }
    has_room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
}

void FastaBlocks::work() {
    for (;;) {
        std::unique_lock<std::mutex> lock(guard_);
        has_room_.wait(lock,
                       [&] { return is_stopping_ || next_ == n_blocks_ || next_ < n_taken_ + n_ahead_; });
        if (is_stopping_ || next_ == n_blocks_) return;
        const std::size_t number = next_++;
        lock.unlock();
        auto block = std::make_unique<Block>();
        block->reader =
            std::make_unique<FastaReader>(options_.table.data(), options_.strip_gaps, options_.limits, false);
        parse(number, *block);
        lock.lock();
        ready_[number % n_ahead_] = std::move(block);
        is_ready_.notify_all();
    }
}

void FastaBlocks::parse(std::size_t number, Block& block) const {
    try {
        parse_records(number, block);
    } catch (...) {
        block.failure = std::current_exception();
    }
}

// Parses the records that begin in the range of a block.
void FastaBlocks::parse_records(std::size_t number, Block& block) const {
    const bool is_last = number + 1 == n_blocks_;
    const auto begin = static_cast<std::int64_t>(number * options_.block_bytes);
    const auto end = is_last ? std::numeric_limits<std::int64_t>::max()
                             : begin + static_cast<std::int64_t>(options_.block_bytes);
    const auto piece = std::make_unique<unsigned char[]>(PIECE);
    bool is_inside = number == 0;
    unsigned char before = 0;
    // The byte before the block tells whether a record begins with its first byte.
    for (std::int64_t place = is_inside ? 0 : begin - 1; !is_stopping_;) {
        const std::size_t n = read(piece.get(), place);
        const std::size_t from = is_inside ? 0 : find_record(piece.get(), 0, n, before);
        if (n == 0 || (!is_inside && place + static_cast<std::int64_t>(from) >= end)) break;
        if (from < n) {
            if (!is_inside) block.reader->reserve(std::min(options_.block_bytes, MAX_RESERVED));
            is_inside = true;
            const auto left =
                std::max<std::int64_t>(end - place, 0);  // 0: the next record begins another block
            const std::size_t to = left < static_cast<std::int64_t>(n)
                                       ? find_record(piece.get(), static_cast<std::size_t>(left), n, before)
                                       : n;
            if (!block.reader->feed(piece.get() + from, to - from)) return;
            if (to < n) break;
        }
        before = piece[n - 1];
        place += static_cast<std::int64_t>(n);
    }
    if (is_inside) block.reader->finish();
}

std::size_t FastaBlocks::read(unsigned char* out, std::int64_t place) const {
    for (;;) {
        const ssize_t n = ::pread(descriptor_, out, PIECE, place);
        if (n >= 0) return static_cast<std::size_t>(n);
        if (errno != EINTR) throw std::system_error(errno, std::generic_category());
    }
}

bool FastaBlocks::wait(std::chrono::milliseconds patience) {
    std::unique_lock<std::mutex> lock(guard_);
    return is_ready_.wait_for(lock, patience, [&] { return ready_[n_taken_ % n_ahead_] != nullptr; });
}

RecordColumns FastaBlocks::take() {
    std::unique_ptr<Block> block;
    std::size_t number;
    {
        const std::lock_guard<std::mutex> lock(guard_);
        number = n_taken_++;
        block = std::move(ready_[number % n_ahead_]);
    }
    has_room_.notify_one();
    if (block->reader->unnamed.count > 0 && n_records_ > 0) {
        block->reader = std::make_unique<FastaReader>(options_.table.data(), options_.strip_gaps,
                                                      options_.limits, false, n_records_);
        parse(number, *block);
    }
    if (block->failure) std::rethrow_exception(block->failure);
    count(*block->reader);
    return block->reader->take();
}

// Adds up what the reader of one block has counted, and moves its problem to the lines of the file.
void FastaBlocks::count(const FastaReader& reader) {
    add(empty, reader.empty, n_lines_);
    add(gaps, reader.gaps, n_lines_);
    add(latin1, reader.latin1, n_lines_);
    add(unnamed, reader.unnamed, n_lines_);
    problem_ = reader.problem();
    problem_line_ = reader.problem_line() + n_lines_;
    problem_byte_ = reader.problem_byte();
    record_id_ = reader.record_id();
    n_lines_ += reader.n_lines();
    n_records_ += static_cast<std::int64_t>(reader.n_complete());
}

std::int64_t FastaBlocks::bytes_taken() const {
    return n_taken_ == n_blocks_ ? size_ : static_cast<std::int64_t>(n_taken_ * options_.block_bytes);
}

}  // namespace exaln

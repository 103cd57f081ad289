// Incremental FASTA and FASTQ parser: blocks of bytes in, encoded columns out, with line numbers.
//
// Lines end with LF, CR LF or CR, also mixed. A line may have any length and may be split between blocks at
// any byte. The first byte that is not blank decides the format: '>' is FASTA, '@' is FASTQ. Only a '>' at
// the start of a line begins a FASTA record. FASTQ records may have several lines; a quality line may begin
// with '@' or '+', because qualities are counted: a record has as many as it has letters.
//
// The parser stops at the first problem and reports its kind; the message is written in Python. Tests:
// tests/sequences/test_fasta_reader.py compares it with a reference parser, for every split of the input.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sequences/buffer.hpp"

namespace exaln {

// Entries of the letter table that are not codes; the values are those of Alphabet in Python.
constexpr std::uint8_t BLANK = 253;
constexpr std::uint8_t GAP = 254;
// Codes are below 31 and the other entries above 252, so one bit tells whether a line holds only letters.
constexpr std::uint8_t NOT_A_CODE = 0x80;

struct TextColumn {
    Buffer<std::uint8_t> data;
    Buffer<std::int64_t> offsets;

    TextColumn() { offsets.push(0); }
    void push(const std::string& text) {
        data.append(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
        offsets.push(static_cast<std::int64_t>(data.size()));
    }
};

// The columns of Records in Python. Codes, qualities and mask may end with those of an incomplete record.
struct RecordColumns {
    TextColumn ids;
    TextColumn descriptions;
    Buffer<std::uint8_t> codes;
    Buffer<std::uint8_t> qualities;  // one per code, as in the file; empty if qualities are not kept
    Buffer<std::int64_t> offsets;
    Buffer<std::int64_t> mask;  // begin, end, begin, end, ...
    Buffer<std::int64_t> mask_offsets;

    RecordColumns() {
        offsets.push(0);
        mask_offsets.push(0);
    }
    std::size_t n_records() const { return offsets.size() - 1; }
};

// How often something worth a warning occurred, and in which line first.
struct Tally {
    std::int64_t count = 0;
    std::int64_t first_line = 0;

    void add(std::int64_t line) {
        if (count++ == 0) first_line = line;
    }
};

enum class Problem {
    none,
    utf16,            // the file begins with a UTF-16 byte order mark
    leading_text,     // text before the first record
    header_nul,       // a NUL byte in a header
    letter,           // a byte that is not in the alphabet
    gap,              // a gap character where gaps are not allowed
    missing_plus,     // FASTQ: the next record begins where '+' is expected
    trailing_text,    // FASTQ: text between two records
    quality_byte,     // FASTQ: a byte that is not a quality
    quality_length,   // FASTQ: more qualities than letters
    truncated_fastq,  // FASTQ: the file ends inside a record
    header_size,      // a header longer than allowed
    record_size,      // a record that needs more memory than allowed
};

// Limits on one record, so that a damaged or hostile file cannot exhaust memory: a few kilobytes of bzip2 can
// unpack to one header of 50 GB.
struct Limits {
    std::int64_t header_bytes;
    std::int64_t record_bytes;  // letters, masked intervals and qualities
};

class FastaReader {
  public:
    // first_ordinal: the number of records before the first one, which unnamed records are numbered by.
    FastaReader(const std::uint8_t* table, bool strip_gaps, Limits limits, bool keep_qualities,
                std::int64_t first_ordinal = 0);

    // Read a block, and end the file. Both return false after a problem; nothing behind it is read.
    bool feed(const std::uint8_t* data, std::size_t n);
    bool finish();

    // Removes and returns the complete records; an incomplete one stays.
    RecordColumns take();

    // Changes the limit for an incomplete record and all that follow.
    void set_max_record_bytes(std::int64_t bytes) { limits_.record_bytes = bytes; }

    // Makes room for this many letters, so that the column does not have to grow.
    void reserve(std::size_t n_letters) { columns_.codes.space(n_letters); }

    std::size_t n_complete() const { return columns_.n_records(); }
    // Bytes held in columns, including those of an incomplete record.
    std::int64_t n_bytes() const;
    std::int64_t n_residues() const { return static_cast<std::int64_t>(columns_.codes.size()); }
    // True if the columns have qualities: they are kept, and the file is FASTQ.
    bool has_qualities() const { return keep_qualities_ && marker_ == '@'; }

    const std::uint8_t* codes() const { return columns_.codes.data(); }

    // Lines that have ended.
    std::int64_t n_lines() const { return line_ - 1; }

    Problem problem() const { return problem_; }
    std::int64_t problem_line() const { return problem_line_; }
    std::uint8_t problem_byte() const { return problem_byte_; }
    const std::string& record_id() const { return id_; }

    Tally empty, gaps, latin1, unnamed;

  private:
    using Byte = std::uint8_t;
    enum class State { between, header, sequence, plus, quality };
    struct LineEnds;

    const Byte* step(const Byte* p, const Byte* end, LineEnds& ends);
    const Byte* skip_to_record(const Byte* p);
    bool is_byte_order_mark(Byte byte);
    void line_begins(Byte byte);
    void read_line(const Byte* p, std::size_t n, bool is_whole);
    void end_line(Byte terminator);

    void begin_header();
    void parse_header(const char* text, std::size_t n);
    void encode(const Byte* p, std::size_t n);
    void encode_carefully(const Byte* p, std::size_t n);
    void mask_lower_case(const Byte* p, std::size_t n, std::int64_t position);
    void add_mask(std::int64_t begin, std::int64_t end);
    void read_qualities(const Byte* p, std::size_t n);
    void keep_qualities(const Byte* p, std::size_t n);
    void check_header(const char* text, std::size_t n);
    void check_record();
    void close_record();
    void fail(Problem problem, std::int64_t line, Byte byte = 0);
    bool has_all_qualities() const { return n_qualities_ == position() + n_stripped_; }
    std::int64_t position() const { return n_residues() - columns_.offsets.back(); }

    std::array<Byte, 256> table_;
    bool strip_gaps_;
    Limits limits_;
    bool keep_qualities_;

    State state_ = State::between;
    Byte marker_ = 0;  // '>' or '@' once the format is known
    bool at_line_start_ = true;
    bool after_cr_ = false;
    int mark_bytes_ = 0;  // bytes of a UTF-8 byte order mark read so far; -1 once none can follow
    std::int64_t line_ = 1;

    std::int64_t ordinal_;
    std::int64_t record_line_ = 0;
    std::int64_t n_stripped_ = 0;    // gap characters removed from this record; they have qualities too
    std::int64_t n_qualities_ = 0;   // read for this record
    Buffer<std::int64_t> stripped_;  // positions of the removed gap characters, if qualities are kept
    std::size_t n_dropped_ = 0;      // qualities of removed gap characters dropped so far
    std::string header_;             // of a line that began in an earlier block
    std::string id_;
    std::string description_;
    RecordColumns columns_;

    Problem problem_ = Problem::none;
    std::int64_t problem_line_ = 0;
    Byte problem_byte_ = 0;
};

// The name of a problem, as Python gets it.
const char* name_of(Problem problem);

}  // namespace exaln

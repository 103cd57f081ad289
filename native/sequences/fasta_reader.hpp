// Incremental FASTA and FASTQ parser: bytes in pieces of any size -> encoded columns, with line numbers.
//
// Lines end with LF, CR LF or CR, mixed at will; a line may be of any length and may be cut anywhere between
// two pieces. The first byte that is not blank decides: '>' is FASTA, '@' is FASTQ. Only a '>' at the start
// of a line begins a FASTA record. FASTQ records may have several lines; a quality line may begin with '@' or
// '+', because qualities are counted: there are as many as there are letters.
//
// The parser stops at the first problem and says what it is; what to tell the user is decided in
// exaln/fasta.py. Covered by tests/test_fasta_reader.py (against a reference parser, every cut of the input)
// and tests/test_fasta.py.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <string>

#include "sequences/buffer.hpp"

namespace exaln {

// What an entry of the letter table means when it is not a code; the values of exaln/alphabet.py.
constexpr std::uint8_t BLANK = 253;
constexpr std::uint8_t GAP = 254;
// Codes are below 31 and the three marks above 252: one bit tells whether a line holds anything but letters.
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

// The columns of exaln.records.Records. Codes, qualities and mask may end with those of a record that is not
// complete yet.
struct Columns {
    TextColumn ids;
    TextColumn descriptions;
    Buffer<std::uint8_t> codes;
    Buffer<std::uint8_t> qualities;  // one per code, as in the file; empty if they are not kept
    Buffer<std::int64_t> offsets;
    Buffer<std::int64_t> mask;  // begin, end, begin, end, ...
    Buffer<std::int64_t> mask_offsets;

    Columns() {
        offsets.push(0);
        mask_offsets.push(0);
    }
    std::size_t n_records() const { return offsets.size() - 1; }
};

// How often something worth a warning happened, and where first.
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
    leading_text,     // something before the first record
    header_nul,       // a NUL byte in a header
    letter,           // a byte that is not in the alphabet
    gap,              // a gap character where gaps are not allowed
    missing_plus,     // FASTQ: the next record begins where '+' is due
    trailing_text,    // FASTQ: text after a record that does not begin the next one
    quality_byte,     // FASTQ: not a quality
    quality_length,   // FASTQ: more qualities than letters
    truncated_fastq,  // FASTQ: the file ends inside a record
    header_size,      // a header longer than allowed
    record_size,      // a record that takes more memory than allowed
};

// Bounds on one record, so that a damaged or hostile file cannot take all memory: a few kilobytes of bzip2
// can unpack to one header of 50 GB.
struct Limits {
    std::int64_t header_bytes;
    std::int64_t record_bytes;  // letters, intervals of the mask, kept qualities
};

class FastaReader {
  public:
    FastaReader(const std::uint8_t* table, bool strip_gaps, Limits limits, bool keep_qualities);

    // Both return false once there is a problem; what follows it is not read.
    bool feed(const std::uint8_t* data, std::size_t n);
    bool finish();

    // The complete records so far; the one that is being read stays.
    Columns take();

    // The limit of the records that follow, and of the one that is being read.
    void set_max_record_bytes(std::int64_t bytes) { limits_.record_bytes = bytes; }

    std::size_t n_complete() const { return columns_.n_records(); }
    // Memory held by columns, the record that is being read included.
    std::int64_t n_bytes() const;
    std::int64_t n_residues() const { return static_cast<std::int64_t>(columns_.codes.size()); }
    // Whether the columns have qualities: they are wanted, and this is FASTQ.
    bool has_qualities() const { return keep_qualities_ && marker_ == '@'; }

    const std::uint8_t* codes() const { return columns_.codes.data(); }

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
    void note_lower_case(const Byte* p, std::size_t n, std::int64_t position);
    void note_mask(std::int64_t begin, std::int64_t end);
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
    int mark_bytes_ = 0;  // bytes of a UTF-8 byte order mark seen; -1 once none can follow
    std::int64_t line_ = 1;

    std::int64_t ordinal_ = 0;
    std::int64_t record_line_ = 0;
    std::int64_t n_stripped_ = 0;    // gap characters removed from this record: they have qualities
    std::int64_t n_qualities_ = 0;   // of this record
    Buffer<std::int64_t> stripped_;  // places of the removed gap characters, if qualities are kept
    std::size_t n_dropped_ = 0;      // qualities of removed gap characters that were passed
    std::string header_;             // of a line that began in an earlier piece
    std::string id_;
    std::string description_;
    Columns columns_;

    Problem problem_ = Problem::none;
    std::int64_t problem_line_ = 0;
    Byte problem_byte_ = 0;
};

void bind_fasta_reader(nanobind::module_& m);

}  // namespace exaln

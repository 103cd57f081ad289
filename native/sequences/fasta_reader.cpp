// The FASTA and FASTQ parser, line by line.
#include "sequences/fasta_reader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sequences/utf8.hpp"

namespace exaln {

namespace {

using Byte = std::uint8_t;

bool is_blank(Byte byte) {
    return byte == ' ' || byte == '\t' || byte == '\v' || byte == '\f';
}

// Bytes of a rejected header that are searched for its id.
constexpr std::size_t SHOWN_BYTES = 1024;

bool is_lower(Byte byte) {
    return byte >= 'a' && byte <= 'z';
}

// Ids hold neither blanks nor control characters: NCBI joins headers with 0x01, reports use tabs.
bool ends_id(Byte byte) {
    return byte <= ' ' || byte == 0x7F;
}

}  // namespace

// Finds the next LF or CR. Each of them is searched for again only once the last one found has been passed,
// so every byte is read at most twice, even in files that use only one of them.
struct FastaReader::LineEnds {
    const Byte* end;
    const Byte* line_feed;
    const Byte* carriage_return;

    LineEnds(const Byte* begin, const Byte* end_) : end(end_) {
        line_feed = find(begin, '\n');
        carriage_return = find(begin, '\r');
    }
    const Byte* next(const Byte* p) {
        if (line_feed < p) line_feed = find(p, '\n');
        if (carriage_return < p) carriage_return = find(p, '\r');
        return std::min(line_feed, carriage_return);
    }
    const Byte* find(const Byte* p, char terminator) const {
        const void* found = std::memchr(p, terminator, static_cast<std::size_t>(end - p));
        return found == nullptr ? end : static_cast<const Byte*>(found);
    }
};

FastaReader::FastaReader(const std::uint8_t* table, bool strip_gaps, Limits limits, bool keep_qualities,
                         std::int64_t first_ordinal)
    : strip_gaps_(strip_gaps), limits_(limits), keep_qualities_(keep_qualities), ordinal_(first_ordinal) {
    std::copy(table, table + table_.size(), table_.begin());
}

bool FastaReader::feed(const std::uint8_t* data, std::size_t n) {
    if (n == 0) return problem_ == Problem::none;
    const Byte* end = data + n;
    LineEnds ends(data, end);
    while (data < end && problem_ == Problem::none) data = step(data, end, ends);
    return problem_ == Problem::none;
}

// Reads up to and including the next line end, or to the end of the block. Returns the next byte to read.
const Byte* FastaReader::step(const Byte* p, const Byte* end, LineEnds& ends) {
    if (after_cr_) {
        after_cr_ = false;
        if (*p == '\n') return p + 1;
    }
    if (state_ == State::between) return skip_to_record(p);
    if (at_line_start_ && state_ == State::sequence) {
        line_begins(*p);
        if (state_ != State::sequence || problem_ != Problem::none) return p + 1;
    }
    const Byte* stop = ends.next(p);
    read_line(p, static_cast<std::size_t>(stop - p), stop < end);
    if (stop == end || problem_ != Problem::none) return stop;
    end_line(*stop);
    return stop + 1;
}

// Reads one byte between records. Blank lines are skipped; other text than a new record is a problem.
const Byte* FastaReader::skip_to_record(const Byte* p) {
    const Byte byte = *p;
    if (mark_bytes_ >= 0 && is_byte_order_mark(byte)) return p + 1;
    if (problem_ != Problem::none) return p;
    const bool begins_record = marker_ == 0 ? byte == '>' || byte == '@' : byte == marker_;
    if (byte == '\n' || byte == '\r') {
        end_line(byte);
    } else if (is_blank(byte)) {
        at_line_start_ = false;
    } else if (begins_record && at_line_start_) {
        marker_ = byte;
        begin_header();
    } else {
        fail(marker_ == 0 ? Problem::leading_text : Problem::trailing_text, line_, byte);
    }
    return p + 1;
}

// True if this byte, at the very start of the file, belongs to a UTF-8 byte order mark.
bool FastaReader::is_byte_order_mark(Byte byte) {
    static constexpr Byte BYTE_ORDER_MARK[3] = {0xEF, 0xBB, 0xBF};
    if (byte == BYTE_ORDER_MARK[mark_bytes_]) {
        mark_bytes_ = mark_bytes_ == 2 ? -1 : mark_bytes_ + 1;
        return true;
    }
    if (mark_bytes_ > 0) fail(Problem::leading_text, line_, BYTE_ORDER_MARK[0]);
    if (mark_bytes_ == 0 && byte >= 0xFE) fail(Problem::utf16, line_, byte);
    mark_bytes_ = -1;
    return false;
}

// Handles the first byte of a line where sequence is expected.
void FastaReader::line_begins(Byte byte) {
    if (marker_ == '>' && byte == '>') {
        close_record();
        begin_header();
    } else if (marker_ == '@' && byte == '+') {
        state_ = State::plus;
    } else if (marker_ == '@' && byte == '@') {
        fail(Problem::missing_plus, line_, byte);
    }
}

void FastaReader::read_line(const Byte* p, std::size_t n, bool is_whole) {
    if (n > 0) at_line_start_ = false;
    if (state_ == State::sequence) {
        encode(p, n);
        check_record();
    } else if (state_ == State::quality) {
        read_qualities(p, n);
        check_record();
    } else if (state_ == State::header) {
        const char* text = reinterpret_cast<const char*>(p);
        check_header(text, n);
        if (problem_ != Problem::none) return;
        if (is_whole && header_.empty()) {
            parse_header(text, n);
        } else {
            header_.append(text, n);
            if (is_whole) parse_header(header_.data(), header_.size());
        }
    }
}

// Rejects a header that becomes too long with these n bytes. The message names the id at its beginning.
void FastaReader::check_header(const char* text, std::size_t n) {
    if (static_cast<std::int64_t>(header_.size() + n) <= limits_.header_bytes) return;
    if (header_.size() < SHOWN_BYTES) header_.append(text, std::min(n, SHOWN_BYTES - header_.size()));
    header_.resize(std::min(header_.size(), SHOWN_BYTES));
    header_.shrink_to_fit();
    parse_header(header_.data(), header_.size());
    fail(Problem::header_size, line_);
}

// Called once per block of input, which is small: a record exceeds its limit by little before it is rejected.
void FastaReader::check_record() {
    if (problem_ != Problem::none) return;
    const std::size_t mask =
        columns_.mask.size() - 2 * static_cast<std::size_t>(columns_.mask_offsets.back());
    const std::size_t qualities = has_qualities() ? static_cast<std::size_t>(n_qualities_) : 0;
    const std::size_t integers = mask + stripped_.size();
    const std::size_t bytes =
        static_cast<std::size_t>(position()) + qualities + integers * sizeof(std::int64_t);
    if (static_cast<std::int64_t>(bytes) > limits_.record_bytes) fail(Problem::record_size, line_);
}

void FastaReader::end_line(Byte terminator) {
    if (state_ == State::header) {
        state_ = State::sequence;
    } else if (state_ == State::plus || state_ == State::quality) {
        state_ = State::quality;
        if (has_all_qualities()) {
            close_record();
            state_ = State::between;
        }
    }
    ++line_;
    at_line_start_ = true;
    after_cr_ = terminator == '\r';
}

bool FastaReader::finish() {
    if (problem_ != Problem::none) return false;
    if (state_ == State::header) {
        parse_header(header_.data(), header_.size());
        state_ = State::sequence;
    }
    if (state_ == State::between) {
        if (mark_bytes_ > 0) fail(Problem::leading_text, line_, 0xEF);
    } else if (marker_ == '>' || (state_ != State::sequence && has_all_qualities())) {
        close_record();
    } else {
        fail(Problem::truncated_fastq, record_line_);
    }
    state_ = State::between;
    return problem_ == Problem::none;
}

void FastaReader::begin_header() {
    state_ = State::header;
    header_.clear();
}

// Parses a header without its '>' or '@': the first word is the id, the rest the description, both trimmed.
void FastaReader::parse_header(const char* text, std::size_t n) {
    record_line_ = line_;
    n_stripped_ = n_qualities_ = 0;
    stripped_.clear();
    n_dropped_ = 0;
    std::string converted;
    if (!is_utf8(text, n)) {
        latin1.add(line_);
        converted = utf8_of_latin1(text, n);
        text = converted.data();
        n = converted.size();
    }
    const char* end = text + n;
    while (text < end && is_blank(static_cast<Byte>(*text))) ++text;
    while (text < end && is_blank(static_cast<Byte>(end[-1]))) --end;
    const char* id_end = text;
    while (id_end < end && !ends_id(static_cast<Byte>(*id_end))) ++id_end;
    id_.assign(text, id_end);
    while (id_end < end && is_blank(static_cast<Byte>(*id_end))) ++id_end;
    description_.assign(id_end, end);
    ++ordinal_;
    if (id_.empty()) {
        unnamed.add(line_);
        id_ = "unnamed_" + std::to_string(ordinal_);
    }
    if (std::memchr(description_.data(), 0, description_.size()) != nullptr) fail(Problem::header_nul, line_);
}

void FastaReader::encode(const Byte* p, std::size_t n) {
    const Byte* table = table_.data();
    Byte* out = columns_.codes.space(n);
    Byte any_code = 0;
    Byte any_byte = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const Byte code = table[p[i]];
        out[i] = code;
        any_code |= code;
        any_byte |= p[i];
    }
    if (any_code & NOT_A_CODE) return encode_carefully(p, n);
    // Capital letters lack the bit 0x20, so this test rules out lower case in nearly every line.
    if (any_byte & 0x20) mask_lower_case(p, n, position());
    columns_.codes.advance(n);
}

// Encodes part of a line that holds blanks, gaps or bytes outside the alphabet.
void FastaReader::encode_carefully(const Byte* p, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        const Byte code = table_[p[i]];
        if (code == BLANK) continue;
        if (code == GAP) {
            if (!strip_gaps_) return fail(Problem::gap, line_, p[i]);
            gaps.add(line_);
            if (has_qualities()) stripped_.push(position() + n_stripped_);
            ++n_stripped_;
            continue;
        }
        if (code & NOT_A_CODE) return fail(Problem::letter, line_, p[i]);
        if (is_lower(p[i])) add_mask(position(), position() + 1);
        columns_.codes.push(code);
    }
}

void FastaReader::mask_lower_case(const Byte* p, std::size_t n, std::int64_t position) {
    for (std::size_t i = 0; i < n;) {
        if (!is_lower(p[i])) {
            ++i;
            continue;
        }
        const std::size_t begin = i;
        while (i < n && is_lower(p[i])) ++i;
        add_mask(position + static_cast<std::int64_t>(begin), position + static_cast<std::int64_t>(i));
    }
}

void FastaReader::add_mask(std::int64_t begin, std::int64_t end) {
    Buffer<std::int64_t>& mask = columns_.mask;
    const bool has_intervals = mask.size() > 2 * static_cast<std::size_t>(columns_.mask_offsets.back());
    if (has_intervals && mask.back() == begin) {
        mask.back() = end;
    } else {
        mask.push(begin);
        mask.push(end);
    }
}

// Qualities are '!' to '~' in every FASTQ encoding.
void FastaReader::read_qualities(const Byte* p, std::size_t n) {
    bool all_qualities = true;
    for (std::size_t i = 0; i < n; ++i) all_qualities &= static_cast<Byte>(p[i] - '!') <= '~' - '!';
    if (all_qualities) return keep_qualities(p, n);
    for (std::size_t i = 0; i < n; ++i) {
        if (is_blank(p[i])) continue;
        if (static_cast<Byte>(p[i] - '!') > '~' - '!') return fail(Problem::quality_byte, line_, p[i]);
        keep_qualities(p + i, 1);
    }
}

// Counts n qualities and, if qualities are kept, appends those of letters that were not removed.
void FastaReader::keep_qualities(const Byte* p, std::size_t n) {
    const std::int64_t first = n_qualities_;
    n_qualities_ += static_cast<std::int64_t>(n);
    if (n_qualities_ > position() + n_stripped_) return fail(Problem::quality_length, line_);
    if (!has_qualities()) return;
    std::size_t begin = 0;
    for (; n_dropped_ < stripped_.size() && stripped_.data()[n_dropped_] < n_qualities_; ++n_dropped_) {
        const std::size_t position = static_cast<std::size_t>(stripped_.data()[n_dropped_] - first);
        columns_.qualities.append(p + begin, position - begin);
        begin = position + 1;
    }
    columns_.qualities.append(p + begin, n - begin);
}

void FastaReader::close_record() {
    if (position() == 0) empty.add(record_line_);
    columns_.ids.push(id_);
    columns_.descriptions.push(description_);
    columns_.offsets.push(n_residues());
    columns_.mask_offsets.push(static_cast<std::int64_t>(columns_.mask.size() / 2));
}

void FastaReader::fail(Problem problem, std::int64_t line, Byte byte) {
    problem_ = problem;
    problem_line_ = line;
    problem_byte_ = byte;
}

std::int64_t FastaReader::n_bytes() const {
    const std::size_t text = columns_.ids.data.size() + columns_.descriptions.data.size() + header_.size();
    const std::size_t integers = 4 * columns_.offsets.size() + columns_.mask.size();
    const std::size_t letters = columns_.codes.size() + columns_.qualities.size();
    return static_cast<std::int64_t>(letters + text + integers * sizeof(std::int64_t));
}

RecordColumns FastaReader::take() {
    if (n_complete() == 0) return RecordColumns();
    RecordColumns open;
    open.codes = columns_.codes.split_off(static_cast<std::size_t>(columns_.offsets.back()));
    if (has_qualities())
        open.qualities = columns_.qualities.split_off(static_cast<std::size_t>(columns_.offsets.back()));
    open.mask = columns_.mask.split_off(2 * static_cast<std::size_t>(columns_.mask_offsets.back()));
    return std::exchange(columns_, std::move(open));
}

const char* name_of(Problem problem) {
    switch (problem) {
        case Problem::none:
            return "none";
        case Problem::utf16:
            return "utf16";
        case Problem::leading_text:
            return "leading_text";
        case Problem::header_nul:
            return "header_nul";
        case Problem::letter:
            return "letter";
        case Problem::gap:
            return "gap";
        case Problem::missing_plus:
            return "missing_plus";
        case Problem::trailing_text:
            return "trailing_text";
        case Problem::quality_byte:
            return "quality_byte";
        case Problem::quality_length:
            return "quality_length";
        case Problem::truncated_fastq:
            return "truncated_fastq";
        case Problem::header_size:
            return "header_size";
        case Problem::record_size:
            return "record_size";
    }
    return "none";
}

}  // namespace exaln

// Short queries against long targets. An alignment spans only as many columns as its score can pay gaps for,
// so a long target is divided into parts that overlap by that span. The parts fill the lanes and share the
// query. Then only a window of columns before the best end is computed with directions.
//
// clang-format off
//   target   |------ part 0 ------+-span-|
//                                 |------ part 1 ------+-span-|
//                                                      |------ part 2 ...
//                                          |-window-| end            the path lies in these columns
// clang-format on
//
// The results are exact and the paths the same. No cell of a part or window is better than the same cell of
// the whole table, and a cell on an optimal alignment is as good, because the part contains all of that
// alignment. So scores, ends and the directions along a path agree (docs/modes.md has the rule for ends and
// paths).
//
// This applies to local mode, and to modes that cover the query with both ends of the target free. In other
// modes the borders of the target matter, which parts do not have.
#include <algorithm>
#include <map>
#include <stdexcept>

#include "pairs/run.hpp"

namespace exaln {
namespace {

constexpr int64_t MIN_PART_COLUMNS = 4096;  // long enough that the overhead of a group does not matter
constexpr int64_t SPANS_PER_PART = 8;       // so that little is computed twice

// The largest number of columns that an optimal alignment of this many rows can span, 0 if there is no bound.
// k columns of gaps cost at least gap_first + (k - 1) * gap_extend, and each row earns at most max_score. The
// score is above 0 in local mode, otherwise at least that of the whole query in one gap.
int64_t alignment_span(const Costs& costs, const Mode& mode, int64_t rows) {
    if (costs.gap_extend <= 0) return 0;
    const int64_t most = rows * std::max(costs.max_score, 0);
    const int64_t least = mode.is_local ? 1 : border_score(rows, false, costs.gap_first, costs.gap_extend);
    return rows + std::max<int64_t>(0, (most - least - costs.gap_first) / costs.gap_extend + 1);
}

int64_t part_columns(int64_t span) {
    return std::max(MIN_PART_COLUMNS, SPANS_PER_PART * span);
}

bool has_windows(const PairJob& job, const Pair& pair) {
    const Mode& mode = job.mode;
    const bool covers_query = !mode.query_start && !mode.query_end && mode.target_start && mode.target_end;
    const int64_t rows = job.queries.length(pair.query);
    if (!(mode.is_local || covers_query) || rows == 0) return false;
    const int64_t columns = alignment_span(job.costs, mode, rows);
    return columns > 0 && job.targets.length(pair.target) > 2 * part_columns(columns);
}

// Pieces of targets, copied one after the other.
struct Pieces {
    std::vector<uint8_t> codes;
    std::vector<int64_t> offsets = {0}, begins;  // begins: position in the target

    void add(const uint8_t* target, int64_t begin, int64_t end) {
        codes.insert(codes.end(), target + begin, target + end);
        offsets.push_back(int64_t(codes.size())), begins.push_back(begin);
    }
    int64_t size() const { return int64_t(begins.size()); }
    Sequences sequences() const { return {codes.data(), offsets.data(), size()}; }
};

PairJob with(const PairJob& job, std::vector<Pair> pairs, const Sequences& targets) {
    return {job.isas,    job.queries,   targets, std::move(pairs), job.costs, job.mode,
            job.threads, job.max_bytes, {}};
}

// Scores, and with Output::ENDS ends, of pairs with windows: the best of all parts of their targets.
PairResults score_parts(const PairJob& job, const std::vector<size_t>& members, Output output,
                        Progress& progress) {
    std::map<int64_t, int64_t> spans;  // for each target, the span of its longest query
    for (const size_t member : members) {
        const Pair& pair = job.pairs[member];
        int64_t& most = spans[pair.target];
        most = std::max(most, alignment_span(job.costs, job.mode, job.queries.length(pair.query)));
    }
    Pieces parts;
    std::map<int64_t, std::pair<int64_t, int64_t>> of_target;  // first part, last part + 1
    for (const auto& [target, overlap] : spans) {
        const int64_t first = parts.size(), length = job.targets.length(target), step = part_columns(overlap);
        for (int64_t begin = 0; begin == 0 || begin + overlap < length; begin += step)
            parts.add(job.targets.at(target), begin, std::min(length, begin + step + overlap));
        of_target[target] = {first, parts.size()};
    }
    std::vector<Pair> pairs;
    std::vector<size_t> owners;
    for (size_t i = 0; i < members.size(); ++i) {
        const Pair& pair = job.pairs[members[i]];
        const auto [first, last] = of_target[pair.target];
        for (int64_t part = first; part < last; ++part)
            pairs.push_back({pair.query, part}), owners.push_back(i);
    }
    const PairResults found = run_whole_pairs(with(job, pairs, parts.sequences()), output, progress);
    PairResults best(members.size(), output);
    std::fill(best.scores.begin(), best.scores.end(), INT64_MIN);
    for (size_t k = 0; k < owners.size(); ++k) {
        const size_t i = owners[k];
        best.scores[i] = std::max(best.scores[i], found.scores[k]);
        if (output == Output::SCORES) continue;
        const EndCell& end = found.ends[k];
        // If nothing is above 0, the end stays at the start of the target.
        const int64_t begin = end.row == 0 ? 0 : parts.begins[size_t(pairs[k].target)];
        best.ends[i].consider(end.score, end.row, begin + end.column);
    }
    return best;
}

// Paths of pairs whose ends are known.
std::vector<Alignment> trace_windows(const PairJob& job, const std::vector<size_t>& members,
                                     const PairResults& known, Progress& progress) {
    Pieces windows;
    std::vector<Pair> pairs;
    for (size_t i = 0; i < members.size(); ++i) {
        const Pair& pair = job.pairs[members[i]];
        const int64_t columns = alignment_span(job.costs, job.mode, job.queries.length(pair.query)),
                      end = known.ends[i].column;
        pairs.push_back({pair.query, windows.size()});
        windows.add(job.targets.at(pair.target), std::max<int64_t>(0, end - columns), end);
    }
    PairResults found =
        run_whole_pairs(with(job, std::move(pairs), windows.sequences()), Output::PATHS, progress);
    if (progress.cancelled) return {};
    for (size_t i = 0; i < members.size(); ++i) {
        Alignment& alignment = found.alignments[i];
        alignment.target_start += windows.begins[i], alignment.target_end += windows.begins[i];
        const EndCell& end = known.ends[i];
        if (found.scores[i] != end.score || alignment.target_end != end.column ||
            alignment.query_end != end.row)
            throw std::logic_error("the window of a pair has another alignment than its target");
    }
    return std::move(found.alignments);
}

}  // namespace

PairResults run_pairs(const PairJob& job, Output output, Progress& progress) {
    std::vector<size_t> in_windows, others;
    for (size_t i = 0; i < job.pairs.size(); ++i)
        (has_windows(job, job.pairs[i]) ? in_windows : others).push_back(i);
    if (in_windows.empty()) return run_whole_pairs(job, output, progress);
    PairResults results(job.pairs.size(), output);
    const auto store = [&](const std::vector<size_t>& members, PairResults& found) {
        for (size_t i = 0; i < members.size(); ++i) {
            results.scores[members[i]] = found.scores[i];
            if (output != Output::SCORES) results.ends[members[i]] = found.ends[i];
            if (output == Output::PATHS) results.alignments[members[i]] = std::move(found.alignments[i]);
        }
    };
    PairJob rest = with(job, {}, job.targets);
    for (const size_t member : others) {
        rest.pairs.push_back(job.pairs[member]);
        if (!job.known_scores.empty()) rest.known_scores.push_back(job.known_scores[member]);
    }
    PairResults whole = run_whole_pairs(rest, output, progress);
    if (progress.cancelled) return results;
    store(others, whole);
    PairResults found =
        score_parts(job, in_windows, output == Output::PATHS ? Output::ENDS : output, progress);
    for (size_t i = 0; i < in_windows.size() && !progress.cancelled; ++i)
        if (!job.known_scores.empty() && found.scores[i] != job.known_scores[in_windows[i]])
            throw std::logic_error("no path has the score of its pair");
    if (output == Output::PATHS && !progress.cancelled)
        found.alignments = trace_windows(job, in_windows, found, progress);
    if (!progress.cancelled) store(in_windows, found);
    return results;
}

}  // namespace exaln

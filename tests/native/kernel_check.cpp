// Checks the core without Python, on every usable instruction set: scores of single kernels, of whole scans
// and of blocks of targets, paths of pairs, several of them too, regions of tables, and the encoding of text.
//
// clang-format off
//   kernel_check CASES [ISA ...]            exits with 1 if a result differs from the file
//   kernel_check --whole CASES [ISA ...]    scores of whole scans only, for large files
//   kernel_check --threads CASES [ISA ...]  what runs on threads: whole scans; pairs and regions of every
//                                           16th case, because sanitizers are slow
//   kernel_check --speed [ISA ...]          GCUPS of the bare loop and the kernels, to compare compilers
// clang-format on
//
// write_cases.py writes CASES, words separated by white space. A case has the number of letters, gap_first,
// gap_extend and the matrix; the number of queries and the queries; the number of targets and the targets;
// the scores, one row per query. A sequence is '.' followed by one character per code, 'A' for 0.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "pairs/run.hpp"
#include "pairs/short_pair.hpp"
#include "recurrence/costs.hpp"
#include "recurrence/ranges.hpp"
#include "region_check.hpp"
#include "scan/scores.hpp"
#include "scan/single_kernel.hpp"
#include "several_check.hpp"
#include "simd/dispatch.hpp"
#include "text_check.hpp"

namespace {

using namespace exaln;

struct JoinedSequences {
    std::vector<uint8_t> codes;
    std::vector<int64_t> offsets{0};

    void add(const std::string& text) {
        for (size_t i = 1; i < text.size(); ++i) codes.push_back(uint8_t(text[i] - 'A'));
        offsets.push_back(int64_t(codes.size()));
    }
    Sequences view() const { return {codes.data(), offsets.data(), int64_t(offsets.size()) - 1}; }
};

struct Case {
    Costs costs;
    JoinedSequences queries, targets;
    std::vector<int32_t> scores;
};

template <class T>
T next(std::istream& in) {
    T value;
    if (!(in >> value)) throw std::runtime_error("the file of cases ends early or is malformed");
    return value;
}

JoinedSequences read_sequences(std::istream& in) {
    JoinedSequences sequences;
    for (int64_t left = next<int64_t>(in); left > 0; --left) sequences.add(next<std::string>(in));
    return sequences;
}

std::vector<Case> read_cases(const std::string& path) {
    std::ifstream in(path);
    if (!in) throw std::runtime_error("cannot open " + path);
    std::vector<Case> cases;
    for (size_t n_letters; in >> n_letters;) {
        const int32_t gap_first = next<int32_t>(in), gap_extend = next<int32_t>(in);
        std::vector<int32_t> matrix(n_letters * n_letters);
        for (int32_t& score : matrix) score = next<int32_t>(in);
        Case read{make_costs(matrix.data(), n_letters, gap_first, gap_extend),
                  read_sequences(in),
                  read_sequences(in),
                  {}};
        read.scores.resize(size_t(read.queries.view().n * read.targets.view().n));
        for (int32_t& score : read.scores) score = next<int32_t>(in);
        cases.push_back(read);
    }
    return cases;
}

constexpr int LOCAL_MODE = 16;  // lower numbers have one bit for each free end

class Checker {
  public:
    int64_t n_checked = 0, n_wrong = 0;

    void check_whole(const Isa& isa, const Case& known, size_t number, int threads) {
        std::vector<int32_t> found(known.scores.size() + 1);
        Progress progress;
        score_all(isa, known.queries.view(), known.targets.view(), known.costs, threads, progress,
                  found.data());
        for (size_t i = 0; i < known.scores.size(); ++i)
            compare(isa, std::to_string(threads) + " threads", number, found[i], known.scores[i]);
    }

    void check_kernels(const Isa& isa, const Case& known, size_t number) {
        for (const WidthKernels& kernels : isa.widths)
            for (const Family family : {Family::group, Family::striped})
                check_kernel(isa, kernels, family, known, number);
    }

    // Scores and paths of pairs, in local mode and in two of the other modes, which vary from case to case.
    // They must equal those of the scalar method for any instruction set and any memory limit. The core
    // itself checks that paths re-score.
    void check_pairs(const Isa& isa, const Case& known, size_t number) {
        for (const int free_ends : {LOCAL_MODE, int(number % 16), int(number * 7 / 3 % 16)}) {
            for (const bool is_mixed : {false, true}) {
                const PairResults expected =
                    results_of(*built_isas().back(), known, free_ends, is_mixed, 0, true);
                const PairResults scored = results_of(isa, known, free_ends, is_mixed, 0, false);
                for (size_t i = 0; i < expected.scores.size(); ++i) {
                    const std::string name = name_of(free_ends, "score", i);
                    compare(isa, name, number, scored.scores[i], expected.scores[i]);
                    if (free_ends == LOCAL_MODE && !is_mixed)
                        compare(isa, name, number, scored.scores[i], known.scores[i]);
                }
                for (const size_t max_bytes : {size_t(1) << 30, size_t(100'000)})
                    compare_paths(isa, results_of(isa, known, free_ends, is_mixed, max_bytes, true), expected,
                                  free_ends, number);
            }
        }
    }

    // Local scores of the same pairs with both sides swapped, repeated until enough of them share their
    // targets.
    void check_swapped(const Isa& isa, const Case& known, size_t number) {
        const Costs costs = transposed(known.costs);
        const Sequences queries = known.targets.view(), targets = known.queries.view();
        PairJob job{{&isa}, queries, targets, {}, costs, LOCAL, 2, 0, {}};
        for (int64_t times = 0; times * queries.n < 16; ++times)
            for (int64_t query = 0; query < queries.n; ++query)
                for (int64_t target = 0; target < targets.n; ++target) job.pairs.push_back({query, target});
        Progress progress;
        const PairResults found = run_pairs(job, Output::SCORES, progress);
        for (size_t i = 0; i < job.pairs.size(); ++i) {
            const Pair& pair = job.pairs[i];
            compare(isa, "swapped score of pair " + std::to_string(i), number, found.scores[i],
                    known.scores[size_t(pair.target * queries.n + pair.query)]);
        }
    }

    // Paths of pairs with known scores, as a search requests them, must equal those without known scores.
    void check_known(const Isa& isa, const Case& known, size_t number) {
        PairJob job = job_of(isa, known, LOCAL_MODE, false, size_t(1) << 30);
        std::vector<Pair> pairs;
        for (size_t i = 0; i < job.pairs.size(); ++i)
            if (known.scores[i] > 0)
                pairs.push_back(job.pairs[i]), job.known_scores.push_back(known.scores[i]);
        job.pairs = pairs;
        Progress progress;
        const PairResults found = run_pairs(job, Output::PATHS, progress);
        job.known_scores.clear();
        compare_paths(isa, found, run_pairs(job, Output::PATHS, progress), LOCAL_MODE, number);
    }

    // Short rows on one thread, and rows of several tasks on two; with and without bytes that are no letters.
    void check_text(const Isa& isa) {
        for (uint32_t seed = 0; seed < 40; ++seed) {
            const bool is_large = seed % 10 == 9;
            TextCheck text(seed);
            text.add_rows(is_large ? 5 : 60, is_large ? 1 << 19 : 200, seed % 2 == 0 ? 0 : 3);
            compare(isa, "text", seed, text.first_difference(isa, is_large ? 2 : 1), 0);
        }
    }

    // Pairs one by one, in the same modes: scores and paths must equal those of `run_pairs`.
    void check_short(const Isa& isa, const Case& known, size_t number) {
        const ShortPairs pairs(known.costs, {}, isa);
        for (const int free_ends : {LOCAL_MODE, int(number % 16), int(number * 7 / 3 % 16)}) {
            const PairJob job = job_of(isa, known, free_ends, false, 0);
            const PairResults expected =
                results_of(*built_isas().back(), known, free_ends, false, size_t(1) << 30, true);
            for (size_t i = 0; i < job.pairs.size(); ++i) {
                const auto query = codes_of(job.queries, job.pairs[i].query),
                           target = codes_of(job.targets, job.pairs[i].target);
                const auto score = pairs.score(query, target, job.mode);
                const auto path = pairs.align(query, target, job.mode, Strand::PLUS);
                compare(isa, name_of(free_ends, "short pair", i), number, bool(score), bool(path));
                if (!score || !path) continue;  // scores of more than 32 bits
                const Alignment &a = path->alignment, &b = expected.alignments[i];
                const bool same = path->score == expected.scores[i] && a.operations == b.operations &&
                                  a.query_start == b.query_start && a.target_start == b.target_start;
                compare(isa, name_of(free_ends, "short score", i), number, *score, expected.scores[i]);
                compare(isa, name_of(free_ends, "short path", i), number, same, true);
            }
        }
    }

    // Every fourth pair as a region: checkpoint rows and columns, ends and tracebacks. Costs beyond those of
    // any scoring are skipped.
    void check_regions(const Isa& isa, const Case& known, size_t number) {
        if (std::max({known.costs.max_score, -known.costs.min_score, known.costs.gap_first}) > INT16_MAX)
            return;
        const PairResults expected =
            results_of(*built_isas().back(), known, LOCAL_MODE, false, size_t(1) << 30, true);
        const Sequences queries = known.queries.view(), targets = known.targets.view();
        for (int64_t q = 0; q < queries.n; ++q)
            for (int64_t t = 0; t < targets.n; ++t) {
                const size_t pair = size_t(q * targets.n + t);
                if ((pair + number) % 4 != 0) continue;
                for (const Mode& mode :
                     {LOCAL, Mode{false, number % 2 == 0, false, number % 3 == 0, false}}) {
                    const PlainTable table(queries.at(q), queries.length(q), targets.at(t), targets.length(t),
                                           known.costs, mode);
                    const bool is_right = fills_as(table, isa, queries.at(q), targets.at(t), known.costs,
                                                   mode.is_local, 1 + int64_t(pair % 9), 1 + int(pair % 3));
                    compare(isa, "region of pair " + std::to_string(pair), number, is_right, true);
                    if (!mode.is_local || table.end.score == 0) continue;
                    compare(isa, "end of pair " + std::to_string(pair), number, table.end.score,
                            known.scores[pair]);
                    for (const int64_t spacing : {int64_t(8 + pair % 50), int64_t(1) << 40}) {
                        const Alignment path = traced(table, isa, queries.at(q), targets.at(t), known.costs,
                                                      spacing, 1 + int(pair % 3));
                        compare(isa, "traceback of pair " + std::to_string(pair), number,
                                path.operations == expected.alignments[pair].operations, true);
                    }
                }
            }
    }

    // Every fourth pair that is not large: several alignments, of ends of its target too, and the scores of
    // blocks.
    void check_several(const Isa& isa, const Case& known, size_t number) {
        static const TileShape SHAPES[] = {{0, 0}, {64, 1}, {64, 7}, {64, 64}, {128, 33}, {1024, 4096}};
        if (std::max({known.costs.max_score, -known.costs.min_score, known.costs.gap_first}) > INT16_MAX)
            return;
        const Sequences queries = known.queries.view(), targets = known.targets.view();
        for (int64_t q = 0; q < queries.n; ++q)
            for (int64_t t = 0; t < targets.n; ++t) {
                const size_t pair = size_t(q * targets.n + t), way = pair / 4 + number;
                if (pair % 4 != number % 4 || queries.length(q) * targets.length(t) > 30'000) continue;
                SeveralCheck check(queries, q, targets, t, known.costs);
                const std::string name = " of pair " + std::to_string(pair);
                const TileShape& shape = SHAPES[way % 6];
                const int least_bits = 8 << (way / 6) % 3, threads = 1 + int(way % 3);
                compare(isa, "alignments" + name, number, check.finds_all(isa, shape, least_bits, threads),
                        true);
                for (const int64_t part : {1, 2})
                    compare(isa, "alignments of the end" + name, number,
                            check.finds_end(isa, targets.length(t) * part / 3, shape, least_bits, threads),
                            true);
                check_blocks(isa, known, q, t, check, number);
            }
    }

  private:
    // The scores of blocks of a target beside others of the case, and on its own.
    void check_blocks(const Isa& isa, const Case& known, int64_t query, int64_t target,
                      const SeveralCheck& check, size_t number) {
        const Sequences queries = known.queries.view(), targets = known.targets.view();
        const Sequences one_query{queries.codes, queries.offsets + query, 1};
        for (const bool is_alone : {false, true}) {
            const Sequences others =
                is_alone ? Sequences{targets.codes, targets.offsets + target, 1} : targets;
            const int64_t place = is_alone ? 0 : target;
            const ColumnBlocks blocks(others, 64 * (1 + target % 2));
            std::vector<int32_t> found(size_t(blocks.n()) + 1, -7);
            Progress progress;
            score_all(isa, one_query, others, known.costs, 1 + int(target % 2), progress, found.data(),
                      &blocks);
            const auto first = found.begin() + std::ptrdiff_t(blocks.first[size_t(place)]),
                       end = found.begin() + std::ptrdiff_t(blocks.first[size_t(place) + 1]);
            compare(isa, "blocks of target " + std::to_string(target), number,
                    std::vector<int32_t>(first, end) == check.block_scores(blocks.columns), true);
        }
    }

    static std::vector<uint8_t> codes_of(const Sequences& sequences, int64_t i) {
        return {sequences.at(i), sequences.at(i) + sequences.length(i)};
    }

    static std::string name_of(int free_ends, const char* what, size_t pair) {
        return "mode " + std::to_string(free_ends) + ", " + what + " of pair " + std::to_string(pair);
    }

    void compare_paths(const Isa& isa, const PairResults& found, const PairResults& expected, int free_ends,
                       size_t number) {
        for (size_t i = 0; i < expected.scores.size(); ++i) {
            const Alignment &a = found.alignments[i], &b = expected.alignments[i];
            const bool same = found.scores[i] == expected.scores[i] && a.operations == b.operations &&
                              a.query_start == b.query_start && a.target_start == b.target_start;
            compare(isa, name_of(free_ends, "path", i), number, same, true);
        }
    }

    // All pairs of a case; if is_mixed, each target with the next one, so that the queries of a group differ.
    static PairJob job_of(const Isa& isa, const Case& known, int free_ends, bool is_mixed, size_t max_bytes) {
        const auto is_free = [&](int end) { return (free_ends >> end & 1) != 0; };
        const Mode mode =
            free_ends == LOCAL_MODE ? LOCAL : Mode{false, is_free(0), is_free(1), is_free(2), is_free(3)};
        const Sequences targets = known.targets.view(), queries = is_mixed ? targets : known.queries.view();
        PairJob job{{&isa}, queries, targets, {}, known.costs, mode, 2, max_bytes, {}};
        for (int64_t query = 0; query < queries.n; ++query)
            for (int64_t target = 0; target < targets.n; ++target)
                if (!is_mixed || target == (query + 1) % targets.n) job.pairs.push_back({query, target});
        return job;
    }

    static PairResults results_of(const Isa& isa, const Case& known, int free_ends, bool is_mixed,
                                  size_t max_bytes, bool with_paths) {
        Progress progress;
        return run_pairs(job_of(isa, known, free_ends, is_mixed, max_bytes),
                         with_paths ? Output::PATHS : Output::SCORES, progress);
    }

    void compare(const Isa& isa, const std::string& what, size_t number, int64_t found, int64_t expected) {
        ++n_checked;
        if (found == expected) return;
        if (++n_wrong <= 20) {
            printf("case %zu, %s, %s: %lld instead of %lld\n", number, isa.name, what.c_str(),
                   (long long)found, (long long)expected);
        }
    }

    void check_kernel(const Isa& isa, const WidthKernels& kernels, Family family, const Case& known,
                      size_t number) {
        const Range range = Range::of(known.costs, kernels.bits);
        if (!range.usable) return;
        const Sequences queries = known.queries.view(), targets = known.targets.view();
        const std::string what =
            (family == Family::group ? "group " : "striped ") + std::to_string(kernels.bits);
        for (int64_t query = 0; query < queries.n; ++query) {
            const std::vector<int32_t> found = score_with_kernel(kernels, family, queries.at(query),
                                                                 queries.length(query), targets, known.costs);
            for (int64_t target = 0; target < targets.n; ++target) {
                const int32_t score = known.scores[size_t(query * targets.n + target)];
                const bool fits = score <= range.limit - range.floor;
                compare(isa, what, number, found[size_t(target)], fits ? score : OVERFLOWED);
            }
        }
    }
};

std::vector<const Isa*> named_or_usable(const std::vector<std::string>& names) {
    std::vector<const Isa*> isas;
    for (const std::string& name : names) isas.push_back(&choose_isa(name));
    for (const Isa* isa : built_isas())
        if (names.empty() && isa->supported()) isas.push_back(isa);
    return isas;
}

enum class Part { ALL, WHOLE, THREADS };

int check_cases(const std::string& path, const std::vector<std::string>& names, Part part) {
    const std::vector<Case> cases = read_cases(path);
    if (cases.empty()) throw std::runtime_error("no cases in " + path);
    int64_t n_wrong = 0;
    for (const Isa* isa : named_or_usable(names)) {
        Checker checker;
        checker.check_text(*isa);
        for (size_t i = 0; i < cases.size(); ++i) {
            checker.check_whole(*isa, cases[i], i, 2);
            if (part == Part::WHOLE || (part == Part::THREADS && i % 16 != 8)) continue;
            checker.check_pairs(*isa, cases[i], i);
            checker.check_swapped(*isa, cases[i], i);
            checker.check_known(*isa, cases[i], i);
            checker.check_regions(*isa, cases[i], i);
            checker.check_several(*isa, cases[i], i);
            if (part == Part::THREADS) continue;
            checker.check_whole(*isa, cases[i], i, 1);
            checker.check_kernels(*isa, cases[i], i);
            checker.check_short(*isa, cases[i], i);
        }
        printf("%-10s %zu cases, %lld scores and paths, %lld wrong\n", isa->name, cases.size(),
               (long long)checker.n_checked, (long long)checker.n_wrong);
        n_wrong += checker.n_wrong;
    }
    return n_wrong == 0 ? 0 : 1;
}

// Cells per nanosecond of `work`, which returns the number of cells it updated, measured for about 0.3
// seconds.
template <class Work>
double gcups(Work work) {
    const auto start = std::chrono::steady_clock::now();
    double cells = 0, nanoseconds = 0;
    while (nanoseconds < 3e8) {
        cells += work();
        nanoseconds =
            std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    }
    return cells / nanoseconds;
}

void print_speed(const std::vector<std::string>& names) {
    std::mt19937 random(1);
    JoinedSequences query, targets;
    auto letters = [&](size_t n) {
        std::string text(n + 1, '.');
        for (size_t i = 1; i <= n; ++i) text[i] = char('A' + random() % 20);
        return text;
    };
    query.add(letters(1000));
    for (int i = 0; i < 64; ++i) targets.add(letters(400));
    std::vector<int32_t> matrix(400, -3);
    for (size_t i = 0; i < 20; ++i) matrix[i * 21] = 5;
    const Costs costs = make_costs(matrix.data(), 20, 12, 1);
    const double cells = 1000.0 * 400 * 64;
    for (const Isa* isa : named_or_usable(names)) {
        for (const WidthKernels& kernels : isa->widths) {
            printf("%-10s %2d bits: bare loop %7.2f", isa->name, kernels.bits,
                   gcups([&] { return kernels.bare_loop(200'000); }));
            for (const Family family : {Family::group, Family::striped}) {
                printf(", %s %7.2f", family == Family::group ? "group" : "striped", gcups([&] {
                           score_with_kernel(kernels, family, query.codes.data(), 1000, targets.view(),
                                             costs);
                           return cells;
                       }));
            }
            printf(" GCUPS\n");
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> arguments(argv + 1, argv + argc);
    const std::string mode = argc > 1 && arguments[0].rfind("--", 0) == 0 ? arguments[0] : "";
    if (!mode.empty()) arguments.erase(arguments.begin());
    try {
        if (mode == "--speed") {
            print_speed(arguments);
            return 0;
        }
        if (!arguments.empty() && (mode.empty() || mode == "--whole" || mode == "--threads"))
            return check_cases(arguments[0], {arguments.begin() + 1, arguments.end()},
                               mode.empty()        ? Part::ALL
                               : mode == "--whole" ? Part::WHOLE
                                                   : Part::THREADS);
        fprintf(
            stderr,
            "usage: kernel_check [--whole | --threads] CASES [ISA ...], or kernel_check --speed [ISA ...]\n");
    } catch (const std::exception& error) {
        fprintf(stderr, "kernel_check: %s\n", error.what());
    }
    return 2;
}

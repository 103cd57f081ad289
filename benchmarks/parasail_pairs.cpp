// parasail in a loop over pairs on threads, so that no Python overhead is counted against it. Built by pair_peer_worker.py.
#include <parasail.h>
#include <parasail/matrix_lookup.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

// Scores of all pairs by the function of that name, and if wanted their CIGARs, of which the length is kept. matrix: the name
// of one, or empty for match and mismatch of ACGT. Returns 1 if there is no such function.
extern "C" int parasail_pairs(const char* function_name, const char* matrix_name, int match, int mismatch, int gap_first, int gap_extend,
                              const char* queries, const int64_t* query_offsets, const char* targets, const int64_t* target_offsets,
                              int64_t n_pairs, int threads, int wants_cigar, int32_t* scores, int32_t* n_operations) {
    parasail_function_t* const align = parasail_lookup_function(function_name);
    if (align == nullptr) return 1;
    parasail_matrix_t* const own = *matrix_name ? nullptr : parasail_matrix_create("ACGT", match, mismatch);
    const parasail_matrix_t* const matrix = own ? own : parasail_matrix_lookup(matrix_name);
    std::atomic<int64_t> next{0};
    auto loop = [&] {
        constexpr int64_t chunk = 16;
        for (int64_t first = next.fetch_add(chunk); first < n_pairs; first = next.fetch_add(chunk)) {
            for (int64_t i = first; i < std::min(n_pairs, first + chunk); ++i) {
                const char *query = queries + query_offsets[i], *target = targets + target_offsets[i];
                const int rows = int(query_offsets[i + 1] - query_offsets[i]), columns = int(target_offsets[i + 1] - target_offsets[i]);
                parasail_result_t* result = align(query, rows, target, columns, gap_first, gap_extend, matrix);
                scores[i] = parasail_result_get_score(result);
                if (wants_cigar) {
                    parasail_cigar_t* cigar = parasail_result_get_cigar(result, query, rows, target, columns, matrix);
                    n_operations[i] = cigar->len;
                    parasail_cigar_free(cigar);
                }
                parasail_result_free(result);
            }
        }
    };
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(loop);
    loop();
    for (std::thread& thread : others) thread.join();
    if (own) parasail_matrix_free(own);
    return 0;
}

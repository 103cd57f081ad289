// parasail in a loop over targets on threads, so that no Python overhead is counted against it. Built by cpu_peers.py.
#include <parasail.h>
#include <parasail/matrix_lookup.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

extern "C" void parasail_loop(const char* query, int query_length, const char* letters, const int64_t* offsets, int64_t n_targets,
                              int threads, int gap_first, int gap_extend, int32_t* scores) {
    parasail_profile_t* profile = parasail_profile_create_sat(query, query_length, parasail_matrix_lookup("blosum62"));
    std::atomic<int64_t> next{0};
    auto loop = [&] {
        constexpr int64_t chunk = 16;
        for (int64_t first = next.fetch_add(chunk); first < n_targets; first = next.fetch_add(chunk)) {
            for (int64_t i = first; i < std::min(n_targets, first + chunk); ++i) {
                parasail_result_t* result = parasail_sw_striped_profile_sat(
                    profile, letters + offsets[i], int(offsets[i + 1] - offsets[i]), gap_first, gap_extend);
                scores[i] = parasail_result_get_score(result);
                parasail_result_free(result);
            }
        }
    };
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(loop);
    loop();
    for (std::thread& thread : others) thread.join();
    parasail_profile_free(profile);
}

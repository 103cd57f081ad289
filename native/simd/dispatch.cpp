// The list of instruction sets, and the choice of one by name or by what the CPU supports.
#include "simd/dispatch.hpp"

#include <stdexcept>

namespace exaln {

#if defined(__x86_64__)
extern const Isa isa_avx512vbmi, isa_avx512bw, isa_avx2, isa_sse41;
#elif defined(__aarch64__)
extern const Isa isa_neon;
#endif
extern const Isa isa_portable;

const std::vector<const Isa*>& built_isas() {
    static const std::vector<const Isa*> isas = {
#if defined(__x86_64__)
        &isa_avx512vbmi, &isa_avx512bw, &isa_avx2, &isa_sse41,
#elif defined(__aarch64__)
        &isa_neon,
#endif
        &isa_portable,
    };
    return isas;
}

const Isa& choose_isa(const std::string& name) {
    std::string known;
    for (const Isa* isa : built_isas()) {
        known += (known.empty() ? "" : ", ") + std::string(isa->name);
        if (name.empty() ? isa->supported() : name == isa->name) {
            if (!isa->supported()) throw std::invalid_argument("this CPU does not have " + name);
            return *isa;
        }
    }
    throw std::invalid_argument("unknown instruction set '" + name + "'; built in are " + known);
}

}  // namespace exaln

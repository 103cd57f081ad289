// The Python module exaln._core: one bind_* function per native area, no logic here.
#include "bind.hpp"

NB_MODULE(_core, m) {
    m.doc() = "Native core of exaln: arrays and scalars in, arrays out; no policy.";
    exaln::bind_scores(m);
}

# KERNELS: the core, scores and paths, without Python. One file per instruction set, each compiled with its own flags; dispatch.cpp chooses among
# them at run time. Shared by the Python module and by tests/native.
set(KERNELS block_walk.cpp costs.cpp dispatch.cpp interleave.cpp one_kernel.cpp pair_plan.cpp pair_swaps.cpp pair_windows.cpp pairs.cpp plan.cpp
    region.cpp scores.cpp target_portable.cpp trace.cpp trace_long.cpp)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  list(APPEND KERNELS target_sse41.cpp target_avx2.cpp target_avx512bw.cpp target_avx512vbmi.cpp)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  list(APPEND KERNELS target_neon.cpp)
endif()
list(TRANSFORM KERNELS PREPEND ${CMAKE_CURRENT_LIST_DIR}/)

macro(set_kernel_flags target flags)
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/target_${target}.cpp PROPERTIES COMPILE_OPTIONS "${flags}")
endmacro()
set_kernel_flags(sse41 "-msse4.1")
set_kernel_flags(avx2 "-mavx2")
# Tuned for a CPU that has AVX-512: GCC's order for CPUs in general costs the traced kernels up to 8 % (Zen 4, measured).
# GCC 12 takes the undefined registers of its own AVX-512 headers for a mistake (GCC bug 105593).
set(AVX512_FLAGS "-mavx512bw;-mtune=icelake-server;$<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized;-Wno-maybe-uninitialized>")
set_kernel_flags(avx512bw "${AVX512_FLAGS}")
set_kernel_flags(avx512vbmi "${AVX512_FLAGS};-mavx512vbmi")

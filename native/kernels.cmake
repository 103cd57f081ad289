# KERNELS: the scoring core without Python, listed by room. It is shared by the Python module and tests/native.
# There is one target_*.cpp per instruction set, each compiled with flags of its own; simd/dispatch.cpp chooses
# among them at run time.
set(KERNELS
  recurrence/costs.cpp
  composition/adjusted_scores.cpp composition/target_frequencies.cpp
  simd/dispatch.cpp simd/interleave.cpp simd/target_portable.cpp
  scan/pieces.cpp scan/plan.cpp scan/scores.cpp scan/single_kernel.cpp
  pairs/alignment.cpp pairs/columns.cpp pairs/group.cpp pairs/letter_classes.cpp pairs/letters.cpp pairs/own_tables.cpp
  pairs/plan.cpp pairs/plan_streams.cpp pairs/run.cpp pairs/scalar.cpp pairs/several.cpp pairs/short_pair.cpp pairs/swaps.cpp
  pairs/windows.cpp
  long/block_traceback.cpp long/region.cpp
  sequences/text_rows.cpp)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  list(APPEND KERNELS simd/target_sse41.cpp simd/target_avx2.cpp simd/target_avx512bw.cpp simd/target_avx512vbmi.cpp)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  list(APPEND KERNELS simd/target_neon.cpp)
endif()
list(TRANSFORM KERNELS PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
set(NATIVE_INCLUDES ${CMAKE_CURRENT_LIST_DIR})  # includes are written relative to native/

macro(set_kernel_flags target flags)
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/simd/target_${target}.cpp PROPERTIES COMPILE_OPTIONS "${flags}")
endmacro()
set_kernel_flags(sse41 "-msse4.1")
set_kernel_flags(avx2 "-mavx2")
# Tuned for a CPU that has AVX-512: with GCC's generic tuning the traceback kernels are up to 8 % slower (Zen 4, measured).
# GCC 12 warns about the undefined registers of its own AVX-512 headers (GCC bug 105593).
set(AVX512_FLAGS "-mavx512bw;-mtune=icelake-server;$<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized;-Wno-maybe-uninitialized>")
set_kernel_flags(avx512bw "${AVX512_FLAGS}")
set_kernel_flags(avx512vbmi "${AVX512_FLAGS};-mavx512vbmi")

// Counts how many fences of an ascending array are less than a given one.
#pragma once

#include <cstdint>

namespace sepal {

// Uses the fastest form for this machine.
uint32_t CountFencesLess(const uint64_t* fences, uint32_t count, uint64_t fence);

// The separate forms, for tests and measurements.
uint32_t CountFencesLessPortable(const uint64_t* fences, uint32_t count, uint64_t fence);
#if defined(__x86_64__)
uint32_t CountFencesLessAvx2(const uint64_t* fences, uint32_t count, uint64_t fence);
uint32_t CountFencesLessAvx512(const uint64_t* fences, uint32_t count, uint64_t fence);
#endif

}  // namespace sepal

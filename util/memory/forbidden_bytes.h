// Marks memory that is kept for later use, so that AddressSanitizer, if enabled, reports accesses to it.
#pragma once

#include <cstddef>

#if defined(SEPAL_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#endif

namespace sepal {

inline void Forbid([[maybe_unused]] char* bytes, [[maybe_unused]] size_t size) {
#if defined(SEPAL_ADDRESS_SANITIZER)
  ASAN_POISON_MEMORY_REGION(bytes, size);
#endif
}

inline void Allow([[maybe_unused]] char* bytes, [[maybe_unused]] size_t size) {
#if defined(SEPAL_ADDRESS_SANITIZER)
  ASAN_UNPOISON_MEMORY_REGION(bytes, size);
#endif
}

}  // namespace sepal

// Counts what each thread allocates, by replacing the global `operator new`: include in one file of a test binary. Not
// where ThreadSanitizer is linked, whose runtime defines the same operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

// GCC may put only one of a pair in line, and then sees malloc's counterpart for memory of `operator new`.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace {
thread_local uint64_t allocations = 0;
}  // namespace

void* operator new(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  std::abort();
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return operator new(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

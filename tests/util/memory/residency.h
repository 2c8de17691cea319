// The system's state of a page.
#pragma once

#include <sys/mman.h>

#include <cstdint>

namespace sepal {

struct PageState {
  bool mapped = false;
  bool resident = false;  // in memory
};

// Of the page of 4 KiB in which `address` lies.
inline PageState PageStateOf(const void* address) {
  unsigned char resident = 0;
  const uintptr_t page = reinterpret_cast<uintptr_t>(address) / 4096 * 4096;
  const bool mapped = mincore(reinterpret_cast<void*>(page), 4096, &resident) == 0;
  return {.mapped = mapped, .resident = mapped && (resident & 1) != 0};
}
inline bool IsMapped(const void* address) { return PageStateOf(address).mapped; }
inline bool IsResident(const void* address) { return PageStateOf(address).resident; }

}  // namespace sepal

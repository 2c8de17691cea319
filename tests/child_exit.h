// The end of a forked child of a test.
#pragma once

#include <unistd.h>

extern "C" int __llvm_profile_write_file(void) __attribute__((weak));

namespace sepal {

// Ends the process without destroying its parent's objects; coverage builds also count the child's coverage.
[[noreturn]] inline void ExitChild(int status) {
  if (&__llvm_profile_write_file != nullptr) (void)__llvm_profile_write_file();
  ::_exit(status);
}

}  // namespace sepal

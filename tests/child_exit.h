// The end of a forked child of a test.
#pragma once

#include <unistd.h>

extern "C" int __llvm_profile_write_file(void) __attribute__((weak));

namespace sepal {

// Ends the process without destroying what is its parent's; where coverage is counted, what the child has reached
// counts too.
[[noreturn]] inline void ExitChild(int status) {
  if (&__llvm_profile_write_file != nullptr) (void)__llvm_profile_write_file();
  ::_exit(status);
}

}  // namespace sepal

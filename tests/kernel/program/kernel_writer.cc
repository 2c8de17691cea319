// The writer and the check of tests/kernel as a program, for strace_faults.sh.
//   kernel_writer write PATH SEED UPDATES    prints "number durable" for each acknowledged update
//   kernel_writer check PATH SEED            prints the last update; exit status 1 if anything is wrong
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/kernel/workload.h"

int main(int argc, char** argv) {
  using namespace sepal;
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "write" && argc == 5) {
    const uint64_t updates = std::stoull(argv[4]);
    const absl::Status status = kernel::WriteOn(argv[2], std::stoull(argv[3]), [&](uint64_t number, bool durable) {
      std::printf("%llu %d\n", static_cast<unsigned long long>(number), durable ? 1 : 0);
      std::fflush(stdout);
      if (number >= updates) std::_Exit(0);
    });
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 2;
  }
  if (mode == "check" && argc == 4) {
    const absl::StatusOr<uint64_t> last = kernel::Check(argv[2], std::stoull(argv[3]));
    if (last.ok()) std::printf("%llu\n", static_cast<unsigned long long>(*last));
    if (!last.ok()) std::fprintf(stderr, "%s\n", last.status().ToString().c_str());
    return last.ok() ? 0 : 1;
  }
  std::fprintf(stderr, "usage: kernel_writer write PATH SEED UPDATES | kernel_writer check PATH SEED\n");
  return 2;
}

#include "bench/compare/child_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench/compare/engine.h"

namespace sepal::compare {

pid_t ForkBoundChild() {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) Fail("fork", "no new process");
  if (child > 0) return child;
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) Fail("prctl", "the child cannot be bound to its parent");
  // A parent that ended before that sends no signal.
  if (getppid() != parent) _exit(1);
  return 0;
}

}  // namespace sepal::compare

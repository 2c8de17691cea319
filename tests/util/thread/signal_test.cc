#include <pthread.h>
#include <signal.h>

#include "gtest/gtest.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

bool IsBlocked(int signal) {
  sigset_t blocked;
  EXPECT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &blocked), 0);
  return sigismember(&blocked, signal) == 1;
}

TEST(SignalTest, AThreadOfTheEngineBlocksTheProgramsSignalsButNotThoseOfItsOwnFaults) {
  const bool blocked_before = IsBlocked(SIGTERM);
  {
    const Thread thread([] {
      for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD, SIGALRM, SIGPIPE}) EXPECT_TRUE(IsBlocked(signal));
      for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) EXPECT_FALSE(IsBlocked(signal));
    });
  }
  EXPECT_EQ(IsBlocked(SIGTERM), blocked_before) << "the thread that makes another keeps its own";
}

}  // namespace
}  // namespace sepal

// What the tools do on a terminal: a line that is drawn anew, questions, colours. The terminal is a pseudo one.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

#include "tests/tools/sepal_command_fixture.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/terminal_color.h"
#include "util/files/posix_status.h"
#include "util/thread/sync.h"

namespace sepal::tools {
namespace {

// The three standard descriptors are that terminal while it lives, and TERM is `term`.
class Terminal {
 public:
  explicit Terminal(const char* term, unsigned short columns = 80)
      : term_(std::getenv("TERM") ? std::getenv("TERM") : "") {
    master_ = UniqueFd(::posix_openpt(O_RDWR | O_NOCTTY));
    if (!master_.valid() || ::grantpt(master_.get()) != 0 || ::unlockpt(master_.get()) != 0) return;
    UniqueFd slave(::open(::ptsname(master_.get()), O_RDWR | O_NOCTTY));
    if (!slave.valid()) return;
    const winsize size = {.ws_row = 25, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    ::ioctl(slave.get(), TIOCSWINSZ, &size);
    for (int fd = 0; fd < 3; ++fd) {
      kept_[static_cast<size_t>(fd)] = UniqueFd(::dup(fd));
      ::dup2(slave.get(), fd);
    }
    ::setenv("TERM", term, 1);
    works_ = true;
  }
  ~Terminal() {
    if (!works_) return;
    for (int fd = 0; fd < 3; ++fd) ::dup2(kept_[static_cast<size_t>(fd)].get(), fd);
    term_.empty() ? ::unsetenv("TERM") : ::setenv("TERM", term_.c_str(), 1);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool works() const { return works_; }

 private:
  UniqueFd master_;
  std::array<UniqueFd, 3> kept_;
  const std::string term_;
  bool works_ = false;
};

class TerminalTest : public SepalCommandTest {
 protected:
  void SetUp() override {
    if (!Terminal("xterm").works()) GTEST_SKIP() << "no pseudo terminals here";
  }
  // What `sepal WORDS` prints and does where a person answers.
  static Outcome Answering(const std::vector<std::string>& words, const std::string& answer) {
    const Terminal terminal("xterm");
    return RunSepal(words, answer + "\n");
  }
};

// A stream that lets a thread wait until something was printed to it.
class Waited final : public std::stringbuf {
 public:
  void WaitFor(const std::string& part) {
    MutexLock lock(&mutex_);
    while (seen_.find(part) == std::string::npos) changed_.Wait(&mutex_);
  }
  std::string seen() {
    MutexLock lock(&mutex_);
    return seen_;
  }

 protected:
  int sync() override {
    MutexLock lock(&mutex_);
    seen_ += str();
    str("");
    changed_.NotifyAll();
    return 0;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::string seen_;
};

TEST_F(TerminalTest, TheLineIsDrawnAnewAndRemovedInTheEnd) {
  const Terminal terminal("xterm", 40);
  ASSERT_TRUE(StandardErrorIsTerminal());
  Waited screen;
  std::ostream err(&screen);
  {
    Progress progress("a job of a very long name, longer than the line, bytes", 1000, err, /*terminal=*/true);
    screen.WaitFor("\r[--------------------] a job");
    progress.Update(500);
    screen.WaitFor("\r[##########----------] a job");
    progress.Tell("told above\n");
  }
  const std::string seen = screen.seen();
  EXPECT_NE(seen.find("\rtold above\n"), std::string::npos) << seen;
  // No line is as wide as the terminal, and the last is wiped out.
  std::istringstream lines(seen);
  for (std::string line; std::getline(lines, line, '\r');) EXPECT_LT(line.size(), 40u) << line;
  EXPECT_EQ(seen.back(), seen.find("told above") > seen.rfind('#') ? '\n' : '\r') << seen;
}

TEST_F(TerminalTest, AShorterLineLeavesNothingOfALongerOne) {
  for (const bool known : {false, true}) {  // how wide the terminal is
    std::optional<Terminal> terminal;
    if (known) terminal.emplace("xterm", static_cast<unsigned short>(200));
    Waited screen;
    std::ostream err(&screen);
    {
      Progress progress("job", 0, err, /*terminal=*/true);
      progress.Update(1'000'000'000);
      screen.WaitFor("\rjob: 1000000000, ");
      progress.Update(1);
      screen.WaitFor("\rjob: 1, ");
    }
    // Each line is at least as wide as the one before it.
    std::istringstream lines(screen.seen());
    size_t width = 0;
    for (std::string line; std::getline(lines, line, '\r');) {
      if (line.find('j') == line.npos) continue;  // The last is wiped out.
      EXPECT_GE(line.size(), width) << line;
      width = line.size();
    }
  }
}

TEST_F(TerminalTest, ATerminalThatCannotDrawIsNoneForProgress) {
  {
    const Terminal terminal("dumb");
    EXPECT_FALSE(StandardErrorIsTerminal());
  }
  const Terminal terminal("xterm");
  EXPECT_TRUE(StandardErrorIsTerminal());
  ::unsetenv("TERM");
  EXPECT_FALSE(StandardErrorIsTerminal());
}

TEST_F(TerminalTest, StandardOutputAndErrorHaveColoursThereAndOtherStreamsNone) {
  ::unsetenv("NO_COLOR");
  const auto painted = [](const std::ostream& stream) {
    return Paint::For(stream, ColorChoice::kAuto).Good("ok") != "ok";
  };
  std::ostringstream other;
  {
    const Terminal terminal("xterm");
    EXPECT_TRUE(painted(std::cout));
    EXPECT_TRUE(painted(std::cerr));
    EXPECT_FALSE(painted(other));
  }
  const Terminal terminal("dumb");
  EXPECT_FALSE(painted(std::cout));
}

TEST_F(TerminalTest, WhatChangesMuchIsAskedForAndDoneAtYesOnly) {
  MakeDatabase();
  for (const char* no : {"", "n", "no", "perhaps", "Yes please"}) {
    const Outcome refused = Answering({"db", "compact", db_}, no);
    EXPECT_EQ(refused.exit, kExitError) << no;
    EXPECT_TRUE(Has(refused.err, "Continue? [y/N]") && Has(refused.err, "nothing was done")) << refused.err;
  }
  EXPECT_EQ(Files(".sst").size(), 2u);
  {
    const Terminal terminal("xterm");
    const UniqueFd nothing(::open("/dev/null", O_WRONLY));
    ::dup2(nothing.get(), STDERR_FILENO);
    EXPECT_TRUE(Has(RunSepal({"db", "compact", db_}, "y\n").err, "give --yes to confirm"));
  }
  for (const char* yes : {"y", "Y", "yes"}) {
    EXPECT_EQ(Answering({"db", "compact", db_}, yes).exit, kExitOk) << yes;
    EXPECT_EQ(Answering({"db", "repair", db_}, yes).exit, kExitOk) << yes;
  }
  EXPECT_EQ(RunSepal({"db", "scan", db_, "--count"}).out, "1001\n");
}

TEST_F(TerminalTest, LongJobsShowHowFarTheyAre) {
  MakeDatabase();
  const Terminal terminal("xterm");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"db", "scan", db_, "--count"},
                                             {"db", "verify", db_},
                                             {"sst", "verify", db_},
                                             {"db", "repair", db_, "--dry-run"},
                                             {"db", "checkpoint", db_, directory_.File("copy")},
                                             {"db", "backup", db_, directory_.File("backups")}}) {
    EXPECT_EQ(RunSepal(words).exit, kExitOk) << words[1];
  }
}

}  // namespace
}  // namespace sepal::tools

#include "tools/terminal/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ostream>
#include <utility>

#include "absl/strings/str_format.h"
#include "tools/terminal/latency.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

constexpr double kStallSeconds = 3;

// The width of standard error's terminal; 0 if it is not known.
size_t TerminalColumns() {
  winsize size = {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string Duration(double seconds) {
  const auto whole = static_cast<uint64_t>(std::ceil(seconds));
  if (whole < 60) return absl::StrFormat("%d s", whole);
  if (whole < 3600) return absl::StrFormat("%d min %02d s", whole / 60, whole % 60);
  return absl::StrFormat("%d h %02d min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

Progress::Progress(std::string name, uint64_t total, std::ostream& err, bool terminal)
    : name_(std::move(name)),
      total_(total),
      err_(err),
      terminal_(terminal),
      interval_nanos_(terminal ? 100'000'000 : 10'000'000'000),
      last_nanos_(NowNanos()),
      moved_nanos_(last_nanos_),
      drawer_([this] { Run(); }) {}

Progress::~Progress() {
  {
    MutexLock lock(&mutex_);
    ended_ = true;
    ended_changed_.NotifyAll();
  }
  drawer_.Join();
  MutexLock lock(&mutex_);
  Clear();
}

void Progress::Run() {
  MutexLock lock(&mutex_);
  while (!ended_) {
    const uint64_t now = NowNanos();
    const uint64_t next = last_nanos_ + interval_nanos_;
    if (now < next) {
      ended_changed_.WaitFor(&mutex_, (next - now) / 1000 + 1);
      continue;
    }
    Draw(now);
  }
}

void Progress::Tell(std::string_view lines, std::ostream& to) {
  MutexLock lock(&mutex_);
  Clear();
  to << lines << std::flush;
}

void Progress::Clear() {
  if (width_ > 0) err_ << '\r' << std::string(width_, ' ') << '\r' << std::flush;
  width_ = 0;
}

void Progress::Draw(uint64_t now_nanos) {
  const uint64_t done = done_.load(std::memory_order_relaxed);
  const double seconds = static_cast<double>(now_nanos - last_nanos_) / 1e9;
  const double here = static_cast<double>(done - std::min(done, last_done_)) / seconds;
  rate_ = last_done_ == 0 ? here : 0.9 * rate_ + 0.1 * here;
  if (done != last_done_) moved_nanos_ = now_nanos;
  last_nanos_ = now_nanos;
  last_done_ = done;
  const Pace pace{.rate = rate_, .still_seconds = static_cast<double>(now_nanos - moved_nanos_) / 1e9};
  std::string line = Format(name_, done, total_, pace);
  if (!terminal_) {
    err_ << line << std::endl;
    return;
  }
  line = Bar(done, total_) + line;
  // A line that the terminal wraps could not be redrawn.
  if (const size_t columns = TerminalColumns(); columns > 1 && line.size() >= columns) line.resize(columns - 1);
  const size_t padding = width_ > line.size() ? width_ - line.size() : 0;
  err_ << '\r' << line << std::string(padding, ' ') << std::flush;
  width_ = line.size();
}

std::string Progress::Bar(uint64_t done, uint64_t total) {
  if (total == 0) return "";
  constexpr size_t kWidth = 20;
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto filled = static_cast<size_t>(share * kWidth);
  return "[" + std::string(filled, '#') + std::string(kWidth - filled, '-') + "] ";
}

std::string Progress::Format(const std::string& name, uint64_t done, uint64_t total, const Pace& pace) {
  const bool bytes = name.ends_with("bytes");
  const auto shown = [&](uint64_t number) { return bytes ? HumanBytes(number) : std::to_string(number); };
  std::string line = absl::StrFormat("%s: %s", name, shown(done));
  if (total > 0) {
    absl::StrAppendFormat(&line, " of %s (%.0f %%)", shown(total),
                          100.0 * static_cast<double>(done) / static_cast<double>(total));
  }
  if (pace.still_seconds >= kStallSeconds) {
    absl::StrAppendFormat(&line, ", no progress for %s", Duration(pace.still_seconds));
    return line;
  }
  absl::StrAppendFormat(&line, ", %s a second", shown(static_cast<uint64_t>(std::llround(std::max(0.0, pace.rate)))));
  if (total > done && pace.rate >= 1) {
    absl::StrAppendFormat(&line, ", %s left", Duration(static_cast<double>(total - done) / pace.rate));
  }
  return line;
}

bool StandardErrorIsTerminal() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

}  // namespace sepal::tools

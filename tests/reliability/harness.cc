#include "tests/reliability/harness.h"

#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"

namespace sepal::reliability {

namespace {

constexpr size_t kMaxFailuresKept = 20;

// What a signal handler may read: the words to print about the case under way.
struct CrashReport {
  char harness[64] = {};
  char seed[24] = {};
  char name[512] = {};
};
CrashReport crash_report;

void Copy(std::string_view text, char* target, size_t size) {
  const size_t length = std::min(text.size(), size - 1);
  std::memcpy(target, text.data(), length);
  target[length] = '\0';
}

void Print(const char* text) { (void)!::write(STDERR_FILENO, text, std::strlen(text)); }

void OnCrash(int signal) {
  Print(signal == SIGALRM ? "\nthe case hangs" : "\nthe case ends the process");
  Print("; to repeat it: reliability run ");
  Print(crash_report.harness);
  Print(" --seed ");
  Print(crash_report.seed);
  Print(" --case '");
  Print(crash_report.name);
  Print("'\n");
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// The watch over the case under way. A signal every second, so that what counts is seconds in which the process could
// run at all: a process that was stopped gets one signal for all of that time.
constexpr unsigned kWallSecondsForEach = 20;
struct Watch {
  std::atomic<unsigned> limit{0};  // in seconds of the processor; 0: no watch
  std::atomic<unsigned> ticks{0};
  std::atomic<int64_t> cpu_at_begin{0};
};
Watch watch;

int64_t CpuSeconds() {
  timespec time = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec;
}

void OnTick(int signal) {
  const unsigned limit = watch.limit.load(std::memory_order_relaxed);
  if (limit == 0) return;
  const unsigned ticks = watch.ticks.fetch_add(1, std::memory_order_relaxed) + 1;
  const int64_t cpu = CpuSeconds() - watch.cpu_at_begin.load(std::memory_order_relaxed);
  if (cpu > int64_t{limit} || ticks > limit * kWallSecondsForEach) OnCrash(signal);
}

// Ticks every second, or not at all.
void SetTicking(bool on) {
  if (on) {
    struct sigaction action = {};
    action.sa_handler = OnTick;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGALRM, &action, nullptr);
  }
  const itimerval interval = {.it_interval = {.tv_sec = on ? 1 : 0, .tv_usec = 0},
                              .it_value = {.tv_sec = on ? 1 : 0, .tv_usec = 0}};
  ::setitimer(ITIMER_REAL, &interval, nullptr);
}

}  // namespace

Search::Search(SearchOptions options) : options_(std::move(options)), began_(std::chrono::steady_clock::now()) {
  if (options_.case_seconds > 0) SetTicking(true);
}

Search::~Search() {
  if (options_.case_seconds == 0) return;
  watch.limit.store(0, std::memory_order_relaxed);
  SetTicking(false);
}

double Search::Seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

bool Search::GoOn() const {
  if (failed_ >= options_.max_failures) return false;
  if (options_.count > 0 && cases() >= options_.count) return false;
  return options_.seconds <= 0 || Seconds() < options_.seconds;
}

bool Search::Begin(std::string name) {
  if (!options_.only_case.empty() && name != options_.only_case) return false;
  current_ = std::move(name);
  current_failed_ = false;
  Copy(current_, crash_report.name, sizeof(crash_report.name));
  if (options_.case_seconds > 0) {
    watch.ticks.store(0, std::memory_order_relaxed);
    watch.cpu_at_begin.store(CpuSeconds(), std::memory_order_relaxed);
    watch.limit.store(options_.case_seconds, std::memory_order_relaxed);
  }
  return true;
}

bool Search::Count(uint64_t identity) {
  const bool fresh = seen_.insert(identity).second;
  if (fresh && options_.progress) options_.progress(cases());
  return fresh;
}

void Search::Fail(std::string what) {
  if (!current_failed_) ++failed_;
  current_failed_ = true;
  if (failures_.size() < kMaxFailuresKept) failures_.push_back({current_, std::move(what)});
}

void ForEachSeed(Search* search, const std::function<void(uint64_t seed)>& body) {
  const bool only_one = !search->only_case().empty();
  for (uint64_t seed = only_one ? NumberIn(search->only_case(), "seed").value_or(0) : search->seed(); search->GoOn();
       ++seed) {
    if (!search->Begin(only_one ? search->only_case() : absl::StrFormat("seed=%u", seed))) return;
    body(seed);
    if (only_one) return;
  }
}

std::optional<uint64_t> NumberIn(std::string_view name, std::string_view key) {
  for (size_t at = name.find(key); at != std::string_view::npos; at = name.find(key, at + 1)) {
    const size_t equals = at + key.size();
    if ((at > 0 && name[at - 1] != ' ') || equals >= name.size() || name[equals] != '=') continue;
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data() + equals + 1, name.data() + name.size(), number);
    if (error == std::errc()) return number;
  }
  return std::nullopt;
}

const Harness* FindHarness(const std::vector<Harness>& all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Harness& harness) { return harness.name == name; });
  return found == all.end() ? nullptr : &*found;
}

void ReportCrashes(std::string_view harness, uint64_t seed) {
  Copy(harness, crash_report.harness, sizeof(crash_report.harness));
  Copy(absl::StrFormat("%u", seed), crash_report.seed, sizeof(crash_report.seed));
  for (const int signal : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV}) ::signal(signal, OnCrash);
}

}  // namespace sepal::reliability

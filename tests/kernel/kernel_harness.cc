// The real kernel: a writer is killed, or gets no memory any more, or the file system under it is shut down as by a
// power cut, or fills up; what it acknowledged is there, and the whole is a moment of its history.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "absl/strings/str_format.h"
#include "tests/kernel/workload.h"
#include "tests/reliability/harness.h"
#include "tests/reliability/rooms.h"
#include "util/base/hash.h"
#include "util/base/random.h"

namespace sepal::kernel {

namespace {

using reliability::Search;

class ScratchDirectory {
 public:
  ScratchDirectory() {
    char path[] = "/tmp/sepal_kernel_XXXXXX";
    if (::mkdtemp(path) != nullptr) path_ = path;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// From some update on a process gets no more memory than it has and `bytes` beyond.
struct MemoryLimit {
  uint64_t from_update = UINT64_MAX;
  uint64_t bytes = 0;
};

// Of the process's address space: what it has, and so much more.
void LimitMemory(uint64_t bytes) {
  unsigned long long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%llu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  const rlim_t limit = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + bytes;
  const rlimit space = {.rlim_cur = limit, .rlim_max = limit};
  if (pages == 0 || ::setrlimit(RLIMIT_AS, &space) != 0) ::_exit(3);
}

// A process that writes on, and says through a pipe what was acknowledged. Killed at the latest when this goes.
class Writer {
 public:
  Writer(const std::string& path, uint64_t seed, MemoryLimit memory = {}) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ < 0) std::abort();
    if (pid_ == 0) {
      ::close(ends[0]);
      WriteUntilTheEnd(path, seed, memory, ends[1]);
    }
    ::close(ends[1]);
    from_ = ends[0];
  }
  ~Writer() {
    if (pid_ > 0) Kill();
    ::close(from_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Ends the process, and reads the rest of what it said. False if it had ended by itself.
  bool Kill() {
    ::kill(pid_, SIGKILL);
    return Reap();
  }
  // Waits until it ends by itself, or for so long. False if it had to be killed.
  bool WaitForEnd(int milliseconds) {
    for (int waited = 0; waited < milliseconds; ++waited) {
      siginfo_t info = {};
      if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
        Reap();
        return true;
      }
      Listen(/*wait=*/false);
      ::usleep(1000);
    }
    Kill();
    return false;
  }
  uint64_t acknowledged() const { return acknowledged_; }
  uint64_t durable() const { return durable_; }

 private:
  // In the child. An exception, for want of memory outside of the engine, ends it too: it must not reach those who
  // called the parent, whose destructors remove the database.
  [[noreturn]] static void WriteUntilTheEnd(const std::string& path, uint64_t seed, MemoryLimit memory,
                                            int to) noexcept {
    // Its end is no mistake, and leaves no core.
    ::signal(SIGABRT, SIG_DFL);
    const rlimit none = {};
    ::setrlimit(RLIMIT_CORE, &none);
    if (memory.bytes > 0 && std::getenv("SEPAL_KERNEL_VERBOSE") == nullptr) {
      ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    }
    uint64_t updates = 0;
    const absl::Status status = WriteOn(path, seed, [&](uint64_t number, bool durable) {
      if (updates++ == memory.from_update) LimitMemory(memory.bytes);
      const uint64_t word = number << 1 | (durable ? 1 : 0);
      if (::write(to, &word, sizeof word) != static_cast<ssize_t>(sizeof word)) ::_exit(1);
    });
    // With what it met, for who runs the case alone.
    if (std::getenv("SEPAL_KERNEL_VERBOSE") != nullptr) std::fprintf(stderr, "%s\n", status.ToString().c_str());
    ::_exit(2);
  }
  // False if it ended by itself.
  bool Reap() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    Listen(/*wait=*/true);
    return WIFSIGNALED(status);
  }
  void Listen(bool wait) {
    pollfd poll = {.fd = from_, .events = POLLIN, .revents = 0};
    uint64_t word = 0;
    while (wait || (::poll(&poll, 1, 0) == 1 && (poll.revents & POLLIN) != 0)) {
      if (::read(from_, &word, sizeof word) != static_cast<ssize_t>(sizeof word)) return;
      acknowledged_ = word >> 1;
      if ((word & 1) != 0) durable_ = word >> 1;
    }
  }

  pid_t pid_ = 0;
  int from_ = -1;
  uint64_t acknowledged_ = 0;
  uint64_t durable_ = 0;
};

// Checks in a process of its own, so that no handle of the file system stays.
struct Checked {
  bool ok = false;
  uint64_t last = 0;
  std::string message;
};
Checked CheckApart(const std::string& path, uint64_t seed) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  const pid_t pid = ::fork();
  if (pid < 0) std::abort();
  if (pid == 0) {
    [&]() noexcept {
      const absl::StatusOr<uint64_t> last = Check(path, seed);
      const std::string text = last.ok() ? absl::StrFormat("+%u", *last) : "-" + last.status().ToString();
      (void)!::write(ends[1], text.data(), text.size());
    }();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  Checked checked{.ok = text.starts_with('+'), .last = 0, .message = text.empty() ? "the check died" : text.substr(1)};
  if (checked.ok) checked.last = std::stoull(checked.message);
  return checked;
}

// "" or what is wrong.
std::string Judge(const Checked& checked, uint64_t at_least) {
  if (!checked.ok) return checked.message;
  if (checked.last < at_least) {
    return absl::StrFormat("LOST: update %u was acknowledged, and the database ends with %u", at_least, checked.last);
  }
  return "";
}

// --- SIGKILL ---

void SearchKills(Search* search) {
  const ScratchDirectory scratch;
  if (scratch.path().empty()) return search->Fail("no directory under /tmp can be made");
  Random random(search->seed());
  uint64_t acknowledged = 0;
  // Every so many kills a new database, so that each part of its life is met.
  constexpr uint64_t kLife = 25;
  for (uint64_t kill = 0; search->GoOn(); ++kill) {
    const std::string path = absl::StrFormat("%s/db%u", scratch.path(), kill / kLife);
    const uint64_t seed = Mix64(search->seed() + kill / kLife);
    if (kill % kLife == 0) acknowledged = 0;
    if (!search->Begin(absl::StrFormat("kill=%u", kill))) break;
    Writer writer(path, seed);
    ::usleep(static_cast<useconds_t>(random.Uniform(random.OneIn(4) ? 5'000 : 80'000)));
    if (!writer.Kill()) search->Fail("the writer ended by itself");
    acknowledged = std::max(acknowledged, writer.acknowledged());
    // Now and then the next writer alone meets what was left, and may be killed while it recovers.
    if (!random.OneIn(4)) {
      const Checked checked = CheckApart(path, seed);
      // Nothing was made yet if the writer was killed at once.
      const std::string wrong = Judge(checked, acknowledged);
      if (!wrong.empty()) search->Fail(wrong);
      acknowledged = checked.last;
    }
    search->Add("updates acknowledged", writer.acknowledged());
    search->Count(Mix64(search->seed() * 1'000'003 + kill));
  }
}

// --- no memory ---

// An allocation that fails ends the process, wherever it stands, if it is not one of those that give an error.
void SearchLackOfMemory(Search* search) {
  constexpr uint64_t kLife = 10;
  constexpr int kLongestMilliseconds = 1000;
  const ScratchDirectory scratch;
  if (scratch.path().empty()) return search->Fail("no directory under /tmp can be made");
  Random random(search->seed());
  uint64_t acknowledged = 0;
  for (uint64_t number = 0; search->GoOn(); ++number) {
    const std::string path = absl::StrFormat("%s/db%u", scratch.path(), number / kLife);
    const uint64_t seed = Mix64(search->seed() + number / kLife);
    if (number % kLife == 0) acknowledged = 0;
    const MemoryLimit limit = {.from_update = random.Uniform(100), .bytes = 1 + random.Uniform(uint64_t{2} << 20)};
    if (!search->Begin(absl::StrFormat("lack=%u", number))) break;
    Writer writer(path, seed, limit);
    search->Add(writer.WaitForEnd(kLongestMilliseconds) ? "ended for want of memory" : "had enough", 1);
    acknowledged = std::max(acknowledged, writer.acknowledged());
    const Checked checked = CheckApart(path, seed);
    const std::string wrong = Judge(checked, acknowledged);
    if (!wrong.empty()) search->Fail(wrong);
    acknowledged = checked.last;
    search->Count(Mix64(search->seed() * 1'000'003 + number) ^ 3);
  }
}

// --- the file system shut down ---

bool Run(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

// A file system in a file. `Cut` is the power: what was not synced is gone.
class LoopMount {
 public:
  LoopMount(const std::string& scratch, const std::string& kind)
      : image_(scratch + "/image"), point_(scratch + "/mount"), kind_(kind) {
    std::filesystem::create_directories(point_);
    const std::string size = kind == "xfs" ? "320M" : "64M";
    made_ = Run(absl::StrFormat("rm -f %s && truncate -s %s %s && mkfs.%s -q %s", image_, size, image_, kind, image_));
  }
  ~LoopMount() { Unmount(); }
  bool Mount() { return made_ && (mounted_ = Run(absl::StrFormat("mount -o loop %s %s", image_, point_))); }
  bool Unmount() {
    if (!mounted_) return true;
    for (int tries = 0; tries < 100 && mounted_; ++tries) {
      if (::umount(point_.c_str()) == 0) {
        mounted_ = false;
      } else {
        ::usleep(20'000);
      }
    }
    return !mounted_;
  }
  bool Cut() const {
    const int fd = ::open(point_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    // GOING_FLAGS_NOLOGFLUSH: not even the journal is written out.
    uint32_t flags = 2;
    const bool cut = fd >= 0 && ::ioctl(fd, 0x8004587D, &flags) == 0;
    if (fd >= 0) ::close(fd);
    return cut;
  }
  std::string database() const { return point_ + "/db"; }

 private:
  const std::string image_;
  const std::string point_;
  const std::string kind_;
  bool made_ = false;
  bool mounted_ = false;
};

void SearchPowerCuts(Search* search, const std::string& kind) {
  const ScratchDirectory scratch;
  LoopMount mount(scratch.path(), kind);
  if (!mount.Mount()) {
    std::fprintf(stderr, "%s cannot be mounted here (it needs root, a loop device and mkfs.%s): nothing is tried\n",
                 kind.c_str(), kind.c_str());
    return;
  }
  Random random(search->seed());
  const uint64_t seed = search->seed();
  uint64_t durable = 0;
  for (uint64_t cut = 0; search->GoOn(); ++cut) {
    if (!search->Begin(absl::StrFormat("%s cut=%u", kind, cut))) break;
    {
      Writer writer(mount.database(), seed);
      ::usleep(static_cast<useconds_t>(random.Uniform(random.OneIn(4) ? 10'000 : 150'000)));
      if (!mount.Cut()) search->Fail("the shutdown ioctl failed: " + std::string(std::strerror(errno)));
      writer.Kill();
      durable = std::max(durable, writer.durable());
    }
    if (!mount.Unmount() || !mount.Mount()) return search->Fail("the file system could not be mounted again");
    const Checked checked = CheckApart(mount.database(), seed);
    const std::string wrong = Judge(checked, durable);
    if (!wrong.empty()) search->Fail(wrong);
    durable = checked.last;
    search->Count(Mix64(seed * 1'000'003 + cut) ^ Mix64(kind == "xfs" ? 1 : 2));
  }
}

// --- a file system that fills up ---

// The time in which writing must have resumed.
constexpr int kResumeSeconds = 30;

class SmallDisk {
 public:
  explicit SmallDisk(const std::string& path) : path_(path) {
    std::filesystem::create_directories(path);
    mounted_ = ::mount("none", path.c_str(), "tmpfs", 0, "size=12m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  std::string ballast() const { return path_ + "/ballast"; }
  bool WriteBallast(size_t bytes) const {
    const int fd = ::open(ballast().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const bool written = fd >= 0 && ::posix_fallocate(fd, 0, static_cast<off_t>(bytes)) == 0;
    if (fd >= 0) ::close(fd);
    return written;
  }
  std::string database() const { return path_ + "/db"; }

 private:
  const std::string path_;
  bool mounted_ = false;
};

// Writes keys of its own until the disk is full, frees space, and writes on.
std::string FillAndResume(const SmallDisk& disk, uint64_t seed) {
  Random random(seed);
  if (!disk.WriteBallast((5 + random.Uniform(3)) << 20)) return "the ballast cannot be written";
  Options options = MakeOptions(seed % 2);
  options.memtable_bytes = size_t{128} << (10 + random.Uniform(3));
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options, disk.database());
  if (!db.ok()) return "opening: " + db.status().ToString();
  Contents contents;
  uint64_t number = 0;
  const auto put = [&] {
    const std::string key = absl::StrFormat("key%06u", number);
    const std::string value(500 + random.Uniform(1000), static_cast<char>('a' + random.Uniform(26)));
    std::string noisy = value;
    for (char& c : noisy) c = static_cast<char>(c + random.Uniform(20));
    const absl::Status status = (*db)->Put(key, noisy, {.sync = random.OneIn(50)});
    if (status.ok()) {
      contents[key] = noisy;
      ++number;
    }
    return status;
  };
  const auto reads_are_right = [&] {
    for (int i = 0; i < 20 && !contents.empty(); ++i) {
      const auto it = contents.lower_bound(absl::StrFormat("key%06u", random.Uniform(number + 1)));
      if (it == contents.end()) continue;
      const absl::StatusOr<std::string> value = (*db)->Get(it->first);
      if (!value.ok() || *value != it->second) return false;
    }
    return true;
  };
  absl::Status full;
  while (full.ok() && number < 100'000) full = put();
  if (!absl::IsResourceExhausted(full)) return "a full disk gives " + full.ToString();
  for (int i = 0; i < 50; ++i) {
    if (!reads_are_right()) return "a read failed, or was wrong, while the disk was full";
    (void)put();
  }
  ::unlink(disk.ballast().c_str());
  // Writes may still meet a full disk now and then, while what was held up is being written; they must go on.
  for (int written = 0, tries = 0; written < 300; ++tries) {
    const absl::Status status = put();
    written += status.ok() ? 1 : 0;
    if (status.ok()) continue;
    if (!absl::IsResourceExhausted(status)) return "after space was freed: " + status.ToString();
    if (!reads_are_right()) return "a read failed, or was wrong, after space was freed";
    if (tries > kResumeSeconds * 20) return "writing does not resume: " + status.ToString();
    ::usleep(50'000);
  }
  if (const absl::Status closed = (*db)->Close(); !closed.ok()) return "closing: " + closed.ToString();
  db = DB::Open(options, disk.database());
  if (!db.ok()) return "opening again: " + db.status().ToString();
  Contents found;
  const std::unique_ptr<Iterator> it = (*db)->NewIterator();
  for (it->SeekToFirst(); it->Valid(); it->Next()) found.emplace(it->key(), it->value());
  return it->status().ok() && found == contents ? "" : "what was acknowledged is not what is there";
}

void SearchFullDisk(Search* search) {
  const ScratchDirectory scratch;
  const std::string point = scratch.path() + "/disk";
  if (!SmallDisk(point).mounted()) {
    std::fprintf(stderr, "a tmpfs cannot be mounted here (it needs root): nothing is tried\n");
    return;
  }
  reliability::ForEachSeed(search, [&](uint64_t seed) {
    const SmallDisk disk(point);
    const std::string wrong = FillAndResume(disk, seed);
    if (!wrong.empty()) search->Fail(wrong);
    search->Count(Mix64(seed));
  });
}

}  // namespace
}  // namespace sepal::kernel

namespace sepal::reliability {

void AddKernelHarnesses(std::vector<Harness>* all) {
  all->push_back({"kill", "a writer on the real file system dies by SIGKILL", kernel::SearchKills});
  all->push_back({"memory", "a writer on the real file system gets no more memory", kernel::SearchLackOfMemory});
  for (const char* kind : {"ext4", "xfs"}) {
    all->push_back({std::string("power-") + kind, "a loop-mounted file system is shut down under a writer (root)",
                    [kind](Search* search) { kernel::SearchPowerCuts(search, kind); }});
  }
  all->push_back({"full-disk", "a small tmpfs fills up, and is given space again (root)", kernel::SearchFullDisk});
}

}  // namespace sepal::reliability

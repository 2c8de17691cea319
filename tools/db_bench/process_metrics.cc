#include "tools/db_bench/process_metrics.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_format.h"
#include "util/thread/sync.h"

namespace sepal::tools {
namespace {

// The number behind `label` in a file of "label number" lines.
uint64_t NumberAfter(const char* path, const std::string& label) {
  std::ifstream file(path);
  std::string word;
  uint64_t number = 0;
  while (file >> word) {
    if (word == label && file >> number) return number;
  }
  return 0;
}

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

// Of the nearest directory on the way to `path` that exists.
std::string FileSystemName(const std::string& path) {
  std::error_code error;
  std::filesystem::path existing = std::filesystem::absolute(path, error);
  while (!std::filesystem::exists(existing, error) && existing.has_relative_path()) existing = existing.parent_path();
  struct statfs info = {};
  if (statfs(existing.c_str(), &info) != 0) return "unknown file system";
  switch (static_cast<uint64_t>(info.f_type)) {
    case 0xEF53:
      return "ext4";
    case 0x58465342:
      return "xfs";
    case 0x9123683E:
      return "btrfs";
    case 0x01021994:
      return "tmpfs";
    case 0x794C7630:
      return "overlayfs";
    default:
      return absl::StrFormat("file system 0x%x", static_cast<uint64_t>(info.f_type));
  }
}

}  // namespace

uint64_t ProcessCpuNanos() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t ResidentBytes() { return NumberAfter("/proc/self/status", "VmRSS:") * 1024; }

uint64_t PeakResidentBytes() { return NumberAfter("/proc/self/status", "VmHWM:") * 1024; }
void ResetPeakResidentBytes() { std::ofstream("/proc/self/clear_refs") << "5"; }

uint64_t StorageBytesRead() { return NumberAfter("/proc/self/io", "read_bytes:"); }
uint64_t StorageBytesWritten() { return NumberAfter("/proc/self/io", "write_bytes:"); }

DirectorySize MeasureDirectory(const std::string& path) {
  DirectorySize size;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    struct stat info = {};
    if (lstat(it->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const uint64_t bytes = static_cast<uint64_t>(info.st_blocks) * 512;
    (it->path().extension() == ".log" ? size.log_bytes : size.data_bytes) += bytes;
  }
  return size;
}

std::string DescribeMachine(const std::string& data_path) {
  utsname name = {};
  uname(&name);
  return absl::StrFormat("%s, %d hardware threads, %s %s, %s", CpuModel(), Thread::HardwareConcurrency(), name.sysname,
                         name.release, FileSystemName(data_path));
}

}  // namespace sepal::tools

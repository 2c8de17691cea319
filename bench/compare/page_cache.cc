#include "bench/compare/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "bench/compare/engine.h"

namespace sepal::compare {
namespace {

// Mapped pages stay in the page cache: engines that map their files must unmap them first.
void LetGoOfMappedPages(const std::string& path) {
  const std::string mapped = " " + std::filesystem::absolute(path).string();
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    char dash = 0;
    std::string permissions;
    std::istringstream fields(line);
    if (!(fields >> std::hex >> begin >> dash >> end >> permissions)) Fail(line, "is no mapping");
    // Pages that are only read can be fetched again.
    if (line.find(mapped) == std::string::npos || permissions[1] == 'w') continue;
    if (madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED) != 0) Fail(line, "stays in memory");
  }
}

}  // namespace

void DropFromPageCache(const std::string& path) {
  if (!std::filesystem::exists(path)) return;  // of an engine without files
  LetGoOfMappedPages(path);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (!entry.is_regular_file()) continue;
    const int fd = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) Fail(entry.path().string(), "cannot be opened");
    // Only clean pages go.
    if (fdatasync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0) {
      Fail(entry.path().string(), "stays in the page cache");
    }
    close(fd);
  }
}

}  // namespace sepal::compare

// The conformance suites' worlds through a cache of table bytes.
#pragma once

#include <memory>

#include "sepal/cached_file_system.h"
#include "sepal/simulation/memory_file_system.h"
#include "tests/util/files/file_system_world.h"

namespace sepal {

class CachedWorld final : public World {
 public:
  FileSystem* file_system() override { return cached_.get(); }
  // It has the same directory, and so no cache.
  FileSystem* another() override { return another_cached_.get(); }

 private:
  static std::unique_ptr<CachedFileSystem> Over(FileSystem* remote, FileSystem* local) {
    return CachedFileSystem::Open(remote, {.directory = "/ssd", .bytes = uint64_t{1} << 20, .file_system = local})
        .value();
  }

  MemoryFileSystem local_;
  MemoryFileSystem memory_;
  MemoryFileSystem another_ = memory_.AnotherClient();
  std::unique_ptr<CachedFileSystem> cached_ = Over(&memory_, &local_);
  std::unique_ptr<CachedFileSystem> another_cached_ = Over(&another_, &local_);
};

inline auto AllWorlds() {
  return testing::Values(
      WorldKind{"Cached", []() -> std::unique_ptr<World> { return std::make_unique<CachedWorld>(); }});
}

}  // namespace sepal

// The file systems that keep the contract of sepal/file_system.h. A program that asks the same of others defines
// SEPAL_OTHER_WORLDS as the header that has them.
#pragma once

#include "tests/util/files/file_system_world.h"

#ifdef SEPAL_OTHER_WORLDS
#include SEPAL_OTHER_WORLDS
#else

#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "sepal/simulation/fault_file_system.h"
#include "sepal/simulation/memory_file_system.h"
#include "tests/util/files/file_system_through_c.h"

namespace sepal {

class PosixWorld final : public World {
 public:
  PosixWorld() {
    const char* base = std::getenv("TMPDIR");
    std::string pattern = std::string(base != nullptr ? base : "/tmp") + "/sepal_fs_XXXXXX";
    root_ = ::mkdtemp(pattern.data());
  }
  ~PosixWorld() override { std::filesystem::remove_all(root_); }
  FileSystem* file_system() override { return FileSystem::Posix(); }
  std::string root() override { return root_; }

 private:
  std::string root_;
};

class MemoryWorld final : public World {
 public:
  FileSystem* file_system() override { return &memory_; }
  FileSystem* another() override { return &another_; }

 private:
  MemoryFileSystem memory_;
  MemoryFileSystem another_ = memory_.AnotherClient();
};

class FaultWorld final : public World {
 public:
  FileSystem* file_system() override { return &fault_; }
  FileSystem* another() override { return &another_fault_; }

 private:
  MemoryFileSystem memory_;
  MemoryFileSystem another_ = memory_.AnotherClient();
  FaultFileSystem another_fault_{&another_};
  FaultFileSystem fault_{&memory_};
};

class CWorld final : public World {
 public:
  FileSystem* file_system() override { return through_c_.get(); }
  FileSystem* another() override { return another_through_c_.get(); }

 private:
  MemoryFileSystem memory_;
  MemoryFileSystem another_ = memory_.AnotherClient();
  FileSystemThroughC another_through_c_{&another_};
  FileSystemThroughC through_c_{&memory_};
};

inline auto AllWorlds() {
  return testing::Values(
      WorldKind{"Posix", []() -> std::unique_ptr<World> { return std::make_unique<PosixWorld>(); }},
      WorldKind{"Memory", []() -> std::unique_ptr<World> { return std::make_unique<MemoryWorld>(); }},
      WorldKind{"ThroughC", []() -> std::unique_ptr<World> { return std::make_unique<CWorld>(); }},
      WorldKind{"Fault", []() -> std::unique_ptr<World> { return std::make_unique<FaultWorld>(); }});
}

}  // namespace sepal

#endif

// The conformance suites' worlds on a real cluster: one for each size of objects.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "sepal/rados.h"
#include "tests/rados/cluster.h"
#include "tests/util/files/file_system_world.h"

namespace sepal {

template <uint64_t kObjectBytes>
class RadosWorld final : public World {
 public:
  RadosWorld() {
    static std::atomic<int> worlds{0};
    root_ = "conformance/" + std::to_string(::getpid()) + "/" + std::to_string(kObjectBytes) + "/" +
            std::to_string(++worlds);
  }
  FileSystem* file_system() override { return Connected(&first_); }
  FileSystem* another() override { return Connected(&second_); }
  std::string root() override { return root_; }

 private:
  static FileSystem* Connected(std::unique_ptr<RadosFileSystem>* client) {
    if (*client == nullptr) {
      RadosOptions options = ClusterOptions();
      options.object_bytes = kObjectBytes;
      *client = RadosFileSystem::Connect(options).value();
    }
    return client->get();
  }

  std::string root_;
  std::unique_ptr<RadosFileSystem> first_;
  std::unique_ptr<RadosFileSystem> second_;
};

// Where there is no cluster, which the tests of databases say.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FileSystemConformanceTest);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FileLockConformanceTest);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TakeOverConformanceTest);

// None where there is no cluster.
inline auto AllWorlds() {
  std::vector<WorldKind> worlds;
  if (!ClusterOptions().pool.empty()) {
    worlds = {{"Objects64", []() -> std::unique_ptr<World> { return std::make_unique<RadosWorld<64>>(); }},
              {"Objects1000", []() -> std::unique_ptr<World> { return std::make_unique<RadosWorld<1000>>(); }},
              {"Objects4MiB",
               []() -> std::unique_ptr<World> { return std::make_unique<RadosWorld<(uint64_t{4} << 20)>>(); }}};
  }
  return testing::ValuesIn(worlds);
}

}  // namespace sepal

// The conformance suites' worlds on a real cluster: one for each size of objects.
#pragma once

#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sepal/rados.h"
#include "tests/rados/cluster.h"
#include "tests/util/files/file_system_world.h"

namespace sepal {

// All files are what lies in the data pool.
class TablesDirectory final : public Directory {
 public:
  explicit TablesDirectory(std::unique_ptr<Directory> base) : base_(std::move(base)) {}

  Capabilities capabilities() const override { return base_->capabilities(); }
  const std::string& path() const override { return base_->path(); }
  std::string Identity() const override { return base_->Identity(); }
  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(std::string_view name, ReadMode mode) override {
    return base_->OpenForRead(name, mode);
  }
  void ReadMany(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done) const override {
    base_->ReadMany(requests, done);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(std::string_view name, WriteMode mode, FileUse) override {
    return base_->OpenForWrite(name, mode, {.kind = FileUseKind::kTable, .expected_bytes = 0});
  }
  absl::Status SyncMany(std::span<WritableFile* const> files) override { return base_->SyncMany(files); }
  absl::StatusOr<std::vector<DirectoryEntry>> List() override { return base_->List(); }
  absl::Status Remove(std::string_view name) override { return base_->Remove(name); }
  absl::Status Rename(std::string_view from, std::string_view to) override { return base_->Rename(from, to); }
  absl::Status Link(std::string_view name, Directory& target, std::string_view new_name) override {
    auto* const other = dynamic_cast<TablesDirectory*>(&target);
    return base_->Link(name, other != nullptr ? *other->base_ : target, new_name);
  }
  absl::Status Sync() override { return base_->Sync(); }
  absl::StatusOr<std::unique_ptr<DirectoryLock>> Lock(std::string_view name, LockRequest mode) override {
    return base_->Lock(name, mode);
  }
  absl::StatusOr<uint64_t> FreeBytes() override { return base_->FreeBytes(); }

 private:
  const std::unique_ptr<Directory> base_;
};

class TablesFileSystem final : public FileSystem {
 public:
  explicit TablesFileSystem(FileSystem* base) : base_(base) {}
  absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(std::string_view path, bool create) override {
    absl::StatusOr<std::unique_ptr<Directory>> directory = base_->OpenDirectory(path, create);
    if (!directory.ok()) return directory.status();
    return std::make_unique<TablesDirectory>(*std::move(directory));
  }
  absl::Status RemoveDirectory(std::string_view path) override { return base_->RemoveDirectory(path); }

 private:
  FileSystem* const base_;
};

template <uint64_t kObjectBytes, bool kCoded = false>
class RadosWorld final : public World {
 public:
  RadosWorld() {
    static std::atomic<int> worlds{0};
    root_ = "conformance/" + std::to_string(::getpid()) + "/" + std::to_string(kObjectBytes) + "/" +
            std::to_string(++worlds) + (kCoded ? "/coded" : "");
  }
  FileSystem* file_system() override { return Connected(&first_); }
  FileSystem* another() override { return Connected(&second_); }
  std::string root() override { return root_; }

 private:
  struct Client {
    std::unique_ptr<RadosFileSystem> rados;
    std::unique_ptr<TablesFileSystem> tables;
  };

  static FileSystem* Connected(Client* client) {
    if (client->rados == nullptr) {
      RadosOptions options = ClusterOptions();
      options.object_bytes = kObjectBytes;
      if (kCoded) options.data_pool = CodedPool();
      client->rados = RadosFileSystem::Connect(options).value();
      client->tables = std::make_unique<TablesFileSystem>(client->rados.get());
    }
    return kCoded ? static_cast<FileSystem*>(client->tables.get()) : client->rados.get();
  }

  std::string root_;
  Client first_;
  Client second_;
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
  if (!CodedPool().empty()) {
    worlds.push_back(
        {"Coded1000", []() -> std::unique_ptr<World> { return std::make_unique<RadosWorld<1000, true>>(); }});
    worlds.push_back({"Coded64KiB", []() -> std::unique_ptr<World> {
                        return std::make_unique<RadosWorld<(uint64_t{64} << 10), true>>();
                      }});
  }
  return testing::ValuesIn(worlds);
}

}  // namespace sepal

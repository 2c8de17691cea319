// How many tables a repair has open at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db/doctor/repair.h"
#include "tests/db/act/files/passing_directory.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

struct OpenTables {
  std::atomic<int> now{0};
  int most = 0;
};

class WatchedTable final : public ReadableFile {
 public:
  WatchedTable(std::unique_ptr<ReadableFile> base, OpenTables* tables) : base_(std::move(base)), tables_(tables) {
    tables_->most = std::max(tables_->most, ++tables_->now);
  }
  ~WatchedTable() override { --tables_->now; }
  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
    return base_->Read(offset, length, buffer);
  }
  absl::StatusOr<uint64_t> Size() const override { return base_->Size(); }

 private:
  const std::unique_ptr<ReadableFile> base_;
  OpenTables* const tables_;
};

class WatchedDirectory final : public PassingDirectory {
 public:
  WatchedDirectory(std::unique_ptr<Directory> base, OpenTables* tables)
      : PassingDirectory(base.get()), owned_(std::move(base)), tables_(tables) {}
  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(std::string_view name, ReadMode mode) override {
    absl::StatusOr<std::unique_ptr<ReadableFile>> file = base()->OpenForRead(name, mode);
    if (!file.ok() || !name.ends_with(".sst")) return file;
    return std::make_unique<WatchedTable>(*std::move(file), tables_);
  }

 private:
  const std::unique_ptr<Directory> owned_;
  OpenTables* const tables_;
};

class WatchedFileSystem final : public FileSystem {
 public:
  explicit WatchedFileSystem(FileSystem* base) : base_(base) {}
  absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(std::string_view path, bool create) override {
    absl::StatusOr<std::unique_ptr<Directory>> directory = base_->OpenDirectory(path, create);
    if (!directory.ok()) return directory;
    return std::make_unique<WatchedDirectory>(*std::move(directory), &tables_);
  }
  absl::Status RemoveDirectory(std::string_view path) override { return base_->RemoveDirectory(path); }
  int most() const { return tables_.most; }

 private:
  FileSystem* const base_;
  OpenTables tables_;
};

class RepairReadingTest : public EngineTest {
 protected:
  // Many tables, in one run, and the database closed.
  void MakeOneRun() {
    Fill(0, 2000);
    ASSERT_OK(db()->CompactRange());
    ASSERT_OK(db()->Close());
    database.db.reset();
    ASSERT_GE(Named(".sst").size(), 10u);
  }
  std::vector<std::string> Named(std::string_view part) {
    std::vector<std::string> names = FilesIn(&database.memory, "/db");
    std::erase_if(names, [&](const std::string& name) { return name.find(part) == std::string::npos; });
    return names;
  }
  absl::Status Repair(FileSystem* files) {
    Options options = database.options;
    options.env.file_system = files;
    return Repairing(options, database.tuning, "/db", &report).Run();
  }

  RepairReport report;
};

TEST_F(RepairReadingTest, ARepairHasOneTableOpenAtATime) {
  MakeOneRun();
  ASSERT_OK(database.memory.FlipBit("/db/" + Named(".sst").front(), 20, 3));
  WatchedFileSystem files(&database.memory);
  ASSERT_OK(Repair(&files));
  EXPECT_EQ(report.tables_rewritten, 1u) << report.ToString();
  EXPECT_EQ(files.most(), 1);
}

TEST_F(RepairReadingTest, OfTablesThatAreMergedThoseAreOpenThatLieAboveOneAnother) {
  MakeOneRun();
  const std::unique_ptr<Directory> directory = database.memory.OpenDirectory("/db", false).value();
  for (const std::string& name : Named("MANIFEST")) ASSERT_OK(directory->Remove(name));
  WatchedFileSystem files(&database.memory);
  ASSERT_OK(Repair(&files));
  EXPECT_EQ(files.most(), 1);
  ASSERT_OK(database.Open());
  EXPECT_EQ(ReadAll(db()->NewIterator().get()).size(), 2000u);
}

}  // namespace
}  // namespace sepal

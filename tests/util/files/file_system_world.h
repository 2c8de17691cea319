// The fixture of tests of any file system: the file system with an empty directory, and its clients.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "sepal/file_system.h"
#include "util/base/strings.h"

namespace sepal {

// A file system with an empty directory to work in.
class World {
 public:
  virtual ~World() = default;
  virtual FileSystem* file_system() = 0;
  virtual std::string root() { return "/world"; }
  // Another client of the same store; null where there can be none.
  virtual FileSystem* another() { return nullptr; }
};

struct WorldKind {
  const char* name;
  std::unique_ptr<World> (*make)();
};

inline void PrintTo(const WorldKind& kind, std::ostream* out) { *out << kind.name; }

class FileSystemConformanceTest : public testing::TestWithParam<WorldKind> {
 protected:
  FileSystemConformanceTest() : world_(GetParam().make()), directory_(Open("db")) {}

  FileSystem* fs() { return world_->file_system(); }
  FileSystem* another() { return world_->another(); }
  Directory& dir() { return *directory_; }
  std::string Path(std::string_view name) { return world_->root() + "/" + std::string(name); }
  std::unique_ptr<Directory> Open(std::string_view name) { return fs()->OpenDirectory(Path(name), true).value(); }

  std::unique_ptr<WritableFile> Create(std::string_view name) {
    return dir().OpenForWrite(name, WriteMode::kCreateNew).value();
  }
  void Write(std::string_view name, std::string_view contents) {
    std::unique_ptr<WritableFile> file = Create(name);
    ASSERT_TRUE(file->Append(contents).ok());
    ASSERT_TRUE(file->Close().ok());
  }
  std::string Read(std::string_view name, ReadMode mode = ReadMode::kBuffered) {
    std::unique_ptr<ReadableFile> file = dir().OpenForRead(name, mode).value();
    return ReadAt(*file, 0, file->Size().value() + 1);
  }
  static std::string ReadAt(const ReadableFile& file, uint64_t offset, size_t length) {
    std::string buffer(length, '?');
    buffer.resize(file.Read(offset, length, buffer.data()).value());
    return buffer;
  }
  std::vector<DirectoryEntry> Entries() { return dir().List().value(); }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const DirectoryEntry& entry : Entries()) names.push_back(entry.name);
    return names;
  }
  // Checks that the code is right and that the message names the object.
  static void ExpectError(const absl::Status& status, absl::StatusCode code, std::string_view name) {
    EXPECT_EQ(status.code(), code) << status.ToString();
    EXPECT_THAT(std::string(ToStd(status.message())), ::testing::HasSubstr(std::string(name)));
  }

 private:
  std::unique_ptr<World> world_;
  std::unique_ptr<Directory> directory_;
};

inline std::string NameOfWorld(const testing::TestParamInfo<WorldKind>& each) { return each.param.name; }

}  // namespace sepal

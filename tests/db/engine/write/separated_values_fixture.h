// A small database that stores values of 100 bytes and more in value files.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "db/format/file_names.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {

inline constexpr size_t kSeparatedFrom = 100;

inline std::string Large(std::string_view name, size_t bytes = 300) {
  std::string value(name);
  while (value.size() < bytes) value += static_cast<char>('a' + value.size() * 7 % 26);
  return value;
}

class SeparatedValuesTest : public EngineTest {
 protected:
  void SetUp() override {
    database.options.family.separate_from = kSeparatedFrom;
    database.options.family.compression = compression;
    EngineTest::SetUp();
  }
  // Without it a value takes the bytes that it has.
  CompressionKind compression = CompressionKind::kNone;

  std::vector<std::string> Files(FileKind kind, std::string_view directory = "/db") {
    std::vector<std::string> names;
    for (const std::string& name : FilesIn(&database.memory, directory)) {
      const std::optional<ParsedFileName> parsed = ParseFileName(name);
      if (parsed.has_value() && parsed->kind == kind) names.push_back(name);
    }
    return names;
  }
  uint64_t BytesOf(FileKind kind) {
    uint64_t bytes = 0;
    for (const std::string& name : Files(kind)) {
      const absl::StatusOr<std::string> contents = database.memory.ReadFileContents("/db/" + name);
      if (contents.ok()) bytes += contents->size();  // else it has gone meanwhile
    }
    return bytes;
  }
  absl::Status Compact() {
    const absl::Status status = db()->CompactRange(db()->DefaultColumnFamily(), {});
    return status.ok() ? db()->WaitForBackgroundWork() : status;
  }
  std::string Scan(bool backward) {
    std::string all;
    const std::unique_ptr<Iterator> it = db()->NewIterator(db()->DefaultColumnFamily(), {});
    for (backward ? it->SeekToLast() : it->SeekToFirst(); it->Valid(); backward ? it->Prev() : it->Next()) {
      all += std::string(it->key()) + "=" + std::string(it->value()).substr(0, 6) + " ";
    }
    return all + (it->status().ok() ? "" : it->status().ToString());
  }
};

}  // namespace sepal

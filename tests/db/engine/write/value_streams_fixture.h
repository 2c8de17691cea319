// Values that are given and read in parts.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sepal/value_stream.h"
#include "tests/db/engine/write/separated_values_fixture.h"
#include "util/base/hash.h"

namespace sepal {

inline constexpr uint64_t kTestChunk = 64 << 10;

// Bytes of a value, made from its seed, which differ from place to place.
inline char MadeByte(uint64_t seed, uint64_t at) {
  return static_cast<char>(Mix64(seed * 0x9e3779b97f4a7c15 + at / 8) >> (at % 8 * 8));
}
inline std::string Made(uint64_t seed, uint64_t at, uint64_t bytes) {
  std::string made(bytes, '\0');
  for (uint64_t i = 0; i < bytes; ++i) made[i] = MadeByte(seed, at + i);
  return made;
}

// Returns `bytes` of the seed's bytes, at most `most` at a time.
class MadeSource final : public ValueSource {
 public:
  MadeSource(uint64_t seed, uint64_t bytes, size_t most = SIZE_MAX) : seed_(seed), bytes_(bytes), most_(most) {}
  // Called before each part, with what was given before it; not ok: that is the answer.
  MadeSource& Before(std::function<absl::Status(uint64_t given)> before) {
    before_ = std::move(before);
    return *this;
  }

  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    if (before_ != nullptr) {
      const absl::Status status = before_(given_);
      if (!status.ok()) return status;
    }
    const size_t part = std::min<uint64_t>({buffer.size(), most_, bytes_ - given_});
    for (size_t i = 0; i < part; ++i) buffer[i] = MadeByte(seed_, given_ + i);
    given_ += part;
    return part;
  }

 private:
  const uint64_t seed_;
  const uint64_t bytes_;
  const size_t most_;
  uint64_t given_ = 0;
  std::function<absl::Status(uint64_t)> before_;
};

class ValueStreamsTest : public SeparatedValuesTest {
 protected:
  void SetUp() override {
    database.tuning.streamed_from = 1000;
    database.tuning.info_log_bytes = uint64_t{1} << 20;
    SeparatedValuesTest::SetUp();
  }
  absl::Status PutMade(std::string_view key, uint64_t seed, uint64_t bytes, const WriteOptions& options = {}) {
    MadeSource source(seed, bytes);
    return db()->PutStream(key, bytes, source, options);
  }
  // What ReadValue copies, or the name of its error.
  std::string Part(std::string_view key, uint64_t offset, size_t bytes, const ReadOptions& options = {}) {
    std::string buffer(bytes, '?');
    const absl::StatusOr<ValuePart> part = db()->ReadValue(key, offset, buffer, options);
    if (!part.ok()) return std::string(absl::StatusCodeToString(part.status().code()));
    EXPECT_EQ(buffer.substr(part->copied), std::string(bytes - part->copied, '?')) << "beyond what was copied";
    return buffer.substr(0, part->copied);
  }
  // Files are removed in the background.
  void AwaitFiles(size_t count) {
    for (int i = 0; i < 1000 && StreamFiles() != count; ++i) EXPECT_OK(db()->WaitForBackgroundWork());
  }
  size_t StreamFiles() { return Files(FileKind::kValues).size(); }
  void ExpectMade(std::string_view key, uint64_t seed, uint64_t bytes) {
    const std::string value = Made(seed, 0, bytes);
    EXPECT_TRUE(Value(db(), key) == value) << key;
    char none = 0;
    const absl::StatusOr<ValuePart> empty = db()->ReadValue(key, 0, {&none, 0});
    ASSERT_OK(empty.status());
    EXPECT_EQ(empty->value_bytes, bytes);
    for (const uint64_t offset : {uint64_t{0}, uint64_t{1}, bytes / 2, kTestChunk - 3, kTestChunk, kTestChunk + 1,
                                  bytes - std::min<uint64_t>(bytes, 1), bytes, bytes + 1, UINT64_MAX}) {
      const std::string_view rest = std::string_view(value).substr(std::min(offset, bytes));
      for (const size_t size : {size_t{1}, size_t{7}, size_t{kTestChunk}, size_t{3 * kTestChunk + 5}, size_t{bytes}}) {
        EXPECT_TRUE(Part(key, offset, size) == rest.substr(0, size)) << key << " " << offset << " " << size;
      }
    }
  }
};

}  // namespace sepal

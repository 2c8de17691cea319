// Entries of many shapes, blocks of them, and bytes aligned as the readers require.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "table/block/block.h"
#include "table/key/internal_key.h"
#include "util/base/random.h"

namespace sepal {

inline constexpr uint64_t kBlockHashSeed = 77;

inline std::string Bytes(std::initializer_list<int> bytes) {
  std::string s;
  for (int b : bytes) s.push_back(static_cast<char>(b));
  return s;
}

// A copy of bytes, aligned to 64 and readable for exactly 64 bytes past the end.
class PaddedBytes {
 public:
  explicit PaddedBytes(std::string_view bytes) : size_(bytes.size()) {
    void* memory = nullptr;
    if (posix_memalign(&memory, 64, size_ + 64) != 0) std::abort();
    data_.reset(static_cast<char*>(memory));
    std::memset(data_.get(), 0xa5, size_ + 64);
    if (size_ > 0) std::memcpy(data_.get(), bytes.data(), size_);
  }
  std::string_view view() const { return {data_.get(), size_}; }
  char* data() { return data_.get(); }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  size_t size_;
  std::unique_ptr<char, Free> data_;
};

struct BlockEntry {
  InternalKey key;
  std::string value;
};

// Bytewise from the last byte to the first: keys that are near in it share no prefix.
class BackwardComparator final : public Comparator {
 public:
  explicit BackwardComparator(bool equal_means_identical) : equal_means_identical_(equal_means_identical) {}
  int Compare(std::string_view a, std::string_view b) const override {
    return std::string(a.rbegin(), a.rend()).compare(std::string(b.rbegin(), b.rend()));
  }
  std::string_view Name() const override { return "test.Backward"; }
  bool EqualMeansIdentical() const override { return equal_means_identical_; }

 private:
  bool equal_means_identical_;
};

enum class KeyShape { kRandom, kSharedPrefix, kZeros, kNested, kLong, kFewKeysManyVersions };
inline constexpr KeyShape kAllShapes[] = {KeyShape::kRandom, KeyShape::kSharedPrefix, KeyShape::kZeros,
                                          KeyShape::kNested, KeyShape::kLong,         KeyShape::kFewKeysManyVersions};

inline std::string RandomBytes(Random& random, size_t size, int alphabet = 256, char first = 0) {
  std::string bytes(size, '\0');
  for (char& c : bytes)
    c = static_cast<char>(first + static_cast<char>(random.Uniform(static_cast<uint64_t>(alphabet))));
  return bytes;
}

inline std::string RandomKey(Random& random, KeyShape shape) {
  switch (shape) {
    case KeyShape::kRandom:
      return RandomBytes(random, random.Uniform(20));
    case KeyShape::kSharedPrefix:
      return std::string(37, 'p') + RandomBytes(random, random.Uniform(12), 4, 'a');
    case KeyShape::kZeros:
      return "z" + RandomBytes(random, random.Uniform(18), 2);
    case KeyShape::kNested:
      return std::string(random.Uniform(200), 'n');
    case KeyShape::kLong:
      return RandomBytes(random, 1, 3, 'a') + std::string(random.Uniform((64 << 10) - 20), 'l') +
             RandomBytes(random, random.Uniform(9));
    case KeyShape::kFewKeysManyVersions:
      return RandomBytes(random, 1, 3, 'a');
  }
  return {};
}

// About `count` entries in order, no two with one internal key.
inline std::vector<BlockEntry> RandomEntries(Random& random, KeyShape shape, size_t count, KeyOrder order) {
  std::vector<BlockEntry> entries;
  const bool one_kind = random.OneIn(2);
  const uint64_t sequences = uint64_t{1} << random.Uniform(57);
  while (entries.size() < count) {
    const std::string key = RandomKey(random, shape);
    for (uint64_t versions = random.OneIn(4) ? random.Uniform(5) : 1; versions > 0; --versions) {
      const auto kind = one_kind ? ValueKind::kPut : static_cast<ValueKind>(random.Uniform(kMaxValueKind + 1));
      const SequenceNumber sequence(random.Uniform(sequences));
      entries.push_back({InternalKey(key, PackTrailer(sequence, kind)), RandomBytes(random, random.Uniform(40))});
    }
  }
  std::sort(entries.begin(), entries.end(),
            [order](const BlockEntry& a, const BlockEntry& b) { return order.Less(a.key.view(), b.key.view()); });
  entries.erase(std::unique(entries.begin(), entries.end(),
                            [](const BlockEntry& a, const BlockEntry& b) { return a.key == b.key; }),
                entries.end());
  return entries;
}

inline uint64_t TestHash(std::string_view key) { return HashKey(key, kBlockHashSeed); }

inline std::string BuildBlock(const std::vector<BlockEntry>& entries, bool tags, bool continuation = false) {
  BlockBuilder builder(tags);
  for (const BlockEntry& entry : entries) builder.Add(entry.key.view(), entry.value, TestHash(entry.key.user_key));
  return std::string(builder.Finish(continuation));
}

}  // namespace sepal

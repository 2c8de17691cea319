// What the messages of a sync carry, as bytes. A Parse refuses whatever no Encode has made (DataLoss).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "db/sync/difference_table.h"
#include "db/sync/range_sums.h"
#include "sepal/sync.h"
#include "util/base/coding.h"

namespace sepal {

// What came is damaged, or no sync: DataLoss, but not of what is stored here (util/base/other_side.h).
absl::Status StreamDamage(std::string_view message);

inline constexpr uint64_t kSyncVersion = 3;
// Of a message with more than one entry, and of one with keys: once they are read, they take more memory.
inline constexpr size_t kMostListBytes = size_t{1} << 20;
inline constexpr size_t kMostHelloBytes = size_t{1} << 20;

struct SyncFamily {
  std::string name = {};
  std::string comparator = {};  // its name
};
struct SyncHello {
  ConflictPolicy policy = ConflictPolicy::kReport;
  std::vector<SyncFamily> families = {};
};
std::string Encode(const SyncHello& hello);
absl::StatusOr<SyncHello> ParseHello(std::string_view bytes);

struct SyncRanges {
  uint64_t seed = 0;  // of the hashes of this round
  RangeSums ranges = {};
};
// Of a message of ranges: the longest list of them, and what stands before it.
inline constexpr size_t kMostRangesBytes = RangeSums::kMostBytes + sizeof(uint64_t) + kMaxVarint64Bytes;
std::string Encode(const SyncRanges& ranges);
// The ranges keep `bytes`.
absl::StatusOr<SyncRanges> ParseRanges(std::string bytes);

struct SyncDiffering {
  std::vector<bool> ranges = {};  // those that differ
  uint64_t entries = 0;           // that the answering side has in them
  // Of all that it has: where the sides have more than a few entries in them.
  std::optional<DifferenceSketch> sketch = {};
};
std::string Encode(const SyncDiffering& differing);
// `count`: how many ranges there are.
absl::StatusOr<SyncDiffering> ParseDiffering(std::string_view bytes, size_t count);

struct SyncItem {
  std::string_view key = {};
  std::string_view value = {};
  uint64_t sequence = 0;  // with kNewerBySequence
};
void Append(const SyncItem& item, std::string* items);
// At most so many bytes are appended.
size_t MostBytesOf(const SyncItem& item);
// The views are into `bytes`.
absl::StatusOr<std::vector<SyncItem>> ParseItems(std::string_view bytes);

// What the answering side has written, when all is done.
struct SyncDone {
  uint64_t written = 0;
  uint64_t overwritten = 0;
};
std::string Encode(const SyncDone& done);
absl::StatusOr<SyncDone> ParseDone(std::string_view bytes);

void AppendKey(std::string_view key, std::string* keys);
absl::StatusOr<std::vector<std::string>> ParseKeys(std::string_view bytes);

}  // namespace sepal

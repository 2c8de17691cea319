// The payloads of a sync's messages, as bytes. A Parse refuses bytes that are no output of Encode (DataLoss).
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

// The received bytes are damaged, or no sync: DataLoss, but not of the local files (util/base/other_side.h).
absl::Status StreamDamage(std::string_view message);

inline constexpr uint64_t kSyncVersion = 3;
// The limit for messages of several entries, and of keys: once decoded, they take more memory.
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
// The limit for a message of ranges: the longest list of them, and the fields before it.
inline constexpr size_t kMostRangesBytes = RangeSums::kMostBytes + sizeof(uint64_t) + kMaxVarint64Bytes;
std::string Encode(const SyncRanges& ranges);
// The ranges keep `bytes`.
absl::StatusOr<SyncRanges> ParseRanges(std::string bytes);

struct SyncDiffering {
  std::vector<bool> ranges = {};  // those that differ
  uint64_t entries = 0;           // that the answering side has in them
  // Of all its entries, if the sides have more than a few entries in these ranges.
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

// The numbers of entries that the answering side has written, at the end.
struct SyncDone {
  uint64_t written = 0;
  uint64_t overwritten = 0;
};
std::string Encode(const SyncDone& done);
absl::StatusOr<SyncDone> ParseDone(std::string_view bytes);

void AppendKey(std::string_view key, std::string* keys);
absl::StatusOr<std::vector<std::string>> ParseKeys(std::string_view bytes);

}  // namespace sepal

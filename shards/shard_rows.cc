#include "shards/shard_rows.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "util/base/coding.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

constexpr uint8_t kVersion = 1;
constexpr char kShardPrefix = 's';
constexpr uint8_t kTakeOver = 1, kUnmade = 2, kUntrimmed = 4, kHasSplit = 8;

absl::Status BadRow(std::string_view key, const char* what) {
  return absl::DataLossError(absl::StrFormat("the row \"%s\" of a map of shards %s", Printable(key), what));
}

absl::Status CheckVersion(std::string_view key, uint8_t version) {
  if (version == kVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "the row \"%s\" of a map of shards has version %d, which only a newer library reads", Printable(key), version));
}

}  // namespace

absl::Status ShardRows::Link() {
  if (shards.empty() || !shards.begin()->first.empty()) {
    return absl::DataLossError("a map of shards has none for the first key");
  }
  for (auto it = shards.begin(); it != shards.end(); ++it) {
    const auto next = std::next(it);
    it->second.end = next != shards.end() ? std::optional<std::string>(next->first) : std::nullopt;
  }
  return absl::OkStatus();
}

std::string ShardKey(std::string_view begin) { return kShardPrefix + std::string(begin); }

std::string EncodeMapRow(const ShardRows& rows) {
  std::string row(1, static_cast<char>(kVersion));
  PutVarint(&row, rows.epoch);
  PutVarint(&row, rows.next_id);
  PutLengthPrefixed(&row, rows.databases);
  return row;
}

std::string EncodeShardRow(const Shard& shard) {
  std::string row(1, static_cast<char>(kVersion));
  PutVarint(&row, shard.id);
  PutVarint(&row, shard.epoch);
  row.push_back(static_cast<char>((shard.take_over ? kTakeOver : 0) | (shard.unmade ? kUnmade : 0) |
                                  (shard.untrimmed ? kUntrimmed : 0) | (shard.split.has_value() ? kHasSplit : 0)));
  PutLengthPrefixed(&row, shard.database);
  PutLengthPrefixed(&row, shard.owner);
  if (shard.split.has_value()) PutLengthPrefixed(&row, *shard.split);
  return row;
}

absl::Status TakeRow(std::string_view key, std::string_view value, ShardRows* rows) {
  Decoder in(value);
  const uint8_t version = in.Byte();
  if (!in.ok()) return BadRow(key, "is empty");
  if (key == kMapRow) {
    if (absl::Status known = CheckVersion(key, version); !known.ok()) return known;
    rows->epoch = in.Varint();
    rows->next_id = in.Varint();
    rows->databases = std::string(in.LengthPrefixed());
    return in.Done() ? absl::OkStatus() : BadRow(key, "is cut short");
  }
  if (key.empty() || key.front() != kShardPrefix) return BadRow(key, "is of no kind");
  if (absl::Status known = CheckVersion(key, version); !known.ok()) return known;
  Shard shard;
  shard.begin = std::string(key.substr(1));
  shard.id = in.Varint();
  shard.epoch = in.Varint();
  const uint8_t flags = in.Byte();
  shard.take_over = (flags & kTakeOver) != 0;
  shard.unmade = (flags & kUnmade) != 0;
  shard.untrimmed = (flags & kUntrimmed) != 0;
  shard.database = std::string(in.LengthPrefixed());
  shard.owner = std::string(in.LengthPrefixed());
  if ((flags & kHasSplit) != 0) shard.split = std::string(in.LengthPrefixed());
  if (!in.Done() || flags >= 16) return BadRow(key, "is cut short, or has flags that do not exist");
  std::string begin = shard.begin;
  rows->shards.emplace(std::move(begin), std::move(shard));
  return absl::OkStatus();
}

}  // namespace sepal

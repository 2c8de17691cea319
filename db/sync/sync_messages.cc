#include "db/sync/sync_messages.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "util/base/coding.h"
#include "util/base/other_side.h"
#include "util/base/status.h"

namespace sepal {

namespace {

constexpr std::string_view kMagic = "SPALSYNC";

absl::Status Unreadable(std::string_view what) {
  return StreamDamage(absl::StrFormat("a message with %s that cannot be read", what));
}

}  // namespace

absl::Status StreamDamage(std::string_view message) { return MarkOtherSide(absl::DataLossError(std::string(message))); }

std::string Encode(const SyncHello& hello) {
  std::string bytes(kMagic);
  PutVarint(&bytes, kSyncVersion);
  bytes.push_back(static_cast<char>(hello.policy));
  PutVarint(&bytes, hello.families.size());
  for (const SyncFamily& family : hello.families) {
    PutLengthPrefixed(&bytes, family.name);
    PutLengthPrefixed(&bytes, family.comparator);
  }
  return bytes;
}

absl::StatusOr<SyncHello> ParseHello(std::string_view bytes) {
  Decoder decoder(bytes);
  if (decoder.Bytes(kMagic.size()) != kMagic) {
    return StreamDamage("the other side does not begin as a sync does: is it a sepal sync-server?");
  }
  const uint64_t version = decoder.Varint();
  if (decoder.ok() && version != kSyncVersion) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "the other side speaks version %u of the protocol and this one version %u: use the same Sepal on both sides",
        version, kSyncVersion));
  }
  SyncHello hello;
  hello.policy = static_cast<ConflictPolicy>(decoder.Byte());
  for (uint64_t left = decoder.Varint(); left > 0 && decoder.ok(); --left) {
    SyncFamily& family = hello.families.emplace_back();
    family.name = decoder.LengthPrefixed();
    family.comparator = decoder.LengthPrefixed();
  }
  if (!decoder.Done() || hello.policy > ConflictPolicy::kNewerBySequence) return Unreadable("a greeting");
  return hello;
}

std::string Encode(const SyncRanges& ranges) {
  std::string bytes;
  bytes.reserve(kMostRangesBytes - RangeSums::kMostBytes + ranges.ranges.bytes().size());
  PutFixed64(&bytes, ranges.seed);
  PutVarint(&bytes, ranges.ranges.size());
  bytes += ranges.ranges.bytes();
  return bytes;
}

absl::StatusOr<SyncRanges> ParseRanges(std::string bytes) {
  Decoder decoder(bytes);
  SyncRanges ranges;
  ranges.seed = decoder.Fixed64();
  const uint64_t count = decoder.Varint();
  const size_t at = bytes.size() - decoder.remaining();
  std::optional<RangeSums> sums = RangeSums::Parse(std::move(bytes), at, count);
  if (!sums.has_value()) return Unreadable("sums of ranges");
  ranges.ranges = *std::move(sums);
  return ranges;
}

std::string Encode(const SyncDiffering& differing) {
  std::string bytes;
  PutVarint(&bytes, differing.entries);
  std::string bits((differing.ranges.size() + 7) / 8, '\0');
  for (size_t i = 0; i < differing.ranges.size(); ++i) {
    if (differing.ranges[i]) bits[i / 8] = static_cast<char>(bits[i / 8] | 1 << i % 8);
  }
  bytes += bits;
  if (differing.sketch.has_value()) differing.sketch->AppendTo(&bytes);
  return bytes;
}

absl::StatusOr<SyncDiffering> ParseDiffering(std::string_view bytes, size_t count) {
  Decoder decoder(bytes);
  SyncDiffering differing;
  differing.entries = decoder.Varint();
  const std::string_view bits = decoder.Bytes((count + 7) / 8);
  if (decoder.ok() && !decoder.empty()) differing.sketch = DifferenceSketch::Read(&decoder);
  if (!decoder.Done()) return Unreadable("ranges that differ");
  for (size_t i = 0; i < count; ++i) differing.ranges.push_back((bits[i / 8] >> i % 8 & 1) != 0);
  return differing;
}

void Append(const SyncItem& item, std::string* items) {
  PutLengthPrefixed(items, item.key);
  PutLengthPrefixed(items, item.value);
  PutVarint(items, item.sequence);
}

size_t MostBytesOf(const SyncItem& item) { return item.key.size() + item.value.size() + 3 * kMaxVarint64Bytes; }

absl::StatusOr<std::vector<SyncItem>> ParseItems(std::string_view bytes) {
  Decoder decoder(bytes);
  std::vector<SyncItem> items;
  while (decoder.ok() && !decoder.empty()) {
    if (!items.empty() && bytes.size() > kMostListBytes) return Unreadable("too many entries");
    const std::string_view key = decoder.LengthPrefixed(), value = decoder.LengthPrefixed();
    items.push_back({.key = key, .value = value, .sequence = decoder.Varint()});
  }
  if (!decoder.Done()) return Unreadable("entries");
  return items;
}

std::string Encode(const SyncDone& done) {
  std::string bytes;
  PutVarint(&bytes, done.written);
  PutVarint(&bytes, done.overwritten);
  return bytes;
}

absl::StatusOr<SyncDone> ParseDone(std::string_view bytes) {
  Decoder decoder(bytes);
  SyncDone done;
  done.written = decoder.Varint();
  done.overwritten = decoder.Varint();
  if (!decoder.Done()) return Unreadable("an end");
  return done;
}

void AppendKey(std::string_view key, std::string* keys) { PutLengthPrefixed(keys, key); }

absl::StatusOr<std::vector<std::string>> ParseKeys(std::string_view bytes) {
  Decoder decoder(bytes);
  std::vector<std::string> keys;
  while (decoder.ok() && !decoder.empty()) keys.emplace_back(decoder.LengthPrefixed());
  if (!decoder.Done() || bytes.size() > kMostListBytes) return Unreadable("keys");
  return keys;
}

}  // namespace sepal

#include "db/sync/sync_side.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "sepal/explanation.h"
#include "sepal/write_batch.h"
#include "util/base/coding.h"
#include "util/base/hash.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

// Chained over the entries of a range, in order.
void AddTo(RangeSum* range, uint64_t hash) {
  ++range->entries;
  range->hash[0] = Mix64(range->hash[0] ^ hash);
  range->hash[1] = Mix64(range->hash[1] + (hash | 1) * 0x9e3779b97f4a7c15U);
}

std::string Begun(SyncForm form) { return std::string(1, static_cast<char>(form)); }

}  // namespace

std::string EncodeHashes(SyncForm form, std::vector<uint64_t> hashes) {
  std::sort(hashes.begin(), hashes.end());
  std::string payload = Begun(form);
  for (const uint64_t hash : hashes) PutFixed64(&payload, hash);
  return payload;
}

absl::StatusOr<SyncFilter> SyncFilter::Parse(std::string_view payload) {
  Decoder decoder(payload);
  SyncFilter filter;
  filter.form_ = static_cast<SyncForm>(decoder.Byte());
  const std::string_view bytes = decoder.rest();
  if (filter.form_ == SyncForm::kBloom) {
    ASSIGN_OR_RETURN(filters::AnyFilter any, filters::ParseFilter(bytes, "the other side's filter"));
    auto* const bloom = std::get_if<filters::BloomFilter>(&any);
    if (bloom == nullptr) return StreamDamage("the other side's filter is no Bloom filter");
    filter.bloom_ = std::move(*bloom);
    return filter;
  }
  if (filter.form_ == SyncForm::kTable) {
    ASSIGN_OR_RETURN(filter.table_, DifferenceTable::Parse(bytes));
    return filter;
  }
  if (!decoder.ok() || filter.form_ > SyncForm::kWanted || bytes.size() % sizeof(uint64_t) != 0) {
    return StreamDamage("a message with a filter that cannot be read");
  }
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
    filter.hashes_.push_back(DecodeFixed64(bytes.data() + at));
  }
  if (!std::is_sorted(filter.hashes_.begin(), filter.hashes_.end())) {
    return StreamDamage("a message with hashes that are not in order");
  }
  return filter;
}

bool SyncFilter::MayContain(uint64_t hash) const {
  if (bloom_.has_value()) return bloom_->MayContainHash(hash);
  return std::binary_search(hashes_.begin(), hashes_.end(), hash) != (form_ == SyncForm::kWanted);
}

void SyncFilter::BecomeWanted(std::vector<uint64_t> hashes) {
  form_ = SyncForm::kWanted;
  hashes_ = std::move(hashes);
  table_.reset();
}

absl::Status SyncSide::Begin(const std::string& family) {
  conflicts_.clear();
  new_conflicts_.clear();
  absl::StatusOr<std::shared_ptr<ColumnFamily>> found = db_->FindColumnFamily(family);
  if (absl::IsNotFound(found.status())) found = db_->CreateColumnFamily(family, {});
  RETURN_IF_ERROR(found.status());
  family_ = *std::move(found);
  return absl::OkStatus();
}

uint64_t SyncSide::HashOf(std::string_view key, std::string_view value) const {
  return Checksum64(value, Checksum64(key, ranges_.seed));
}

bool SyncSide::EndsBefore(const RangeSum& range, std::string_view key) const {
  if (range.entries < tuning_.entries_of_range) return false;
  const uint64_t most = tuning_.most_range_bytes;
  const uint64_t left = most - std::min<uint64_t>(ranges_.ranges.bytes().size(), most);
  if (RangeSums::MostBytesOf(range.begin) + RangeSums::MostBytesOf(key) > left) return false;
  return range.entries / tuning_.entries_of_range >= most / left;
}

absl::Status SyncSide::Sum(uint64_t seed) {
  ranges_ = {.seed = seed};
  entries_ = 0;
  sketch_ = DifferenceSketch();
  RangeSum range;
  std::string last;
  const std::unique_ptr<Iterator> it = db_->NewIterator(*family_, {.fill_cache = false});
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    RETURN_IF_ERROR(CheckOrder(it->key(), &last));
    if (IsInConflict(it->key())) continue;
    if (EndsBefore(range, it->key())) {
      ranges_.ranges.Add(std::exchange(range, {.begin = std::string(it->key())}));
    }
    const uint64_t hash = HashOf(it->key(), it->value());
    AddTo(&range, hash);
    sketch_.Add(hash);
    ++entries_;
  }
  RETURN_IF_ERROR(it->status());
  ranges_.ranges.Add(range);
  return absl::OkStatus();
}

absl::Status SyncSide::CheckOrder(std::string_view key, std::string* last) const {
  if (key < *last) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the keys of the column family \"%s\" are not in the bytewise order, by which ranges are "
                        "compared: it cannot be "
                        "synced",
                        Printable(family_->name())));
  }
  last->assign(key);
  return absl::OkStatus();
}

absl::StatusOr<SyncDiffering> SyncSide::Compare(SyncRanges theirs) {
  entries_ = 0;
  sketch_ = DifferenceSketch();
  ranges_ = std::move(theirs);
  const RangeSums& sums = ranges_.ranges;
  differing_.assign(sums.size(), false);
  SyncDiffering differing;
  uint64_t both = 0;  // sides' entries in the ranges that differ
  std::string last;
  const std::unique_ptr<Iterator> it = db_->NewIterator(*family_, {.fill_cache = false});
  it->SeekToFirst();
  for (size_t i = 0; i < sums.size(); ++i) {
    const RangeSum there = sums[i];
    RangeSum here{.begin = there.begin};
    RETURN_IF_ERROR(ScanRange(it.get(), i, [&](std::string_view key, std::string_view, uint64_t hash) {
      AddTo(&here, hash);
      sketch_.Add(hash);
      return CheckOrder(key, &last);
    }));
    differing_[i] = !(here == there);
    if (differing_[i]) {
      differing.entries += here.entries;
      both += here.entries + there.entries;
    }
    entries_ += here.entries;
  }
  differing.ranges = differing_;
  if (both > tuning_.exact_entries) differing.sketch = sketch_;
  return differing;
}

absl::Status SyncSide::ScanRange(Iterator* it, size_t i, const Visit& visit) const {
  const bool last = i + 1 == ranges_.ranges.size();
  const std::string_view end = last ? std::string_view() : ranges_.ranges.BeginOf(i + 1);
  for (; it->Valid() && (last || it->key() < end); it->Next()) {
    if (IsInConflict(it->key())) continue;
    RETURN_IF_ERROR(visit(it->key(), it->value(), HashOf(it->key(), it->value())));
  }
  return it->status();
}

absl::Status SyncSide::ScanDiffering(const Visit& visit) const {
  const std::unique_ptr<Iterator> it = db_->NewIterator(*family_, {.fill_cache = false});
  bool there = false;  // at the beginning of the range
  for (size_t i = 0; i < ranges_.ranges.size(); there = differing_[i++]) {
    if (!differing_[i]) continue;
    if (!there) it->Seek(ranges_.ranges.BeginOf(i));
    RETURN_IF_ERROR(ScanRange(it.get(), i, visit));
  }
  return absl::OkStatus();
}

absl::Status SyncSide::ScanHashes(const std::function<void(uint64_t hash)>& take) const {
  return ScanDiffering([&](std::string_view, std::string_view, uint64_t hash) {
    take(hash);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::string> SyncSide::Filter(SyncForm form, uint64_t count) {
  if (form == SyncForm::kHashes) {
    std::vector<uint64_t> hashes;
    RETURN_IF_ERROR(ScanHashes([&](uint64_t hash) { hashes.push_back(hash); }));
    return EncodeHashes(form, std::move(hashes));
  }
  if (form == SyncForm::kTable) {
    DifferenceTable table(DifferenceTable::CellsFor(count));
    RETURN_IF_ERROR(ScanHashes([&](uint64_t hash) { table.Put(hash); }));
    std::string payload = Begun(form);
    table.AppendTo(&payload);
    return payload;
  }
  count = std::max<uint64_t>(count, 1);
  ASSIGN_OR_RETURN(filters::BloomShape shape, filters::BloomShape::For(count, tuning_.false_positive_rate));
  // A set that is too large for that gets a higher rate, and needs more rounds.
  if (shape.bits / 8 > tuning_.most_filter_bytes) {
    ASSIGN_OR_RETURN(shape, filters::BloomShape::OfBits(count, tuning_.most_filter_bytes * 8));
  }
  ASSIGN_OR_RETURN(filters::BloomFilter bloom, filters::BloomFilter::Create(shape));
  RETURN_IF_ERROR(ScanHashes([&](uint64_t hash) { bloom.AddHash(hash); }));
  return Begun(form) + bloom.Serialize();
}

absl::StatusOr<std::vector<uint64_t>> SyncSide::Resolve(SyncFilter* theirs) {
  RETURN_IF_ERROR(ScanHashes([&](uint64_t hash) { theirs->table().Take(hash); }));
  DifferenceTable::Difference difference = theirs->table().Find();
  theirs->BecomeWanted(std::move(difference.taken));
  return std::move(difference.put);
}

absl::Status SyncSide::Missing(const SyncFilter& theirs, const std::function<absl::Status(std::string_view)>& send) {
  std::string items;
  const auto visit = [&](std::string_view key, std::string_view value, uint64_t hash) -> absl::Status {
    if (theirs.MayContain(hash)) return absl::OkStatus();
    SyncItem item{.key = key, .value = value};
    if (policy_ == ConflictPolicy::kNewerBySequence) {
      ASSIGN_OR_RETURN(item.sequence, SequenceOf(key));
    }
    if (!items.empty() && items.size() + MostBytesOf(item) > kMostListBytes) {
      RETURN_IF_ERROR(send(std::exchange(items, {})));
    }
    Append(item, &items);
    ++sent_;
    if (items.size() < tuning_.batch_bytes) return absl::OkStatus();
    return send(std::exchange(items, {}));
  };
  RETURN_IF_ERROR(ScanDiffering(visit));
  return items.empty() ? absl::OkStatus() : send(items);
}

absl::StatusOr<uint64_t> SyncSide::SequenceOf(std::string_view key) const {
  ASSIGN_OR_RETURN(const GetExplanation explanation, db_->ExplainGet(*family_, key));
  uint64_t newest = 0;
  for (const ExplainedSource& source : explanation.sources) newest = std::max(newest, source.sequence);
  return newest;
}

absl::StatusOr<std::optional<bool>> SyncSide::Overwrites(const SyncItem& item) const {
  switch (policy_) {
    case ConflictPolicy::kReport:
      return std::nullopt;
    case ConflictPolicy::kOurs:
      return !begins_;
    case ConflictPolicy::kTheirs:
      return begins_;
    case ConflictPolicy::kNewerBySequence:
      break;
  }
  ASSIGN_OR_RETURN(const uint64_t here, SequenceOf(item.key));
  // Compactions into the last level set numbers to 0, so 0 says nothing.
  if (here == 0 || item.sequence == 0 || here == item.sequence) return std::nullopt;
  return here < item.sequence;
}

absl::Status SyncSide::Apply(std::string_view bytes) {
  ASSIGN_OR_RETURN(const std::vector<SyncItem> items, ParseItems(bytes));
  std::vector<std::string_view> keys;
  for (const SyncItem& item : items) keys.push_back(item.key);
  std::vector<PinnedValue> values(items.size());
  std::vector<absl::Status> statuses(items.size());
  RETURN_IF_ERROR(db_->MultiGet(*family_, keys, values, statuses, {.fill_cache = false}));
  WriteBatch batch;
  for (size_t i = 0; i < items.size(); ++i) {
    const bool there = statuses[i].ok();
    if (!there && !absl::IsNotFound(statuses[i])) return statuses[i];
    if (there && values[i].value() == items[i].value) continue;
    if (IsInConflict(items[i].key)) continue;
    if (there) {
      ASSIGN_OR_RETURN(const std::optional<bool> overwrites, Overwrites(items[i]));
      if (!overwrites.has_value()) RETURN_IF_ERROR(NoteConflict(items[i].key));
      if (!overwrites.value_or(false)) continue;
      ++overwritten_;
    }
    batch.Put(*family_, items[i].key, items[i].value);
    ++written_;
  }
  return db_->Write(batch);
}

absl::Status SyncSide::NoteConflict(std::string_view key) {
  RETURN_IF_ERROR(AddConflict(key));
  new_conflicts_.emplace_back(key);
  return absl::OkStatus();
}

absl::Status SyncSide::AddConflict(std::string_view key) {
  if (!conflicts_.emplace(key).second) return absl::OkStatus();
  ++conflict_count_;
  conflict_bytes_ += key.size();
  if (conflict_count_ <= tuning_.most_conflicts && conflict_bytes_ <= tuning_.most_conflict_bytes) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrFormat("more than %u keys, or keys of more than %s, up to the column family \"%s\" have two values: "
                      "choose a policy with --on-conflict",
                      tuning_.most_conflicts, HumanBytes(tuning_.most_conflict_bytes), Printable(family_->name())));
}

absl::Status SyncSide::AddConflicts(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) RETURN_IF_ERROR(AddConflict(key));
  return absl::OkStatus();
}

}  // namespace sepal

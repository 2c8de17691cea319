#include "db/engine/transaction/batch_index.h"

#include <utility>

#include "db/decide/merge/fold.h"
#include "db/engine/write/delete_range_in_memtable.h"
#include "db/format/range_end.h"
#include "util/base/coding.h"
#include "util/base/status.h"

namespace sepal {

namespace {

// The memory of an update besides key and value: its entry in the batch, and its places in the index and in the log.
constexpr size_t kBytesOfUpdate = 160;

// Returns the bytes from the key to the end of the batch, if this update was the last one appended.
size_t BytesFromKeyOn(ValueKind kind, std::string_view key, std::string_view value) {
  return key.size() + (HasValue(kind) ? static_cast<size_t>(VarintLength(value.size())) + value.size() : 0);
}

}  // namespace

size_t BatchIndex::MemoryBytes(size_t key_bytes, size_t value_bytes) {
  return kBytesOfUpdate + 2 * key_bytes + value_bytes;
}

BatchIndex::BatchIndex(ReadClock* clock) : clock_(clock) {}

absl::Status BatchIndex::Check(const Family& family, ValueKind kind, std::string_view key, std::string_view value) {
  RETURN_IF_ERROR(CheckEntrySize(key.size(), value.size()));
  if (NeedsMergeOperator(kind) && family.merge_operator_name.empty()) return HasNoMergeOperator(family);
  if (!IsRangeDelete(kind)) return absl::OkStatus();
  return CheckRange(family, {.kind = kind, .family = family.id, .key = key, .value = value});
}

const BatchIndex::Part* BatchIndex::Find(ColumnFamilyId family) const {
  for (const std::unique_ptr<Part>& part : parts_) {
    if (part->family->id == family) return part.get();
  }
  return nullptr;
}

BatchIndex::Part* BatchIndex::PartOf(const FamilyRef& family) {
  for (const std::unique_ptr<Part>& part : parts_) {
    if (part->family == family) return part.get();
  }
  parts_.push_back(std::make_unique<Part>(family));
  return parts_.back().get();
}

void BatchIndex::Add(const FamilyRef& family, ValueKind kind, std::string_view key, std::string_view value) {
  Part* const part = PartOf(family);
  std::string* const bytes = BatchOrigin::Bytes(&updates_);
  Logged logged{part, part->keys.end(), bytes->size(), index_bytes_, expires()};
  AppendBatchEntry(bytes, kind, family->id, key, value);
  if (Expires(kind)) BatchOrigin::SetExpires(&updates_, true);
  part->had_operands |= NeedsMergeOperator(kind);
  index_bytes_ += kBytesOfUpdate + key.size();
  const uint32_t ordinal = last() + 1;
  if (IsRangeDelete(kind)) {
    const std::optional<std::string_view> end = DecodeRangeEnd(value).value_or(RangeEnd{}).key;
    part->ranges.push_back(
        {ordinal, std::string(key), end.has_value() ? std::optional(std::string(*end)) : std::nullopt});
  } else {
    auto it = part->keys.lower_bound(key);
    if (it == part->keys.end() || !part->family->order.Equal(it->first, key)) {
      it = part->keys.emplace_hint(it, std::string(key), Updates());
    }
    const size_t value_offset = bytes->size() - value.size();
    const size_t key_offset = bytes->size() - BytesFromKeyOn(kind, key, value);
    it->second.push_back({ordinal, kind, key_offset, key.size(), value_offset, value.size()});
    logged.key = it;
  }
  log_.push_back(logged);
}

bool BatchIndex::RollBackToSavepoint() {
  if (savepoints_.empty()) return false;
  RollBackTo(savepoints_.back());
  savepoints_.pop_back();
  return true;
}

void BatchIndex::RollBackTo(uint32_t ordinal) {
  std::string* const bytes = BatchOrigin::Bytes(&updates_);
  ++generation_;
  while (last() > ordinal) {
    const Logged& logged = log_.back();
    if (logged.key == logged.part->keys.end()) {
      logged.part->ranges.pop_back();
    } else {
      logged.key->second.pop_back();
      if (logged.key->second.empty()) logged.part->keys.erase(logged.key);
    }
    bytes->resize(logged.bytes_before);
    index_bytes_ = logged.index_bytes_before;
    BatchOrigin::SetExpires(&updates_, logged.expires_before);
    log_.pop_back();
  }
  EncodeFixed32(bytes->data(), last());
}

void BatchIndex::End() {
  RollBackTo(0);
  for (const std::unique_ptr<Part>& part : parts_) part->had_operands = false;
  BatchOrigin::Bytes(&updates_)->shrink_to_fit();
  log_ = {};
  savepoints_.clear();
}

uint32_t BatchIndex::CoveredBy(const Part& part, std::string_view key, uint32_t at) {
  const KeyOrder& order = part.family->order;
  for (auto range = part.ranges.rbegin(); range != part.ranges.rend(); ++range) {
    if (range->ordinal > at || order.Less(key, range->begin)) continue;
    if (!range->end.has_value() || order.Less(key, *range->end)) return range->ordinal;
  }
  return 0;
}

BatchIndex::Said BatchIndex::Read(ColumnFamilyId family, std::string_view key) const {
  const Part* const part = Find(family);
  if (part == nullptr) return Said(clock_);
  const auto it = part->keys.find(key);
  return Read(*part, key, it != part->keys.end() ? it->second : Updates(), last());
}

BatchIndex::Said BatchIndex::Read(const Part& part, std::string_view key, const Updates& updates, uint32_t at) const {
  Said said(clock_);
  const uint32_t covered_by = part.ranges.empty() ? 0 : CoveredBy(part, key, at);
  for (auto update = updates.rbegin(); update != updates.rend() && update->ordinal > covered_by; ++update) {
    if (update->ordinal > at) continue;
    const Trailer trailer = PackTrailer(SequenceNumber(update->ordinal), update->kind);
    const std::string_view payload(bytes().data() + update->value_offset, update->value_bytes);
    if (!said.meaning.has_value()) {
      std::string_view value = payload;
      said.meaning = MeaningNow(trailer, &value, clock_);
      if (*said.meaning == Meaning::kValue) said.value = value;
      if (*said.meaning != Meaning::kOperand) return said;
    }
    if (!said.chain.Take(trailer, payload).has_value()) return said;
  }
  if (!said.meaning.has_value()) {
    if (covered_by > 0) said.meaning = Meaning::kAbsent;
    return said;
  }
  said.needs_base = covered_by == 0;
  return said;
}

std::string_view BatchIndex::KeyAt(const Keys::value_type& updates, uint32_t at) const {
  for (auto update = updates.second.rbegin(); update != updates.second.rend(); ++update) {
    if (update->ordinal <= at) return {bytes().data() + update->key_offset, update->key_bytes};
  }
  return updates.first;
}

absl::StatusOr<std::optional<std::string>> ValueOver(const Family& family, std::string_view key, BatchIndex::Said* said,
                                                     std::optional<std::string_view> base) {
  if (!said->meaning.has_value()) {
    if (!base.has_value()) return std::nullopt;
    return std::string(*base);
  }
  if (*said->meaning == Meaning::kAbsent) return std::nullopt;
  if (*said->meaning == Meaning::kValue) return std::string(said->value);
  if (family.options.merge_operator == nullptr) return NoMergeOperator(family.name, family.merge_operator_name);
  // The base value is older than all updates of the batch, whose ordinals begin at 1.
  if (said->needs_base && base.has_value()) said->chain.Take(PackTrailer(SequenceNumber(0), ValueKind::kPut), *base);
  return said->chain.Resolve(*family.options.merge_operator, key);
}

}  // namespace sepal

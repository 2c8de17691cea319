#include "db/act/log/replay.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/format/range_end.h"
#include "db/format/value_reference.h"
#include "util/base/hash.h"
#include "util/base/status.h"

namespace sepal {

void Replay::AddFamily(ColumnFamilyId id, KeyOrder order, SequenceNumber flushed_through, const Version* version,
                       std::shared_ptr<MemTable> memtable) {
  Family family{.order = order, .flushed_through = flushed_through};
  family.memtable = std::move(memtable);
  const auto floor = options_.history_floors.find(id);
  family.standing =
      StandingThrough(options_.snapshots, floor != options_.history_floors.end() ? floor->second : kMaxSequenceNumber);
  if (version != nullptr && version->NumRuns(0) > 0) {
    family.level0_through = version->level(0).front()->highest_sequence();
  }
  families_.emplace(id, std::move(family));
}

absl::StatusOr<Replay::Family*> Replay::FamilyOf(const BatchEntry& entry) {
  const auto it = families_.find(entry.family);
  if (it != families_.end()) return &it->second;
  if (FileNumber(entry.family.value()) < options_.next_file_number) return nullptr;
  contradicts_manifest_ = true;
  return absl::DataLossError(
      absl::StrFormat("the log holds updates of column family %u, whose creation is not in the manifest: the "
                      "manifest's end is missing",
                      entry.family.value()));
}

absl::StatusOr<uint64_t> Replay::Count(SequenceNumber first, std::string_view batch) {
  uint64_t updates = 0;
  BatchReader reader(batch);
  BatchEntry entry;
  contradicts_manifest_ = false;
  for (SequenceNumber sequence = first; reader.Next(&entry); sequence = sequence.next()) {
    ASSIGN_OR_RETURN(const Family* const family, FamilyOf(entry));
    if (family == nullptr || sequence <= family->flushed_through) continue;
    if (sequence <= family->level0_through) {
      contradicts_manifest_ = true;
      return absl::DataLossError(absl::StrFormat(
          "the log holds update %u of column family %u, which is not in tables by the manifest, whose tables of level "
          "0 hold updates up to %u",
          sequence.value(), entry.family.value(), family->level0_through.value()));
    }
    ++updates;
  }
  RETURN_IF_ERROR(reader.status());
  return updates;
}

absl::Status Replay::Take(SequenceNumber first, std::string_view batch) {
  ASSIGN_OR_RETURN(const uint64_t updates, Count(first, batch));
  if (updates == 0) return absl::OkStatus();
  updates_ += updates;
  if (!keeps_) return Insert(first, batch);
  kept_bytes_ += batch.size() + sizeof(LoggedBatch);
  if (kept_bytes_ <= options_.keep_bytes) {
    kept_.push_back({first, std::string(batch)});
    return absl::OkStatus();
  }
  keeps_ = false;
  for (const LoggedBatch& kept : std::exchange(kept_, {})) RETURN_IF_ERROR(Insert(kept.first, kept.bytes));
  return Insert(first, batch);
}

template <typename InsertFunction>
void Replay::ForEachUpdate(SequenceNumber first, std::string_view batch, const InsertFunction& insert) {
  BatchReader reader(batch);
  BatchEntry entry;
  for (SequenceNumber sequence = first; reader.Next(&entry); sequence = sequence.next()) {
    const auto it = families_.find(entry.family);
    if (it != families_.end() && sequence > it->second.flushed_through) insert(sequence, entry, it->first, &it->second);
  }
}

absl::Status Replay::Insert(SequenceNumber first, std::string_view batch) {
  std::vector<std::pair<ColumnFamilyId, Family*>> touched;
  absl::Status status;
  ForEachUpdate(first, batch, [&](SequenceNumber sequence, const BatchEntry& entry, ColumnFamilyId id, Family* family) {
    if (options_.flush == nullptr) {
      InsertToRead(sequence, entry, options_.new_memtable, id, family);
      return;
    }
    if (status.ok()) status = Collect(sequence, entry, id, family);
    if (touched.empty() || touched.back().second != family) touched.emplace_back(id, family);
  });
  RETURN_IF_ERROR(status);
  for (const auto& [id, family] : touched) {
    const bool full = family->memtable != nullptr && family->memtable->MemoryBytes() >= options_.memtable_bytes;
    if (full) RETURN_IF_ERROR(FlushFamily(id, family));
  }
  return absl::OkStatus();
}

absl::Status Replay::Collect(SequenceNumber sequence, BatchEntry entry, ColumnFamilyId id, Family* family) const {
  std::string settled;
  if (IsReference(entry.kind) && options_.settle_reference != nullptr) {
    ASSIGN_OR_RETURN(const bool taken, options_.settle_reference(id, entry.kind, entry.key, &entry.value, &settled));
    if (!taken) return absl::OkStatus();
  }
  if (family->memtable == nullptr) family->memtable = options_.new_memtable(family->order);
  if (IsRangeDelete(entry.kind)) {
    InsertRange(sequence, entry, *family);
  } else {
    NoteReference(entry, family->memtable.get());
    family->memtable->Collect(sequence, entry.kind, entry.key, entry.value);
  }
  return absl::OkStatus();
}

void Replay::NoteReference(const BatchEntry& entry, MemTable* memtable) const {
  if (!IsReference(entry.kind) || options_.on_reference == nullptr) return;
  options_.on_reference(memtable, ReferencePart(entry.kind, entry.value));
}

void Replay::VisitReferences(SequenceNumber first, std::string_view batch,
                             const std::function<void(const BatchEntry& entry)>& visit) {
  ForEachUpdate(first, batch, [&](SequenceNumber, const BatchEntry& entry, ColumnFamilyId, Family*) {
    if (IsReference(entry.kind)) visit(entry);
  });
}

// There are no readers yet, and all later ones read above this sequence number, or at a snapshot.
void Replay::InsertRange(SequenceNumber sequence, const BatchEntry& entry, const Family& family) const {
  const std::optional<std::string_view> end = DecodeRangeEnd(entry.value)->key;
  if (end.has_value() && !family.order.Less(entry.key, *end)) return;
  family.memtable->AddRangeTombstone({.begin = entry.key, .end = end, .sequence = sequence},
                                     [&]() -> Stripes { return family.standing; });
}

void Replay::InsertToRead(SequenceNumber sequence, const BatchEntry& entry, const NewMemTable& new_memtable,
                          ColumnFamilyId id, Family* family) {
  if (family->memtable == nullptr) {
    family->memtable = new_memtable(family->order);
    if (options_.history_floors.contains(id)) family->memtable->UseSkips();
  }
  if (IsRangeDelete(entry.kind)) {
    if (options_.delete_range == nullptr) return InsertRange(sequence, entry, *family);
    return options_.delete_range(id, family->memtable.get(), sequence, entry);
  }
  NoteReference(entry, family->memtable.get());
  const uint64_t hash = family->order.hashable() ? HashKey(entry.key, options_.hash_seed) : 0;
  family->memtable->Add(sequence, entry.kind, entry.key, entry.value, hash);
}

void Replay::InsertKept(const NewMemTable& new_memtable) {
  for (const LoggedBatch& kept : kept_) {
    ForEachUpdate(kept.first, kept.bytes,
                  [&](SequenceNumber sequence, const BatchEntry& entry, ColumnFamilyId id, Family* family) {
                    InsertToRead(sequence, entry, new_memtable, id, family);
                  });
  }
}

absl::Status Replay::Flush() {
  for (auto& [id, family] : families_) RETURN_IF_ERROR(FlushFamily(id, &family));
  return absl::OkStatus();
}

absl::Status Replay::FlushFamily(ColumnFamilyId id, Family* family) {
  if (family->memtable == nullptr) return absl::OkStatus();
  if (family->memtable->empty()) {  // only ranges without keys
    family->memtable = nullptr;
    return absl::OkStatus();
  }
  family->memtable->Arrange();
  const std::shared_ptr<const MemTable> memtable = std::exchange(family->memtable, nullptr);
  RETURN_IF_ERROR(options_.flush(id, memtable));
  family->flushed_through = memtable->LastSequence();
  return absl::OkStatus();
}

}  // namespace sepal

// Writes of values that go to value files: the value is compressed and written to the file first, without a lock of the
// engine, and a reference to it goes to the log.

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/engine/face/engine.h"
#include "db/format/batch_format.h"
#include "db/format/stored_value.h"
#include "util/base/status.h"

namespace sepal {

absl::Status Engine::AllowValues(uint64_t value_bytes, const WriteOptions& options) {
  if (!FitsBatch(options)) return RefuseBatchOptions(options);
  if (state_->stopped.load(std::memory_order_acquire)) return state_->Error();
  WriteGate::Pass pass(gate_.get());
  RETURN_IF_ERROR(pass.EnterValues(value_bytes, options.no_slowdown));
  return catalog_->Enable(Feature::kValueFiles);
}

absl::StatusOr<ValueWriter::Place> Engine::AppendStored(std::string_view bytes, bool compressed) {
  if (compressed) RETURN_IF_ERROR(catalog_->Enable(Feature::kValueFiles | Feature::kCompressedValues));
  absl::StatusOr<ValueWriter::Place> place = core_->values.fresh().AppendBytes(bytes);
  if (place.ok()) [[likely]] {
    core_->statistics.Add(Ticker::kValueBytes, bytes.size());
  } else if (absl::IsResourceExhausted(place.status())) {
    core_->AskToRemoveUnusedFiles();
  }
  return place;
}

absl::Status Engine::PutSeparated(const Family& family, std::string_view key, std::string_view value,
                                  uint64_t expiry_millis, const WriteOptions& options) {
  const WatchedCall call(&core_->calls, {.name = "write", .histogram = Histogram::kWriteMicros, .rare = options.sync},
                         [&] { return CallWatch::Subject{.column_family = family.name, .key = key}; });
  RETURN_IF_ERROR(AllowValues(value.size(), options));
  Separated separated{.batch = std::string(kBatchHeaderBytes, '\0'), .values = {}, .files = {}};
  const CompressedValue compressed(family.options.compression, value);
  const StoredValue& stored = compressed.stored();
  ASSIGN_OR_RETURN(ValueWriter::Place place, AppendStored(stored.bytes, stored.compressed()));
  const ValueReference reference = ReferenceTo(place.number, place.offset, stored);
  separated.files.push_back(std::move(place.file));
  AppendReferringPut(&separated.batch, family.id, key, expiry_millis, EncodeValueReference(reference));
  const absl::Status status = CommitWatched(separated.batch, options);
  KeepIfInDoubt(status, separated);
  return status;
}

// Values of a batch that are appended to a value file in one write, with the entries between them, whose order is kept.
// A value as large as a whole group is written by itself, without copying it.
class Engine::ValueGroup {
 public:
  // The bytes of entries must outlive this.
  ValueGroup(Engine* engine, size_t batch_bytes)
      : engine_(engine),
        most_bytes_(std::min(batch_bytes, kGroupBytes)),
        separated_{.batch = std::string(kBatchHeaderBytes, '\0'), .values = {}, .files = {}} {}

  absl::Status AddInline(const BatchEntry& entry) {
    if (entries_.size() >= kGroupEntries) RETURN_IF_ERROR(Write());
    if (entries_.empty()) {
      Keep(entry);
    } else {
      entries_.push_back({.entry = entry, .value = {}});
    }
    return absl::OkStatus();
  }

  absl::Status Add(const BatchEntry& entry, const StoredValue& stored) {
    const size_t bytes = stored.bytes.size();
    if (bytes_.size() + bytes > kGroupBytes || entries_.size() >= kGroupEntries) RETURN_IF_ERROR(Write());
    if (bytes >= kGroupBytes) {
      ASSIGN_OR_RETURN(const ValueWriter::Place place, engine_->AppendStored(stored.bytes, stored.compressed()));
      Refer(entry, stored, place, 0);
      return absl::OkStatus();
    }
    if (bytes_.empty()) bytes_.reserve(most_bytes_);
    compressed_ = compressed_ || stored.compressed();
    bytes_ += stored.bytes;
    entries_.push_back({.entry = entry, .value = stored});
    return absl::OkStatus();
  }

  absl::Status Write() {
    if (entries_.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const ValueWriter::Place place, engine_->AppendStored(bytes_, compressed_));
    size_t at = 0;
    for (Waiting& waiting : std::exchange(entries_, {})) {
      if (!waiting.value.has_value()) {
        Keep(waiting.entry);
        continue;
      }
      StoredValue& value = *waiting.value;
      value.bytes = std::string_view(bytes_).substr(at, value.bytes.size());
      Refer(waiting.entry, value, place, at);
      at += value.bytes.size();
    }
    bytes_.clear();
    return absl::OkStatus();
  }

  Separated Take() { return std::move(separated_); }

 private:
  static constexpr size_t kGroupBytes = size_t{256} << 10;
  static constexpr size_t kGroupEntries = 4096;
  struct Waiting {
    BatchEntry entry;
    // Unset: inline. Only its size and checksums are used, as its bytes are in `bytes_`.
    std::optional<StoredValue> value;
  };

  void Keep(const BatchEntry& entry) {
    AppendBatchEntry(&separated_.batch, entry.kind, entry.family, entry.key, entry.value);
  }
  // Adds a reference to the value `at` bytes after the place.
  void Refer(const BatchEntry& entry, const StoredValue& stored, const ValueWriter::Place& place, uint64_t at) {
    const ValueReference reference = ReferenceTo(place.number, place.offset + at, stored);
    separated_.values.push_back(reference);
    AppendBatchEntry(&separated_.batch, ReferringKind(entry.kind), entry.family, entry.key,
                     WithSameExpiry(entry.kind, entry.value, EncodeValueReference(reference)));
    if (separated_.files.empty() || separated_.files.back() != place.file) separated_.files.push_back(place.file);
  }

  Engine* const engine_;
  const size_t most_bytes_;
  Separated separated_;
  std::string bytes_;
  std::vector<Waiting> entries_;  // from the first unwritten value on
  bool compressed_ = false;
};

absl::StatusOr<Engine::Separated> Engine::Separate(std::string_view batch, const WriteOptions& options) {
  std::map<ColumnFamilyId, FamilyRef> families;
  {
    StateLock lock(state_.get());
    for (const auto& [id, family] : state_->families) {
      if (family->options.separate_from != 0) families.emplace(family->id, family);
    }
  }
  ValueGroup group(this, batch.size());
  BatchReader reader(batch);
  bool allowed = false;
  for (BatchEntry entry; reader.Next(&entry);) {
    const auto family = families.find(entry.family);
    std::string_view value = entry.value;
    TakeExpiry(entry.kind, &value);
    if (family == families.end() || !Separates(*family->second, entry.kind, value)) {
      RETURN_IF_ERROR(group.AddInline(entry));
      continue;
    }
    RETURN_IF_ERROR(CheckEntrySize(entry.key.size(), value.size()));
    if (!std::exchange(allowed, true)) RETURN_IF_ERROR(AllowValues(batch.size(), options));
    const CompressedValue compressed(family->second->options.compression, value);
    RETURN_IF_ERROR(group.Add(entry, compressed.stored()));
  }
  RETURN_IF_ERROR(reader.status());
  RETURN_IF_ERROR(group.Write());
  return group.Take();
}

void Engine::TakeBack(const Separated& separated) {
  for (auto value = separated.values.rbegin(); value != separated.values.rend(); ++value)
    core_->values.fresh().TakeBack(*value);
}

void Engine::KeepIfInDoubt(const absl::Status& committed, const Separated& separated) {
  if (committed.ok() || !state_->stopped.load(std::memory_order_acquire)) return;
  for (const ValueFileRef& file : separated.files) core_->values.Hold(file);
}

absl::Status Engine::CommitAny(std::string_view batch, const WriteOptions& options) {
  if (batch.size() < core_->values.least_separated()) [[likely]]
    return Commit(batch, options);
  if (!FitsBatch(options)) return RefuseBatchOptions(options);
  const WatchedCall call(&core_->calls, {.name = "write", .histogram = Histogram::kWriteMicros, .rare = options.sync},
                         [&] { return CallWatch::Subject{.batch = batch}; });
  ASSIGN_OR_RETURN(const Separated separated, Separate(batch, options));
  const absl::Status status = CommitWatched(separated.batch, options);
  KeepIfInDoubt(status, separated);
  return status;
}

}  // namespace sepal

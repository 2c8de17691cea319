// Writes of values that go to value files: the value is compressed and written to the file first, without a lock of the
// engine, and a reference to it goes to the log.

#include <map>
#include <utility>

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

absl::StatusOr<ValueWriter::Written> Engine::AppendValue(const Family& family, std::string_view value) {
  const CompressedValue compressed(family.options.compression, value);
  const StoredValue& stored = compressed.stored();
  if (stored.compressed()) RETURN_IF_ERROR(catalog_->Enable(Feature::kValueFiles | Feature::kCompressedValues));
  absl::StatusOr<ValueWriter::Written> written = core_->values.fresh().Append(stored);
  if (written.ok()) [[likely]] {
    core_->statistics.Add(Ticker::kValueBytes, stored.bytes.size());
  } else if (absl::IsResourceExhausted(written.status())) {
    core_->AskToRemoveUnusedFiles();
  }
  return written;
}

absl::Status Engine::PutSeparated(const Family& family, std::string_view key, std::string_view value,
                                  const WriteOptions& options) {
  const WatchedCall call(&core_->calls, {.name = "write", .histogram = Histogram::kWriteMicros, .rare = options.sync},
                         [&] { return CallWatch::Subject{.column_family = family.name, .key = key}; });
  RETURN_IF_ERROR(AllowValues(value.size(), options));
  Separated separated{.batch = std::string(kBatchHeaderBytes, '\0'), .values = {}, .files = {}};
  ASSIGN_OR_RETURN(ValueWriter::Written written, AppendValue(family, value));
  separated.files.push_back(std::move(written.file));
  AppendBatchEntry(&separated.batch, ValueKind::kReference, family.id, key, EncodeValueReference(written.reference));
  const absl::Status status = CommitWatched(separated.batch, options);
  KeepIfInDoubt(status, separated);
  return status;
}

absl::StatusOr<Engine::Separated> Engine::Separate(std::string_view batch, const WriteOptions& options) {
  std::map<ColumnFamilyId, FamilyRef> families;
  {
    StateLock lock(state_.get());
    for (const auto& [id, family] : state_->families) {
      if (family->options.separate_from != 0) families.emplace(family->id, family);
    }
  }
  Separated separated{.batch = std::string(kBatchHeaderBytes, '\0'), .values = {}, .files = {}};
  BatchReader reader(batch);
  for (BatchEntry entry; reader.Next(&entry);) {
    const auto family = families.find(entry.family);
    if (family == families.end() || !Separates(*family->second, entry.kind, entry.value)) {
      AppendBatchEntry(&separated.batch, entry.kind, entry.family, entry.key, entry.value);
      continue;
    }
    RETURN_IF_ERROR(CheckEntrySize(entry.key.size(), entry.value.size()));
    if (separated.values.empty()) RETURN_IF_ERROR(AllowValues(batch.size(), options));
    ASSIGN_OR_RETURN(ValueWriter::Written written, AppendValue(*family->second, entry.value));
    separated.values.push_back(written.reference);
    AppendBatchEntry(&separated.batch, ValueKind::kReference, entry.family, entry.key,
                     EncodeValueReference(written.reference));
    if (separated.files.empty() || separated.files.back() != written.file) {
      separated.files.push_back(std::move(written.file));
    }
  }
  RETURN_IF_ERROR(reader.status());
  return separated;
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

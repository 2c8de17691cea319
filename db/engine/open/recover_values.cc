// How an opening treats separated values (db/act/files/value_store.h).
//
// A log record that refers to a missing or damaged value is treated as if its own bytes were damaged: as the torn end,
// or as damage if anything proves that it was synced. After a failed sync, the page cache may have contents and names
// that the disk lacks, so values that only the logs refer to are written anew, to other files (see opening.h, step 2),
// unless the database was closed in order. Chunked values are not: they were durable before any record that refers to
// them was written, so only damage can lose them.

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/engine/open/missing_value.h"
#include "db/engine/open/opening.h"
#include "db/format/batch_format.h"
#include "db/format/file_names.h"
#include "db/format/stored_value.h"
#include "db/format/value_reference.h"
#include "util/base/check.h"
#include "util/base/random.h"
#include "util/base/status.h"

namespace sepal {

void Opening::HoldValueFiles() {
  ValueStore& values = parts_.core->values;
  values.Identify(identity_.database_id);
  for (const DirectoryEntry& entry : listing_.others) {
    const std::optional<ParsedFileName> parsed = ParseFileName(entry.name);
    if (!parsed.has_value() || parsed->kind != FileKind::kValues) continue;
    value_files_.insert(parsed->number);
    values.Hold(values.Pin(parsed->number));
    values.NoteEnded(parsed->number, entry.size_bytes);
  }
}

absl::Status Opening::CheckLinksOf(const TableMetadata& table) const {
  for (const ValueLinks& links : table.value_links) {
    if (value_files_.contains(links.file)) continue;
    return Damaged(path_ + "/" + ValueFileName(links.file), 0,
                   absl::StrFormat("a value file that %s refers to", TableFileName(table.number)), "a file",
                   "none; restore it from a backup");
  }
  return absl::OkStatus();
}

absl::Status Opening::CheckValuesOf(SequenceNumber first, std::string_view batch) {
  absl::Status status;
  std::string stored;
  replay_->VisitReferences(first, batch, [&](const BatchEntry& entry) {
    const std::optional<ValueReference> reference = ReferenceOf(entry.kind, entry.value);
    if (!status.ok() || !reference.has_value()) return;  // a batch that is none is told of by the replay
    // Reads find damage when they meet it.
    if (ClosedInOrder() && value_files_.contains(reference->file)) return;
    status = reference->chunked ? parts_.core->values.CheckChunkSums(*reference)
                                : parts_.core->values.ReadStored(*reference, &stored);
  });
  return options_.read_only ? JudgeMissingValue(status, parts_.core->directory.get(), manifest_) : status;
}

absl::StatusOr<ValueReference> Opening::CopyValue(const ValueReference& reference) {
  ValueStore& values = parts_.core->values;
  std::string stored;
  RETURN_IF_ERROR(values.ReadStored(reference, &stored));
  ASSIGN_OR_RETURN(const ValueWriter::Written written, values.fresh().Append(StoredAs(reference, stored)));
  if (new_value_files_.empty() || new_value_files_.back() != written.file->number()) {
    new_value_files_.push_back(written.file->number());
    values.Hold(written.file);
  }
  return written.reference;
}

LogSink Opening::WithCopies(LogSink sink) {
  return [this, sink = std::move(sink)](SequenceNumber first, std::string_view batch) -> absl::Status {
    ASSIGN_OR_RETURN(const std::string copied, WithValuesCopied(first, batch));
    return sink(first, copied);
  };
}

absl::StatusOr<std::string> Opening::WithValuesCopied(SequenceNumber first, std::string_view batch) {
  std::set<std::string_view> wanted;
  replay_->VisitReferences(first, batch, [&](const BatchEntry& entry) { wanted.insert(entry.value); });
  if (wanted.empty() || ClosedInOrder()) return std::string(batch);
  std::string copied(kBatchHeaderBytes, '\0');
  BatchReader reader(batch);
  for (BatchEntry entry; reader.Next(&entry);) {
    const std::optional<ValueReference> reference =
        wanted.contains(entry.value) ? ReferenceOf(entry.kind, entry.value) : std::nullopt;
    if (!reference.has_value() || reference->chunked) {
      AppendBatchEntry(&copied, entry.kind, entry.family, entry.key, entry.value);
      continue;
    }
    ASSIGN_OR_RETURN(const ValueReference copy, CopyValue(*reference));
    AppendBatchEntry(&copied, entry.kind, entry.family, entry.key,
                     WithSameExpiry(entry.kind, entry.value, EncodeValueReference(copy)));
  }
  return copied;
}

void Opening::HoldValue(MemTable* memtable, std::string_view bytes) const {
  const std::optional<ValueReference> reference = ParseValueReference(bytes);
  if (reference.has_value()) parts_.core->values.HoldFor(memtable, *reference);
}

void Opening::StartValues() {
  Core& core = *parts_.core;
  Catalog* const catalog = parts_.catalog.get();
  const uint64_t seed = world_.random_seed ^ Mix64(identity_.database_id);
  core.values.Start({.deleter = core.deleter,
                     .new_file_number = [catalog] { return catalog->NewFileNumber(); },
                     .new_file_id = [catalog, seed] { return Mix64(seed + catalog->NewFileNumber().value()); },
                     .file_bytes = tuning_.value_file_bytes,
                     .step_bytes = tuning_.log_allocation_bytes,
                     .compactions = core.PacingFor(Executor::Priority::kCompaction)});
}

void Opening::RemoveNewValueFiles() {
  for (const FileNumber number : new_value_files_) {
    parts_.core->directory->Remove(ValueFileName(number)).IgnoreError();
  }
}

void Opening::LetValueFilesGo() {
  Core& core = *parts_.core;
  core.values.LetGo();
  if (core.deleter->HasWork()) core.deleter->Run();
}

}  // namespace sepal

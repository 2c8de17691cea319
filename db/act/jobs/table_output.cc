#include "db/act/jobs/table_output.h"

#include <utility>

#include "db/decide/compaction/compaction_policy.h"
#include "db/format/file_names.h"
#include "db/format/value_reference.h"
#include "util/base/check.h"
#include "util/base/status.h"

namespace sepal {

namespace {

// Its final size is unknown when it is begun.
constexpr FileUse kTableUse = {.kind = FileUseKind::kTable, .expected_bytes = 0};

void RemoveTable(Directory* directory, BlockCache* cache, FileNumber number) {
  if (cache != nullptr) cache->NoteGone(cache->FileOf(number.value()));
  directory->Remove(TableFileName(number)).IgnoreError();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TableOutput>> TableOutput::Create(const TableOutputContext& context, int level) {
  const FileNumber number = context.new_file_number();
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file,
                   context.directory->OpenForWrite(TableFileName(number), WriteMode::kCreateNew, kTableUse));
  if (context.pacing.limiter != nullptr) file = std::make_unique<RateLimitedFile>(std::move(file), context.pacing);
  return std::unique_ptr<TableOutput>(new TableOutput(context, number, context.new_table_id(), std::move(file), level));
}

TableOutput::TableOutput(const TableOutputContext& context, FileNumber number, uint64_t table_id,
                         std::unique_ptr<WritableFile> file, int level)
    : directory_(context.directory),
      cache_(context.cache),
      unsynced_(context.unsynced),
      number_(number),
      table_id_(table_id),
      created_unix_micros_(context.now_unix_micros),
      file_(std::move(file)) {
  TableWriterOptions options;
  options.order = context.order;
  options.compression = CompressionForLevel(*context.options, level);
  options.block_bytes = context.options->block_bytes;
  options.filter_policy = context.options->filter_policy;
  if (context.guard_bits_per_key.has_value()) options.filter_policy.guard_bits_per_key = *context.guard_bits_per_key;
  options.hash_seed = context.hash_seed;
  options.table_id = table_id;
  options.database_id = context.database_id;
  options.column_family_id = context.family_id;
  options.column_family_name = context.family_name;
  options.creation_unix_micros = context.now_unix_micros;
  options.blocks_per_leaf_page = context.tuning.blocks_per_leaf_page;
  options.write_buffer_bytes = context.tuning.write_buffer_bytes;
  options.budget = context.budget;
  options.pool = context.buffers;
  if (BlockCache* const cache = context.cache; cache != nullptr) {
    options.on_unit = [cache, file = cache->FileOf(number.value())](BlockHandle handle, UnitKind kind,
                                                                    std::string_view bytes) {
      if (bytes.size() <= kLoneValueBytes) cache->InsertWhereFree({file, handle.offset}, bytes, PartOf(kind));
    };
  }
  writer_ = std::make_unique<TableWriter>(std::move(options), file_.get());
}

TableOutput::~TableOutput() {
  if (finished_) return;
  writer_.reset();
  file_.reset();
  RemoveTable(directory_, cache_, number_);
}

void TableOutput::NoteSpecial(ValueKind kind, std::string_view value) {
  if (IsReference(kind)) NoteLink(kind, value);
  if (Expires(kind)) {
    last_expiry_millis_ = std::max(last_expiry_millis_, ParseExpiringValue(value).expiry_millis);
  } else {
    any_stays_ = true;
  }
}

void TableOutput::NoteLink(ValueKind kind, std::string_view value) {
  // A reference that cannot be read is reported by the reads that meet it.
  const std::optional<ValueReference> parsed = ReferenceOf(kind, value);
  if (!parsed.has_value()) return;
  ValueLinks& links = links_[parsed->file];
  links.file = parsed->file;
  ++links.values;
  links.bytes += parsed->stored_bytes;
}

absl::StatusOr<TableMetadata> TableOutput::Finish(RunNumber run) {
  RETURN_IF_ERROR(writer_->Finish());
  if (unsynced_ == nullptr) {
    RETURN_IF_ERROR(file_->Sync());
    RETURN_IF_ERROR(file_->Close());
  } else {
    unsynced_->push_back(std::move(file_));
  }
  const TableProperties& properties = writer_->properties();
  const std::optional<InternalKeyView> smallest = ParseInternalKey(properties.smallest_key);
  const std::optional<InternalKeyView> largest = ParseInternalKey(properties.largest_key);
  SEPAL_CHECK(smallest.has_value() && largest.has_value());
  TableMetadata table;
  table.number = number_;
  table.run = run;
  table.size_bytes = writer_->FileSize();
  table.table_id = table_id_;
  table.footer_checksum = writer_->footer_checksum();
  table.smallest = InternalKey(*smallest);
  table.largest = InternalKey(*largest);
  table.lowest_sequence = properties.lowest_sequence;
  table.highest_sequence = properties.highest_sequence;
  table.entries = properties.entries;
  table.tombstones = properties.tombstones;
  if (!any_stays_ && last_expiry_millis_ < kNoExpiryMillis) table.expired_at_millis = last_expiry_millis_;
  for (const auto& [file, links] : links_) table.value_links.push_back(links);
  table.raw_bytes = properties.raw_key_bytes + properties.raw_value_bytes;
  table.creation_unix_micros = created_unix_micros_;
  if (const HyperLogLog* const sketch = writer_->key_sketch(); sketch != nullptr) {
    table.key_sketch = std::make_shared<const HyperLogLog>(*sketch);
  }
  finished_ = true;
  return table;
}

absl::Status SyncTables(Directory* directory, UnsyncedFiles files) {
  std::vector<WritableFile*> all;
  all.reserve(files.size());
  for (const std::unique_ptr<WritableFile>& file : files) all.push_back(file.get());
  RETURN_IF_ERROR(directory->SyncMany(all));
  for (WritableFile* const file : all) RETURN_IF_ERROR(file->Close());
  return absl::OkStatus();
}

void RemoveTables(Directory* directory, BlockCache* cache, const std::vector<TableMetadata>& tables) {
  for (const TableMetadata& table : tables) RemoveTable(directory, cache, table.number);
}

}  // namespace sepal

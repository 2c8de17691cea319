// Version edits for people to read.
#include "absl/strings/str_format.h"
#include "db/format/version_edit.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

std::string SchemaText(const FamilySchema& schema) {
  const uint32_t family = schema.family.value();
  std::string s;
  if (!schema.merge_operator.empty()) {
    s += absl::StrFormat("family %u has merge operator \"%s\"\n", family, Printable(schema.merge_operator));
  }
  if (schema.ttl_millis > 0) s += absl::StrFormat("puts of family %u expire after %u ms\n", family, schema.ttl_millis);
  if (!schema.filter.empty()) {
    s += absl::StrFormat("family %u has filter \"%s\"\n", family, Printable(schema.filter));
  }
  for (const FilterEpoch& epoch : schema.filter_epochs) {
    s += absl::StrFormat("the filter of family %u is at epoch \"%s\" from sequence %u on\n", family,
                         Printable(epoch.epoch), epoch.sequence.value());
  }
  if (schema.history_millis > 0) {
    s += absl::StrFormat("family %u keeps its history for %u ms, from sequence %u on; it began at %u\n", family,
                         schema.history_millis, schema.history_floor.value(), schema.history_begun.value());
  }
  return s;
}

std::string SnapshotsText(const VersionEdit& edit) {
  std::string s;
  for (const std::string& name : edit.dropped_snapshots)
    s += absl::StrFormat("drop snapshot \"%s\"\n", Printable(name));
  for (const KeptSnapshot& kept : edit.created_snapshots) {
    s += absl::StrFormat("snapshot \"%s\" at sequence %u, created at %u ms", Printable(kept.name),
                         kept.sequence.value(), kept.created_millis);
    s += kept.expires_millis > 0 ? absl::StrFormat(", expires at %u ms\n", kept.expires_millis) : "\n";
  }
  return s;
}

constexpr std::pair<Feature, const char*> kFeatureNames[] = {
    {Feature::kRangeDeletes, "range deletes"},       {Feature::kValueFiles, "value files"},
    {Feature::kChunkedValues, "chunked values"},     {Feature::kCompressedValues, "compressed values in value files"},
    {Feature::kLongKeys, "keys longer than 64 KiB"},
};

}  // namespace

std::string ToString(const VersionEdit& edit) {
  std::string s;
  if (edit.database_id) s += absl::StrFormat("database id %s\n", Hex64(*edit.database_id));
  if (edit.hash_seed) s += absl::StrFormat("hash seed %s\n", Hex64(*edit.hash_seed));
  if (edit.next_file_number) s += absl::StrFormat("next file number %u\n", edit.next_file_number->value());
  if (edit.last_sequence) s += absl::StrFormat("last sequence %u\n", edit.last_sequence->value());
  if (edit.min_log_number) s += absl::StrFormat("minimum log number %u\n", edit.min_log_number->value());
  if (edit.features.Has(Feature::kExpiry)) s += "puts may expire\n";
  if (edit.clock_floor) {
    s += absl::StrFormat("clock at %u ms or later; removed what had expired by %u ms\n", edit.clock_floor->now_millis,
                         edit.clock_floor->removed_millis);
  }
  for (const ColumnFamilyCreation& created : edit.created_families) {
    s += absl::StrFormat("create column family %u \"%s\", comparator %s%s\n", created.id.value(),
                         Printable(created.name), Printable(created.comparator_name),
                         created.equal_means_identical ? "" : " (equal keys may differ)");
  }
  for (const KeptOptions& kept : edit.kept_options) {
    s += absl::StrFormat("family %u is kept with options of its own, %u bytes\n", kept.family.value(),
                         kept.fields.size());
  }
  for (const auto& [feature, name] : kFeatureNames) {
    if (edit.features.Has(feature)) s += absl::StrFormat("uses %s\n", name);
  }
  s += SnapshotsText(edit);
  for (const FamilySchema& schema : edit.schemas) s += SchemaText(schema);
  for (const ColumnFamilyId dropped : edit.dropped_families) {
    s += absl::StrFormat("drop column family %u\n", dropped.value());
  }
  for (const FlushedThrough& flushed : edit.flushed_through) {
    s += absl::StrFormat("family %u flushed through %u\n", flushed.family.value(), flushed.sequence.value());
  }
  for (const HistoryFloor& floor : edit.history_floors) {
    s += absl::StrFormat("family %u keeps its history from sequence %u on\n", floor.family.value(),
                         floor.sequence.value());
  }
  for (const RemovedTable& removed : edit.removed_tables) {
    s += absl::StrFormat("family %u level %d remove table %06u\n", removed.family.value(), removed.level,
                         removed.number.value());
  }
  for (const AddedTable& added : edit.added_tables) {
    s += absl::StrFormat("family %u level %d add %s\n", added.family.value(), added.level, ToString(added.table));
  }
  if (edit.closed_log) {
    s += absl::StrFormat("log %06u closed at %u bytes\n", edit.closed_log->number.value(),
                         edit.closed_log->length_bytes);
  }
  if (edit.log_directory) {
    s += absl::StrFormat("logs in \"%s\", of the database in \"%s\"\n", Printable(edit.log_directory->logs, 1024),
                         Printable(edit.log_directory->database, 1024));
  }
  return s;
}

}  // namespace sepal

#include "db/engine/catalog/manifest_families.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/engine/core/check_options.h"
#include "db/format/kept_options.h"
#include "db/format/system_row.h"
#include "sepal/compaction_filter.h"
#include "sepal/merge_operator.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

ColumnFamilyCreation CreationOf(ColumnFamilyId id, std::string_view name, const Comparator& comparator) {
  return {.id = id,
          .name = std::string(name),
          .comparator_name = std::string(comparator.Name()),
          .equal_means_identical = comparator.EqualMeansIdentical()};
}

VersionEdit DescribeFamily(ColumnFamilyCreation creation, const ColumnFamilyOptions& options, FamilySchema schema,
                           SequenceNumber flushed_through) {
  VersionEdit description;
  const ColumnFamilyId id = creation.id;
  description.created_families.push_back(std::move(creation));
  if (std::string kept = EncodeKeptOptions(options); !kept.empty()) {
    description.kept_options.push_back({.family = id, .fields = std::move(kept)});
  }
  schema.family = id;
  if (schema.ttl_millis > 0) description.features |= Feature::kExpiry;
  if (!schema.empty()) description.schemas.push_back(std::move(schema));
  description.flushed_through.push_back({.family = id, .sequence = flushed_through});
  return description;
}

VersionEdit DescribeFamily(const Family& family, FamilySchema schema, SequenceNumber flushed_through) {
  return DescribeFamily(CreationOf(family.id, family.name, *family.order.comparator()), family.options,
                        std::move(schema), flushed_through);
}

namespace {

// Checks a name that the family keeps for good against the one that is given.
absl::Status CheckName(std::string_view family, std::string_view path, std::string_view what, std::string_view has,
                       std::string_view given) {
  if (has.empty() || has == given) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("column family \"%s\" in %s has %s \"%s\", not \"%s\": use that one", family, path, what,
                      Printable(has), Printable(given)));
}

}  // namespace

const ColumnFamilyOptions& OptionsByName(const Options& options, std::string_view family) {
  const auto& named = options.column_families;
  const auto it = std::find_if(named.rbegin(), named.rend(), [&](const auto& d) { return d.name == family; });
  return it == named.rend() ? options.family : it->options;
}

namespace {

// The program's options apply only to its own data, not to the system family.
ColumnFamilyOptions OptionsOf(const Options& all, const ColumnFamilyCreation& family) {
  return family.id == kSystemFamilyId ? ColumnFamilyOptions() : OptionsByName(all, family.name);
}

}  // namespace

absl::StatusOr<ColumnFamilyOptions> OptionsFor(const Options& all, std::string_view path,
                                               const ColumnFamilyCreation& family, const FamilySchema& schema) {
  ColumnFamilyOptions options = OptionsOf(all, family);
  if (options.comparator->Name() != family.comparator_name) {
    return absl::InvalidArgumentError(
        absl::StrFormat("column family \"%s\" in %s was created with comparator \"%s\", not \"%s\": use that one",
                        family.name, path, family.comparator_name, options.comparator->Name()));
  }
  if (options.comparator->EqualMeansIdentical() != family.equal_means_identical) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "column family \"%s\" in %s: comparator \"%s\" has changed its answer to EqualMeansIdentical; a changed order "
        "needs a new name and a new database",
        family.name, path, family.comparator_name));
  }
  const auto ttl = std::chrono::milliseconds(schema.ttl_millis);
  if (ttl.count() > 0 && options.ttl.count() != 0 && options.ttl != ttl) {
    return absl::InvalidArgumentError(
        absl::StrFormat("column family \"%s\" in %s has a ttl of %d ms, not %d ms: use that one", family.name, path,
                        ttl.count(), options.ttl.count()));
  }
  if (ttl.count() > 0) options.ttl = ttl;
  if (!options.history.has_value()) options.history = std::chrono::milliseconds(schema.history_millis);
  RETURN_IF_ERROR(CheckHistoryAndFilter(options));
  if (options.compaction_filter != nullptr) {
    RETURN_IF_ERROR(CheckName(family.name, path, "filter", schema.filter, options.compaction_filter->Name()));
  }
  if (options.merge_operator != nullptr) {
    RETURN_IF_ERROR(
        CheckName(family.name, path, "merge operator", schema.merge_operator, options.merge_operator->Name()));
  } else if (!schema.merge_operator.empty()) {
    options.merge_operator = MergeOperators::ByName(schema.merge_operator);
  }
  return options;
}

FamilySchema MakeSchema(const ColumnFamilyOptions& options, FamilySchema before, SequenceNumber last) {
  if (options.merge_operator != nullptr) before.merge_operator = options.merge_operator->Name();
  if (options.compaction_filter != nullptr) before.filter = options.compaction_filter->Name();
  before.ttl_millis = static_cast<uint64_t>(options.ttl.count());
  if (options.history.has_value()) {
    const auto millis = static_cast<uint64_t>(options.history->count());
    if (millis == 0) before.history_floor = before.history_begun = SequenceNumber(0);
    if (millis > 0 && before.history_millis == 0) before.history_floor = before.history_begun = last;
    before.history_millis = millis;
  }
  return before;
}

// A read-only open does not decide how the family is kept; a checkpoint made from it keeps the database's settings.
absl::StatusOr<FamilyRef> MakeFamily(const Options& all, Core* core, ColumnFamilyId id, const ManifestFamily& described,
                                     SequenceNumber last) {
  ASSIGN_OR_RETURN(ColumnFamilyOptions options, OptionsFor(all, core->path, described.creation, described.schema));
  if (core->read_only) {
    options = OptionsGivenOrKept(options, described.kept_options);
    options.history = std::chrono::milliseconds(described.schema.history_millis);
  }
  if (options.ttl.count() > 0) core->expiry.NoteTtl();
  core->values.NoteFamily(options.separate_from);
  const CompactionPolicy policy = PolicyFor(options, core->tuning);
  const FamilySchema schema = MakeSchema(options, described.schema, last);
  return std::make_shared<Family>(id, described.creation.name, std::move(options), policy, schema, &core->time_marks);
}

absl::Status CheckIsFamily(const Family& family, std::string_view path, const ManifestFamily& described) {
  const FamilySchema schema = MakeSchema(family.options, described.schema, SequenceNumber(0));
  const bool same = family.name == described.creation.name &&
                    family.order.comparator()->Name() == described.creation.comparator_name &&
                    family.merge_operator_name == schema.merge_operator && family.filter_name == schema.filter;
  if (same) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("column family \"%s\" in %s has another merge operator or filter than when it was opened, or is "
                      "another one: open the database again",
                      family.name, path));
}

std::vector<ColumnFamilyDescriptor> MissingFamilies(const Options& options,
                                                    const std::map<ColumnFamilyId, ManifestFamily>& there) {
  std::set<std::string_view> names;
  for (const auto& [id, family] : there) names.insert(family.creation.name);
  std::vector<ColumnFamilyDescriptor> missing;
  for (const ColumnFamilyDescriptor& descriptor : options.column_families) {
    if (names.insert(descriptor.name).second) {
      missing.push_back({.name = descriptor.name, .options = OptionsByName(options, descriptor.name)});
    }
  }
  return missing;
}

}  // namespace sepal

#include "db/engine/catalog/manifest_families.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/engine/core/check_options.h"
#include "db/format/kept_options.h"
#include "util/base/status.h"

namespace sepal {

ColumnFamilyCreation CreationOf(ColumnFamilyId id, std::string_view name, const Comparator& comparator) {
  return {.id = id,
          .name = std::string(name),
          .comparator_name = std::string(comparator.Name()),
          .equal_means_identical = comparator.EqualMeansIdentical()};
}

VersionEdit DescribeFamily(ColumnFamilyCreation creation, const ColumnFamilyOptions& options,
                           SequenceNumber flushed_through) {
  VersionEdit description;
  const ColumnFamilyId id = creation.id;
  description.created_families.push_back(std::move(creation));
  if (std::string kept = EncodeKeptOptions(options); !kept.empty()) {
    description.kept_options.push_back({.family = id, .fields = std::move(kept)});
  }
  description.flushed_through.push_back({.family = id, .sequence = flushed_through});
  return description;
}

VersionEdit DescribeFamily(const Family& family, SequenceNumber flushed_through) {
  return DescribeFamily(CreationOf(family.id, family.name, *family.order.comparator()), family.options,
                        flushed_through);
}

const ColumnFamilyOptions& OptionsByName(const Options& options, std::string_view family) {
  const auto& named = options.column_families;
  const auto it = std::find_if(named.rbegin(), named.rend(), [&](const auto& d) { return d.name == family; });
  return it == named.rend() ? options.family : it->options;
}

absl::Status MadeTwice(std::string_view path, const ColumnFamilyCreation& first, const ColumnFamilyCreation& second) {
  return absl::DataLossError(absl::StrFormat("%s: the manifest creates column family %u twice, as \"%s\" and as \"%s\"",
                                             path, first.id.value(), first.name, second.name));
}

absl::Status DescribedFamilies::TakeEdit(VersionEdit&& edit, const TableFactory& make_table) {
  for (const ColumnFamilyCreation& creation : edit.created_families) RETURN_IF_ERROR(Add(creation, make_table));
  for (KeptOptions& kept : edit.kept_options) {
    const auto it = all_.find(kept.family);
    if (it != all_.end()) it->second.kept_options = std::move(kept.fields);
  }
  for (const ColumnFamilyId id : edit.dropped_families) all_.erase(id);
  for (const FlushedThrough& flushed : edit.flushed_through) {
    const auto it = all_.find(flushed.family);
    if (it != all_.end()) it->second.flushed_through = flushed.sequence;
  }
  for (const RemovedTable& removed : edit.removed_tables) {
    const auto it = all_.find(removed.family);
    if (it != all_.end()) RETURN_IF_ERROR(it->second.tables.Remove(removed));
  }
  for (AddedTable& added : edit.added_tables) {
    const auto it = all_.find(added.family);
    if (it != all_.end()) RETURN_IF_ERROR(it->second.tables.Add(std::move(added)));
  }
  return absl::OkStatus();
}

absl::Status DescribedFamilies::Add(const ColumnFamilyCreation& creation, const TableFactory& make_table) {
  const auto [it, added] = all_.emplace(
      creation.id, DescribedFamily{creation, {}, VersionBuilder(make_table), SequenceNumber(0), nullptr, nullptr});
  return added ? absl::OkStatus() : MadeTwice(path_, it->second.creation, creation);
}

absl::Status DescribedFamilies::Resolve() {
  for (auto& [id, described] : all_) {
    if (described.family != nullptr) continue;
    ASSIGN_OR_RETURN(ColumnFamilyOptions options, OptionsFor(described.creation));
    // A reader does not decide how the family is kept; a checkpoint that it makes is kept as the database is.
    if (options_.read_only) options = GivenOrKept(options, described.kept_options);
    const CompactionPolicy policy = PolicyFor(options, tuning_);
    described.family = std::make_shared<Family>(id, described.creation.name, std::move(options), policy);
    described.tables.OrderBy(described.family->order);
  }
  return absl::OkStatus();
}

absl::StatusOr<ColumnFamilyOptions> DescribedFamilies::OptionsFor(const ColumnFamilyCreation& family) const {
  const ColumnFamilyOptions& options = OptionsByName(options_, family.name);
  if (options.comparator->Name() != family.comparator_name) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "column family \"%s\" in %s was created with comparator \"%s\", not \"%s\": open it with that one", family.name,
        path_, family.comparator_name, options.comparator->Name()));
  }
  if (options.comparator->EqualMeansIdentical() != family.equal_means_identical) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "column family \"%s\" in %s: comparator \"%s\" has changed its answer to EqualMeansIdentical; a changed order "
        "needs a new name and a new database",
        family.name, path_, family.comparator_name));
  }
  return options;
}

std::vector<ColumnFamilyDescriptor> DescribedFamilies::Missing() const {
  std::set<std::string_view> there;
  for (const auto& [id, described] : all_) there.insert(described.creation.name);
  std::vector<ColumnFamilyDescriptor> missing;
  for (const ColumnFamilyDescriptor& descriptor : options_.column_families) {
    if (there.insert(descriptor.name).second) {
      missing.push_back({.name = descriptor.name, .options = OptionsByName(options_, descriptor.name)});
    }
  }
  return missing;
}

}  // namespace sepal

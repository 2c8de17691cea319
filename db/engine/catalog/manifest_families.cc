#include "db/engine/catalog/manifest_families.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/format/kept_options.h"
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

VersionEdit DescribeFamily(ColumnFamilyCreation creation, const ColumnFamilyOptions& options,
                           std::string_view merge_operator, SequenceNumber flushed_through) {
  VersionEdit description;
  const ColumnFamilyId id = creation.id;
  description.created_families.push_back(std::move(creation));
  if (std::string kept = EncodeKeptOptions(options); !kept.empty()) {
    description.kept_options.push_back({.family = id, .fields = std::move(kept)});
  }
  const auto ttl_millis = static_cast<uint64_t>(options.ttl.count());
  if (!merge_operator.empty() || ttl_millis > 0) {
    description.schemas.push_back(
        {.family = id, .merge_operator = std::string(merge_operator), .ttl_millis = ttl_millis});
    description.expires = ttl_millis > 0;
  }
  description.flushed_through.push_back({.family = id, .sequence = flushed_through});
  return description;
}

VersionEdit DescribeFamily(const Family& family, SequenceNumber flushed_through) {
  return DescribeFamily(CreationOf(family.id, family.name, *family.order.comparator()), family.options,
                        family.merge_operator_name, flushed_through);
}

const ColumnFamilyOptions& OptionsByName(const Options& options, std::string_view family) {
  const auto& named = options.column_families;
  const auto it = std::find_if(named.rbegin(), named.rend(), [&](const auto& d) { return d.name == family; });
  return it == named.rend() ? options.family : it->options;
}

absl::StatusOr<ColumnFamilyOptions> OptionsFor(const Options& all, std::string_view path,
                                               const ColumnFamilyCreation& family, std::string_view merge_operator,
                                               uint64_t ttl_millis) {
  ColumnFamilyOptions options = OptionsByName(all, family.name);
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
  const auto ttl = std::chrono::milliseconds(ttl_millis);
  if (ttl_millis > 0 && options.ttl.count() != 0 && options.ttl != ttl) {
    return absl::InvalidArgumentError(
        absl::StrFormat("column family \"%s\" in %s has a ttl of %d ms, not %d ms: use that one", family.name, path,
                        ttl.count(), options.ttl.count()));
  }
  if (ttl_millis > 0) options.ttl = ttl;
  if (merge_operator.empty()) return options;
  if (options.merge_operator == nullptr) {
    options.merge_operator = MergeOperators::ByName(merge_operator);
  } else if (options.merge_operator->Name() != merge_operator) {
    return absl::InvalidArgumentError(
        absl::StrFormat("column family \"%s\" in %s has merge operator \"%s\", not \"%s\": use that one", family.name,
                        path, Printable(merge_operator), Printable(options.merge_operator->Name())));
  }
  return options;
}

std::string MergeOperatorName(const ColumnFamilyOptions& options, std::string_view before) {
  return std::string(options.merge_operator != nullptr ? options.merge_operator->Name() : before);
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

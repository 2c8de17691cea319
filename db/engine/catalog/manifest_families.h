// Column families between the options, which a program gives, and a manifest, which describes them.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "db/engine/core/family_state.h"
#include "db/format/version_edit.h"
#include "db/state/version/manifest_state.h"

namespace sepal {

// A family that is made with that order.
ColumnFamilyCreation CreationOf(ColumnFamilyId id, std::string_view name, const Comparator& comparator);
// All that a manifest says of a family beside its tables. `merge_operator`: the name of the one that it has, or empty.
VersionEdit DescribeFamily(ColumnFamilyCreation creation, const ColumnFamilyOptions& options,
                           std::string_view merge_operator, SequenceNumber flushed_through);
VersionEdit DescribeFamily(const Family& family, SequenceNumber flushed_through);

// The last that `options` have for a family of that name; else those for families in general. Lives as `options` do.
const ColumnFamilyOptions& OptionsByName(const Options& options, std::string_view family);
// The same for a family of the database in `path`, which the manifest says to have the merge operator of that name, or
// none, and that time to live, or 0. InvalidArgument: they have another comparator than it was made with, another
// operator or another time to live. Where they have no operator, a built-in one is found by its name; where they have
// no time to live, they get the family's.
absl::StatusOr<ColumnFamilyOptions> OptionsFor(const Options& options, std::string_view path,
                                               const ColumnFamilyCreation& family, std::string_view merge_operator,
                                               uint64_t ttl_millis);
// The name of the merge operator of a family with these options, which had `before`, or none.
std::string MergeOperatorName(const ColumnFamilyOptions& options, std::string_view before);
// Families that the options name and that are not there, each once.
std::vector<ColumnFamilyDescriptor> MissingFamilies(const Options& options,
                                                    const std::map<ColumnFamilyId, ManifestFamily>& there);

}  // namespace sepal

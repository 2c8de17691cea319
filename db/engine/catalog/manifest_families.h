// Column families between the options, which a program gives, and a manifest, which describes them.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "db/engine/core/core.h"
#include "db/engine/core/family_state.h"
#include "db/format/version_edit.h"
#include "db/state/version/manifest_state.h"

namespace sepal {

// A family that is made with that order.
ColumnFamilyCreation CreationOf(ColumnFamilyId id, std::string_view name, const Comparator& comparator);
// All that a manifest says of a family beside its tables.
VersionEdit DescribeFamily(ColumnFamilyCreation creation, const ColumnFamilyOptions& options, FamilySchema schema,
                           SequenceNumber flushed_through);
VersionEdit DescribeFamily(const Family& family, FamilySchema schema, SequenceNumber flushed_through);

// The last that `options` have for a family of that name; else those for families in general. Lives as `options` do.
const ColumnFamilyOptions& OptionsByName(const Options& options, std::string_view family);
// The same for a family of the database in `path`, which the manifest says to have that schema. InvalidArgument: they
// have another comparator than it was made with, another merge operator, filter or time to live. Where they have no
// operator, a built-in one is found by its name; where they have no time to live, they get the family's.
// The system family has the defaults, whatever they say.
absl::StatusOr<ColumnFamilyOptions> OptionsFor(const Options& options, std::string_view path,
                                               const ColumnFamilyCreation& family, const FamilySchema& schema);
// That of a family with these options, which had `before`. A history that begins now has what comes after `last`, at or
// below which all is that tables hold.
FamilySchema MakeSchema(const ColumnFamilyOptions& options, FamilySchema before, SequenceNumber last);
// The family that a manifest describes, with its options, before it has a view. What a new one wants of its database
// (the expiry of puts, value files) is noted there. `last`: the manifest's last sequence number. Errors are those of
// OptionsFor.
absl::StatusOr<FamilyRef> MakeFamily(const Options& options, Core* core, ColumnFamilyId id,
                                     const ManifestFamily& described, SequenceNumber last);
// Of a family that is open: whether a manifest still describes it. FailedPrecondition: it has been given a merge
// operator or a filter since, or is another one.
absl::Status CheckIsFamily(const Family& family, std::string_view path, const ManifestFamily& described);
// Families that the options name and that are not there, each once.
std::vector<ColumnFamilyDescriptor> MissingFamilies(const Options& options,
                                                    const std::map<ColumnFamilyId, ManifestFamily>& there);

}  // namespace sepal

// Maps column families between the program's options and the manifest's descriptions.
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

// Describes the creation of a family with that comparator.
ColumnFamilyCreation CreationOf(ColumnFamilyId id, std::string_view name, const Comparator& comparator);
// Returns everything that a manifest says of a family except for its tables.
VersionEdit DescribeFamily(ColumnFamilyCreation creation, const ColumnFamilyOptions& options, FamilySchema schema,
                           SequenceNumber flushed_through);
VersionEdit DescribeFamily(const Family& family, FamilySchema schema, SequenceNumber flushed_through);

// Returns the last options that `options` has for a family of that name, or else those for families in general. The
// result lives as long as `options`.
const ColumnFamilyOptions& OptionsByName(const Options& options, std::string_view family);
// Does the same for a family of the database in `path` that has that schema in the manifest. InvalidArgument: the
// options have another comparator than the family was created with, or another merge operator, filter or time to live.
// Where they have no operator, a built-in one is found by its name; where they have no time to live, they get the
// family's. The system family always has the defaults.
absl::StatusOr<ColumnFamilyOptions> OptionsFor(const Options& options, std::string_view path,
                                               const ColumnFamilyCreation& family, const FamilySchema& schema);
// Returns the schema of a family with these options, which had the schema `before`. A history that begins now keeps
// what comes after `last`; everything up to `last` is in tables.
FamilySchema MakeSchema(const ColumnFamilyOptions& options, FamilySchema before, SequenceNumber last);
// Makes the family that a manifest describes, with its options, but without a view. What it requires of its database
// (the expiry of puts, value files) is noted in the core. `last`: the manifest's last sequence number. Errors are those
// of OptionsFor.
absl::StatusOr<FamilyRef> MakeFamily(const Options& options, Core* core, ColumnFamilyId id,
                                     const ManifestFamily& described, SequenceNumber last);
// Checks that a manifest still describes an open family. FailedPrecondition: the family was given a merge operator or a
// filter since, or is another one of the same name.
absl::Status CheckIsFamily(const Family& family, std::string_view path, const ManifestFamily& described);
// Returns the families that the options name but that do not exist, each once.
std::vector<ColumnFamilyDescriptor> MissingFamilies(const Options& options,
                                                    const std::map<ColumnFamilyId, ManifestFamily>& there);

}  // namespace sepal

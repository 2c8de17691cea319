// The column families of a database as its manifest describes them, edit by edit (for opening.h).
//
// Edits compare no keys. So what options a family has, and whether its comparator is the one that it was made with, is
// asked once the last edit was taken, of the families that are still there: a dropped one refuses nobody.
//
// Cost of an edit: what it names, however many families there are.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/engine/core/family_state.h"
#include "db/format/version_edit.h"
#include "db/state/version/version_builder.h"

namespace sepal {

struct DescribedFamily {
  ColumnFamilyCreation creation;
  std::string kept_options;  // db/format/kept_options.h
  VersionBuilder tables;
  SequenceNumber flushed_through;
  FamilyRef family;                    // null until Resolve
  std::shared_ptr<MemTable> replayed;  // what logs hold of it
};

class DescribedFamilies {
 public:
  DescribedFamilies(const Options& options, const Tuning& tuning, std::string_view path)
      : options_(options), tuning_(tuning), path_(path) {}

  std::map<ColumnFamilyId, DescribedFamily>& all() { return all_; }
  const std::map<ColumnFamilyId, DescribedFamily>& all() const { return all_; }

  // DataLoss: an edit that cannot be.
  absl::Status TakeEdit(VersionEdit&& edit, const TableFactory& make_table);
  absl::Status Add(const ColumnFamilyCreation& creation, const TableFactory& make_table);
  // Gives those that have none yet their options. InvalidArgument: another comparator than a family was made with.
  absl::Status Resolve();

  // Families that the options name and that are not there, each once.
  std::vector<ColumnFamilyDescriptor> Missing() const;

 private:
  absl::StatusOr<ColumnFamilyOptions> OptionsFor(const ColumnFamilyCreation& family) const;

  const Options& options_;
  const Tuning tuning_;
  const std::string path_;
  std::map<ColumnFamilyId, DescribedFamily> all_;
};

// A family that is made with that order.
ColumnFamilyCreation CreationOf(ColumnFamilyId id, std::string_view name, const Comparator& comparator);
// All that a manifest says of a family beside its tables.
VersionEdit DescribeFamily(ColumnFamilyCreation creation, const ColumnFamilyOptions& options,
                           SequenceNumber flushed_through);
VersionEdit DescribeFamily(const Family& family, SequenceNumber flushed_through);

// The last that `options` have for a family of that name; else those for families in general. Lives as `options` do.
const ColumnFamilyOptions& OptionsByName(const Options& options, std::string_view family);

// DataLoss: of two families with one id.
absl::Status MadeTwice(std::string_view path, const ColumnFamilyCreation& first, const ColumnFamilyCreation& second);

}  // namespace sepal

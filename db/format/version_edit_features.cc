#include "db/format/version_edit_features.h"

#include <bit>

#include "absl/strings/str_format.h"
#include "db/format/system_row.h"
#include "util/base/status.h"

namespace sepal {

namespace {

constexpr Features kKnownFeatures = Feature::kMerges | Feature::kRangeDeletes | Feature::kExpiry | Feature::kFilters |
                                    Feature::kSnapshots | Feature::kValueFiles | Feature::kChunkedValues |
                                    Feature::kCompressedValues | Feature::kSystemFamily | Feature::kLongKeys |
                                    Feature::kHistories;
// What an edit has tells of these.
constexpr Features kEvidentFeatures =
    Feature::kMerges | Feature::kFilters | Feature::kSnapshots | Feature::kSystemFamily | Feature::kHistories;

// The only place that refuses what a newer library has written on purpose.
absl::Status CheckFeatures(Features features) {
  const uint64_t unknown = features.bits() & ~kKnownFeatures.bits();
  if (unknown == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("the database uses feature %d, which this version of the library does not know: open it with a "
                      "newer version",
                      std::countr_zero(unknown)));
}

}  // namespace

Features FeaturesOf(const VersionEdit& edit) {
  Features features = edit.features;
  if (!edit.created_snapshots.empty() || !edit.dropped_snapshots.empty()) features |= Feature::kSnapshots;
  for (const ColumnFamilyCreation& creation : edit.created_families) {
    if (creation.id == kSystemFamilyId) features |= Feature::kSystemFamily;
  }
  for (const FamilySchema& schema : edit.schemas) {
    if (!schema.merge_operator.empty()) features |= Feature::kMerges;
    if (schema.ttl_millis > 0) features |= Feature::kExpiry;
    if (!schema.filter.empty()) features |= Feature::kFilters;
    if (schema.history_millis > 0) features |= Feature::kHistories;
  }
  if (!edit.history_floors.empty()) features |= Feature::kHistories;
  return features;
}

absl::Status TakeFeatures(uint64_t bits, VersionEdit* edit) {
  const Features features(bits);
  RETURN_IF_ERROR(CheckFeatures(features));
  edit->features |= Features(features.bits() & ~kEvidentFeatures.bits());
  return absl::OkStatus();
}

}  // namespace sepal

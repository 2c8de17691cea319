#include "db/format/features.h"

#include <bit>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/format/system_row.h"
#include "util/base/status.h"

namespace sepal {

namespace {

constexpr uint64_t kMergesFeature = 1;
constexpr uint64_t kExpiryFeature = 4;
constexpr uint64_t kFilterFeature = 8;
constexpr uint64_t kSnapshotsFeature = 16;
constexpr uint64_t kSystemFamilyFeature = 256;
constexpr uint64_t kHistoryFeature = 1024;
constexpr uint64_t kKnownFeatures = 511 | kHistoryFeature;
// Of flags that edits have.
constexpr std::pair<uint64_t, bool VersionEdit::*> kFlaggedFeatures[] = {{2, &VersionEdit::range_deletes},
                                                                         {kExpiryFeature, &VersionEdit::expires},
                                                                         {32, &VersionEdit::value_files},
                                                                         {64, &VersionEdit::chunked_values},
                                                                         {128, &VersionEdit::compressed_values}};

// The only place that refuses what a newer library has written on purpose.
absl::Status CheckFeatures(uint64_t features) {
  const uint64_t unknown = features & ~kKnownFeatures;
  if (unknown == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("the database uses feature %d, which this version of the library does not know: open it with a "
                      "newer version",
                      std::countr_zero(unknown)));
}

}  // namespace

uint64_t FeaturesOf(const VersionEdit& edit) {
  uint64_t features = 0;
  for (const auto& [feature, flag] : kFlaggedFeatures) features |= edit.*flag ? feature : 0;
  if (!edit.created_snapshots.empty() || !edit.dropped_snapshots.empty()) features |= kSnapshotsFeature;
  for (const ColumnFamilyCreation& creation : edit.created_families) {
    if (creation.id == kSystemFamilyId) features |= kSystemFamilyFeature;
  }
  for (const FamilySchema& schema : edit.schemas) {
    if (!schema.merge_operator.empty()) features |= kMergesFeature;
    if (schema.ttl_millis > 0) features |= kExpiryFeature;
    if (!schema.filter.empty()) features |= kFilterFeature;
    if (schema.history_millis > 0) features |= kHistoryFeature;
  }
  if (!edit.history_floors.empty()) features |= kHistoryFeature;
  return features;
}

absl::Status TakeFeatures(uint64_t features, VersionEdit* edit) {
  RETURN_IF_ERROR(CheckFeatures(features));
  for (const auto& [feature, flag] : kFlaggedFeatures) edit->*flag |= (features & feature) != 0;
  return absl::OkStatus();
}

}  // namespace sepal

// Applies a family's context filter to what a part of a compaction will write (sepal/context_filter.h), between
// retention and the tables.
//
// Laws:
// - Entries that were visible to a snapshot when the job began pass unchanged.
// - A removed entry becomes a delete with its sequence number, unless no older entry is left below.
//
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/act/files/value_store.h"
#include "sepal/context_filter.h"
#include "table/key/internal_key.h"
#include "util/base/numbers.h"

namespace sepal {

struct FilterStageOptions {
  KeyOrder order = {};
  // The newest snapshot that is held; unset if there is none.
  std::optional<SequenceNumber> newest_snapshot = {};
  // See CompactionPlan::bottommost.
  bool bottommost = false;
  // For values in value files; null if there are none. Must outlive the stage.
  ValueStore* values = nullptr;
};

class FilterStage {
 public:
  using Emit = std::function<absl::Status(const InternalKeyView& key, std::string_view value, bool first_of_key)>;
  FilterStage(std::unique_ptr<ContextFilter> filter, const FilterStageOptions& options, Emit emit)
      : options_(options), emit_(std::move(emit)), filter_(std::move(filter)) {}

  absl::Status Add(const InternalKeyView& key, std::string_view value, bool first_of_key);

  // The error after which the filter was given up; later entries passed unchanged.
  const absl::Status& status() const { return status_; }
  // The number of entries that were removed without a delete in their place.
  uint64_t dropped() const { return dropped_; }

 private:
  class JudgedEntry;

  bool IsToJudge(const InternalKeyView& key, bool first_of_key) const;
  absl::StatusOr<FilterVerdict> Judge(const InternalKeyView& key, std::string_view value);
  absl::Status Remove(const InternalKeyView& key);
  absl::Status Change(const InternalKeyView& key, std::string_view value, const std::string& changed);

  const FilterStageOptions options_;
  const Emit emit_;
  std::unique_ptr<ContextFilter> filter_;  // null if it was given up
  std::optional<std::string> remove_through_;
  absl::Status status_;
  uint64_t dropped_ = 0;
};

}  // namespace sepal

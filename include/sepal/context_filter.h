// Filters with context: the program decides about each entry that a compaction rewrites. Unlike a PureFilter
// (sepal/compaction_filter.h), such a filter may depend on anything, may change values, and is not called by reads: an
// entry stays visible as it was until a compaction reaches it.
//
//   // Sessions that another system has ended.
//   class Ended final : public sepal::ContextFilter {
//    public:
//     absl::StatusOr<sepal::FilterVerdict> Judge(const sepal::FilterEntry& entry) override {
//       return sessions.IsOver(entry.key()) ? sepal::FilterVerdict::Remove() : sepal::FilterVerdict::Keep();
//     }
//   };
//   class EndedFactory final : public sepal::ContextFilterFactory {
//    public:
//     std::unique_ptr<sepal::ContextFilter> Create(const sepal::FilterContext&) const override {
//       return std::make_unique<Ended>();
//     }
//   };
//   options.family.context_filter = std::make_shared<EndedFactory>();
//
// It judges the newest version of a key among the inputs of the compaction, if that is a value (not a delete, a merge
// operand, or the base of one) and no snapshot sees it. So snapshots that were taken before the compaction began,
// transactions that read at them and existing iterators never see its effects; a snapshot that is taken while the
// compaction runs may. If a newer version lies in another table, the judged one is hidden, and the verdict changes no
// read.
//
// An entry that is removed counts as deleted: older versions of its key stay hidden. One that is changed keeps its
// sequence number and its expiry time, so a transaction that read it does not notice. An entry may be judged several
// times, because compactions fail, end early or rewrite it again; only the output of a completed one counts.
//
// Flushes do not call it, nor do compactions that only move tables. DB::CompactRange rewrites all tables of its range
// once, so that all their entries are judged.
//
// If Judge fails, the entry stays as it is, that part of the compaction continues without the filter, the listeners get
// the status (OnError), and CompactRange returns it at its end.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "sepal/abi.h"
#include "sepal/export.h"

namespace sepal {

// The entry to judge. Valid until Judge returns.
class FilterEntry {
 public:
  virtual std::string_view key() const = 0;
  virtual uint64_t value_bytes() const = 0;
  // Reads the value from its file if it lies in a value file (ColumnFamilyOptions::separate_from). Judge should return
  // its errors.
  virtual absl::StatusOr<std::string_view> Value() const = 0;
  // Unset: the entry does not expire.
  virtual std::optional<std::chrono::system_clock::time_point> expires_at() const = 0;

 protected:
  ~FilterEntry() = default;
};

struct FilterVerdict {
  enum class Kind : uint8_t { kKeep, kRemove, kChange, kRemoveThrough };
  static FilterVerdict Keep() { return {}; }
  static FilterVerdict Remove() { return {Kind::kRemove, {}}; }
  // Replaces the value by another one, of at most 1 GiB; it is stored in the table, whatever its size.
  static FilterVerdict ChangeTo(std::string value) { return {Kind::kChange, std::move(value)}; }
  // Removes this entry, and without further calls all following ones up to and including `key` that would be judged. A
  // compaction works in parts, each with a range of keys and a filter of its own: the verdict ends with the part.
  static FilterVerdict RemoveThrough(std::string key) { return {Kind::kRemoveThrough, std::move(key)}; }

  Kind kind = Kind::kKeep;
  std::string bytes = {};
};

// The compaction, as its filters see it.
struct FilterContext {
  std::string_view column_family;
  int output_level = 0;
  // The output has the oldest versions of its keys.
  bool last_level = false;
  bool manual = false;  // CompactRange
};

// Used by one thread, from its creation to its end.
class SEPAL_EXPORT ContextFilter {
 public:
  virtual ~ContextFilter() = default;
  // Called in key order, by a background thread or by the caller of CompactRange, without a lock. Must not throw, and
  // must not wait for a compaction of this database; may read the database.
  virtual absl::StatusOr<FilterVerdict> Judge(const FilterEntry& entry) = 0;
};

// Must be safe for concurrent use.
class SEPAL_EXPORT ContextFilterFactory {
 public:
  virtual ~ContextFilterFactory() = default;
  // Returns a filter for a part of a compaction; null: nothing in that part is judged.
  virtual std::unique_ptr<ContextFilter> Create(const FilterContext& context) const = 0;
};

}  // namespace sepal

// Filters with context: a program's say in each entry that a compaction rewrites. Unlike a PureFilter
// (sepal/compaction_filter.h) it may depend on anything, may change values, and is not asked by reads: what it removes
// or changes is there as it was until a compaction comes by.
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
// What it is asked about: the newest version of a key that the compaction has, where it is a value (not a delete, an
// operand of a merge, or what an operand builds on) and no snapshot sees it. So snapshots that were taken before the
// compaction began, transactions that read at them and iterators that are there never see it act; a snapshot that is
// taken while the compaction runs may see it go. The newest version of all may lie in another table: then what is
// judged is hidden, and the answer changes nothing that can be read.
//
// An entry that is removed is as one that was deleted: older versions of its key stay hidden. One that is changed keeps
// its sequence number and the time at which it expires, so a transaction that read it does not notice. An entry may be
// judged several times, as compactions fail, end early or come by again; only what a completed one wrote counts.
//
// Flushes and compactions that only move tables do not ask. DB::CompactRange rewrites all tables of its range once, so
// that all that they hold is judged.
//
// Where Judge fails, the entry stays as it is, the part of the compaction goes on without the filter, the listeners get
// the status (OnError), and CompactRange returns it once it is done.
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

// An entry that is judged. Valid until Judge returns.
class FilterEntry {
 public:
  virtual std::string_view key() const = 0;
  virtual uint64_t value_bytes() const = 0;
  // Reads the value first where it lies in a value file (ColumnFamilyOptions::separate_from). Its errors are for Judge
  // to return.
  virtual absl::StatusOr<std::string_view> Value() const = 0;
  // None: it does not expire.
  virtual std::optional<std::chrono::system_clock::time_point> expires_at() const = 0;

 protected:
  ~FilterEntry() = default;
};

struct FilterVerdict {
  enum class Kind : uint8_t { kKeep, kRemove, kChange, kRemoveThrough };
  static FilterVerdict Keep() { return {}; }
  static FilterVerdict Remove() { return {Kind::kRemove, {}}; }
  // The value becomes another one, of at most 1 GiB; it lies in the table, whatever its size.
  static FilterVerdict ChangeTo(std::string value) { return {Kind::kChange, std::move(value)}; }
  // This entry is removed, and so is all up to `key` and with it that would be judged next, without being judged. A
  // compaction works in parts, each of a range of keys, with a filter of its own: in the next part that one is asked.
  static FilterVerdict RemoveThrough(std::string key) { return {Kind::kRemoveThrough, std::move(key)}; }

  Kind kind = Kind::kKeep;
  std::string bytes = {};
};

// Of the compaction.
struct FilterContext {
  std::string_view column_family;
  int output_level = 0;
  // What is written is the oldest that there is of its keys.
  bool last_level = false;
  bool manual = false;  // CompactRange
};

// One thread uses it, from its creation to its end.
class SEPAL_EXPORT ContextFilter {
 public:
  virtual ~ContextFilter() = default;
  // Called in key order, by a background thread, or by the one that called CompactRange, without a lock. Must not
  // throw, and must not wait for a compaction of this database; may read the database.
  virtual absl::StatusOr<FilterVerdict> Judge(const FilterEntry& entry) = 0;
};

// Must be safe for concurrent use.
class SEPAL_EXPORT ContextFilterFactory {
 public:
  virtual ~ContextFilterFactory() = default;
  // A filter for a part of a compaction; null: nothing in it is judged.
  virtual std::unique_ptr<ContextFilter> Create(const FilterContext& context) const = 0;
};

}  // namespace sepal

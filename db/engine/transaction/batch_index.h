// The updates of a transaction or of a user's IndexedBatch: a batch in order, and an index of it by keys, so that they
// can be read. An expiring put is read by the clock, as it is in the database.
//
// An update is identified by its *ordinal*, its place in the batch, counted from 1; a read "at" an ordinal is as of the
// moment when that was the last one. Rolling back removes the updates from an ordinal on.
//
// Not safe for concurrent use. Iterators of the index survive additions, and end with a rollback (`generation`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/decide/visibility/operands.h"
#include "db/engine/core/family_state.h"
#include "db/format/batch_format.h"
#include "db/format/owned_family.h"
#include "sepal/write_batch.h"

namespace sepal {

class BatchIndex {
 public:
  struct Update {
    uint32_t ordinal;
    ValueKind kind;
    // The key's place in the batch, as equal keys may differ in their bytes.
    size_t key_offset;
    size_t key_bytes;
    size_t value_offset;
    size_t value_bytes;
  };
  struct Before {
    using is_transparent = void;
    KeyOrder order;
    bool operator()(std::string_view a, std::string_view b) const { return order.Less(a, b); }
  };
  // The updates of a key, in order.
  using Updates = absl::InlinedVector<Update, 1>;
  using Keys = std::map<std::string, Updates, Before>;
  struct DeletedRange {
    uint32_t ordinal;
    std::string begin;
    std::optional<std::string> end;
  };
  // The updates of one family.
  struct Part {
    explicit Part(FamilyRef its_family) : family(std::move(its_family)), keys(Before{family->order}) {}
    const FamilyRef family;
    bool had_operands = false;
    Keys keys;
    std::vector<DeletedRange> ranges;
  };
  // The effect of the batch on a key.
  struct Said {
    // kAbsent: the key is deleted. kOperand: `chain` has operands, and the value that they are merged into unless
    // `needs_base`. Unset: the batch says nothing.
    explicit Said(ReadClock* clock) : chain(clock) {}
    std::optional<Meaning> meaning;
    std::string_view value;  // of kValue; valid until the next addition
    OperandChain chain;
    bool needs_base = false;
  };

  // `clock` must outlive the object.
  explicit BatchIndex(ReadClock* clock);
  BatchIndex(const BatchIndex&) = delete;
  BatchIndex& operator=(const BatchIndex&) = delete;

  // InvalidArgument: no batch may contain that update.
  static absl::Status Check(const Family& family, ValueKind kind, std::string_view key, std::string_view value);

  // The update has passed Check and, if it expires, CheckExpiry (db/engine/core/put_expiry.h).
  void Add(const FamilyRef& family, ValueKind kind, std::string_view key, std::string_view value);
  void SetSavepoint() { savepoints_.push_back(last()); }
  // Removes the last savepoint and all later updates. Returns false if there is none.
  bool RollBackToSavepoint();
  void ForgetSavepoints() { savepoints_.clear(); }
  // Removes everything, and ends all iterators.
  void End();

  // The last ordinal, which is the number of updates.
  uint32_t last() const { return static_cast<uint32_t>(log_.size()); }
  const WriteBatch& updates() const { return updates_; }
  // For recording the database that the batch belongs to.
  WriteBatch* mutable_updates() { return &updates_; }
  const std::string& bytes() const { return updates_.bytes(); }
  // Returns whether any put in the batch expires.
  bool expires() const { return BatchOrigin::Expires(updates_); }
  size_t MemoryBytes() const { return bytes().size() + index_bytes_; }
  // Returns about how much memory an update takes.
  static size_t MemoryBytes(size_t key_bytes, size_t value_bytes);
  // The number of rollbacks.
  uint64_t generation() const { return generation_; }

  const std::vector<std::unique_ptr<Part>>& parts() const { return parts_; }
  // Null if the batch has nothing of the family.
  const Part* Find(ColumnFamilyId family) const;

  Said Read(ColumnFamilyId family, std::string_view key) const;
  // Reads the updates of a key, at an ordinal.
  Said Read(const Part& part, std::string_view key, const Updates& updates, uint32_t at) const;
  // Returns the key as its newest update at an ordinal spells it, which a commit would show; valid until the next
  // addition.
  std::string_view KeyAt(const Keys::value_type& updates, uint32_t at) const;
  // Returns whether a range delete covers a key that the batch has not updated since.
  static bool Covers(const Part& part, std::string_view key, uint32_t at) { return CoveredBy(part, key, at) > 0; }

 private:
  // Where an update is indexed.
  struct Logged {
    Part* part;
    Keys::iterator key;  // the end if it deleted a range
    size_t bytes_before;
    size_t index_bytes_before;
    bool expires_before;
  };

  // Removes all updates after `ordinal`.
  void RollBackTo(uint32_t ordinal);

  Part* PartOf(const FamilyRef& family);
  // Returns the last range delete that covers the key; 0 if there is none.
  static uint32_t CoveredBy(const Part& part, std::string_view key, uint32_t at);

  ReadClock* const clock_;
  WriteBatch updates_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<Logged> log_;
  std::vector<uint32_t> savepoints_;
  size_t index_bytes_ = 0;
  uint64_t generation_ = 0;
};

// Returns the value of a key of which the batch said `said` and the database has `base`, or nothing. Nullopt: it is
// absent. Errors are those of merges (db/decide/merge/fold.h).
absl::StatusOr<std::optional<std::string>> ValueOver(const Family& family, std::string_view key, BatchIndex::Said* said,
                                                     std::optional<std::string_view> base);

}  // namespace sepal

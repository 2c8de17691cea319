// The locks of pessimistic and prepared transactions: shared or exclusive, on keys and on ranges of keys.
//
// One mutex guards the table. A request waits in line if it conflicts with a lock, or with an earlier waiting request;
// but it does not wait for requests that wait for its own owner, so that the holder of a shared lock can make it
// exclusive before others that want it. When a wait begins, a search for a cycle of waits
// (db/decide/transaction/deadlock.h) finds every deadlock at once, and its youngest member is refused.
//
// Laws:
//   - a request is granted when it conflicts with no lock of another owner, and with no earlier request of another
//     owner that does not wait for its own;
//   - an owner has at most one request in line;
//   - locks are charged to the memory budget, and refused if they do not fit, except for those of writes without a
//     transaction, which the write gate has admitted;
//   - once the table is closed, nothing waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "db/decide/transaction/conflict_set.h"
#include "db/format/prepared_transaction.h"
#include "sepal/env.h"
#include "table/key/internal_key.h"
#include "util/base/numbers.h"
#include "util/memory/memory_budget.h"
#include "util/thread/sync.h"

namespace sepal {

enum class LockMode : uint8_t { kShared, kExclusive };

class LockTable {
 private:
  struct Lock;
  struct Request;

 public:
  // A transaction that holds locks, or a write without a transaction. Belongs to one thread at a time, and must not be
  // destroyed before ReleaseAll.
  class Owner {
   public:
    // Later owners have higher numbers.
    enum class Kind : uint8_t { kTransaction, kPlainWrite };
    explicit Owner(uint64_t id, Kind kind = Kind::kTransaction) : id_(id), kind_(kind) {}
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    uint64_t id() const { return id_; }
    // Returns whether it holds no lock.
    bool empty() const { return keys_.empty() && ranges_ == 0; }

   private:
    friend class LockTable;
    const uint64_t id_;
    const Kind kind_;
    std::vector<Lock*> keys_;
    size_t ranges_ = 0;
    size_t charged_bytes_ = 0;
  };

  // Both must outlive the table.
  LockTable(MemoryBudget* budget, Clock* clock) : budget_(budget), clock_(clock) {}
  ~LockTable();

  // Returns once `owner` holds the lock, in that mode or exclusively. Aborted: the owner was chosen to end a deadlock,
  // and must release its locks. DeadlineExceeded: the lock was not free within `timeout`. ResourceExhausted: there is
  // no memory for it. FailedPrecondition: it is not free, and the table is closed.
  absl::Status LockKey(Owner* owner, ColumnFamilyId family, const KeyOrder& order, std::string_view key, LockMode mode,
                       std::chrono::milliseconds timeout) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for all keys of a range. Cost: a scan of all locks.
  absl::Status LockRange(Owner* owner, ColumnFamilyId family, const KeyOrder& order, ConflictRange range,
                         std::chrono::milliseconds timeout, LockMode mode = LockMode::kExclusive)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Grants a lock that the owner's transaction held before the database was opened, regardless of other locks and of
  // memory, because nothing else runs yet.
  void Retake(Owner* owner, const KeyOrder& order, const HeldLock& held) ABSL_LOCKS_EXCLUDED(mutex_);
  void ReleaseAll(Owner* owner) ABSL_LOCKS_EXCLUDED(mutex_);
  // Refuses all requests that wait, and later ones that would have to.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the owner's locks, sorted.
  std::vector<HeldLock> HeldBy(const Owner& owner) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns the number of locks on keys and ranges.
  size_t size() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the number of locks by the owner's number.
  std::map<uint64_t, size_t> HeldByOwner() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Holder {
    Owner* owner;
    LockMode mode;
  };
  using Name = std::pair<uint32_t, std::string_view>;
  struct Lock {
    Name name() const { return {family.value(), key}; }
    ColumnFamilyId family;
    std::string key;
    absl::InlinedVector<Holder, 2> holders = {};
    // The number of threads that request the lock, including those that were refused but have not noticed yet. The lock
    // stays while there are any.
    size_t requests = 0;
  };
  // Locks are found by their names.
  struct NameOf {
    using is_transparent = void;
    Name operator()(const Name& name) const { return name; }
    Name operator()(const std::unique_ptr<Lock>& lock) const { return lock->name(); }
  };
  struct Hash : NameOf {
    template <class T>
    size_t operator()(const T& t) const {
      const auto [family, key] = NameOf::operator()(t);
      return absl::HashOf(family, absl::string_view(key.data(), key.size()));
    }
  };
  struct Same : NameOf {
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return NameOf::operator()(a) == NameOf::operator()(b);
    }
  };
  struct RangeLock {
    Owner* owner;
    ColumnFamilyId family;
    KeyOrder order;
    LockMode mode;
    ConflictRange range;
  };
  // Lives on the stack of the waiting thread.
  struct Request {
    Owner* owner;
    ColumnFamilyId family;
    KeyOrder order;
    LockMode mode;
    std::string_view key;                  // for a key
    Lock* lock = nullptr;                  // null for a range
    const ConflictRange* range = nullptr;  // null for a key
    enum class State : uint8_t { kWaiting, kGranted, kRefused } state = State::kWaiting;
    absl::Status refusal = {};
    CondVar changed = {};
  };

  void Charge(Owner* owner, size_t bytes);
  // Returns the memory of the requested lock.
  static size_t BytesOf(const Request& request);
  absl::Status LockOne(Request* request, std::chrono::milliseconds timeout) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Await(Request* request, std::chrono::milliseconds timeout) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Return whether the request's key or range overlaps a lock, or an earlier request.
  static bool Overlaps(const Request& request, const Request& earlier);
  static bool Overlaps(const Request& request, const RangeLock& held);
  static bool Overlaps(const Request& request, const Lock& lock);
  // Calls `look` with each owner that the request waits for, until it returns false.
  template <class Look>
  void ForEachBlocker(const Request& request, Look look) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsBlocked(const Request& request) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  using Owners = absl::InlinedVector<const Owner*, 4>;
  // Returns the owner and all that wait for it, directly or indirectly.
  Owners WaitersFor(const Owner* owner) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether the request conflicts with a lock of `holder`.
  bool ConflictsWithLocksOf(const Request& request, const Owner& holder) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether the request's owner holds all of it already, in that mode or exclusively.
  bool Holds(const Request& request) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Grant(Request* request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Grants all requests that are no longer blocked.
  void GrantWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Refuses the youngest member of each cycle that the request, which begins to wait, closes.
  void BreakDeadlocks(Request* request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes a lock that is neither held nor requested.
  void RemoveIfUnused(Lock* lock) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  MemoryBudget* const budget_;
  Clock* const clock_;
  mutable Mutex mutex_;
  absl::flat_hash_set<std::unique_ptr<Lock>, Hash, Same> keys_ ABSL_GUARDED_BY(mutex_);
  std::list<RangeLock> ranges_ ABSL_GUARDED_BY(mutex_);
  std::list<Request*> line_ ABSL_GUARDED_BY(mutex_);  // oldest first
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sepal

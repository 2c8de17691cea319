// What the transactions of one database share, and keep alive.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "db/engine/core/core.h"
#include "db/engine/core/family_state.h"
#include "db/engine/transaction/conflict_check.h"
#include "db/engine/transaction/lock_table.h"
#include "db/engine/transaction/prepared_registry.h"
#include "sepal/db.h"

namespace sepal {

// The database's services for transactions, besides its public calls.
class TransactionHost {
 public:
  virtual ~TransactionHost() = default;
  virtual DB& database() = 0;
  // Returns FailedPrecondition after Close and in a forked child, in which no call is allowed.
  virtual absl::Status CheckWritable() const = 0;
  // Returns the reason if writing has ended for good; otherwise ok.
  virtual absl::Status WritingError() const = 0;
  // Returns the family to write to; errors as of DB's calls.
  virtual absl::StatusOr<FamilyRef> FamilyToWrite(const ColumnFamily& family) = 0;
  // Writes the batch if the check, which may be null, allows it. `locked`: the caller holds the locks of all its keys.
  // Returns false if the check's Look said that there is nothing to write.
  virtual absl::StatusOr<bool> CommitChecked(std::string_view batch, const WriteOptions& options, LookingCheck* check,
                                             bool locked) = 0;
  // Records in the manifest that puts may expire, if it is not recorded yet. To be called before such puts are
  // committed.
  virtual absl::Status AllowExpiry() = 0;
  // After this, batches may have rows of the database itself.
  virtual absl::Status AllowSystemRows() = 0;
  // InvalidArgument: a batch of that size is too large to be written.
  virtual absl::Status CheckBatchSize(uint32_t entries, size_t bytes) const = 0;
  virtual void BeginLocks() = 0;
  virtual void EndLocks() = 0;
  virtual uint64_t hash_seed() const = 0;
};

class TransactionContext {
 public:
  TransactionContext(std::shared_ptr<Core> its_core, TransactionHost* host,
                     std::shared_ptr<const ColumnFamily> its_default_family)
      : core(std::move(its_core)),
        default_family(std::move(its_default_family)),
        locks(&core->budget, core->world.clock),
        host_(host) {}
  ~TransactionContext() { prepared.ReleaseAll(&locks); }

  // Null once the database is gone.
  TransactionHost* host() const { return host_.load(std::memory_order_acquire); }
  void LetGo() { host_.store(nullptr, std::memory_order_release); }

  uint64_t NewId() { return next_id_.fetch_add(1, std::memory_order_relaxed); }
  // For DB::GetProperty.
  void NoteBegin(uint64_t id, Locking locking) ABSL_LOCKS_EXCLUDED(mutex_);
  void NoteEnd(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns a line for each: number, age, kind, locks.
  std::string ListOpen() const ABSL_LOCKS_EXCLUDED(mutex_);

  const std::shared_ptr<Core> core;
  const std::shared_ptr<const ColumnFamily> default_family;
  LockTable locks;
  PreparedRegistry prepared;

 private:
  struct Open {
    uint64_t began_micros;
    Locking locking;
  };

  std::atomic<TransactionHost*> host_;
  std::atomic<uint64_t> next_id_{1};
  mutable Mutex mutex_;
  std::map<uint64_t, Open> open_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal

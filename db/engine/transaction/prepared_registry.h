// The prepared transactions of a database: their names, the locks that they hold, and whether a Transaction object is
// attached to each.
//
// The states of a name:
//
//   Reserve -> Confirm -> (Detach -> Attach)* -> Remove
//           -> Remove                              Restore, at an opening, stands for Reserve, Confirm and Detach
//
// Laws:
//   - from Reserve to Remove the name is taken; from Reserve on no family that the transaction has used is dropped, and
//     from Confirm on none in which it has locks;
//   - the row of a name is written between Reserve and Confirm. The attached object deletes it before Remove;
//   - the locks are released after the row was deleted.
//
// Safe for concurrent use. Its memory, a name and some numbers for each, is not charged; the locks are charged by
// themselves.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/engine/transaction/lock_table.h"
#include "db/format/prepared_transaction.h"
#include "sepal/transaction.h"
#include "util/base/numbers.h"
#include "util/thread/sync.h"

namespace sepal {

// InvalidArgument: no transaction can be prepared under that name.
absl::Status CheckTransactionName(std::string_view name);

// Describes the transaction of a row, for lists.
PreparedTransaction DescribePrepared(std::string_view name, const PreparedRow& row);

class PreparedRegistry {
 public:
  using Families = std::set<ColumnFamilyId>;

  // AlreadyExists: the name is taken. FailedPrecondition: one of the families is being dropped.
  absl::Status Reserve(std::string_view name, Families families) ABSL_LOCKS_EXCLUDED(mutex_);
  // Called when the row is written; `owner` holds the locks on keys and ranges of `families`. The caller is attached.
  void Confirm(const PreparedTransaction& described, std::shared_ptr<LockTable::Owner> owner, Families families)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Restore(const PreparedTransaction& described, std::shared_ptr<LockTable::Owner> owner, Families families)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns the owner of its locks. NotFound; FailedPrecondition: another object is attached, or the transaction is
  // being prepared.
  absl::StatusOr<std::shared_ptr<LockTable::Owner>> Attach(std::string_view name) ABSL_LOCKS_EXCLUDED(mutex_);
  void Detach(std::string_view name) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(std::string_view name) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns those whose preparation has ended, by name.
  std::vector<PreparedTransaction> List() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Until as many calls of EndDrop, nothing is prepared that has locks in the family. FailedPrecondition: such a
  // transaction exists.
  absl::Status BeginDrop(ColumnFamilyId family, std::string_view name) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndDrop(ColumnFamilyId family) ABSL_LOCKS_EXCLUDED(mutex_);

  // Called when the database is gone: releases the locks; the rows stay.
  void ReleaseAll(LockTable* locks) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry {
    PreparedTransaction described = {};
    std::shared_ptr<LockTable::Owner> owner = nullptr;  // null while it is being prepared
    Families families;
    bool attached = true;
  };

  mutable Mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_ ABSL_GUARDED_BY(mutex_);
  std::multiset<ColumnFamilyId> dropping_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal

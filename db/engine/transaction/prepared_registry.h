// The transactions of a database that are prepared: their names, the locks that they hold, and whether a Transaction
// object stands for each.
//
// A transaction's life with a name:
//
//   Reserve -> Confirm -> (Detach -> Attach)* -> Remove
//           -> Remove                              Restore, at an opening, stands for Reserve, Confirm and Detach
//
// Laws:
//   - from Reserve to Remove nobody else gets the name, and no family that the transaction has used, from Confirm on
//     none in which it has locks, is dropped;
//   - the row of a name is written between Reserve and Confirm. Its object, the one that is attached, deletes it before
//     Remove;
//   - the locks are released after the row was deleted.
//
// Safe for concurrent use. Charged to nobody: a name and some numbers each; the locks charge themselves.
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

// What a row says of its transaction, for lists.
PreparedTransaction DescribePrepared(std::string_view name, const PreparedRow& row);

class PreparedRegistry {
 public:
  using Families = std::set<ColumnFamilyId>;

  // AlreadyExists: the name is taken. FailedPrecondition: one of the families is being dropped.
  absl::Status Reserve(std::string_view name, Families families) ABSL_LOCKS_EXCLUDED(mutex_);
  // The row is written; `owner` holds the locks, of keys and ranges of `families`. The caller is attached.
  void Confirm(const PreparedTransaction& described, std::shared_ptr<LockTable::Owner> owner, Families families)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Restore(const PreparedTransaction& described, std::shared_ptr<LockTable::Owner> owner, Families families)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // NotFound; FailedPrecondition: another is attached, or it is being prepared. The owner of its locks.
  absl::StatusOr<std::shared_ptr<LockTable::Owner>> Attach(std::string_view name) ABSL_LOCKS_EXCLUDED(mutex_);
  void Detach(std::string_view name) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(std::string_view name) ABSL_LOCKS_EXCLUDED(mutex_);

  // By name; those whose preparation has ended.
  std::vector<PreparedTransaction> List() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Until as many calls of the second nothing is prepared that has locks in the family. FailedPrecondition: something
  // is.
  absl::Status BeginDrop(ColumnFamilyId family, std::string_view name) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndDrop(ColumnFamilyId family) ABSL_LOCKS_EXCLUDED(mutex_);

  // Of a database that has gone: the locks go too, the rows stay.
  void ReleaseAll(LockTable* locks) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry {
    PreparedTransaction described = {};
    std::shared_ptr<LockTable::Owner> owner = nullptr;  // null: it is being prepared
    Families families;
    bool attached = true;
  };

  mutable Mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_ ABSL_GUARDED_BY(mutex_);
  std::multiset<ColumnFamilyId> dropping_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal

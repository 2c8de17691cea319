#include "db/engine/transaction/prepared_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/format/batch_format.h"
#include "util/base/strings.h"
#include "util/base/unix_time.h"

namespace sepal {

absl::Status CheckTransactionName(std::string_view name) {
  if (!name.empty() && name.size() <= kMaxTransactionNameBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("the name of a prepared transaction has %u bytes: give it one of 1 to %u", name.size(),
                      kMaxTransactionNameBytes));
}

PreparedTransaction DescribePrepared(std::string_view name, const PreparedRow& row) {
  std::vector<HeldLock> locks = LocksOfWrites(row.batch);
  locks.insert(locks.end(), row.locks.begin(), row.locks.end());
  return {.name = std::string(name),
          .prepared = TimeOfMillis(row.prepared_millis),
          .updates = BatchCount(row.batch),
          .bytes = row.batch.size() - kBatchHeaderBytes,
          .locks = locks.size()};
}

absl::Status PreparedRegistry::Reserve(std::string_view name, Families families) {
  MutexLock lock(&mutex_);
  if (entries_.contains(name)) {
    return absl::AlreadyExistsError(absl::StrFormat(
        "there is a prepared transaction \"%s\": commit it, roll it back, or give another name", Printable(name)));
  }
  for (const ColumnFamilyId family : families) {
    if (dropping_.contains(family)) {
      return absl::FailedPreconditionError(
          absl::StrFormat("column family %u, which the transaction has used, is being dropped", family.value()));
    }
  }
  entries_.emplace(name, Entry{.families = std::move(families)});
  return absl::OkStatus();
}

void PreparedRegistry::Confirm(const PreparedTransaction& described, std::shared_ptr<LockTable::Owner> owner,
                               Families families) {
  MutexLock lock(&mutex_);
  Entry& entry = entries_.find(described.name)->second;
  entry.described = described;
  entry.owner = std::move(owner);
  entry.families = std::move(families);
}

void PreparedRegistry::Restore(const PreparedTransaction& described, std::shared_ptr<LockTable::Owner> owner,
                               Families families) {
  MutexLock lock(&mutex_);
  entries_.emplace(
      described.name,
      Entry{.described = described, .owner = std::move(owner), .families = std::move(families), .attached = false});
}

absl::StatusOr<std::shared_ptr<LockTable::Owner>> PreparedRegistry::Attach(std::string_view name) {
  MutexLock lock(&mutex_);
  const auto it = entries_.find(name);
  if (it == entries_.end()) {
    return absl::NotFoundError(absl::StrFormat("there is no prepared transaction \"%s\"", Printable(name)));
  }
  if (it->second.attached) {
    return absl::FailedPreconditionError(
        absl::StrFormat("another Transaction object has the prepared transaction \"%s\": use that one, or destroy it "
                        "first",
                        Printable(name)));
  }
  it->second.attached = true;
  return it->second.owner;
}

void PreparedRegistry::Detach(std::string_view name) {
  MutexLock lock(&mutex_);
  entries_.find(name)->second.attached = false;
}

void PreparedRegistry::Remove(std::string_view name) {
  MutexLock lock(&mutex_);
  entries_.erase(entries_.find(name));
}

std::vector<PreparedTransaction> PreparedRegistry::List() const {
  std::vector<PreparedTransaction> list;
  MutexLock lock(&mutex_);
  for (const auto& [name, entry] : entries_) {
    if (entry.owner != nullptr) list.push_back(entry.described);
  }
  return list;
}

absl::Status PreparedRegistry::BeginDrop(ColumnFamilyId family, std::string_view family_name) {
  MutexLock lock(&mutex_);
  for (const auto& [name, entry] : entries_) {
    if (!entry.families.contains(family)) continue;
    return absl::FailedPreconditionError(
        absl::StrFormat("the prepared transaction \"%s\" has locks in column family \"%s\": commit it or roll it back "
                        "before the family is dropped",
                        Printable(name), family_name));
  }
  dropping_.insert(family);
  return absl::OkStatus();
}

void PreparedRegistry::EndDrop(ColumnFamilyId family) {
  MutexLock lock(&mutex_);
  dropping_.erase(dropping_.find(family));
}

void PreparedRegistry::ReleaseAll(LockTable* locks) {
  MutexLock lock(&mutex_);
  for (auto& [name, entry] : entries_) {
    if (entry.owner != nullptr) locks->ReleaseAll(entry.owner.get());
  }
  entries_.clear();
}

}  // namespace sepal

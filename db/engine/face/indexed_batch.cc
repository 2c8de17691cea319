#include "sepal/indexed_batch.h"

#include <tuple>
#include <utility>

#include "db/engine/core/put_expiry.h"
#include "db/engine/face/engine.h"
#include "db/engine/read/database_iterator.h"
#include "db/engine/transaction/batch_index.h"
#include "db/engine/transaction/read_through.h"
#include "db/format/expiring_value.h"
#include "db/format/range_end.h"
#include "util/base/status.h"
#include "util/thread/fork.h"

namespace sepal {

// The database is not used once it is closed, as it may be gone. Families are released before the core.
class IndexedBatch::Rep {
 public:
  explicit Rep(DB* db) : Rep(db, static_cast<const FamilyHandle&>(db->DefaultColumnFamily())) {}
  ~Rep() {
    if (core_->Forked()) {
      LeakAfterFork(std::tuple(core_, std::move(default_family_), std::move(batch_)));
    } else {
      batch_->End();
    }
  }
  Rep(const Rep&) = delete;
  Rep& operator=(const Rep&) = delete;

  // `handle` is null for the default family.
  absl::Status Add(const ColumnFamily* handle, ValueKind kind, std::string_view key, std::string_view value) {
    ASSIGN_OR_RETURN(const FamilyRef family, FamilyOf(handle));
    RETURN_IF_ERROR(BatchIndex::Check(*family, kind, key, value));
    batch_->Add(family, kind, key, value);
    return absl::OkStatus();
  }
  absl::Status Put(const ColumnFamily* handle, std::string_view key, std::string_view value,
                   const PutOptions& options) {
    if (!options.ttl.has_value() && !options.expires_at.has_value()) return Add(handle, ValueKind::kPut, key, value);
    RETURN_IF_ERROR(FamilyOf(handle).status());  // only an open database has a clock
    ASSIGN_OR_RETURN(const uint64_t expiry, ExpiryOfPut(options.ttl, options.expires_at, core_->expiry.NowMillis()));
    RETURN_IF_ERROR(CheckEntrySize(key.size(), value.size()));  // checked before it is copied
    return Add(handle, ValueKind::kExpiringPut, key, EncodeExpiringValue(expiry, value));
  }

  absl::StatusOr<std::string> Get(const ColumnFamily* handle, std::string_view key, const ReadOptions& options) const {
    ASSIGN_OR_RETURN(const FamilyRef family, FamilyOf(handle));
    return GetThrough(*batch_, BelowOf(handle, family, options), key, kNoNote);
  }
  std::vector<absl::StatusOr<std::string>> MultiGet(const ColumnFamily* handle, std::span<const std::string_view> keys,
                                                    const ReadOptions& options) const {
    const absl::StatusOr<FamilyRef> family = FamilyOf(handle);
    if (!family.ok()) return std::vector<absl::StatusOr<std::string>>(keys.size(), family.status());
    return MultiGetThrough(*batch_, BelowOf(handle, *family, options), keys, kNoNote);
  }
  std::unique_ptr<Iterator> NewIterator(const ColumnFamily* handle, const ReadOptions& options) const {
    const absl::StatusOr<FamilyRef> family = FamilyOf(handle);
    if (!family.ok()) return NewErrorIterator(family.status());
    return NewIteratorThrough(core_, batch_, BelowOf(handle, *family, options), nullptr);
  }

  BatchIndex& batch() { return *batch_; }

 private:
  static constexpr auto kNoNote = [](std::string_view) { return absl::OkStatus(); };

  Rep(DB* db, const FamilyHandle& handle)
      : core_(handle.shared_core()),
        db_(db),
        default_family_(handle.family()),
        batch_(std::make_shared<BatchIndex>(&core_->expiry)) {
    BatchOrigin::Note(handle, batch_->mutable_updates());
  }

  absl::StatusOr<FamilyRef> FamilyOf(const ColumnFamily* handle) const {
    RETURN_IF_ERROR(core_->CheckOpen());
    if (handle == nullptr) return default_family_;
    const auto& known = static_cast<const FamilyHandle&>(*handle);
    if (known.core() != core_.get()) return known.IsOfAnother();
    RETURN_IF_ERROR(known.family()->CheckThere());
    return known.family();
  }
  Below BelowOf(const ColumnFamily* handle, const FamilyRef& family, const ReadOptions& options) const {
    return {db_, handle != nullptr ? *handle : db_->DefaultColumnFamily(), family, options};
  }

  const std::shared_ptr<Core> core_;
  DB* const db_;
  FamilyRef default_family_;
  std::shared_ptr<BatchIndex> batch_;
};

IndexedBatch::IndexedBatch(DB& db) : rep_(std::make_unique<Rep>(&db)) {}
IndexedBatch::IndexedBatch(IndexedBatch&& other) noexcept = default;
IndexedBatch& IndexedBatch::operator=(IndexedBatch&& other) noexcept = default;
IndexedBatch::~IndexedBatch() = default;

absl::Status IndexedBatch::Put(const ColumnFamily& family, std::string_view key, std::string_view value,
                               const PutOptions& options) {
  return rep_->Put(&family, key, value, options);
}
absl::Status IndexedBatch::Put(std::string_view key, std::string_view value, const PutOptions& options) {
  return rep_->Put(nullptr, key, value, options);
}

absl::Status IndexedBatch::Delete(const ColumnFamily& family, std::string_view key) {
  return rep_->Add(&family, ValueKind::kDelete, key, {});
}
absl::Status IndexedBatch::Delete(std::string_view key) { return rep_->Add(nullptr, ValueKind::kDelete, key, {}); }

absl::Status IndexedBatch::SingleDelete(const ColumnFamily& family, std::string_view key) {
  return rep_->Add(&family, ValueKind::kSingleDelete, key, {});
}
absl::Status IndexedBatch::SingleDelete(std::string_view key) {
  return rep_->Add(nullptr, ValueKind::kSingleDelete, key, {});
}

absl::Status IndexedBatch::Merge(const ColumnFamily& family, std::string_view key, std::string_view operand) {
  return rep_->Add(&family, ValueKind::kMerge, key, operand);
}
absl::Status IndexedBatch::Merge(std::string_view key, std::string_view operand) {
  return rep_->Add(nullptr, ValueKind::kMerge, key, operand);
}

absl::Status IndexedBatch::DeleteRange(const ColumnFamily& family, std::string_view begin,
                                       std::optional<std::string_view> end) {
  return rep_->Add(&family, ValueKind::kRangeDelete, begin, EncodeRangeEnd(end));
}
absl::Status IndexedBatch::DeleteRange(std::string_view begin, std::optional<std::string_view> end) {
  return rep_->Add(nullptr, ValueKind::kRangeDelete, begin, EncodeRangeEnd(end));
}

absl::StatusOr<std::string> IndexedBatch::Get(const ColumnFamily& family, std::string_view key,
                                              const ReadOptions& options) const {
  return rep_->Get(&family, key, options);
}
absl::StatusOr<std::string> IndexedBatch::Get(std::string_view key, const ReadOptions& options) const {
  return rep_->Get(nullptr, key, options);
}

std::vector<absl::StatusOr<std::string>> IndexedBatch::MultiGet(const ColumnFamily& family,
                                                                std::span<const std::string_view> keys,
                                                                const ReadOptions& options) const {
  return rep_->MultiGet(&family, keys, options);
}
std::vector<absl::StatusOr<std::string>> IndexedBatch::MultiGet(std::span<const std::string_view> keys,
                                                                const ReadOptions& options) const {
  return rep_->MultiGet(nullptr, keys, options);
}

std::unique_ptr<Iterator> IndexedBatch::NewIterator(const ColumnFamily& family, const ReadOptions& options) const {
  return rep_->NewIterator(&family, options);
}
std::unique_ptr<Iterator> IndexedBatch::NewIterator(const ReadOptions& options) const {
  return rep_->NewIterator(nullptr, options);
}

void IndexedBatch::SetSavepoint() { rep_->batch().SetSavepoint(); }

absl::Status IndexedBatch::RollbackToSavepoint() {
  if (rep_->batch().RollBackToSavepoint()) return absl::OkStatus();
  return absl::NotFoundError("the batch has no savepoint to roll back to: call SetSavepoint first");
}

void IndexedBatch::Clear() { rep_->batch().End(); }

const WriteBatch& IndexedBatch::updates() const { return rep_->batch().updates(); }

size_t IndexedBatch::MemoryBytes() const { return rep_->batch().MemoryBytes(); }

}  // namespace sepal

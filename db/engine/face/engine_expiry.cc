// Writes of expiring puts (db/engine/core/put_expiry.h).
#include "absl/strings/str_format.h"
#include "db/engine/core/put_expiry.h"
#include "db/engine/face/engine.h"
#include "db/format/batch_format.h"
#include "db/format/expiring_value.h"
#include "util/base/status.h"

namespace sepal {

WriteOptions Engine::WithoutExpiry(const WriteOptions& options) {
  WriteOptions rest = options;
  rest.ttl.reset();
  rest.expires_at.reset();
  return rest;
}

absl::StatusOr<uint64_t> Engine::ExpiryOf(const Family& family, const WriteOptions& options) {
  const uint64_t now = core_->expiry.NowMillis();
  ASSIGN_OR_RETURN(uint64_t expiry, ExpiryOfPut(options.ttl, options.expires_at, now));
  if (expiry == 0 && family.options.ttl.count() > 0) {
    expiry = ExpiryAfter(now, family.options.ttl);
    RETURN_IF_ERROR(CheckExpiry(expiry, now));
  }
  return expiry;
}

absl::Status Engine::PutExpiring(const ColumnFamily& family, std::string_view key, std::string_view value,
                                 const WriteOptions& options) {
  RETURN_IF_ERROR(CheckWritable());
  ASSIGN_OR_RETURN(const Family* resolved, Resolve(family));
  ASSIGN_OR_RETURN(const uint64_t expiry, ExpiryOf(*resolved, options));
  if (expiry == 0) return WriteOne(family, ValueKind::kPut, key, value, options);
  RETURN_IF_ERROR(CheckEntrySize(key.size(), value.size()));
  RETURN_IF_ERROR(AllowExpiry());
  return WriteExpiring(*resolved, key, value, expiry, WithoutExpiry(options));
}

absl::Status Engine::AdmitExpiry(const WriteBatch& batch) {
  if (BatchOrigin::ExpiryUnchecked(batch)) {
    const uint64_t now = core_->expiry.NowMillis();
    BatchReader reader(batch.bytes());
    for (BatchEntry entry; reader.Next(&entry);) {
      const std::optional<uint64_t> expiry = TakeExpiry(entry.kind, &entry.value);
      if (expiry.has_value()) RETURN_IF_ERROR(CheckExpiry(*expiry, now));
    }
    RETURN_IF_ERROR(reader.status());
  }
  return AllowExpiry();
}

absl::StatusOr<std::string> Engine::StampExpiry(std::string_view batch) {
  const uint64_t now = core_->expiry.NowMillis();
  std::map<ColumnFamilyId, std::chrono::milliseconds> ttls;
  {
    StateLock lock(state_.get());
    for (const auto& [id, family] : state_->families) {
      if (family->options.ttl.count() > 0) ttls.emplace(family->id, family->options.ttl);
    }
  }
  std::string stamped(kBatchHeaderBytes, '\0');
  bool expires = false;
  BatchReader reader(batch);
  for (BatchEntry entry; reader.Next(&entry);) {
    const auto ttl = TakesTimeToLive(entry.kind) ? ttls.find(entry.family) : ttls.end();
    if (ttl == ttls.end()) {
      AppendBatchEntry(&stamped, entry.kind, entry.family, entry.key, entry.value);
      continue;
    }
    const uint64_t expiry = ExpiryAfter(now, ttl->second);
    RETURN_IF_ERROR(CheckExpiry(expiry, now));
    RETURN_IF_ERROR(CheckEntrySize(entry.key.size(), entry.value.size()));
    AppendExpiringPut(&stamped, entry.family, entry.key, expiry, entry.value);
    expires = true;
  }
  RETURN_IF_ERROR(reader.status());
  if (expires) RETURN_IF_ERROR(AllowExpiry());
  return stamped;
}

absl::Status Engine::AcceptClock() {
  RETURN_IF_ERROR(CheckWritable());
  {
    MutexLock admin_lock(&admin_mutex_);
    if (close_begun_) return NotOpen();
    if (core_->time_marks.in_use()) RETURN_IF_ERROR(pipeline_->AcceptClock());
  }
  if (core_->time_marks.in_use()) RETURN_IF_ERROR(pipeline_->Sync());
  {
    MutexLock admin_lock(&admin_mutex_);
    if (close_begun_) return NotOpen();
    if (!core_->expiry.in_use()) return absl::OkStatus();
    core_->expiry.Accept();
    RETURN_IF_ERROR(catalog_->Apply({}, nullptr, nullptr));
  }
  core_->expiry.LookAtWall();  // tells listeners, which may call the database
  return absl::OkStatus();
}

absl::Status Engine::AllowExpiry() {
  if (core_->expiry.in_use()) [[likely]]
    return absl::OkStatus();
  MutexLock admin_lock(&admin_mutex_);
  if (close_begun_) return NotOpen();
  if (core_->expiry.in_use()) return absl::OkStatus();
  VersionEdit edit;
  edit.features |= Feature::kExpiry;
  return catalog_->Apply(std::move(edit), nullptr, [this] { core_->expiry.Use(); });
}

}  // namespace sepal

// Writing what expires: a time to live becomes a time here, once, so that the log and every replay of it have that
// time.
#include "absl/strings/str_format.h"
#include "db/engine/face/engine.h"
#include "db/format/batch_format.h"
#include "db/format/expiring_value.h"
#include "util/base/status.h"

namespace sepal {

namespace {

absl::Status CheckExpiry(uint64_t expiry_millis, uint64_t now_millis) {
  if (expiry_millis >= kNoExpiryMillis) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a put would expire at %u ms after 1970 or later, beyond what the format has: at most %u; "
                        "nothing was written",
                        expiry_millis, kNoExpiryMillis - 1));
  }
  if (expiry_millis > now_millis) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("a put would expire at %u ms after 1970, which has passed: it is %u; delete the key instead; "
                      "nothing was written",
                      expiry_millis, now_millis));
}

// A sum that stays beyond the format where it would overflow.
uint64_t After(uint64_t now_millis, std::chrono::milliseconds ttl) {
  const auto millis = static_cast<uint64_t>(ttl.count());
  return millis >= kNoExpiryMillis ? kNoExpiryMillis : now_millis + millis;
}

WriteOptions WithoutExpiry(const WriteOptions& options) {
  WriteOptions rest = options;
  rest.ttl.reset();
  rest.expires_at.reset();
  return rest;
}

}  // namespace

// 0: the put does not expire.
absl::StatusOr<uint64_t> Engine::ExpiryOf(const Family& family, const WriteOptions& options) {
  if (options.ttl.has_value() && options.expires_at.has_value()) {
    return absl::InvalidArgumentError("a put has both a ttl and expires_at: give one; nothing was written");
  }
  const uint64_t now = core_->expiry.NowMillis();
  uint64_t expiry = 0;
  if (options.expires_at.has_value()) {
    const auto since_1970 = std::chrono::floor<std::chrono::milliseconds>(options.expires_at->time_since_epoch());
    expiry = since_1970.count() < 0 ? 0 : static_cast<uint64_t>(since_1970.count());
  } else if (options.ttl.has_value()) {
    if (options.ttl->count() <= 0) {
      return absl::InvalidArgumentError(
          absl::StrFormat("a ttl of %d ms is not positive; nothing was written", options.ttl->count()));
    }
    expiry = After(now, *options.ttl);
  } else if (family.options.ttl.count() > 0) {
    expiry = After(now, family.options.ttl);
  } else {
    return 0;
  }
  RETURN_IF_ERROR(CheckExpiry(expiry, now));
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
    if (Expires(entry.kind)) {
      RETURN_IF_ERROR(CheckExpiry(ParseExpiringValue(entry.value).expiry_millis, now));
      expires = true;
    }
    const auto ttl = TakesTimeToLive(entry.kind) ? ttls.find(entry.family) : ttls.end();
    if (ttl == ttls.end()) {
      AppendBatchEntry(&stamped, entry.kind, entry.family, entry.key, entry.value);
      continue;
    }
    const uint64_t expiry = After(now, ttl->second);
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
    if (core_->time_marks.in_use()) {
      RETURN_IF_ERROR(pipeline_->AcceptClock());
      RETURN_IF_ERROR(pipeline_->Sync());
    }
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

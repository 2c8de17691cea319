// Named snapshots: the moment is chosen here, and named_snapshots.h does the work.
#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/engine/catalog/named_snapshots.h"
#include "db/engine/face/engine.h"
#include "util/base/status.h"

namespace sepal {

namespace {

absl::StatusOr<KeptSnapshot> Describe(std::string_view name, const NamedSnapshotOptions& options, uint64_t now_millis) {
  RETURN_IF_ERROR(CheckSnapshotName(name));
  KeptSnapshot kept{.name = std::string(name), .sequence = {}, .created_millis = now_millis};
  if (!options.expires_after.has_value()) return kept;
  if (options.expires_after->count() <= 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a named snapshot is to expire after %d ms: give it a positive time, or none to keep it until "
                        "it is dropped",
                        options.expires_after->count()));
  }
  // Later times overflow the system's clock type.
  constexpr auto kMostMillis = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::duration::max()).count());
  const auto after = static_cast<uint64_t>(options.expires_after->count());
  if (after > kMostMillis || now_millis > kMostMillis - after) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a named snapshot is to expire after %u ms, beyond what the clock has: give it a shorter time, "
                        "or none to keep it until it is dropped",
                        after));
  }
  kept.expires_millis = now_millis + after;
  return kept;
}

}  // namespace

void Engine::DropExpired() {
  if (read_only_ || !SnapshotsMayHaveExpired(*state_)) return;
  MutexLock admin_lock(&admin_mutex_);
  if (close_begun_) return;
  const absl::Status status = DropExpiredSnapshots(state_.get(), catalog_.get());
  if (!status.ok()) {
    core_->info_log.Write("snapshots that have expired could not be dropped: %s", status.ToString());
  }
}

absl::StatusOr<std::shared_ptr<const Snapshot>> Engine::CreateSnapshot(std::string_view name,
                                                                       const NamedSnapshotOptions& options) {
  RETURN_IF_ERROR(CheckWritable());
  ASSIGN_OR_RETURN(KeptSnapshot kept, Describe(name, options, UnixMillis(core_->world.clock)));
  DropExpired();
  RETURN_IF_ERROR(CheckSnapshotNameIsFree(*state_, name));
  // What the snapshot sees was in the log before it was visible, so it is synced with what the log has now. No lock is
  // held, so that other writers share the sync.
  std::shared_ptr<const Snapshot> snapshot = GetSnapshot();
  kept.sequence = SequenceNumber(snapshot->sequence());
  RETURN_IF_ERROR(pipeline_->Sync());
  MutexLock admin_lock(&admin_mutex_);
  if (close_begun_) return NotOpen();
  RETURN_IF_ERROR(AddNamedSnapshot(state_.get(), catalog_.get(), kept, snapshot));
  return snapshot;
}

absl::StatusOr<std::shared_ptr<const Snapshot>> Engine::FindSnapshot(std::string_view name) {
  RETURN_IF_ERROR(CheckOpen());
  RETURN_IF_ERROR(CheckSnapshotName(name));
  DropExpired();
  return FindNamedSnapshot(*state_, name);
}

absl::Status Engine::DropSnapshot(std::string_view name) {
  RETURN_IF_ERROR(CheckWritable());
  RETURN_IF_ERROR(CheckSnapshotName(name));
  MutexLock admin_lock(&admin_mutex_);
  if (close_begun_) return NotOpen();
  return DropNamedSnapshot(state_.get(), catalog_.get(), name);
}

absl::StatusOr<std::vector<NamedSnapshot>> Engine::ListSnapshots(const ListSnapshotsOptions& options) {
  RETURN_IF_ERROR(CheckOpen());
  DropExpired();
  std::vector<NamedSnapshot> all = ListNamedSnapshots(*state_);
  if (!options.bytes_held || all.empty()) return all;
  ASSIGN_OR_RETURN(HeldBytes held, BytesHeldBySnapshots());
  for (NamedSnapshot& snapshot : all) snapshot.bytes_held = held[SequenceNumber(snapshot.sequence)];
  return all;
}

// Walks through all families together, as far as the bound allows, each by its share.
absl::StatusOr<HeldBytes> Engine::BytesHeldBySnapshots() {
  const std::vector<SequenceNumber> snapshots = state_->snapshots->Sequences();
  struct Walked {
    FamilyRef family;
    HeldPoint at;
    ReaderMoments moments;
    uint64_t bytes;
  };
  std::vector<FamilyRef> families;
  {
    StateLock lock(state_.get());
    for (const auto& [id, family] : state_->families) families.push_back(family);
  }
  std::vector<Walked> walks;
  uint64_t all_bytes = 0;
  for (const FamilyRef& family : families) {
    HeldPoint at = HoldPoint(*family);
    if (!at.view.has_value()) continue;  // the family was dropped
    const SequenceNumber floor = family->history.on() ? family->history.floor() : at.visible;
    const ReaderMoments moments{snapshots, floor};
    const uint64_t bytes = WalkBytes(*family, **at.view, moments);
    all_bytes += bytes;
    walks.push_back({family, std::move(at), moments, bytes});
  }
  const double part =
      static_cast<double>(core_->tuning.snapshot_walk_bytes) / static_cast<double>(std::max<uint64_t>(all_bytes, 1));
  HeldBytes held;
  for (const Walked& walk : walks) {
    const auto share = static_cast<uint64_t>(part * static_cast<double>(walk.bytes));
    RETURN_IF_ERROR(AddHeldBytes(core_.get(), *walk.family, **walk.at.view, walk.at.visible, walk.moments,
                                 part >= 1 ? walk.bytes : share, &held));
  }
  return held;
}

}  // namespace sepal

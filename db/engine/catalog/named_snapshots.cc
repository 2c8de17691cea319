#include "db/engine/catalog/named_snapshots.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_format.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

using NamedHold = EngineState::NamedSnapshotHold;

// How long to wait before an expired snapshot that is still held elsewhere is looked at again.
constexpr uint64_t kHeldMillis = 1000;

std::chrono::system_clock::time_point TimePointOf(uint64_t millis) {
  return std::chrono::system_clock::time_point(std::chrono::milliseconds(millis));
}

// The caller holds the database mutex, so the count cannot rise again: nothing hands out a snapshot that is gone.
bool IsGone(const NamedHold& hold, uint64_t now_millis) {
  return SnapshotHasExpired(hold.kept, now_millis) && hold.snapshot.use_count() == 1;
}

absl::Status NameIsTaken(const EngineState& state, std::string_view name) {
  return absl::AlreadyExistsError(
      absl::StrFormat("there is a snapshot \"%s\" in %s: drop it, or give the new one another name", Printable(name),
                      state.core->path));
}

absl::Status NoSuchSnapshot(const EngineState& state, std::string_view name) {
  return absl::NotFoundError(
      absl::StrFormat("there is no snapshot \"%s\" in %s: it was never created, or dropped, or it has expired; "
                      "DB::ListSnapshots and sepal snapshot list have the names",
                      Printable(name), state.core->path));
}

const NamedHold* FindHold(const EngineState& state, std::string_view name) REQUIRES_STATE_LOCK {
  const auto it = state.named_snapshots.find(name);
  const bool there = it != state.named_snapshots.end() && !IsGone(it->second, UnixMillis(state.core->world.clock));
  return there ? &it->second : nullptr;
}

void NoteExpiry(EngineState* state, uint64_t expires_millis) REQUIRES_STATE_LOCK {
  if (expires_millis == 0) return;
  const uint64_t next = state->next_snapshot_expiry.load(std::memory_order_relaxed);
  state->next_snapshot_expiry.store(std::min(next, expires_millis), std::memory_order_relaxed);
}

}  // namespace

uint64_t UnixMillis(Clock* clock) { return clock->UnixMicros() / 1000; }

bool SnapshotHasExpired(const KeptSnapshot& kept, uint64_t now_millis) {
  return kept.expires_millis > 0 && kept.expires_millis <= now_millis;
}

void HoldSnapshot(EngineState* state, const KeptSnapshot& kept, std::shared_ptr<const Snapshot> snapshot) {
  StateLock lock(state);
  NoteExpiry(state, kept.expires_millis);
  state->named_snapshots.emplace(kept.name, NamedHold{.kept = kept, .snapshot = std::move(snapshot)});
}

absl::Status CheckSnapshotName(std::string_view name) {
  if (name.empty()) return absl::InvalidArgumentError("a named snapshot needs a name of at least one byte");
  if (name.size() <= kMaxSnapshotNameBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat("the name of a snapshot, \"%s\", has %u bytes: give it at most %u",
                                                    Printable(name), name.size(), kMaxSnapshotNameBytes));
}

absl::Status CheckSnapshotNameIsFree(const EngineState& state, std::string_view name) {
  StateLock lock(&state);
  return FindHold(state, name) != nullptr ? NameIsTaken(state, name) : absl::OkStatus();
}

absl::Status AddNamedSnapshot(EngineState* state, Catalog* catalog, const KeptSnapshot& kept,
                              std::shared_ptr<const Snapshot> snapshot) {
  RETURN_IF_ERROR(CheckSnapshotNameIsFree(*state, kept.name));
  const auto complete = [&](VersionEdit* edit) {
    database_mutex.AssertHeld();
    // The name may belong to an expired snapshot whose drop failed or is still to come.
    if (state->named_snapshots.contains(kept.name)) edit->dropped_snapshots.push_back(kept.name);
    edit->created_snapshots.push_back(kept);
  };
  // The old snapshot is released after the database mutex, because telling listeners of a release takes that mutex.
  return catalog->Apply({}, complete, [&] {
    database_mutex.AssertHeld();
    NoteExpiry(state, kept.expires_millis);
    NamedHold& hold = state->named_snapshots[kept.name];
    hold.kept = kept;
    std::swap(hold.snapshot, snapshot);
  });
}

absl::StatusOr<std::shared_ptr<const Snapshot>> FindNamedSnapshot(const EngineState& state, std::string_view name) {
  StateLock lock(&state);
  const NamedHold* const hold = FindHold(state, name);
  if (hold == nullptr) return NoSuchSnapshot(state, name);
  return hold->snapshot;
}

absl::Status DropNamedSnapshot(EngineState* state, Catalog* catalog, std::string_view name) {
  {
    StateLock lock(state);
    if (FindHold(*state, name) == nullptr) return NoSuchSnapshot(*state, name);
  }
  // Meanwhile it may expire, and a job may drop it.
  const auto complete = [&](VersionEdit* edit) {
    database_mutex.AssertHeld();
    if (state->named_snapshots.contains(name)) edit->dropped_snapshots.emplace_back(name);
  };
  std::shared_ptr<const Snapshot> released;
  return catalog->Apply({}, complete, [&] {
    database_mutex.AssertHeld();
    const auto it = state->named_snapshots.find(name);
    if (it == state->named_snapshots.end()) return;
    released = std::move(it->second.snapshot);
    state->named_snapshots.erase(it);
  });
}

std::vector<NamedSnapshot> ListNamedSnapshots(const EngineState& state) {
  const uint64_t now = UnixMillis(state.core->world.clock);
  std::vector<NamedSnapshot> all;
  StateLock lock(&state);
  all.reserve(state.named_snapshots.size());
  for (const auto& [name, hold] : state.named_snapshots) {
    if (IsGone(hold, now)) continue;
    NamedSnapshot& listed = all.emplace_back();
    listed.name = name;
    listed.sequence = hold.kept.sequence.value();
    listed.created = TimePointOf(hold.kept.created_millis);
    if (hold.kept.expires_millis > 0) listed.expires = TimePointOf(hold.kept.expires_millis);
  }
  return all;
}

std::string NamedSnapshotsText(const EngineState& state) {
  std::string text;
  for (const auto& [name, hold] : state.named_snapshots) {
    const KeptSnapshot& kept = hold.kept;
    absl::StrAppendFormat(&text, "\"%s\": sequence %u, created at %u ms", Printable(name), kept.sequence.value(),
                          kept.created_millis);
    if (kept.expires_millis > 0) absl::StrAppendFormat(&text, ", expires at %u ms", kept.expires_millis);
    text += "\n";
  }
  return text;
}

bool SnapshotsMayHaveExpired(const EngineState& state) {
  const uint64_t next = state.next_snapshot_expiry.load(std::memory_order_relaxed);
  return next != UINT64_MAX && next <= UnixMillis(state.core->world.clock);
}

absl::Status DropExpiredSnapshots(EngineState* state, Catalog* catalog) {
  const uint64_t now = UnixMillis(state->core->world.clock);
  std::vector<std::string> gone;
  {
    StateLock lock(state);
    uint64_t next = UINT64_MAX;
    for (const auto& [name, hold] : state->named_snapshots) {
      if (IsGone(hold, now)) gone.push_back(name);
      if (hold.kept.expires_millis == 0) continue;
      next = std::min(next, SnapshotHasExpired(hold.kept, now) ? now + kHeldMillis : hold.kept.expires_millis);
    }
    state->next_snapshot_expiry.store(next, std::memory_order_relaxed);
  }
  if (gone.empty()) return absl::OkStatus();
  std::vector<std::shared_ptr<const Snapshot>> released;
  const auto complete = [&](VersionEdit* edit) {
    database_mutex.AssertHeld();
    // Another thread may have dropped them first, and a new snapshot may have taken one of the names.
    std::erase_if(gone, [&](const std::string& name) {
      database_mutex.AssertHeld();
      const auto it = state->named_snapshots.find(name);
      return it == state->named_snapshots.end() || !IsGone(it->second, now);
    });
    edit->dropped_snapshots = gone;
  };
  return catalog->Apply({}, complete, [&] {
    database_mutex.AssertHeld();
    for (const std::string& name : gone) {
      const auto it = state->named_snapshots.find(name);
      released.push_back(std::move(it->second.snapshot));
      state->named_snapshots.erase(it);
    }
  });
}

}  // namespace sepal

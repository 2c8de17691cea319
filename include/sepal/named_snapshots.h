// Named snapshots, which the database keeps until they are dropped, also after it is closed or crashes, and after a
// loss of power.
//
//   db->CreateSnapshot("before the migration", {.expires_after = std::chrono::hours(24)});
//   ...
//   absl::StatusOr<std::shared_ptr<const sepal::Snapshot>> before = db->FindSnapshot("before the migration");
//   if (!before.ok()) return before.status();
//   db->Get("key", {.snapshot = before->get()});
//
// A named snapshot shows all column families as of the moment at which CreateSnapshot took it, to every process that
// opens the database. The versions that it sees are kept on disk, as for an unnamed snapshot that is held. A family
// that is dropped is gone from it too. Writes with `disable_wal` that were not flushed are missing from it once the
// database has lost them. Checkpoints keep the names of the original; a repair keeps them if it can read the manifest,
// and reports it if it cannot.
//
// When CreateSnapshot returns, the snapshot and all earlier logged writes are durable. It costs a sync of the log, if
// that has unsynced records, and one of the manifest; no other call waits for it. AlreadyExists if the name is taken;
// InvalidArgument if the name is empty or longer than kMaxSnapshotNameBytes, or if `expires_after` is not positive.
// FindSnapshot and DropSnapshot return NotFound if no snapshot has the name. A drop is durable when it returns;
// snapshot objects that callers still hold stay readable. ListSnapshots returns all in the order of their names, and on
// request the disk space that each one keeps.
//
// A snapshot that expires is dropped automatically once its time has passed and no caller holds an object of
// FindSnapshot or CreateSnapshot for it: when the database is opened, when names are asked for, and after flushes and
// compactions. Its time goes by the wall clock: a clock that is ahead for a moment drops snapshots too early.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sepal {

inline constexpr size_t kMaxSnapshotNameBytes = 255;

struct NamedSnapshotOptions {
  // Positive; unset: it does not expire.
  std::optional<std::chrono::milliseconds> expires_after = {};
};

struct ListSnapshotsOptions {
  // Also compute NamedSnapshot::bytes_held. Cost: a pass over all entries; if keys and values have more than 64 MiB,
  // over about that much of them, in 256 places, as an estimate. Errors: those of an iterator.
  bool bytes_held = false;
};

struct NamedSnapshot {
  std::string name;
  uint64_t sequence = 0;  // as Snapshot::sequence
  std::chrono::system_clock::time_point created = {};
  std::optional<std::chrono::system_clock::time_point> expires = {};
  // About the bytes of tables and value files that are kept for this moment alone, and that compactions can reclaim
  // once no snapshot of it is left. Data that other snapshots or a history keep too is not counted. Unset if it was not
  // asked for.
  std::optional<uint64_t> bytes_held = {};
};

}  // namespace sepal

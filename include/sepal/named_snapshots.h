// Snapshots with names, which the database keeps until they are dropped, over closing, crashes and loss of power.
//
//   db->CreateSnapshot("before the migration", {.expires_after = std::chrono::hours(24)});
//   ...
//   absl::StatusOr<std::shared_ptr<const sepal::Snapshot>> before = db->FindSnapshot("before the migration");
//   if (!before.ok()) return before.status();
//   db->Get("key", {.snapshot = before->get()});
//
// A named snapshot shows all column families as of the moment at which CreateSnapshot took it, to whoever opens the
// database: what it sees is kept on disk, as for a snapshot that is held. A family that is dropped is gone from it. It
// lacks what was written with `disable_wal` and not flushed, once the database has lost that. Checkpoints have the
// names of the original; a repair keeps them if it can read the manifest, and says so if it cannot.
//
// CreateSnapshot is durable, and with it all logged writes before it, when it returns. Its cost is a sync of what the
// log has not synced yet, and one of the manifest; nobody waits for it. AlreadyExists if the name is taken;
// InvalidArgument if the name is empty or longer than kMaxSnapshotNameBytes, or if `expires_after` is not positive.
// FindSnapshot and DropSnapshot return NotFound if no snapshot has the name. A drop is durable when it returns, and
// those who hold the snapshot keep it. ListSnapshots returns all, in the order of their names, and tells what each
// costs if it is asked to.
//
// One that expires is dropped by itself, once its time has passed and nobody holds a snapshot of FindSnapshot or
// CreateSnapshot: when the database is opened, when names are asked for, and behind flushes and compactions. That goes
// by the wall clock: one that is ahead for a moment drops what expires before the time that it shows.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sepal {

inline constexpr size_t kMaxSnapshotNameBytes = 255;

struct NamedSnapshotOptions {
  // Positive; none: it does not expire.
  std::optional<std::chrono::milliseconds> expires_after = {};
};

struct ListSnapshotsOptions {
  // Find NamedSnapshot::bytes_held too. Cost: a walk over all entries; where keys and values have more than 64 MiB, over
  // about that much of them, in 256 places, as an estimate. Errors: those of an iterator.
  bool bytes_held = false;
};

struct NamedSnapshot {
  std::string name;
  uint64_t sequence = 0;  // as Snapshot::sequence
  std::chrono::system_clock::time_point created = {};
  std::optional<std::chrono::system_clock::time_point> expires = {};
  // What is kept for this moment alone, about: bytes of tables and value files that compactions can give back once no
  // snapshot of it is left. What other snapshots or a history keep too is not counted. None: it was not asked for.
  std::optional<uint64_t> bytes_held = {};
};

}  // namespace sepal

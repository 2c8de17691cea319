#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/engine/core/core.h"
#include "sepal/scan.h"
#include "sepal/write_batch.h"
#include "shards/shard_rows.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

absl::StatusOr<ShardRows> ReadRows(DB& db) {
  ShardRows rows;
  ScanRange all = db.Scan();
  absl::Status status;
  for (auto [key, value] : all) {
    if (status = TakeRow(key, value, &rows); !status.ok()) break;
  }
  const absl::Status scanned = all.status();
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(scanned);
  RETURN_IF_ERROR(rows.Link());
  return rows;
}

Shard* Row(uint64_t id, ShardRows* rows) {
  for (auto& [begin, shard] : rows->shards) {
    if (shard.id == id) return &shard;
  }
  return nullptr;
}

absl::Status NoShard(uint64_t id) { return absl::NotFoundError(absl::StrFormat("there is no shard %u", id)); }

absl::Status HasChanged(const Shard& seen, const Shard& now) {
  return absl::AbortedError(
      absl::StrFormat("shard %u has changed: it is at epoch %u, of \"%s\", and was seen at %u; look at the map again",
                      seen.id, now.epoch, Printable(now.owner), seen.epoch));
}

absl::Status CheckSplit(const Shard& shard, std::string_view key) {
  if (key != shard.begin && shard.Contains(key)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat("shard %u cannot be split at \"%s\": the key is %s", shard.id,
                                                    Printable(key),
                                                    key == shard.begin ? "its first one" : "not in it"));
}

absl::Status NoChange(ShardRows*) { return absl::OkStatus(); }

absl::Status CheckEmpty(DB& db, std::string_view path) {
  ScanRange all = db.Scan();
  absl::Status status;
  for (const auto& [key, value] : all) {
    status = key == kMapRow
                 ? absl::AlreadyExistsError(absl::StrFormat("%s: there is a map of shards", path))
                 : absl::FailedPreconditionError(absl::StrFormat("%s holds a database that is no map of shards", path));
    break;
  }
  const absl::Status scanned = all.status();
  return status.ok() ? scanned : status;
}

std::string DatabaseOf(const ShardRows& rows, uint64_t id) { return absl::StrFormat("%s/%06d", rows.databases, id); }

}  // namespace

struct ShardMap::Impl {
  Impl(const Options& given, std::string_view where)
      : options(given), path(where), clock(World::From(given.env).clock) {
    options.create_if_missing = options.error_if_exists = options.read_only = options.take_over = false;
    options.follow_milliseconds = 0;
  }
  absl::StatusOr<std::unique_ptr<DB>> OpenToChange(uint64_t patience) const;
  // Unknown: it may have been made, or not; then `in_doubt` is set. Every other error: it has not.
  absl::Status Change(uint64_t patience, const std::function<absl::Status(ShardRows*)>& change)
      ABSL_LOCKS_EXCLUDED(busy);
  absl::Status Change(const std::function<absl::Status(ShardRows*)>& change) {
    return Change(patience_micros.load(std::memory_order_relaxed), change);
  }
  absl::Status ChangeAlone(uint64_t patience, const std::function<absl::Status(ShardRows*)>& change)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(busy);
  // Of the shard as `seen` has it, which gets another epoch.
  absl::StatusOr<Shard> ChangeShard(const Shard& seen, const std::function<absl::Status(Shard*)>& change);
  void Publish(ShardRows now, bool anew = false) {
    MutexLock lock(&mutex);
    if (anew || now.epoch >= rows.epoch) rows = std::move(now);
  }

  Options options;
  const std::string path;
  Clock* const clock;
  // One at a time reads the map, or changes it.
  Mutex busy;
  std::unique_ptr<DB> view ABSL_GUARDED_BY(busy);
  bool in_doubt ABSL_GUARDED_BY(busy) = false;
  std::atomic<uint64_t> patience_micros{10'000'000};
  mutable Mutex mutex;
  ShardRows rows ABSL_GUARDED_BY(mutex);
};

// Another's change takes some milliseconds; what a dead one has locked on a shared store is free after its lease.
absl::StatusOr<std::unique_ptr<DB>> ShardMap::Impl::OpenToChange(uint64_t patience) const {
  constexpr uint64_t kPauseMicros = 5000;
  const uint64_t until = clock->MonotonicMicros() + patience;
  while (true) {
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options, path);
    if (!absl::IsUnavailable(db.status()) || clock->MonotonicMicros() >= until) return db;
    clock->SleepMicros(kPauseMicros);
  }
}

absl::Status ShardMap::Impl::Change(uint64_t patience, const std::function<absl::Status(ShardRows*)>& change) {
  MutexLock lock(&busy);
  return ChangeAlone(patience, change);
}

absl::Status ShardMap::Impl::ChangeAlone(uint64_t patience, const std::function<absl::Status(ShardRows*)>& change) {
  ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenToChange(patience));
  ASSIGN_OR_RETURN(const ShardRows before, ReadRows(*db));
  ShardRows now = before;
  RETURN_IF_ERROR(change(&now));
  ++now.epoch;
  WriteBatch batch;
  batch.Put(kMapRow, EncodeMapRow(now));
  for (const auto& [begin, shard] : now.shards) {
    const auto old = before.shards.find(begin);
    if (old == before.shards.end() || EncodeShardRow(old->second) != EncodeShardRow(shard)) {
      batch.Put(ShardKey(begin), EncodeShardRow(shard));
    }
  }
  if (const absl::Status written = db->Write(batch, {.sync = true}); !written.ok()) {
    in_doubt = true;
    return absl::UnknownError(absl::StrFormat("%s: whether the map has changed is not known; look again: %s", path,
                                              ToStd(written.message())));
  }
  in_doubt = false;
  RETURN_IF_ERROR(now.Link());
  Publish(std::move(now));
  db->Close().IgnoreError();  // the change is durable
  return absl::OkStatus();
}

absl::StatusOr<Shard> ShardMap::Impl::ChangeShard(const Shard& seen,
                                                  const std::function<absl::Status(Shard*)>& change) {
  Shard changed;
  const auto change_row = [&](ShardRows* now) -> absl::Status {
    Shard* const row = Row(seen.id, now);
    if (row == nullptr) return NoShard(seen.id);
    if (row->epoch != seen.epoch) return HasChanged(seen, *row);
    RETURN_IF_ERROR(change(row));
    ++row->epoch;
    changed = *row;
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(Change(change_row));
  return changed;
}

ShardMap::ShardMap(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ShardMap::~ShardMap() = default;

absl::Status ShardMap::Create(const Options& options, std::string_view path, const CreateOptions& create) {
  if (create.databases.empty()) {
    return absl::InvalidArgumentError("a map of shards needs a place for their databases: CreateOptions::databases");
  }
  Options to_make = options;
  to_make.create_if_missing = true;
  ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, DB::Open(to_make, path));
  RETURN_IF_ERROR(CheckEmpty(*db, path));
  const ShardRows rows{.epoch = 1, .next_id = 2, .databases = create.databases, .shards = {}};
  const Shard first{.id = 1, .database = DatabaseOf(rows, 1), .owner = create.owner, .epoch = 1, .unmade = true};
  WriteBatch batch;
  batch.Put(kMapRow, EncodeMapRow(rows));
  batch.Put(ShardKey(""), EncodeShardRow(first));
  RETURN_IF_ERROR(db->Write(batch, {.sync = true}));
  return db->Close();
}

absl::StatusOr<std::unique_ptr<ShardMap>> ShardMap::Open(const Options& options, std::string_view path) {
  std::unique_ptr<ShardMap> map(new ShardMap(std::make_unique<Impl>(options, path)));
  RETURN_IF_ERROR(map->Refresh());
  return map;
}

absl::Status ShardMap::Refresh() {
  MutexLock lock(&impl_->busy);
  if (impl_->in_doubt) RETURN_IF_ERROR(impl_->ChangeAlone(impl_->patience_micros.load(), NoChange));
  bool anew = impl_->view == nullptr;
  if (!anew) {
    const absl::Status caught_up = impl_->view->CatchUp();
    anew = absl::IsFailedPrecondition(caught_up);  // the map is another one now, restored from a backup
    if (!anew) RETURN_IF_ERROR(caught_up);
  }
  if (anew) {
    impl_->view.reset();
    Options to_read = impl_->options;
    to_read.read_only = true;
    ASSIGN_OR_RETURN(impl_->view, DB::Open(to_read, impl_->path));
  }
  ASSIGN_OR_RETURN(ShardRows rows, ReadRows(*impl_->view));
  impl_->Publish(std::move(rows), anew);
  return absl::OkStatus();
}

// Whoever opens the map for writing reads all that was logged, and fences whoever was writing; a change is synced.
absl::Status ShardMap::Settle() { return impl_->Change(NoChange); }

Shard ShardMap::Find(std::string_view key) const {
  MutexLock lock(&impl_->mutex);
  return std::prev(impl_->rows.shards.upper_bound(key))->second;
}

std::vector<Shard> ShardMap::List() const {
  MutexLock lock(&impl_->mutex);
  std::vector<Shard> all;
  for (const auto& [begin, shard] : impl_->rows.shards) all.push_back(shard);
  return all;
}

absl::StatusOr<Shard> ShardMap::Get(uint64_t id) const {
  MutexLock lock(&impl_->mutex);
  if (const Shard* const row = Row(id, &impl_->rows); row != nullptr) return *row;
  return NoShard(id);
}

uint64_t ShardMap::epoch() const {
  MutexLock lock(&impl_->mutex);
  return impl_->rows.epoch;
}

void ShardMap::set_patience(std::chrono::milliseconds patience) {
  impl_->patience_micros.store(static_cast<uint64_t>(std::max<int64_t>(0, patience.count())) * 1000,
                               std::memory_order_relaxed);
}

absl::StatusOr<Shard> ShardMap::Assign(const Shard& seen, std::string_view owner, bool take_over) {
  return impl_->ChangeShard(seen, [&](Shard* shard) {
    shard->owner = std::string(owner);
    shard->take_over = take_over;
    return absl::OkStatus();
  });
}

absl::StatusOr<Shard> ShardMap::AskToSplit(const Shard& seen, std::string_view key) {
  return impl_->ChangeShard(seen, [&](Shard* shard) {
    RETURN_IF_ERROR(CheckSplit(*shard, key));
    shard->split = std::string(key);
    return absl::OkStatus();
  });
}

absl::StatusOr<Shard> ShardMap::Reserve() {
  Shard shard;
  RETURN_IF_ERROR(impl_->Change([&](ShardRows* rows) {
    shard.id = rows->next_id++;
    shard.database = DatabaseOf(*rows, shard.id);
    return absl::OkStatus();
  }));
  return shard;
}

absl::Status ShardMap::Split(const Shard& seen, std::string_view key, const Shard& added) {
  constexpr uint64_t kPatienceMicros = 300'000;  // works wait for it
  RETURN_IF_ERROR(CheckSplit(seen, key));
  return impl_->Change(kPatienceMicros, [&](ShardRows* rows) -> absl::Status {
    Shard* const row = Row(seen.id, rows);
    if (row == nullptr) return NoShard(seen.id);
    if (row->epoch != seen.epoch || row->split != key) return HasChanged(seen, *row);
    ++row->epoch;
    row->split.reset();
    row->untrimmed = true;
    const Shard other{.id = added.id,
                      .begin = std::string(key),
                      .database = added.database,
                      .owner = row->owner,
                      .epoch = 1,
                      .untrimmed = true};
    rows->shards.emplace(key, other);
    return absl::OkStatus();
  });
}

absl::StatusOr<Shard> ShardMap::MarkReady(const Shard& seen) {
  return impl_->ChangeShard(seen, [](Shard* shard) {
    shard->unmade = shard->untrimmed = shard->take_over = false;
    return absl::OkStatus();
  });
}

}  // namespace sepal

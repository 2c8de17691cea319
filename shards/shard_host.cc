#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_format.h"
#include "sepal/shards.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/thread/sync.h"

namespace sepal {

// A shard that is open. Works enter and leave; whoever changes the shard bars it, and waits for those that are in.
class ShardHost::Held {
 public:
  Held(Shard shard, Opened opened) : shard_(std::move(shard)), opened_(std::move(opened)) {}

  // False: the shard is no longer open.
  bool Enter() {
    MutexLock lock(&mutex_);
    while (barred_ && !gone_) changed_.Wait(&mutex_);
    if (gone_) return false;
    ++works_;
    return true;
  }
  void Leave() {
    MutexLock lock(&mutex_);
    if (--works_ == 0) changed_.NotifyAll();
  }
  // By one at a time.
  void Bar() {
    MutexLock lock(&mutex_);
    barred_ = true;
    while (works_ > 0) changed_.Wait(&mutex_);
  }
  void Unbar() {
    MutexLock lock(&mutex_);
    barred_ = false;
    changed_.NotifyAll();
  }
  // While it is barred: closes the database, and lets those that wait know.
  absl::Status End() {
    const absl::Status closed = opened_.db->Close();
    opened_.db.reset();
    opened_.keeps.reset();
    MutexLock lock(&mutex_);
    gone_ = true;
    changed_.NotifyAll();
    return closed;
  }

  DB& db() { return *opened_.db; }
  // Changes only while it is barred: for works, and for the one who bars.
  const Shard& shard() const { return shard_; }
  void set_shard(Shard shard) { shard_ = std::move(shard); }

 private:
  Mutex mutex_;
  CondVar changed_;
  int works_ ABSL_GUARDED_BY(mutex_) = 0;
  bool barred_ ABSL_GUARDED_BY(mutex_) = false;
  bool gone_ ABSL_GUARDED_BY(mutex_) = false;
  Shard shard_;
  Opened opened_;
};

struct ShardHost::State {
  // One at a time opens, closes and splits; taken before `mutex`.
  Mutex changing;
  bool closed ABSL_GUARDED_BY(changing) = false;
  std::map<uint64_t, uint64_t> failed_splits ABSL_GUARDED_BY(changing);  // by shard: its epoch
  mutable Mutex mutex;
  std::map<std::string, std::shared_ptr<Held>, std::less<>> held ABSL_GUARDED_BY(mutex);  // by begin

  std::vector<std::shared_ptr<Held>> All() const {
    MutexLock lock(&mutex);
    std::vector<std::shared_ptr<Held>> all;
    for (const auto& [begin, each] : held) all.push_back(each);
    return all;
  }
  void Add(const std::shared_ptr<Held>& each) {
    MutexLock lock(&mutex);
    held[each->shard().begin] = each;
  }
  // Works that wait for it find no shard then.
  absl::Status Remove(Held* each) {
    each->Bar();
    {
      MutexLock lock(&mutex);
      held.erase(each->shard().begin);
    }
    return each->End();
  }
};

namespace {

absl::Status HostIsClosed() { return absl::FailedPreconditionError("the host of shards is closed"); }

// Ranges of shards are bytewise: in another order they are other keys.
absl::Status CheckOrder(DB& db, const ColumnFamily& family) {
  const std::optional<std::string> options = db.GetProperty(family, "sepal.options");
  if (options.has_value() && options->find("comparator: sepal.BytewiseComparator\n") != std::string::npos) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrFormat("column family \"%s\" is not in bytewise order, and cannot be split", Printable(family.name())));
}

absl::Status CheckNothingPrepared(DB& db) {
  ASSIGN_OR_RETURN(const std::vector<PreparedTransaction> prepared, db.PreparedTransactions());
  if (prepared.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "the transaction \"%s\" is prepared: a shard is split when none is", Printable(prepared.front().name)));
}

bool HasStopped(DB& db) {
  const std::optional<std::string> error = db.GetProperty("sepal.background-error");
  return error.has_value() && *error != "OK";
}

absl::Status ForEachFamily(DB& db, const std::function<absl::Status(const ColumnFamily&)>& visit) {
  for (const std::string& name : db.ColumnFamilyNames()) {
    ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, db.FindColumnFamily(name));
    RETURN_IF_ERROR(visit(*family));
  }
  return absl::OkStatus();
}

}  // namespace

ShardHost::ShardHost(ShardMap* map, std::string owner, OpenDatabase open)
    : map_(map), owner_(std::move(owner)), open_(std::move(open)), state_(std::make_unique<State>()) {}

ShardHost::~ShardHost() { Close().IgnoreError(); }

std::shared_ptr<ShardHost::Held> ShardHost::HolderOf(std::string_view key) const {
  MutexLock lock(&state_->mutex);
  const auto after = state_->held.upper_bound(key);
  return after == state_->held.begin() ? nullptr : std::prev(after)->second;
}

absl::Status ShardHost::With(std::string_view key, const std::function<absl::Status(DB& db)>& work) {
  return WithShard(key, [&](DB& db, const Shard&) { return work(db); });
}

absl::Status ShardHost::WithShard(std::string_view key,
                                  const std::function<absl::Status(DB& db, const Shard& shard)>& work) {
  while (const std::shared_ptr<Held> held = HolderOf(key)) {
    if (!held->Enter()) continue;  // it has just been closed
    const absl::Cleanup leave = [&] { held->Leave(); };
    if (held->shard().Contains(key)) return work(held->db(), held->shard());
    // It was split meanwhile, or ends before the key.
    const std::shared_ptr<Held> now = HolderOf(key);
    if (now == held) break;
  }
  const Shard shard = map_->Find(key);
  if (shard.owner == owner_) {
    return absl::UnavailableError(
        absl::StrFormat("shard %u, of the key \"%s\", is not open here yet", shard.id, Printable(key)));
  }
  return absl::AbortedError(absl::StrFormat("the key \"%s\" belongs to shard %u, whose owner is \"%s\", not \"%s\"",
                                            Printable(key), shard.id, Printable(shard.owner), Printable(owner_)));
}

std::vector<Shard> ShardHost::List() const {
  std::vector<Shard> all;
  for (const std::shared_ptr<Held>& held : state_->All()) {
    if (!held->Enter()) continue;
    all.push_back(held->shard());
    held->Leave();
  }
  return all;
}

absl::Status ShardHost::Close() {
  MutexLock lock(&state_->changing);
  state_->closed = true;
  absl::Status status;
  for (const std::shared_ptr<Held>& held : state_->All()) KeepFirst(&status, state_->Remove(held.get()));
  return status;
}

absl::Status ShardHost::Refresh() {
  MutexLock lock(&state_->changing);
  if (state_->closed) return HostIsClosed();
  RETURN_IF_ERROR(map_->Refresh());
  absl::Status status = CloseOthers();
  KeepFirst(&status, OpenMine());
  for (const std::shared_ptr<Held>& held : state_->All()) {
    // What an earlier call could not end.
    absl::Status ready = Trim(held.get());
    if (ready.ok()) ready = MakeReady(held.get());
    KeepFirst(&status, ready);
    const absl::StatusOr<Shard> now = map_->Get(held->shard().id);
    if (!now.ok() || now->owner != owner_ || !now->split.has_value()) continue;
    const auto failed = state_->failed_splits.find(now->id);
    if (failed != state_->failed_splits.end() && failed->second == now->epoch) continue;
    const absl::Status split = SplitHeld(held.get(), *now);
    if (!split.ok()) state_->failed_splits[now->id] = now->epoch;
    KeepFirst(&status, split);
  }
  return status;
}

// Others only ask for splits of a shard that this host has. Whatever else has changed, its database may have been
// another's meanwhile.
bool ShardHost::StaysOpen(Held* held, const Shard& now) const {
  const Shard& shard = held->shard();
  if (now.owner != owner_ || now.begin != shard.begin || now.end != shard.end || HasStopped(held->db())) return false;
  const bool asked = now.epoch == shard.epoch + 1 && now.split.has_value() && !shard.split.has_value();
  return now.epoch == shard.epoch || asked;
}

// One that was taken over says Aborted as it is closed, which is no news.
absl::Status ShardHost::CloseOthers() {
  absl::Status status;
  for (const std::shared_ptr<Held>& held : state_->All()) {
    const absl::StatusOr<Shard> now = map_->Get(held->shard().id);
    if (now.ok() && StaysOpen(held.get(), *now)) continue;
    const absl::Status closed = state_->Remove(held.get());
    if (!absl::IsAborted(closed)) KeepFirst(&status, closed);
  }
  return status;
}

// The row is read again once the database is open: from then on nobody else has it, unless this host is fenced.
absl::Status ShardHost::OpenMine() {
  absl::Status status;
  for (const Shard& listed : map_->List()) {
    if (listed.owner != owner_) continue;
    if (const std::shared_ptr<Held> held = HolderOf(listed.begin); held != nullptr && held->shard().id == listed.id) {
      continue;
    }
    RETURN_IF_ERROR(map_->Refresh());
    absl::StatusOr<Shard> row = map_->Get(listed.id);
    if (!row.ok() || row->owner != owner_) continue;
    // What is trimmed by a row must not come back with a map that has lost the row.
    if (row->untrimmed) RETURN_IF_ERROR(map_->Settle());
    absl::StatusOr<Opened> opened = open_(*row);
    if (!opened.ok()) {
      KeepFirst(&status, opened.status());
      continue;
    }
    RETURN_IF_ERROR(map_->Refresh());
    row = map_->Get(listed.id);
    if (!row.ok() || row->owner != owner_) continue;  // it closes
    const auto held = std::make_shared<Held>(*row, *std::move(opened));
    KeepFirst(&status, Trim(held.get()));  // if it fails, what is not the shard's is there still, and not asked for
    state_->Add(held);
  }
  return status;
}

// Deletes what lies outside of the shard's range; a compaction gives its space back (MakeReady).
absl::Status ShardHost::Trim(Held* held) {
  const Shard& shard = held->shard();
  if (!shard.untrimmed) return absl::OkStatus();
  DB& db = held->db();
  const auto delete_others = [&](const ColumnFamily& family) -> absl::Status {
    RETURN_IF_ERROR(CheckOrder(db, family));
    if (!shard.begin.empty()) RETURN_IF_ERROR(db.DeleteRange(family, "", shard.begin));
    if (shard.end.has_value()) RETURN_IF_ERROR(db.DeleteRange(family, *shard.end, std::nullopt));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ForEachFamily(db, delete_others));
  return db.Sync();
}

// Gives the space back, and says in the map that there is nothing left to do.
absl::Status ShardHost::MakeReady(Held* held) {
  ASSIGN_OR_RETURN(const Shard shard, map_->Get(held->shard().id));
  if (!shard.unmade && !shard.untrimmed && !shard.take_over) return absl::OkStatus();
  if (shard.untrimmed) {
    DB& db = held->db();
    RETURN_IF_ERROR(
        ForEachFamily(db, [&](const ColumnFamily& family) { return db.CompactRange(family, {.covered_only = true}); }));
  }
  RETURN_IF_ERROR(map_->MarkReady(shard).status());
  ASSIGN_OR_RETURN(Shard ready, map_->Get(shard.id));
  held->Bar();
  held->set_shard(std::move(ready));
  held->Unbar();
  return absl::OkStatus();
}

absl::Status ShardHost::Split(std::string_view key) {
  MutexLock lock(&state_->changing);
  if (state_->closed) return HostIsClosed();
  RETURN_IF_ERROR(map_->Refresh());
  const std::shared_ptr<Held> held = HolderOf(key);
  if (held == nullptr || !held->shard().Contains(key)) {
    return absl::AbortedError(absl::StrFormat("the shard of the key \"%s\" is not open here", Printable(key)));
  }
  ASSIGN_OR_RETURN(const Shard now, map_->Get(held->shard().id));
  if (!StaysOpen(held.get(), now)) {
    return absl::AbortedError(absl::StrFormat("shard %u has changed: Refresh first", now.id));
  }
  ASSIGN_OR_RETURN(const Shard asked, map_->AskToSplit(now, key));
  const absl::Status split = SplitHeld(held.get(), asked);
  if (!split.ok()) state_->failed_splits[asked.id] = asked.epoch;
  return split;
}

// The database is copied by links, and each of the two then forgets what is the other's. What was written to the
// database after the copy would be lost to the new shard: so the shard is barred from before the copy until the map
// has changed, and where it is not certain whether it has, the shard is closed, and opened as the map then says.
// `asked` is the row by which it was decided: the map refuses if it has changed since.
absl::Status ShardHost::SplitHeld(Held* held, const Shard& asked) {
  DB& db = held->db();
  RETURN_IF_ERROR(ForEachFamily(db, [&](const ColumnFamily& family) { return CheckOrder(db, family); }));
  RETURN_IF_ERROR(CheckNothingPrepared(db));
  // Before works have to wait.
  RETURN_IF_ERROR(ForEachFamily(db, [&](const ColumnFamily& family) { return db.Flush(family); }));
  ASSIGN_OR_RETURN(const Shard added, map_->Reserve());
  std::shared_ptr<Held> other;
  {
    held->Bar();
    const absl::Cleanup unbar = [&] { held->Unbar(); };
    RETURN_IF_ERROR(CheckNothingPrepared(db));
    RETURN_IF_ERROR(db.Checkpoint(added.database));
    const absl::Status split = map_->Split(asked, *asked.split, added);
    if (absl::IsUnknown(split)) {
      state_->Remove(held).IgnoreError();
      return split;
    }
    RETURN_IF_ERROR(split);
    ASSIGN_OR_RETURN(Shard kept, map_->Get(asked.id));
    held->set_shard(std::move(kept));
    RETURN_IF_ERROR(Trim(held));
    const Shard theirs = map_->Find(*asked.split);
    ASSIGN_OR_RETURN(Opened opened, open_(theirs));
    other = std::make_shared<Held>(theirs, std::move(opened));
    RETURN_IF_ERROR(Trim(other.get()));
    state_->Add(other);
  }
  RETURN_IF_ERROR(MakeReady(held));
  return MakeReady(other.get());
}

}  // namespace sepal

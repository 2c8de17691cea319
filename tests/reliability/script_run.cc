#include "tests/reliability/script_run.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "tests/noise.h"
#include "util/base/hash.h"
#include "util/base/status.h"

namespace sepal::reliability {

namespace {

absl::StatusOr<Oracle::Contents> ReadContents(Iterator* iterator) {
  Oracle::Contents contents;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next())
    contents[std::string(iterator->key())] = iterator->value();
  RETURN_IF_ERROR(iterator->status());
  return contents;
}

// Gives some bytes at a time.
class StringSource final : public ValueSource {
 public:
  explicit StringSource(std::string_view bytes) : rest_(bytes) {}
  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    const size_t part = rest_.copy(buffer.data(), std::min<size_t>(buffer.size(), 150));
    rest_.remove_prefix(part);
    return part;
  }

 private:
  std::string_view rest_;
};

std::string Listed(const PreparedTransaction& prepared) {
  return absl::StrFormat("%u updates, %u locks", prepared.updates, prepared.locks);
}

bool SaysSomething(const absl::Status& status) {
  return !status.message().empty() && !absl::IsUnknown(status) && !absl::IsDataLoss(status);
}

constexpr std::chrono::hours kNeverWithinAScript(100'000);

void AddTo(WriteBatch* batch, const ColumnFamily& family, const Op::Update& update, std::string_view value) {
  const std::string key = NumberedKey(update.key);
  switch (update.kind) {
    case ValueKind::kExpiringPut:
      return batch->Put(family, key, value, std::chrono::system_clock::from_time_t(4'000'000'000));
    case ValueKind::kMerge:
      return batch->Merge(family, key, value);
    case ValueKind::kRangeDelete:
      return batch->DeleteRange(family, key, NumberedKey(update.end));
    case ValueKind::kDelete:
      return batch->Delete(family, key);
    case ValueKind::kSingleDelete:
      return batch->SingleDelete(family, key);
    default:
      return batch->Put(family, key, value);
  }
}

}  // namespace

absl::StatusOr<Oracle::Database> ReadDatabase(DB* db) {
  Oracle::Database all;
  for (const std::string& name : db->ColumnFamilyNames()) {
    ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, db->FindColumnFamily(name));
    ASSIGN_OR_RETURN(all[name], ReadContents(db->NewIterator(*family).get()));
  }
  ASSIGN_OR_RETURN(const std::vector<PreparedTransaction> prepared, db->PreparedTransactions());
  all[kPreparedFamily];
  for (const PreparedTransaction& each : prepared) all[kPreparedFamily][each.name] = Listed(each);
  return all;
}

ScriptRun::~ScriptRun() { LetGo(); }

void ScriptRun::Expect(bool holds, std::string what) {
  if (!holds && failure_.empty()) failure_ = std::move(what);
}

bool ScriptRun::Check(const absl::Status& status, std::string_view what) {
  if (status.ok()) return true;
  Expect(Fault() && SaysSomething(status), absl::StrFormat("%s: %s", what, status.ToString()));
  return false;
}

const ColumnFamily& ScriptRun::Handle(const std::string& family) {
  const auto found = handles_.find(family);
  return found == handles_.end() ? db()->DefaultColumnFamily() : *found->second;
}

void ScriptRun::Run(const std::vector<Op>& ops) {
  if (!OpenAndSettle(/*power_lost=*/false, /*faults_allowed=*/true)) return;
  for (const Op& op : ops) {
    if (!failure_.empty() || !Step(op)) return;
  }
}

bool ScriptRun::Step(const Op& op) {
  const std::string family = FamilyName(op.family);
  const bool usable = oracle_->Usable(family);
  switch (op.kind) {
    case Op::Kind::kWrite:
      Write(op);
      return true;
    case Op::Kind::kPrepare:
      Prepare(op);
      return true;
    case Op::Kind::kCommit:
    case Op::Kind::kRollback:
      EndPrepared(/*commit=*/op.kind == Op::Kind::kCommit);
      return true;
    case Op::Kind::kFlush:
      if (usable && Check(db()->Flush(Handle(family)), "flush")) oracle_->FamilyDurable(family);
      return true;
    case Op::Kind::kCompact: {
      if (!usable) return true;
      const std::string begin = NumberedKey(op.begin);
      const std::string end = NumberedKey(op.end);
      CompactRangeOptions range;
      if (op.begin <= op.end) range = {.begin = begin, .end = end};
      range.covered_only = op.begin % 4 == 1;
      if (Check(db()->CompactRange(Handle(family), range), "compact")) oracle_->FamilyDurable(family);
      return true;
    }
    case Op::Kind::kSync:
      if (Check(db()->Sync(), "sync")) oracle_->AllDurable();
      return true;
    case Op::Kind::kWait:
      Check(db()->WaitForBackgroundWork(), "wait");
      return true;
    case Op::Kind::kVerify:
      Check(db()->CheckConsistency(), "consistency");
      Check(db()->VerifyChecksums(), "checksums");
      return true;
    case Op::Kind::kCreateFamily:
      CreateFamily(family);
      return true;
    case Op::Kind::kDropFamily:
      DropFamily(family);
      return true;
    case Op::Kind::kCheckpoint:
    case Op::Kind::kBackup:
      WriteCheckpoint(op.kind == Op::Kind::kBackup);
      return true;
    case Op::Kind::kSnapshot:
    case Op::Kind::kIterator:
      Hold(/*snapshots=*/op.kind == Op::Kind::kSnapshot);
      return true;
    case Op::Kind::kName:
      CreateName();
      return true;
    case Op::Kind::kDropName:
      DropName();
      return true;
    case Op::Kind::kMoment:
      NoteMoment();
      return true;
    case Op::Kind::kLetSnapshotsGo:
      snapshots_.clear();
      return true;
    case Op::Kind::kLetIteratorsGo:
      iterators_.clear();
      return true;
    case Op::Kind::kRead:
      ReadAll();
      return true;
    case Op::Kind::kReopen:
    case Op::Kind::kKill:
    case Op::Kind::kLosePower:
      return Reopen(op);
  }
  return true;
}

// --- what changes the database ---

bool ScriptRun::MayWrite(const Op::Update& update) const {
  const std::string family = FamilyName(update.family);
  if (!oracle_->Usable(family) || IsLocked(family, update)) return false;
  // Keys for single deletions are put once only.
  return update.key < kFirstSingleDeleteKey || update.kind != ValueKind::kPut ||
         (!oracle_->HasUnknownWrite() && oracle_->MayRead(family, NumberedKey(update.key), std::nullopt));
}

void ScriptRun::Write(const Op& op) {
  std::vector<Oracle::Update> updates;
  WriteBatch batch;
  for (const Op::Update& update : op.updates) {
    if (!MayWrite(update)) continue;
    const std::string family = FamilyName(update.family);
    const std::string key = NumberedKey(update.key);
    const std::string value = IsPutOrMerge(update.kind) ? NewValue(update) : "";
    AddTo(&batch, Handle(family), update, value);
    if (update.kind == ValueKind::kRangeDelete) {
      for (uint64_t i = update.key; i < update.end; ++i) updates.push_back({family, NumberedKey(i), std::nullopt});
    } else if (IsPutOrMerge(update.kind)) {
      updates.push_back({family, key, value, /*appends=*/update.kind == ValueKind::kMerge});
    } else {
      updates.push_back({family, key, std::nullopt});
    }
  }
  if (updates.empty()) return;
  oracle_->BeginWrite(updates);
  const WriteOptions options{.sync = op.sync};
  const Oracle::Update& first = updates.front();
  const absl::Status status =
      op.batch ? db()->Write(batch, options) : WriteAlone(op.updates.front(), first.value.value_or(""), options);
  const bool acknowledged = Check(status, "write");
  oracle_->EndWrite(acknowledged);
  if (acknowledged && op.sync) oracle_->AllDurable();
}

absl::Status ScriptRun::WriteAlone(const Op::Update& update, std::string_view value, const WriteOptions& options) {
  const ColumnFamily& family = Handle(FamilyName(update.family));
  const std::string key = NumberedKey(update.key);
  if (update.streamed) {
    StringSource source(value);
    return db()->PutStream(family, key, value.size(), source, options);
  }
  switch (update.kind) {
    case ValueKind::kExpiringPut: {
      WriteOptions expiring = options;
      expiring.ttl = kNeverWithinAScript;
      return db()->Put(family, key, value, expiring);
    }
    case ValueKind::kMerge:
      return db()->Merge(family, key, value, options);
    case ValueKind::kRangeDelete:
      return db()->DeleteRange(family, key, NumberedKey(update.end), options);
    case ValueKind::kDelete:
      return db()->Delete(family, key, options);
    case ValueKind::kSingleDelete:
      return db()->SingleDelete(family, key, options);
    default:
      return db()->Put(family, key, value, options);
  }
}

std::string ScriptRun::NewValue(const Op::Update& update) {
  std::string value = update.value_bytes == 0 ? "" : absl::StrFormat("%u.", ++values_);
  if (value.size() < update.value_bytes) value += Filling(update.value_bytes - value.size());
  return value;
}

// Half of the values that are separated do not compress.
std::string ScriptRun::Filling(size_t bytes) const {
  if (database_->options.family.separate_from > 0 && Mix64(values_) % 2 == 0) return NoiseOf(values_, bytes);
  return std::string(bytes, static_cast<char>('a' + values_ % 26));
}

// Where values are separated, families have different codecs.
void ScriptRun::CreateFamily(const std::string& name) {
  if (oracle_->Known(name)) return;
  oracle_->BeginCreate(name);
  ColumnFamilyOptions family = database_->options.family;
  if (family.separate_from > 0) {
    constexpr CompressionKind kKinds[] = {CompressionKind::kNone, CompressionKind::kSnappy, CompressionKind::kLz4,
                                          CompressionKind::kZstd};
    family.compression = kKinds[static_cast<size_t>(name.front()) % std::size(kKinds)];
  }
  auto made = db()->CreateColumnFamily(name, family);
  const bool done = Check(made.status(), "create a family");
  oracle_->EndFamilyCall(name, done);
  if (done) handles_[name] = std::move(made).value();
}

void ScriptRun::DropFamily(const std::string& name) {
  if (!oracle_->Usable(name)) return;
  oracle_->BeginDrop(name);
  const std::shared_ptr<ColumnFamily> handle = std::exchange(handles_[name], nullptr);
  handles_.erase(name);
  // What is made under this name later is another one.
  for (HeldSnapshot& held : snapshots_) held.expected.erase(name);
  for (PastMoment& moment : moments_) moment.expected.erase(name);
  oracle_->ForgetInNames(name);
  oracle_->EndFamilyCall(name, Check(db()->DropColumnFamily(*handle), "drop a family"));
}

// Of nothing whose contents are not sure.
void ScriptRun::WriteCheckpoint(bool backup) {
  Oracle::Database expected;
  for (const std::string& name : db()->ColumnFamilyNames()) {
    std::optional<Oracle::Contents> now = oracle_->Now(name);
    if (!now.has_value()) return;
    expected[name] = *std::move(now);
  }
  expected[kPreparedFamily] = oracle_->Now(kPreparedFamily).value();
  CheckpointOptions options;
  if (backup) {
    options.link_tables = false;
    options.verify = true;
    for (const Oracle::Checkpoint& earlier : oracle_->checkpoints()) {
      if (earlier.done) options.base = earlier.path;
    }
  }
  const std::string path = absl::StrFormat("/checkpoint%u", oracle_->checkpoints().size());
  oracle_->BeginCheckpoint(path, std::move(expected));
  oracle_->EndCheckpoint(Check(db()->Checkpoint(path, options), "checkpoint"));
}

void ScriptRun::CheckCheckpoints() {
  for (const Oracle::Checkpoint& checkpoint : oracle_->checkpoints()) {
    Options options = database_->options;
    options.read_only = true;
    options.create_if_missing = false;
    options.log_directory.clear();
    const absl::StatusOr<std::unique_ptr<DB>> opened = Engine::Open(options, database_->tuning, checkpoint.path);
    const bool refused = absl::IsNotFound(opened.status()) || absl::IsDataLoss(opened.status());
    if (refused && !checkpoint.done) continue;
    Expect(opened.ok(), absl::StrFormat("%s: %s", checkpoint.path, opened.status().ToString()));
    if (!opened.ok()) return;
    const absl::StatusOr<Oracle::Database> found = ReadDatabase(opened->get());
    Expect(found.ok() && *found == checkpoint.contents,
           absl::StrFormat("%s holds something else than the database did: %s", checkpoint.path,
                           found.status().ToString()));
  }
}

// --- what looks at it ---

Oracle::Database ScriptRun::Known() {
  Oracle::Database known;
  for (const std::string& name : db()->ColumnFamilyNames()) {
    if (std::optional<Oracle::Contents> now = oracle_->Now(name)) known[name] = *std::move(now);
  }
  return known;
}

void ScriptRun::Hold(bool snapshots) {
  Oracle::Database expected = Known();
  if (snapshots) {
    if (!expected.empty()) snapshots_.push_back({db()->GetSnapshot(), std::move(expected)});
    return;
  }
  for (auto& [name, contents] : expected) {
    iterators_.push_back({db()->NewIterator(Handle(name)), std::move(contents)});
  }
}

// What an iterator gives before an error must be right; without one, it must be everything. Both ways.
void ScriptRun::CheckIterator(Iterator* iterator, const Oracle::Contents& expected, std::string_view what) {
  bool right = true;
  auto forward = expected.begin();
  for (iterator->SeekToFirst(); iterator->Valid() && right; iterator->Next(), ++forward) {
    right = forward != expected.end() && forward->first == iterator->key() && forward->second == iterator->value();
    if (!right) break;
  }
  if (Check(iterator->status(), what)) right = right && forward == expected.end();
  auto backward = expected.rbegin();
  for (iterator->SeekToLast(); iterator->Valid() && right; iterator->Prev(), ++backward) {
    right = backward != expected.rend() && backward->first == iterator->key() && backward->second == iterator->value();
    if (!right) break;
  }
  if (Check(iterator->status(), what)) right = right && backward == expected.rend();
  Expect(right, absl::StrFormat("%s: an iterator gives what is not there, or not what is", what));
}

void ScriptRun::ReadFamily(const std::string& family) {
  if (!oracle_->Usable(family)) return;
  for (uint64_t number = 0; number < 32; ++number) {
    const std::string key = NumberedKey(number);
    const absl::StatusOr<std::string> value = db()->Get(Handle(family), key);
    if (!value.ok() && !absl::IsNotFound(value.status())) {
      Check(value.status(), "get");
      continue;
    }
    Expect(oracle_->MayRead(family, key, value.ok() ? std::optional<std::string>(*value) : std::nullopt),
           absl::StrFormat("get of %s in %s: %s", key, family, value.ok() ? *value : "not found"));
  }
  if (const std::optional<Oracle::Contents> now = oracle_->Now(family)) {
    CheckIterator(db()->NewIterator(Handle(family)).get(), *now, "a new iterator of " + family);
  }
}

void ScriptRun::ReadAll() {
  for (const std::string& name : db()->ColumnFamilyNames()) ReadFamily(name);
  for (const HeldIterator& held : iterators_) CheckIterator(held.iterator.get(), held.expected, "an old iterator");
  for (const HeldSnapshot& held : snapshots_) CheckAt({.snapshot = held.snapshot.get()}, held.expected, "a snapshot");
  CheckNames();
  CheckMoments();
  CheckLocks();
}

void ScriptRun::CheckAt(const ReadOptions& options, const Oracle::Database& all, std::string_view what) {
  for (const auto& [family, expected] : all) {
    if (!oracle_->Usable(family) || (family != "default" && !handles_.contains(family))) continue;
    CheckIterator(db()->NewIterator(Handle(family), options).get(), expected, what);
    for (const auto& [key, value] : expected) {
      const absl::StatusOr<std::string> got = db()->Get(Handle(family), key, options);
      if (absl::IsNotFound(got.status()) || (got.ok() && *got != value)) {
        Expect(false, absl::StrFormat("%s: key %s", what, key));
      }
      if (!got.ok() && !absl::IsNotFound(got.status())) Check(got.status(), what);
    }
  }
}

// --- names ---

void ScriptRun::CreateName() {
  const std::string name = absl::StrFormat("name%u", ++values_);
  oracle_->BeginName(name, Known());
  oracle_->EndNameCall(name, Check(db()->CreateSnapshot(name).status(), "create a snapshot"), /*drop=*/false);
}

void ScriptRun::DropName() {
  const auto sure = std::find_if(oracle_->named().begin(), oracle_->named().end(),
                                 [](const auto& named) { return named.second.sure; });
  if (sure == oracle_->named().end()) return;
  const std::string name = sure->first;
  oracle_->BeginDropOfName(name);
  oracle_->EndNameCall(name, Check(db()->DropSnapshot(name), "drop a snapshot"), /*drop=*/true);
}

void ScriptRun::CheckNames() {
  for (const auto& [name, named] : oracle_->named()) {
    const absl::StatusOr<std::shared_ptr<const Snapshot>> found = db()->FindSnapshot(name);
    if (!found.ok() && !named.sure) continue;
    if (Check(found.status(), "find a snapshot"))
      CheckAt({.snapshot = found->get()}, named.contents, "snapshot " + name);
  }
}

// --- moments of the past ---

void ScriptRun::NoteMoment() {
  if (!Check(db()->Sync(), "sync")) return;
  oracle_->AllDurable();
  moments_.push_back({db()->GetSnapshot()->sequence(), Known()});
}

void ScriptRun::CheckMoments() {
  for (const PastMoment& moment : moments_) {
    CheckAt({.as_of_sequence = moment.sequence}, moment.expected, absl::StrFormat("as of %u", moment.sequence));
  }
}

void ScriptRun::LetGo() {
  iterators_.clear();
  snapshots_.clear();
  handles_.clear();
}

// --- openings ---

bool ScriptRun::Reopen(const Op& op) {
  if (op.kind == Op::Kind::kReopen) {
    if (Check(db()->Close(), "close")) oracle_->AllDurable();
  } else {
    const bool power = op.kind == Op::Kind::kLosePower;
    database_->memory.Crash(power ? CrashMode::kAnySubset : CrashMode::kKillProcess, values_);
  }
  LetGo();
  database_->db.reset();
  return OpenAndSettle(op.kind == Op::Kind::kLosePower, /*faults_allowed=*/true);
}

bool ScriptRun::OpenAndSettle(bool power_lost, bool faults_allowed) {
  LetGo();
  power_lost_ = power_lost_ || power_lost;
  const auto check = [&](const absl::Status& status, std::string_view what) {
    if (faults_allowed) return Check(status, what);
    Expect(status.ok(), absl::StrFormat("%s: %s", what, status.ToString()));
    return status.ok();
  };
  if (!check(database_->Open(), "open")) return false;
  absl::StatusOr<Oracle::Database> found = ReadDatabase(db());
  if (!found.ok() && faults_allowed) found = ReadDatabase(db());
  if (!check(found.status(), "reading everything")) return false;
  const std::string wrong = oracle_->Settle(*found, power_lost_);
  power_lost_ = false;
  Expect(wrong.empty(), wrong);
  const Oracle::Contents& still_prepared = (*found)[kPreparedFamily];
  std::erase_if(prepared_, [&](const auto& prepared) { return !still_prepared.contains(prepared.first); });
  for (auto& [name, prepared] : prepared_) prepared.ended = false;
  for (const auto& [name, contents] : *found) {
    if (name == "default" || name == kPreparedFamily) continue;
    auto handle = db()->FindColumnFamily(name);
    if (!check(handle.status(), "find a family")) return false;
    handles_[name] = std::move(handle).value();
  }
  if (!failure_.empty()) return false;
  std::vector<std::string> names;
  const absl::StatusOr<std::vector<NamedSnapshot>> listed = db()->ListSnapshots();
  if (!check(listed.status(), "list the snapshots")) return false;
  for (const NamedSnapshot& snapshot : *listed) names.push_back(snapshot.name);
  const std::string misnamed = oracle_->SettleNames(names);
  Expect(misnamed.empty(), misnamed);
  if (failure_.empty()) CheckNames();
  if (failure_.empty()) CheckMoments();
  if (failure_.empty()) CheckLocks();
  return failure_.empty();
}

void ScriptRun::OpenAndVerify(bool power_lost) {
  if (!OpenAndSettle(power_lost, /*faults_allowed=*/false)) return;
  const auto good = [this](const absl::Status& status, std::string_view what) {
    Expect(status.ok(), absl::StrFormat("%s after recovery: %s", what, status.ToString()));
  };
  good(db()->CheckConsistency(), "consistency");
  good(db()->VerifyChecksums(), "checksums");
  CheckCheckpoints();
}

void ScriptRun::CrashAndReopen(uint64_t seed) {
  LetGo();
  database_->memory.Crash(CrashMode::kAnySubset, seed);
  database_->db.reset();
  OpenAndVerify(/*power_lost=*/true);
}

void ScriptRun::CrashAndVerify(CrashMode mode, uint64_t seed) {
  if (!failure_.empty()) return;
  LetGo();
  database_->memory.Crash(mode, seed);
  database_->db.reset();
  database_->files.Clear();
  OpenAndVerify(mode != CrashMode::kKillProcess);
  if (!failure_.empty()) return;
  // What was found stays, though power is lost at once; and so does what is written now.
  oracle_->AllDurable();
  const auto good = [this](const absl::Status& status, std::string_view what) {
    Expect(status.ok(), absl::StrFormat("%s after recovery: %s", what, status.ToString()));
    return status.ok();
  };
  oracle_->BeginWrite({{"default", "after", "1"}});
  oracle_->EndWrite(good(db()->Put("after", "1", {.sync = true}), "put"));
  oracle_->AllDurable();
  CrashAndReopen(seed + 1);
  if (!failure_.empty()) return;
  good(db()->WaitForBackgroundWork(), "background work");
  ReadAll();
  LetGo();
  good(db()->Close(), "close");
  OpenAndVerify(/*power_lost=*/false);
  database_->db.reset();
}

}  // namespace sepal::reliability

#include "tests/reliability/interleaved_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "util/base/hash.h"
#include "util/base/status.h"

namespace sepal::reliability {

namespace {

constexpr std::string_view kOther = "other";
constexpr uint64_t kMostBetweenCrashes = 2000;  // in transactions

// As the last two characters of each key say.
uint32_t PlaceOf(std::string_view name) {
  return static_cast<uint32_t>((name[name.size() - 2] - '0') * 10 + (name[name.size() - 1] - '0'));
}

// Few switches: what the database does in the background need not come between.
constexpr SimulationOptions WorldOf(uint64_t seed) { return {.seed = seed, .switch_one_in = 1 << 20}; }

}  // namespace

InterleavedRun::InterleavedRun(const SeededCase& what)
    : case_(what), random_(Mix64(what.seed)), database_(Threads::kSimulated, WorldOf(what.seed), MemoryFileSystem()) {
  for (uint32_t i = 0; i < kKeysOfFamily; ++i) names_[i] = NumberedKey(i);
  database_.tuning.memtable_bytes = size_t{1} << (what.seed % 2 == 0 ? 16 : 20);
  database_.tuning.memtable_limit_bytes = size_t{4} << 20;
  database_.tuning.log_limit_bytes = uint64_t{4} << 20;
  database_.tuning.log_allocation_bytes = uint64_t{16} << 10;
  database_.tuning.manifest_limit_bytes = uint64_t{64} << 10;
  database_.options.memory_limit = size_t{32} << 20;
  if (what.seed % 3 == 0) database_.options.family.separate_from = 128;
  pessimistic_of_8_ = what.seed % 5 == 0 ? 0 : what.seed % 5 == 1 ? 8 : 4;
}

InterleavedRun::~InterleavedRun() = default;

std::string InterleavedRun::Run() {
  if (const absl::Status opened = Open(); !opened.ok()) return "the first opening: " + opened.ToString();
  history_.Begin(WhatStands());
  crash_at_ = 1 + random_.Uniform(kMostBetweenCrashes);
  while (ok() && next_ <= kTransactions) Step();
  if (ok()) Crash();
  return history_.broken().empty() ? "" : absl::StrFormat("by transaction %u: %s", next_ - 1, history_.broken());
}

void InterleavedRun::Break(const Actor& actor, std::string_view call, const absl::Status& status) {
  history_.Break(absl::StrFormat("transaction %u, %s: %s", actor.done.number, call, status.ToString()));
}

absl::Status InterleavedRun::Open() {
  other_.reset();
  RETURN_IF_ERROR(database_.Open());
  absl::StatusOr<std::shared_ptr<ColumnFamily>> other = database_.db->FindColumnFamily(kOther);
  if (absl::IsNotFound(other.status())) other = database_.db->CreateColumnFamily(kOther, database_.options.family);
  RETURN_IF_ERROR(other.status());
  other_ = *std::move(other);
  return absl::OkStatus();
}

InterleavedHistory::Standing InterleavedRun::WhatStands() {
  InterleavedHistory::Standing standing{.values = std::vector<uint64_t>(kRunKeys, kNothing)};
  const Actor nobody;
  for (uint32_t family = 0; family < kFamilies; ++family) {
    const std::unique_ptr<Iterator> iterator = database_.db->NewIterator(FamilyOf(family * kKeysOfFamily));
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      standing.values[family * kKeysOfFamily + PlaceOf(iterator->key())] = NumberOf(iterator->value(), nobody);
    }
    if (!iterator->status().ok()) Break(nobody, "a look at everything", iterator->status());
  }
  const absl::StatusOr<std::vector<PreparedTransaction>> prepared = database_.db->PreparedTransactions();
  if (!prepared.ok()) Break(nobody, "the list of what is prepared", prepared.status());
  if (prepared.ok()) {
    for (const PreparedTransaction& each : *prepared) standing.prepared.push_back(std::stoull(each.name.substr(1)));
  }
  std::sort(standing.prepared.begin(), standing.prepared.end());
  return standing;
}

// --- what one transaction has ---

// It keeps its memory.
void InterleavedRun::Actor::Reset(uint64_t number, uint64_t seed) {
  done.number = number;
  done.snapshot.reset();
  done.seen.clear();
  done.writes.clear();
  random = Random(seed);
  tries = values = 0;
  to_write = -1;
  touched.clear();
  held.clear();
  savepoints.clear();
}

uint64_t InterleavedRun::NumberOf(std::string_view value, const Actor& actor) {
  uint64_t number = kNothing;
  if (value.size() < sizeof(number)) {
    Break(actor, "a read", absl::DataLossError("a value is too short"));
    return kNothing;
  }
  std::memcpy(&number, value.data(), sizeof(number));
  return number;
}

uint64_t InterleavedRun::Observe(const absl::StatusOr<std::string>& value, const Actor& actor) {
  if (value.ok()) return NumberOf(*value, actor);
  if (!absl::IsNotFound(value.status())) Break(actor, "a read", value.status());
  return kNothing;
}

std::string_view InterleavedRun::ValueFor(Actor* actor, uint64_t number) {
  buffer_.assign(sizeof(number) + (actor->random.OneIn(32) ? 200 : number % 16), 'v');
  std::memcpy(buffer_.data(), &number, sizeof(number));
  return buffer_;
}

void InterleavedRun::TakeSnapshot(Actor* actor) {
  if (!actor->done.snapshot.has_value()) actor->done.snapshot = history_.position();
}

void InterleavedRun::Saw(Actor* actor, uint32_t key, uint64_t value) {
  Mix(value);
  actor->touched.push_back(key);
  for (const InterleavedHistory::Write& write : actor->done.writes) {
    if (write.key != key) continue;
    if (write.value != value)
      Break(*actor, "a read of its own write", absl::DataLossError(absl::StrFormat("%x", value)));
    return;
  }
  const uint32_t position = actor->done.snapshot.value_or(history_.position());
  actor->done.seen.push_back(history_.Read(actor->done.number, key, value, position));
}

void InterleavedRun::Wrote(Actor* actor, uint32_t key, uint64_t value) {
  for (InterleavedHistory::Write& write : actor->done.writes) {
    if (write.key == key) {
      write.value = value;
      return;
    }
  }
  actor->done.writes.push_back({key, value});
}

bool InterleavedRun::AnotherHoldsLocks(const Actor* but) const {
  for (const Actor& actor : open_) {
    if (&actor != but && actor.object != nullptr && actor.pessimistic) return true;
  }
  return std::any_of(prepared_.begin(), prepared_.end(), [](const auto& each) { return !each.second.ended; });
}

bool InterleavedRun::Took(Actor* actor, const absl::Status& status, std::string_view call) {
  Mix(static_cast<uint64_t>(status.code()));
  if (status.ok()) return true;
  if (absl::IsDeadlineExceeded(status) || absl::IsUnavailable(status)) {
    ++counts_.refused;
    if (actor->read_only || !AnotherHoldsLocks(actor)) Break(*actor, call, status);
  } else if (absl::IsAborted(status)) {
    ++counts_.aborted;
    const std::optional<uint32_t> snapshot = actor->done.snapshot;
    const bool due =
        snapshot.has_value() && std::any_of(actor->touched.begin(), actor->touched.end(),
                                            [&](uint32_t key) { return history_.ChangedSince(key, *snapshot); });
    if (actor->read_only || !due) Break(*actor, absl::StrFormat("%s, which nothing speaks against", call), status);
    Ended(actor);
  } else {
    Break(*actor, call, status);
  }
  return false;
}

void InterleavedRun::Ended(Actor* actor) {
  for (const uint32_t key : actor->held) history_.LetGo(actor->done.number, key);
  actor->object.reset();
}

// --- steps ---

void InterleavedRun::Step() {
  Actor* const actor = &open_[random_.Uniform(kOpen)];
  const bool begins = actor->object == nullptr;
  if (crash_next_ || (begins && next_ >= crash_at_)) {
    Crash();
    crash_next_ = false;
    crash_at_ = next_ + random_.Uniform(kMostBetweenCrashes);
  } else if (random_.OneIn(16) && !prepared_.empty()) {
    StepPrepared();
  } else if (begins) {
    while (next_ <= kTransactions && !BeginNext(actor)) {
    }
  } else if (actor->calls > 0) {
    --actor->calls;
    Call(actor);
  } else {
    Finish(actor);
  }
}

// False: the number is no part of the case, or was no transaction.
bool InterleavedRun::BeginNext(Actor* actor) {
  const uint64_t number = next_++;
  if (!case_.parts.Has(static_cast<uint32_t>(number - 1))) return false;
  actor->Reset(number, Mix64(case_.seed * kTransactions + number));
  Random& random = actor->random;
  if (random.OneIn(16)) {
    WritePlainly(number);
    return true;
  }
  if (random.OneIn(400)) {
    const absl::Status flushed = database_.db->Flush(FamilyOf(static_cast<uint32_t>(random.Uniform(kRunKeys))));
    if (!flushed.ok()) Break(*actor, "a flush", flushed);
  }
  actor->pessimistic = random.Uniform(8) < pessimistic_of_8_;
  actor->done.serializable = random.Uniform(3) > 0;
  actor->read_only = random.OneIn(8);
  actor->two_phases = !actor->read_only && random.OneIn(12);
  actor->calls = 1 + static_cast<uint32_t>(random.Uniform(3));
  absl::StatusOr<std::unique_ptr<Transaction>> begun = database_.db->BeginTransaction(
      {.isolation = actor->done.serializable ? Isolation::kSerializable : Isolation::kSnapshot,
       .locking = actor->pessimistic ? Locking::kPessimistic : Locking::kOptimistic,
       .lock_timeout = std::chrono::milliseconds(0)});
  if (!begun.ok()) {
    Break(*actor, "a begin", begun.status());
    return true;
  }
  actor->object = *std::move(begun);
  return true;
}

// Two puts in one batch, without a transaction.
void InterleavedRun::WritePlainly(uint64_t number) {
  Actor actor;
  actor.Reset(number, Mix64(case_.seed ^ Mix64(number)));
  WriteBatch batch;
  for (uint32_t family = 0; family < kFamilies; ++family) {
    const uint32_t key = family * kKeysOfFamily + static_cast<uint32_t>(actor.random.Uniform(kKeysOfFamily));
    const uint64_t value = number << 8 | ++actor.values;
    batch.Put(FamilyOf(key), KeyName(key), ValueFor(&actor, value));
    Wrote(&actor, key, value);
  }
  const bool sync = actor.random.OneIn(16);
  const absl::Status written = database_.db->Write(batch, {.sync = sync, .no_slowdown = true});
  if (!Took(&actor, written, "a batch")) return;
  history_.Commit(actor.done, /*prepared=*/false, sync);
  ++counts_.committed;
}

void InterleavedRun::Call(Actor* actor) {
  if (actor->to_write >= 0) {
    const uint32_t key = static_cast<uint32_t>(std::exchange(actor->to_write, -1));
    return actor->random.OneIn(6) ? Delete(actor, key) : Put(actor, key);
  }
  if (actor->read_only) return ReadCall(actor);
  WriteCall(actor, static_cast<uint32_t>(actor->random.Uniform(kRunKeys)));
}

void InterleavedRun::ReadCall(Actor* actor) {
  switch (actor->random.Uniform(8)) {
    case 0:
      return Scan(actor);
    case 1:
      return MultiGet(actor);
    default:
      return Get(actor, static_cast<uint32_t>(actor->random.Uniform(kRunKeys)));
  }
}

void InterleavedRun::WriteCall(Actor* actor, uint32_t key) {
  const uint64_t what = actor->random.Uniform(64);
  if (what < 16) return Get(actor, key);
  if (what < 24) return Put(actor, key);
  if (what < 28) return Delete(actor, key);
  if (what < 29) return DeleteRange(actor, key);
  if (what < 33) return GetLocked(actor, key, /*exclusive=*/what % 2 == 0);
  if (what < 35) return MultiGet(actor);
  if (what < 39) return Scan(actor);
  if (what < 42) return Savepoint(actor);
  // To be written by the next call.
  if (what < 54) {
    Get(actor, key);
  } else {
    GetLocked(actor, key, /*exclusive=*/true);
  }
  if (actor->object == nullptr) return;
  actor->to_write = static_cast<int>(key);
  ++actor->calls;
}

void InterleavedRun::Get(Actor* actor, uint32_t key) {
  TakeSnapshot(actor);
  Saw(actor, key, Observe(actor->object->Get(FamilyOf(key), KeyName(key)), *actor));
}

void InterleavedRun::MultiGet(Actor* actor) {
  TakeSnapshot(actor);
  const uint32_t family = static_cast<uint32_t>(actor->random.Uniform(kFamilies)) * kKeysOfFamily;
  std::array<uint32_t, 3> keys;
  std::array<std::string_view, 3> names;
  for (size_t i = 0; i < keys.size(); ++i) {
    keys[i] = family + static_cast<uint32_t>(actor->random.Uniform(kKeysOfFamily));
    names[i] = KeyName(keys[i]);
  }
  const std::vector<absl::StatusOr<std::string>> values = actor->object->MultiGet(FamilyOf(family), names);
  for (size_t i = 0; i < keys.size(); ++i) Saw(actor, keys[i], Observe(values[i], *actor));
}

void InterleavedRun::GetLocked(Actor* actor, uint32_t key, bool exclusive) {
  if (!actor->pessimistic) TakeSnapshot(actor);
  actor->touched.push_back(key);
  const ColumnFamily& family = FamilyOf(key);
  const absl::StatusOr<std::string> value =
      exclusive ? actor->object->GetForUpdate(family, KeyName(key)) : actor->object->GetForShare(family, KeyName(key));
  const bool read = value.ok() || absl::IsNotFound(value.status());
  if (!read) {
    Took(actor, value.status(), "a read for update");
    return;
  }
  if (actor->pessimistic && exclusive) {
    history_.Hold(actor->done.number, key);
    actor->held.push_back(key);
  }
  Saw(actor, key, Observe(value, *actor));
}

// Of a range, or of the first few from a key on, forwards or backwards. Keys that are not there are seen too.
void InterleavedRun::Scan(Actor* actor) {
  TakeSnapshot(actor);
  const uint32_t family = static_cast<uint32_t>(actor->random.Uniform(kFamilies)) * kKeysOfFamily;
  uint32_t first = static_cast<uint32_t>(actor->random.Uniform(kKeysOfFamily));
  uint32_t last = std::min<uint32_t>(first + static_cast<uint32_t>(actor->random.Uniform(6)), kKeysOfFamily - 1);
  const bool bounded = actor->random.OneIn(2);
  const bool backward = actor->random.OneIn(3);
  ReadOptions options;
  if (bounded) {
    options.lower_bound = names_[first];
    if (last + 1 < kKeysOfFamily) options.upper_bound = names_[last + 1];
  }
  const std::unique_ptr<Iterator> iterator = actor->object->NewIterator(FamilyOf(family), options);
  std::array<uint64_t, kKeysOfFamily> found = {};
  if (bounded) {
    backward ? iterator->SeekToLast() : iterator->SeekToFirst();
  } else {
    backward ? iterator->SeekForPrev(names_[last]) : iterator->Seek(names_[first]);
  }
  uint32_t left = last - first + 1;
  while (iterator->Valid() && left-- > 0) {
    const uint32_t place = PlaceOf(iterator->key());
    found[place] = NumberOf(iterator->value(), *actor);
    if (!bounded && left == 0) (backward ? first : last) = place;
    if (bounded || left > 0) backward ? iterator->Prev() : iterator->Next();
  }
  if (!iterator->status().ok()) return Break(*actor, "a scan", iterator->status());
  if (!bounded && !iterator->Valid()) (backward ? first : last) = backward ? 0 : kKeysOfFamily - 1;
  for (uint32_t place = first; place <= last; ++place) Saw(actor, family + place, found[place]);
}

void InterleavedRun::Put(Actor* actor, uint32_t key) {
  const uint64_t value = actor->done.number << 8 | ++actor->values;
  if (!actor->pessimistic) TakeSnapshot(actor);
  actor->touched.push_back(key);
  if (!Took(actor, actor->object->Put(FamilyOf(key), KeyName(key), ValueFor(actor, value)), "a put")) return;
  if (actor->pessimistic) {
    history_.Hold(actor->done.number, key);
    actor->held.push_back(key);
  }
  Wrote(actor, key, value);
}

void InterleavedRun::Delete(Actor* actor, uint32_t key) {
  if (!actor->pessimistic) TakeSnapshot(actor);
  actor->touched.push_back(key);
  if (!Took(actor, actor->object->Delete(FamilyOf(key), KeyName(key)), "a delete")) return;
  if (actor->pessimistic) {
    history_.Hold(actor->done.number, key);
    actor->held.push_back(key);
  }
  Wrote(actor, key, kNothing);
}

void InterleavedRun::DeleteRange(Actor* actor, uint32_t key) {
  const uint32_t first = key % kKeysOfFamily;
  const uint32_t end = first + 1 + static_cast<uint32_t>(actor->random.Uniform(3));
  std::optional<std::string_view> end_name;
  if (end < kKeysOfFamily) end_name = names_[end];
  const uint32_t base = key - first;
  const uint32_t after = base + std::min(end, kKeysOfFamily);
  if (!actor->pessimistic) TakeSnapshot(actor);
  for (uint32_t each = key; each < after; ++each) actor->touched.push_back(each);
  if (!Took(actor, actor->object->DeleteRange(FamilyOf(key), names_[first], end_name), "a delete of a range")) return;
  for (uint32_t each = key; each < after; ++each) {
    if (actor->pessimistic) {
      history_.Hold(actor->done.number, each);
      actor->held.push_back(each);
    }
    Wrote(actor, each, kNothing);
  }
}

void InterleavedRun::Savepoint(Actor* actor) {
  if (actor->savepoints.empty() || actor->random.OneIn(3)) {
    if (Took(actor, actor->object->SetSavepoint(), "a savepoint")) actor->savepoints.push_back(actor->done.writes);
    actor->calls += 2;
    return;
  }
  if (!Took(actor, actor->object->RollbackToSavepoint(), "a return to a savepoint")) return;
  actor->done.writes = std::move(actor->savepoints.back());
  actor->savepoints.pop_back();
}

}  // namespace sepal::reliability

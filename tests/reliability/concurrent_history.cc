#include "tests/reliability/concurrent_history.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_format.h"
#include "util/base/status.h"

namespace sepal::reliability {

namespace {

constexpr int kAbsent = -1;

std::string Mark(int batch) { return absl::StrFormat("mark%05d", batch); }
std::string Data(uint64_t number) { return absl::StrFormat("data%02u", number); }
int BatchOf(std::string_view value) { return std::atoi(std::string(value.substr(0, 5)).c_str()); }

}  // namespace

SimulationOptions ConcurrentHistory::DrawSimulation(const SeededCase& what) {
  Random random(Mix64(what.seed));
  SimulationOptions options{.seed = what.draw == 0 ? what.seed : Mix64(what.seed) + what.draw, .compaction_workers = 1};
  // Half by chance, half by priorities.
  if (random.OneIn(2)) {
    options.switch_one_in = static_cast<uint32_t>(uint64_t{2} << random.Uniform(6));
  } else {
    options.priority_changes = static_cast<int>(1 + random.Uniform(6));
    options.priority_points = uint64_t{1000} << random.Uniform(4);
  }
  // Half of both with operations that are parked.
  if (random.OneIn(2)) options.park_one_in = static_cast<uint32_t>(uint64_t{1} << random.Uniform(4));
  options.switch_inside_locks = !random.OneIn(3);
  return options;
}

ConcurrentHistory::ConcurrentHistory(SeededCase what, bool families_pass)
    : case_(std::move(what)),
      random_(case_.seed),
      families_pass_(families_pass),
      database_(Threads::kSimulated, DrawSimulation(case_), MemoryFileSystem()) {}

ConcurrentHistory::~ConcurrentHistory() {
  database_.files.Clear();
  passing_.LetGo();
  second_.reset();
}

void ConcurrentHistory::Fail(std::string what) {
  if (failure_.empty()) failure_ = absl::StrFormat("seed %u: %s", case_.seed, what);
}

bool ConcurrentHistory::Check(const absl::Status& status, std::string_view what) {
  if (status.ok()) return true;
  if (!trouble_) Fail(absl::StrFormat("%s: %s", what, status.ToString()));
  return false;
}

bool ConcurrentHistory::CheckPassing(const absl::StatusOr<std::string>& wrong, std::string_view what) {
  if (!Check(wrong.status(), what)) return false;
  if (!wrong->empty()) Fail(absl::StrFormat("%s: %s", what, *wrong));
  return true;
}

void ConcurrentHistory::Configure() {
  Tuning& tuning = database_.tuning;
  tuning.memtable_bytes = size_t{2} << 10 << random_.Uniform(3);
  tuning.table_bytes = size_t{1} << 10 << random_.Uniform(3);
  tuning.runs_per_level = static_cast<int>(2 + random_.Uniform(2));
  tuning.manifest_limit_bytes = random_.OneIn(2) ? 256 : 1 << 20;
  tuning.log_limit_bytes = random_.OneIn(2) ? 4 << 10 : 64 << 10;
  tuning.copy_value_bytes = random_.OneIn(2) ? 0 : 64;
  // From a source of its own: seeds keep the options that they had without.
  Random later(Mix64(case_.seed + 1));
  if (later.OneIn(3)) tuning.scrub_period_micros = 2'000;
  data_keys_ = uint64_t{1} << later.Uniform(4);
  flushes_often_ = later.OneIn(2);
  tuning.log_ring_bytes = later.OneIn(3) ? 0 : uint64_t{4} << (10 + later.Uniform(3));
  fills_ring_ = later.OneIn(8);
  if (fills_ring_) {
    syncs_one_in_ = 50;
    tuning.log_ring_bytes = uint64_t{4} << 10;
    tuning.memtable_bytes = size_t{64} << 10;
    tuning.log_limit_bytes = uint64_t{64} << 10;
  }
  if (later.OneIn(2)) tuning.unread_runs = static_cast<int>(later.Uniform(6));
  families_pass_ = families_pass_ || later.OneIn(4);
  if (families_pass_ && !later.OneIn(4)) {
    // So that nothing but the passing family keeps a flush waiting for the log.
    written_families_ = 1;
    syncs_one_in_ = 50;
  }
  ColumnFamilyOptions& family = database_.options.family;
  family.compaction_style = random_.OneIn(2) ? CompactionStyle::kLeveled : CompactionStyle::kLazyLeveling;
  if (Random(Mix64(case_.seed + 2)).OneIn(3)) family.separate_from = 64;
  family.compression = random_.OneIn(2) ? CompressionKind::kNone : CompressionKind::kSnappy;
  database_.options.info_log = random_.OneIn(8);
}

// In half of all histories a call fails, or the world ends, in the middle.
void ConcurrentHistory::ArmTrouble() {
  const uint64_t kind = random_.Uniform(8);
  if (kind >= 4 || !case_.parts.Has(kTroublePart)) return;
  const uint64_t at = database_.files.CallCount() + 1 + random_.Uniform(250);
  // Where families are dropped, mostly beside that: at an edit, of the drop or of what overtakes it.
  const bool beside_a_drop = families_pass_ && at % 4 != 0;
  auto calls_left = std::make_shared<uint64_t>(at % 5);
  constexpr CrashMode kModes[] = {CrashMode::kKillProcess, CrashMode::kLoseUnsynced, CrashMode::kAnySubset};
  const CrashMode mode = kModes[random_.Uniform(3)];
  constexpr Fault kFaults[] = {Fault::kIoError, Fault::kNoSpace, Fault::kFailAfter, Fault::kShortWrite};
  const Fault fault = kFaults[random_.Uniform(4)];
  database_.files.SetDecider([=, this](const FileCall& call) {
    const bool counts = passing_.DropUnderWay() && call.name.starts_with("MANIFEST");
    const bool now = beside_a_drop ? counts && (*calls_left)-- == 0 : call.number == at;
    if (!now) return Fault::kNone;
    trouble_ = true;
    if (kind < 2) return fault;
    power_lost_ = mode != CrashMode::kKillProcess;
    crashed_ = true;
    database_.memory.Crash(mode, at);
    return Fault::kNone;
  });
}

void ConcurrentHistory::Run() {
  Configure();
  if (!Check(database_.Open(), "open")) return;
  auto second = database_.db->CreateColumnFamily("second", database_.options.family);
  if (!Check(second.status(), "create a family")) return;
  second_ = *std::move(second);
  ArmTrouble();
  for (uint32_t i = 0; i < kClients; ++i) database_.world->Spawn([this, i] { Client(i); });
  database_.world->RunUntilIdle();
  database_.files.Clear();
  if (failure_.empty()) Recover();
}

void ConcurrentHistory::Client(uint32_t number) {
  std::vector<Held> held;
  for (uint32_t i = 0; i < kOperationsOfClient && failure_.empty(); ++i) {
    const uint32_t part = number * kOperationsOfClient + i;
    if (!case_.parts.Has(part)) continue;
    ++operations_;
    Random random(Mix64(case_.seed * kParts + part));
    database_.world->BeginOperation();
    if (!OneOperation(&random, &held)) break;
  }
}

bool ConcurrentHistory::OneOperation(Random* random, std::vector<Held>* held) {
  if (families_pass_ && random->OneIn(4)) return Check(passing_.Operate(random), "a passing family");
  const uint64_t drawn = random->Uniform(100);
  DB* const db = database_.db.get();
  if (drawn < (fills_ring_ ? 85u : 45u)) return Write(random);
  if (drawn < 60) return Get(random);
  if (flushes_often_ && drawn < 68) return Check(db->Flush(Handle(static_cast<int>(drawn % 2))), "flush");
  if (drawn < 75) return Look(random, held);
  if (drawn < 84) return held->empty() || RetryBesideWriter((*held)[random->Uniform(held->size())]);
  if (drawn < 87) return held->clear(), true;
  const ColumnFamily& family = Handle(static_cast<int>(random->Uniform(2)));
  if (drawn < 94) return Check(db->Flush(family), "flush");
  if (drawn < 97) return Check(db->CompactRange(family), "compact");
  if (drawn < 98) {
    const uint64_t from = Now();
    if (!Check(db->Sync(), "sync")) return false;
    for (Batch& batch : batches_) batch.durable = batch.durable || batch.ended < from;
    return true;
  }
  return Check(db->WaitForBackgroundWork(), "wait");
}

bool ConcurrentHistory::Write(Random* random) {
  const int number = static_cast<int>(batches_.size());
  batches_.emplace_back();
  WriteBatch batch;
  batch.Put(Mark(number), "");
  // Where the ring is to be filled, not more than goes through it.
  const size_t bytes = random->OneIn(3) ? 200 : fills_ring_ ? 350 : 20;
  const std::string value = absl::StrFormat("%05d%s", number, std::string(bytes, 'v'));
  for (uint64_t i = fills_ring_ ? 1 : 1 + random->Uniform(3); i > 0; --i) {
    const DataKey key(static_cast<int>(random->Uniform(written_families_)), Data(random->Uniform(data_keys_)));
    if (batches_[number].puts.contains(key) || batches_[number].deletes.contains(key)) continue;
    if (random->OneIn(4)) {
      batch.Delete(Handle(key.first), key.second);
      batches_[number].deletes.insert(key);
    } else {
      batch.Put(Handle(key.first), key.second, value);
      batches_[number].puts.insert(key);
    }
  }
  const bool sync = random->OneIn(syncs_one_in_);
  if (families_pass_ && random->OneIn(2)) passing_.Join(number, Mark(number), &batch);
  batches_[number].begun = Now();
  const absl::Status status = database_.db->Write(batch, {.sync = sync});
  if (passing_.Refused(number, status)) {
    batches_[number].begun = 0;
    return true;
  }
  // A store into a mapping cannot tell that the world has ended: what is said after that is no acknowledgement.
  if (!Check(status, "write") || crashed_) return false;
  batches_[number].ended = Now();
  batches_[number].durable = sync;
  return true;
}

absl::StatusOr<ConcurrentHistory::View> ConcurrentHistory::Read(const Snapshot* snapshot) {
  View view;
  for (int family = 0; family < 2; ++family) {
    const std::unique_ptr<Iterator> it = database_.db->NewIterator(Handle(family), {.snapshot = snapshot});
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      const std::string key(it->key());
      if (key.starts_with("mark")) {
        view.batches.insert(std::atoi(key.c_str() + 4));
      } else {
        view.data[{family, key}] = BatchOf(it->value());
      }
    }
    RETURN_IF_ERROR(it->status());
  }
  return view;
}

bool ConcurrentHistory::Look(Random* random, std::vector<Held>* held) {
  const uint64_t from = Now();
  std::shared_ptr<const Snapshot> snapshot = database_.db->GetSnapshot();
  const uint64_t to = Now();
  const absl::StatusOr<View> view = Read(snapshot.get());
  if (!Check(view.status(), "read")) return false;
  Check(*view, from, to, "a snapshot");
  if (families_pass_ && !CheckPassing(passing_.Check(snapshot.get(), view->batches), "a snapshot")) return false;
  if (held->size() < 3 || random->OneIn(2)) held->push_back({std::move(snapshot), *view});
  return RetryBesideWriter(held->back());
}

bool ConcurrentHistory::RetryBesideWriter(const Held& held) {
  const absl::StatusOr<View> again = Read(held.snapshot.get());
  if (!Check(again.status(), "read again")) return false;
  if (*again != held.view) Fail("a snapshot read again is not the same");
  for (int family = 0; family < 2; ++family) {
    for (uint64_t number = 0; number < data_keys_; ++number) {
      const DataKey key(family, Data(number));
      const absl::StatusOr<std::string> value =
          database_.db->Get(Handle(family), key.second, {.snapshot = held.snapshot.get()});
      if (!value.ok() && !absl::IsNotFound(value.status())) return Check(value.status(), "get");
      const auto expected = held.view.data.find(key);
      const int found = value.ok() ? BatchOf(*value) : kAbsent;
      if (found != (expected == held.view.data.end() ? kAbsent : expected->second)) {
        Fail(absl::StrFormat("get and iterator of one snapshot differ in %s of %d: %d", key.second, family, found));
      }
    }
  }
  return true;
}

// A single read of the present: the last that was acknowledged before, or something begun since.
bool ConcurrentHistory::Get(Random* random) {
  const DataKey key(static_cast<int>(random->Uniform(2)), Data(random->Uniform(data_keys_)));
  const uint64_t from = Now();
  const absl::StatusOr<std::string> value = database_.db->Get(Handle(key.first), key.second);
  if (!value.ok() && !absl::IsNotFound(value.status())) return Check(value.status(), "get");
  std::set<int> present;
  for (size_t i = 0; i < batches_.size(); ++i) {
    const Batch& batch = batches_[i];
    const bool writes = batch.puts.contains(key) || batch.deletes.contains(key);
    // One that was not acknowledged before the read may be there or not; it hides nothing that is.
    if (batch.begun > 0 && batch.ended < from && writes) present.insert(static_cast<int>(i));
  }
  const int found = value.ok() ? BatchOf(*value) : kAbsent;
  const auto may_be = [&](int other) {
    const Batch& batch = batches_[static_cast<size_t>(other)];
    return batch.begun > 0 && (found == kAbsent ? batch.deletes : batch.puts).contains(key) &&
           (found == kAbsent || other == found);
  };
  bool right = MayBe(key, found, present);
  for (size_t i = 0; i < batches_.size() && !right; ++i) {
    right = batches_[i].ended >= from && may_be(static_cast<int>(i));
  }
  if (!right) Fail(absl::StrFormat("get of %s of %d: batch %d", key.second, key.first, found));
  return true;
}

// --- what can have been ---

bool ConcurrentHistory::MayBe(const DataKey& key, int value, const std::set<int>& present) const {
  const auto surely_later = [&](uint64_t than) {
    return std::any_of(present.begin(), present.end(), [&](int other) {
      const Batch& batch = batches_[static_cast<size_t>(other)];
      return batch.begun > than && (batch.puts.contains(key) || batch.deletes.contains(key));
    });
  };
  if (value != kAbsent) {
    if (static_cast<size_t>(value) >= batches_.size() || !present.contains(value)) return false;
    const Batch& batch = batches_[static_cast<size_t>(value)];
    return batch.puts.contains(key) && !surely_later(batch.ended);
  }
  if (!surely_later(0)) return true;
  return std::any_of(present.begin(), present.end(), [&](int other) {
    const Batch& batch = batches_[static_cast<size_t>(other)];
    return batch.deletes.contains(key) && !surely_later(batch.ended);
  });
}

void ConcurrentHistory::CheckData(const View& view, std::string_view what) {
  for (int family = 0; family < 2; ++family) {
    for (uint64_t number = 0; number < data_keys_; ++number) {
      const DataKey key(family, Data(number));
      const auto found = view.data.find(key);
      const int value = found == view.data.end() ? kAbsent : found->second;
      if (MayBe(key, value, view.batches)) continue;
      Fail(absl::StrFormat("%s: %s of family %d cannot be that of batch %d", what, key.second, family, value));
    }
  }
}

void ConcurrentHistory::Check(const View& view, uint64_t from, uint64_t to, std::string_view what) {
  for (size_t i = 0; i < batches_.size(); ++i) {
    const bool there = view.batches.contains(static_cast<int>(i));
    if (batches_[i].ended < from && !there) Fail(absl::StrFormat("%s: batch %u is missing", what, i));
    if ((batches_[i].begun == 0 || batches_[i].begun > to) && there) {
      Fail(absl::StrFormat("%s: batch %u comes from the future", what, i));
    }
  }
  CheckData(view, what);
  const auto fewer = [](const std::set<int>& a, const std::set<int>& b) { return a.size() < b.size(); };
  const auto place = std::upper_bound(moments_.begin(), moments_.end(), view.batches, fewer);
  const auto holds = [](const std::set<int>& large, const std::set<int>& small) {
    return std::includes(large.begin(), large.end(), small.begin(), small.end());
  };
  const bool ordered = (place == moments_.begin() || holds(view.batches, *std::prev(place))) &&
                       (place == moments_.end() || holds(*place, view.batches));
  if (!ordered) Fail(absl::StrFormat("%s: neither holds all batches of another moment", what));
  moments_.insert(place, view.batches);
}

void ConcurrentHistory::Recover() {
  const bool crash = trouble_ || random_.OneIn(2);
  if (crash && !power_lost_) {
    const bool power = random_.OneIn(2);
    database_.memory.Crash(power ? CrashMode::kAnySubset : CrashMode::kKillProcess, random_.Next());
    power_lost_ = power;
  } else if (!crash) {
    Check(database_.db->Close(), "close");
  }
  passing_.LetGo();
  second_.reset();
  database_.db.reset();
  trouble_ = false;
  if (!Check(database_.Open(), "recovery")) return;
  auto second = database_.db->FindColumnFamily("second");
  if (!Check(second.status(), "find the family")) return;
  second_ = *std::move(second);
  const absl::StatusOr<View> view = Read(nullptr);
  if (!Check(view.status(), "read all")) return;
  if (!power_lost_) {
    Check(*view, now_ + 1, now_ + 1, "after a crash");
  } else {
    // A prefix: whoever is there, all that were acknowledged before it was begun are, too.
    uint64_t latest_begun = 0;
    for (const int batch : view->batches) latest_begun = std::max(latest_begun, batches_[batch].begun);
    for (size_t i = 0; i < batches_.size(); ++i) {
      const bool must = batches_[i].durable || batches_[i].ended < latest_begun;
      if (must && !view->batches.contains(static_cast<int>(i))) {
        Fail(absl::StrFormat("after a loss of power: batch %u is missing", i));
      }
    }
    Check(*view, 0, now_ + 1, "after a loss of power");
  }
  CheckPassing(passing_.CheckOpened(view->batches), "after an opening");
  Check(database_.db->CheckConsistency(), "consistency");
  Check(database_.db->VerifyChecksums(), "checksums");
}

}  // namespace sepal::reliability

// How interleaved transactions end: by a commit, a rollback, or a preparation and what follows it, also after crashes.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "tests/reliability/interleaved_run.h"

namespace sepal::reliability {

namespace {

// One preparation, or end of what is prepared, in so many is followed by a crash at once.
constexpr uint64_t kCrashAfterPhase = 32;

std::string NameOfPrepared(uint64_t number) { return absl::StrFormat("p%u", number); }

}  // namespace

// --- ends ---

void InterleavedRun::Finish(Actor* actor) {
  if (actor->two_phases) return Prepare(actor);
  if (actor->random.OneIn(16) || ++actor->tries > 3) {
    ++counts_.rolled_back;
    if (Took(actor, actor->object->Rollback(), "a rollback")) Ended(actor);
    return;
  }
  const bool sync = actor->random.OneIn(16);
  if (!Took(actor, actor->object->Commit({.sync = sync, .no_slowdown = true}), "a commit")) return;
  history_.Commit(actor->done, /*prepared=*/false, sync);
  ++counts_.committed;
  if (actor->read_only) ++counts_.read_only;
  Ended(actor);
  // Nothing has come between.
  if (!actor->random.OneIn(16)) return;
  for (const InterleavedHistory::Write& write : actor->done.writes) {
    const uint64_t now = Observe(database_.db->Get(FamilyOf(write.key), KeyName(write.key)), *actor);
    history_.Read(actor->done.number, write.key, now, history_.position());
  }
}

void InterleavedRun::Prepare(Actor* actor) {
  const size_t living = static_cast<size_t>(
      std::count_if(prepared_.begin(), prepared_.end(), [](const auto& each) { return !each.second.ended; }));
  actor->two_phases = false;  // another end, if this one does not succeed
  if (living >= kMostPrepared) return;
  if (!Took(actor, actor->object->Prepare(NameOfPrepared(actor->done.number)), "a preparation")) return;
  ++counts_.prepared;
  for (const InterleavedHistory::Write& write : actor->done.writes) {
    history_.Hold(actor->done.number, write.key);
    actor->held.push_back(write.key);
  }
  history_.Prepare(actor->done.number);
  crash_next_ = random_.OneIn(kCrashAfterPhase);
  const uint64_t number = actor->done.number;
  prepared_.insert_or_assign(number, std::exchange(*actor, Actor{}));
}

void InterleavedRun::StepPrepared() {
  auto it = prepared_.lower_bound(random_.Uniform(next_));
  if (it == prepared_.end()) it = prepared_.begin();
  Actor* const actor = &it->second;
  if (actor->ended) return;
  if (actor->object == nullptr) {
    absl::StatusOr<std::unique_ptr<Transaction>> found = database_.db->FindPrepared(NameOfPrepared(actor->done.number));
    if (!found.ok()) return Break(*actor, "what is prepared", found.status());
    actor->object = *std::move(found);
    return;
  }
  switch (random_.Uniform(8)) {
    case 0:
      return actor->object.reset();
    case 1:
      for (const InterleavedHistory::Write& write : actor->done.writes) {
        const uint64_t value = Observe(actor->object->Get(FamilyOf(write.key), KeyName(write.key)), *actor);
        if (value != write.value)
          Break(*actor, "a read of what it prepared", absl::DataLossError(absl::StrFormat("%x", value)));
      }
      return;
    case 2:
      return EndPrepared(actor, /*commit=*/false);
    default:
      return EndPrepared(actor, /*commit=*/true);
  }
}

void InterleavedRun::EndPrepared(Actor* actor, bool commit) {
  crash_next_ = random_.OneIn(kCrashAfterPhase);
  const bool sync = random_.OneIn(8);
  const absl::Status status = commit ? actor->object->Commit({.sync = sync}) : actor->object->Rollback();
  if (!status.ok()) return Break(*actor, "the end of what is prepared", status);
  actor->ended = true;
  if (commit) {
    history_.Commit(actor->done, /*prepared=*/true, sync);
    ++counts_.committed;
  } else {
    history_.RollBackPrepared(actor->done.number);
    ++counts_.rolled_back;
  }
  Ended(actor);
}

// --- crashes ---

void InterleavedRun::CheckHistory() {
  if (history_.HasCycle(/*all_reads=*/false)) history_.Break("the history is not serializable");
  if (history_.HasCycle(/*all_reads=*/true)) ++counts_.skewed;
  if (random_.OneIn(4)) history_.Survive(WhatStands(), /*everything=*/true);
}

void InterleavedRun::Crash() {
  CheckHistory();
  if (!ok()) return;
  const bool objects_outlive = random_.OneIn(2);
  const auto drop_objects = [this] {
    for (Actor& actor : open_) actor.object.reset();
    for (auto& [number, actor] : prepared_) actor.object.reset();
  };
  for (const Actor& actor : open_) counts_.rolled_back += actor.object != nullptr ? 1 : 0;
  const uint64_t kind = random_.Uniform(8);
  bool everything = false;
  absl::Status status;
  if (kind == 0) {  // no crash
    everything = true;
    status = database_.db->Close();
  } else {
    everything = kind == 1;
    const CrashMode mode = kind == 1   ? CrashMode::kKillProcess
                           : kind <= 4 ? CrashMode::kAnySubset
                                       : CrashMode::kLoseUnsynced;
    database_.memory.Crash(mode, random_.Next());
  }
  if (!objects_outlive) drop_objects();
  if (status.ok()) status = Open();
  drop_objects();
  ++counts_.crashes;
  if (!status.ok()) return history_.Break("the restart: " + status.ToString());
  const InterleavedHistory::Standing standing = WhatStands();
  history_.Survive(standing, everything);
  if (ok()) TakeOver(standing);
}

// What came back prepared has its locks, so that nothing that it had read has changed.
void InterleavedRun::TakeOver(const InterleavedHistory::Standing& standing) {
  history_.Begin(standing);
  std::erase_if(prepared_, [&](const auto& each) {
    return !std::binary_search(standing.prepared.begin(), standing.prepared.end(), each.first);
  });
  for (auto& [number, actor] : prepared_) {
    ++counts_.came_back;
    actor.ended = false;
    actor.done.snapshot = 0;
    if (!actor.done.serializable) actor.done.seen.clear();
    for (InterleavedHistory::SeenVersion& seen : actor.done.seen) {
      const uint64_t now = history_.Value(seen.key);
      if (now == seen.value) {
        seen.version = 0;
      } else {
        history_.Break(absl::StrFormat("key %u, which transaction %u had read as %x, became %x while it was prepared",
                                       seen.key, number, seen.value, now));
      }
    }
    for (const uint32_t key : actor.held) history_.Hold(number, key);
  }
  ProbeLocks();
}

void InterleavedRun::ProbeLocks() {
  for (auto& [number, actor] : prepared_) {
    std::vector<uint32_t> locked = actor.held;
    for (const InterleavedHistory::SeenVersion& seen : actor.done.seen) locked.push_back(seen.key);
    if (locked.empty()) continue;
    const uint32_t key = locked[random_.Uniform(locked.size())];
    const absl::Status put = database_.db->Put(FamilyOf(key), KeyName(key), "not a value", {.no_slowdown = true});
    if (!absl::IsUnavailable(put)) Break(actor, absl::StrFormat("a put beside its lock of key %u", key), put);
  }
}

}  // namespace sepal::reliability

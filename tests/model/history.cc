#include "tests/model/history.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "tests/db/engine/first_letter_filter.h"
#include "tests/model/option_sets.h"
#include "util/base/hash.h"
#include "util/base/strings.h"

namespace sepal::model {

std::string History::Difference(const Entries& found, const Entries& expected) {
  size_t i = 0;
  while (i < found.size() && i < expected.size() && found[i] == expected[i]) ++i;
  const auto show = [](const Entries& entries, size_t at) {
    return at < entries.size() ? Printable(entries[at].first) + " -> " + Printable(entries[at].second) : "the end";
  };
  return absl::StrFormat("at %u found %s, expected %s; ", i, show(found, i), show(expected, i));
}

History::History(uint64_t seed, Threads threads, reliability::Parts kept)
    : seed_(seed), kept_(std::move(kept)), random_(seed), database_(threads, seed) {
  database_.options.family.comparator = RandomComparator(&random_);
  RandomizeOptions();
  database_.tuning = RandomTuning(&random_);
  // A history keeps many values. In smaller files their headers alone would be garbage enough to move them for ever.
  uint64_t* const file_bytes = &database_.tuning.value_file_bytes;
  if (history_millis_ > 0) *file_bytes = std::max(*file_bytes, uint64_t{2048});
  if (database_.clock != nullptr) model_.AdvanceTo(database_.clock->UnixMicros() / 1000);
  model_.CreateFamily("default", database_.options.family.comparator);
}

void History::RandomizeOptions() {
  ColumnFamilyOptions* const family = &database_.options.family;
  RandomizeFamily(&random_, family);
  family->history = std::chrono::milliseconds(history_millis_);
  if (!filters_) return;
  family->merge_operator = nullptr;
  family->compaction_filter = std::make_shared<FirstLetterFilter>();
}

History::~History() {
  database_.files.Clear();
  database_.db.reset();
  handles_.clear();
}

void History::Fail(std::string what) {
  if (failure_.empty()) failure_ = std::move(what) + "\n" + Describe();
}

std::string History::Describe() const {
  std::string text =
      absl::StrFormat("history %u, %s", seed_, model::Describe(database_.options.family, database_.tuning));
  for (const std::string& step : trail_) text += step + "; ";
  return text;
}

void History::Run(uint32_t steps) {
  Start();
  for (uint32_t i = 0; i < steps && !failed(); ++i) {
    if (!kept_.Has(i)) continue;
    random_ = Random(Mix64(seed_ + (uint64_t{i} << 32)));
    if (sabotage_) sabotage_(database_.db.get(), i);
    Step();
  }
  if (failed()) return;
  VerifyAll();
  Succeeded(database_.db->Close(), "close");
}

void History::Step() {
  struct Choice {
    uint64_t weight;
    std::string_view name;
    void (History::*call)();
  };
  static constexpr Choice kChoices[] = {
      {300, "write", &History::WriteOne},
      {100, "batch", &History::WriteMany},
      {150, "get", &History::GetOne},
      {40, "multiget", &History::GetMany},
      {30, "may exist", &History::AskKeyMayExist},
      {25, "snapshot", &History::TakeSnapshot},
      {60, "iterator", &History::MakeIterator},
      {40, "let go", &History::LetGo},
      {40, "follow", &History::Follow},
      {12, "flush", &History::Flush},
      {15, "sync", &History::Sync},
      {6, "compact", &History::Compact},
      {10, "maintain", &History::Maintain},
      {6, "clock", &History::AdvanceClock},
      {5, "epoch", &History::SetEpoch},
      {8, "name a snapshot", &History::CreateNamed},
      {5, "drop a named snapshot", &History::DropNamed},
      {15, "read at a named snapshot", &History::ReadNamed},
      {6, "create family", &History::CreateFamily},
      {4, "drop family", &History::DropFamily},
      {5, "reopen", &History::Reopen},
      {8, "arm a crash", &History::ArmCrash},
      {6, "crash", nullptr},
  };
  uint64_t total = 0;
  for (const Choice& choice : kChoices) total += choice.weight;
  uint64_t drawn = random_.Uniform(total);
  const Choice* choice = kChoices;
  while (drawn >= choice->weight) drawn -= (choice++)->weight;
  trail_.push_back(std::string(choice->name));
  if (trail_.size() > 12) trail_.erase(trail_.begin());
  if (choice->call != nullptr) {
    (this->*choice->call)();
  } else {
    constexpr CrashMode kModes[] = {CrashMode::kKillProcess, CrashMode::kLoseUnsynced, CrashMode::kAnySubset};
    Crash(kModes[random_.Uniform(3)]);
  }
  for (HeldIterator& held : iterators_) {
    if (random_.OneIn(2)) MoveIterator(&held);
  }
  while (crashed_ && !failed()) Recover();
}

void History::Start() {
  // Asked in the middle of any file call, by any thread.
  database_.files.SetDecider([this](const FileCall&) {
    if (calls_until_crash_ > 0 && --calls_until_crash_ == 0) {
      // Said before it happens: another thread that meets the crash asks whether there was one.
      power_lost_ = power_lost_ || armed_mode_ != CrashMode::kKillProcess;
      crashed_ = true;
      database_.memory.Crash(armed_mode_, armed_seed_);
    }
    return Fault::kNone;
  });
  if (Succeeded(database_.Open(), "the first open")) FindFamily("default");
}

bool History::FindFamily(const std::string& name) {
  auto handle = database_.db->FindColumnFamily(name);
  if (!Succeeded(handle.status(), "find family")) return false;
  handles_[name] = std::move(handle).value();
  return true;
}

bool History::Succeeded(const absl::Status& status, std::string_view what) {
  if (status.ok()) return true;
  // A moment that was given up; or one before the family was made.
  if (history_millis_ > 0 && absl::IsOutOfRange(status)) return false;
  if (!crashed_) Fail(absl::StrFormat("%s: %s", what, status.ToString()));
  return false;
}

void History::Crash(CrashMode mode) {
  calls_until_crash_ = 0;
  database_.memory.Crash(mode, random_.Next());
  crashed_ = true;
  power_lost_ = power_lost_ || mode != CrashMode::kKillProcess;
  trail_.back() += absl::StrFormat(" %d", static_cast<int>(mode));
}

void History::ArmCrash() {
  if (calls_until_crash_ > 0) return;
  constexpr CrashMode kModes[] = {CrashMode::kKillProcess, CrashMode::kLoseUnsynced, CrashMode::kAnySubset};
  armed_mode_ = kModes[random_.Uniform(3)];
  armed_seed_ = random_.Next();
  calls_until_crash_ = 1 + random_.Uniform(random_.OneIn(2) ? 40 : 400);
}

void History::DropHandles() {
  for (const HeldIterator& held : iterators_) {
    if (database_.db == nullptr) {
      Expect(absl::IsFailedPrecondition(held.iterator->status()) && !held.iterator->Valid(),
             "an iterator of a closed database");
    }
  }
  iterators_.clear();
  snapshots_.clear();
  // Values may be kept for longer.
  for (const HeldPin& held : pins_) Expect(held.pin.value() == held.expected, "a pinned value");
  if (random_.OneIn(2)) pins_.clear();
  handles_.clear();
  // After a crash its files are not to be read any more.
  if (!crashed_ && random_.OneIn(2)) return;
  reader_snapshots_.clear();
  reader_.reset();
}

void History::Reopen() {
  const absl::Status closed = database_.db->Close();
  if (random_.OneIn(2)) database_.db.reset();
  if (!Succeeded(closed, "close")) return;
  synced_ = acknowledged_;
  database_.db.reset();
  DropHandles();
  RandomizeOptions();
  const absl::Status opened = database_.Open();
  if (!Succeeded(opened, "reopen")) return;
  Settle();
}

void History::Recover() {
  database_.db.reset();
  DropHandles();
  for (int tries = 0;; ++tries) {
    // Not too often, so that it ends.
    if (tries < 4 && random_.OneIn(3)) ArmCrash();
    crashed_ = false;
    const absl::Status opened = database_.Open();
    if (opened.ok() && !crashed_) break;
    if (!opened.ok() && !crashed_) {
      Fail(absl::StrFormat("recovery %d: %s", tries, opened.ToString()));
      return;
    }
    database_.db.reset();
  }
  Settle();
}

// After an opening: which families and which batches are there?
void History::Settle() {
  const std::vector<std::string> names = database_.db->ColumnFamilyNames();
  if (!unsure_family_.empty()) {
    const bool exists = std::find(names.begin(), names.end(), unsure_family_) != names.end();
    if (exists && !model_.HasFamily(unsure_family_)) {
      model_.CreateFamily(unsure_family_, database_.options.family.comparator);
    } else if (!exists) {
      model_.DropFamily(unsure_family_);
    }
    unsure_family_.clear();
  }
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  Expect(sorted == model_.FamilyNames(), "the column families are not those of the model");
  for (const std::string& name : names) {
    if (!FindFamily(name)) return;
  }
  SettleNames();
  if (failed() || crashed_) return;
  const uint64_t lowest = power_lost_ ? synced_ : acknowledged_;
  // What is lost leaves its numbers to others.
  std::erase_if(moments_, [lowest](const PastMoment& moment) { return moment.batch > lowest; });
  const uint64_t survivors = FindSurvivors(lowest, model_.latest());
  if (failed() || crashed_) return;
  model_.TruncateAfter(survivors);
  acknowledged_ = synced_ = survivors;
  power_lost_ = false;
  CheckAllNamed();
  Maintain();
}

absl::StatusOr<Entries> History::Dump(const std::string& family) {
  const std::unique_ptr<Iterator> iterator = database_.db->NewIterator(*handles_.at(family));
  Entries forward = ReadAll(iterator.get());
  if (!iterator->status().ok()) return iterator->status();
  Entries backward;
  for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
    backward.emplace_back(iterator->key(), iterator->value());
  }
  if (!iterator->status().ok()) return iterator->status();
  std::reverse(backward.begin(), backward.end());
  Expect(forward == backward, "forward and backward differ in " + family + ": " + Difference(backward, forward));
  return forward;
}

bool History::Matches(const std::string& family, uint64_t batch, const Entries& contents) const {
  if (model_.Contents(family, batch) != contents) return false;
  // Of an epoch that refuses nothing yet the contents do not tell.
  return !filters_ ||
         database_.db->GetProperty(*handles_.at(family), "sepal.filter-epoch") == model_.EpochAt(family, batch);
}

uint64_t History::FindSurvivors(uint64_t lowest, uint64_t highest) {
  std::map<std::string, Entries> all;
  for (const std::string& family : model_.FamilyNames()) {
    absl::StatusOr<Entries> contents = Dump(family);
    if (!Succeeded(contents.status(), "reading all")) return 0;
    all[family] = std::move(contents).value();
  }
  for (uint64_t batch = highest + 1; batch-- > lowest;) {
    const bool all_match = std::all_of(all.begin(), all.end(),
                                       [&](const auto& entry) { return Matches(entry.first, batch, entry.second); });
    if (all_match) return batch;
  }
  std::string counts;
  for (const auto& [family, contents] : all) {
    counts +=
        absl::StrFormat("%s: %u entries, model has %u at the lowest and %u at the highest; ", family, contents.size(),
                        model_.Contents(family, lowest).size(), model_.Contents(family, highest).size()) +
        Difference(contents, model_.Contents(family, highest));
  }
  Fail(absl::StrFormat("what is there is no prefix of the history between batch %u and %u; %s", lowest, highest,
                       counts));
  return 0;
}

void History::VerifyAll() {
  for (const std::string& family : model_.FamilyNames()) {
    const absl::StatusOr<Entries> contents = Dump(family);
    if (!Succeeded(contents.status(), "reading all")) return;
    const Entries expected = model_.Contents(family, model_.latest());
    Expect(*contents == expected, "family " + family + ": " + Difference(*contents, expected));
  }
}

}  // namespace sepal::model

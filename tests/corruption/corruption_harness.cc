// Damages a database in every way (mutation.h) and asks it everything: the answer is right, or DataLoss.
//
// For each mutation the database is opened read-only and as a writer, every key and keys beside them are asked for,
// every family is scanned both ways, checksums are verified; the writer then writes, flushes, compacts, closes, and
// what it leaves is asked again. A failed opening must have done no harm: with the undamaged files put back, all is
// there.
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/engine/engine.h"
#include "tests/corruption/mutation.h"
#include "tests/corruption/subject.h"
#include "tests/reliability/harness.h"
#include "tests/reliability/rooms.h"
#include "util/hash.h"
#include "util/memory_file_system.h"
#include "util/random.h"

namespace sepal::corruption {

namespace {

using reliability::Search;

// The answers of one database to every question.
class Questions {
 public:
  // `loose`: what the newest log holds may be missing, from some point on.
  Questions(DB* db, const Subject& subject, bool loose) : db_(db), subject_(subject), loose_(loose) {}

  // Keys that must be there besides the subject's.
  void Expect(const std::string& key, const std::string& value) { extra_[key] = value; }
  void Ask() {
    for (const auto& [name, contents] : subject_.families) {
      loose_ ? AskLoosely(name, contents) : AskFamily(name, contents);
    }
    Note(db_->VerifyChecksums(), "VerifyChecksums");
    Note(db_->CheckConsistency(), "CheckConsistency");
  }
  bool lost() const { return lost_; }
  const std::string& wrong() const { return wrong_; }

 private:
  void Wrong(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
  }
  // An error must be DataLoss.
  void Note(const absl::Status& status, std::string_view what) {
    if (status.ok()) return;
    lost_ = true;
    if (!absl::IsDataLoss(status)) Wrong(absl::StrFormat("%s: %s", what, status.ToString()));
  }

  void AskFamily(const std::string& name, Contents contents) {
    const absl::StatusOr<std::shared_ptr<ColumnFamily>> family = db_->FindColumnFamily(name);
    if (!family.ok()) return Wrong(family.status().ToString());
    family_ = family->get();
    if (name == "default") {
      TakeTail(&contents);
      contents.insert(extra_.begin(), extra_.end());
    }
    for (const auto& [key, value] : contents) {
      AskKey(key, value);
      AskKey(key + "x", std::nullopt);
    }
    AskKey("", std::nullopt);
    AskMany(contents);
    AskScans(contents);
  }

  // Every value is the one that was there before the newest log or the one after it.
  void AskLoosely(const std::string& name, const Contents& contents) {
    const absl::StatusOr<std::shared_ptr<ColumnFamily>> family = db_->FindColumnFamily(name);
    if (!family.ok()) return Wrong(family.status().ToString());
    const Contents& earlier = subject_.earlier.at(name);
    const auto is_value = [](const Contents& in, std::string_view key, std::string_view value) {
      const auto it = in.find(std::string(key));
      return it != in.end() && it->second == value;
    };
    for (const auto& [key, value] : contents) {
      const absl::StatusOr<std::string> got = db_->Get(family->get(), key);
      if (got.ok() && *got != value && !is_value(earlier, key, *got)) Wrong("Get gives a wrong value: " + key);
      if (absl::IsNotFound(got.status()) && earlier.contains(key)) Wrong("Get says that a key is absent: " + key);
      if (!got.ok() && !absl::IsNotFound(got.status())) Note(got.status(), "Get");
    }
    const std::unique_ptr<Iterator> it = db_->NewIterator(family->get());
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      if (it->key().starts_with("tail") || extra_.contains(std::string(it->key()))) continue;
      if (!is_value(contents, it->key(), it->value()) && !is_value(earlier, it->key(), it->value())) {
        Wrong("a scan gives a wrong value: " + std::string(it->key()));
      }
    }
    Note(it->status(), "scan");
  }

  // Of the tail there may be any beginning.
  void TakeTail(Contents* contents) {
    bool more = true;
    for (const auto& [key, value] : subject_.tail) {
      const absl::StatusOr<std::string> got = db_->Get(family_, key);
      if (got.ok() && !more) return Wrong("the tail of the log has a gap before " + key);
      more = more && got.ok();
      if (more) contents->emplace(key, value);
    }
  }

  void AskKey(const std::string& key, const std::optional<std::string>& expected) {
    const absl::StatusOr<std::string> got = db_->Get(family_, key);
    if (got.ok()) {
      if (!expected.has_value()) return Wrong("Get finds a key that is not there: " + key);
      if (*got != *expected) Wrong("Get gives a wrong value: " + key);
    } else if (absl::IsNotFound(got.status())) {
      if (expected.has_value()) Wrong("Get says that a key is absent: " + key);
    } else {
      Note(got.status(), "Get");
    }
    if (expected.has_value() && !db_->KeyMayExist(family_, key)) Wrong("KeyMayExist denies " + key);
  }

  void AskMany(const Contents& contents) {
    std::vector<std::string_view> keys;
    for (const auto& [key, value] : contents) keys.push_back(key);
    std::vector<PinnedValue> values(keys.size());
    std::vector<absl::Status> statuses(keys.size());
    db_->MultiGet(family_, keys, values, statuses);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (absl::IsNotFound(statuses[i])) Wrong("MultiGet says that a key is absent: " + std::string(keys[i]));
      if (statuses[i].ok() && values[i].value() != contents.at(std::string(keys[i]))) {
        Wrong("MultiGet gives a wrong value: " + std::string(keys[i]));
      }
      if (!statuses[i].ok()) Note(statuses[i], "MultiGet");
    }
  }

  void AskScans(const Contents& contents) {
    const std::unique_ptr<Iterator> it = db_->NewIterator(family_);
    auto forward = contents.begin();
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++forward) {
      if (forward == contents.end()) return Wrong("a scan gives too much");
      CheckEntry(*it, *forward);
    }
    Note(it->status(), "scan");
    if (it->status().ok() && forward != contents.end()) Wrong("a scan ends early, before " + forward->first);
    auto backward = contents.rbegin();
    for (it->SeekToLast(); it->Valid(); it->Prev(), ++backward) {
      if (backward == contents.rend()) return Wrong("a reverse scan gives too much");
      CheckEntry(*it, *backward);
    }
    Note(it->status(), "reverse scan");
    if (it->status().ok() && backward != contents.rend()) Wrong("a reverse scan ends early, at " + backward->first);
    size_t i = 0;
    for (const auto& entry : contents) {
      if (++i % 9 != 0) continue;
      for (const bool before : {false, true}) {
        before ? it->SeekForPrev(entry.first) : it->Seek(entry.first);
        if (it->Valid()) {
          CheckEntry(*it, entry);
        } else if (it->status().ok()) {
          Wrong("a seek finds nothing: " + entry.first);
        }
        Note(it->status(), "seek");
      }
    }
  }
  void CheckEntry(const Iterator& it, const std::pair<const std::string, std::string>& expected) {
    if (it.key() != expected.first) Wrong(absl::StrFormat("a scan gives %s, not %s", it.key(), expected.first));
    if (it.key() == expected.first && it.value() != expected.second)
      Wrong("a scan gives a wrong value: " + expected.first);
  }

  DB* const db_;
  const Subject& subject_;
  const bool loose_;
  const ColumnFamily* family_ = nullptr;
  Contents extra_;
  bool lost_ = false;
  std::string wrong_;
};

// One mutation of one subject.
class Trial {
 public:
  Trial(const Subject& subject, const std::map<std::string, const std::string*>& changed, bool loose)
      : subject_(subject), changed_(changed), loose_(loose) {}

  void Run() {
    subject_.Install(&memory_, changed_);
    ReadOnly();
    Writer();
  }
  bool lost() const { return lost_; }
  const std::string& wrong() const { return wrong_; }

 private:
  absl::StatusOr<std::unique_ptr<DB>> Open(bool read_only) {
    Options options = subject_.MakeOptions(&memory_);
    options.read_only = read_only;
    Tuning tuning = subject_.tuning;
    tuning.compaction_threads = 1;
    return Engine::Open(options, tuning, kDirectory);
  }
  void Take(std::string_view when, const Questions& questions) {
    lost_ = lost_ || questions.lost();
    if (wrong_.empty() && !questions.wrong().empty()) wrong_ = absl::StrFormat("%s: %s", when, questions.wrong());
  }
  // Whether there is a database to ask.
  bool Opened(std::string_view when, const absl::Status& status) {
    if (status.ok()) return true;
    lost_ = true;
    if (!absl::IsDataLoss(status) && wrong_.empty()) wrong_ = absl::StrFormat("%s: %s", when, status.ToString());
    return false;
  }

  void ReadOnly() {
    const absl::StatusOr<std::unique_ptr<DB>> db = Open(true);
    if (!Opened("read-only opening", db.status())) return;
    Questions questions(db->get(), subject_, loose_);
    questions.Ask();
    Take("read-only", questions);
  }

  void Writer() {
    absl::StatusOr<std::unique_ptr<DB>> db = Open(false);
    if (!Opened("opening", db.status())) return PutBack();
    Questions before(db->get(), subject_, loose_);
    before.Ask();
    Take("writer", before);
    // Whatever compactions meet, what is acknowledged stays.
    std::string key = "written";
    const bool written = (*db)->Put(key, "1", {.sync = true}).ok();
    Note((*db)->Flush());
    Note((*db)->CompactRange());
    Note((*db)->Close());
    db->reset();
    absl::StatusOr<std::unique_ptr<DB>> again = Open(true);
    if (!Opened("opening again", again.status())) return;
    Questions after(again->get(), subject_, loose_);
    if (written) after.Expect(key, "1");
    after.Ask();
    Take("after writing", after);
  }
  void Note(const absl::Status& status) {
    if (status.ok()) return;
    lost_ = true;
    if (!absl::IsDataLoss(status) && wrong_.empty()) wrong_ = "writing: " + status.ToString();
  }

  // The opening failed, and so changed nothing that matters.
  void PutBack() {
    std::map<std::string, const std::string*> originals;
    const auto directory = memory_.OpenDirectory(kDirectory, false);
    for (const auto& [file, bytes] : changed_) {
      const auto it = subject_.files.find(file);
      if (it != subject_.files.end()) {
        if (!memory_.WriteFileContents(std::string(kDirectory) + "/" + file, it->second).ok()) wrong_ = "put back";
      } else {
        (*directory)->Remove(file).IgnoreError();
      }
    }
    const absl::StatusOr<std::unique_ptr<DB>> db = Open(false);
    if (!db.ok()) {
      if (wrong_.empty()) wrong_ = "with the undamaged file put back: " + db.status().ToString();
      return;
    }
    Questions questions(db->get(), subject_, false);
    questions.Ask();
    if (questions.lost() && wrong_.empty()) wrong_ = "a failed opening did damage";
    Take("with the undamaged file put back", questions);
  }

  const Subject& subject_;
  const std::map<std::string, const std::string*>& changed_;
  const bool loose_;
  MemoryFileSystem memory_;
  bool lost_ = false;
  std::string wrong_;
};

bool MustBeReported(const Subject& subject, const Mutation& mutation) {
  const auto it = subject.witnessed_bytes.find(mutation.file);
  return mutation.kind == MutationKind::kFlipBit && it != subject.witnessed_bytes.end() &&
         mutation.place / 8 < it->second;
}

// Whether the mutation may take away, with records of the newest log of a killed process, all that bears witness to
// them.
bool MayLoseWitness(const Subject& subject, const Mutation& mutation) {
  if (subject.tail.empty() || mutation.kind == MutationKind::kFlipBit) return false;
  const uint64_t witnessed = subject.witnessed_bytes.at(subject.newest_log);
  const auto touches = [&](const std::string& file, uint64_t sector) {
    return file == subject.newest_log && (sector + 1) * kSectorBytes > witnessed;
  };
  switch (mutation.kind) {
    case MutationKind::kFlipBit:
      return false;
    case MutationKind::kTruncate:
    case MutationKind::kRemoveFile:
    case MutationKind::kStaleFile:
    case MutationKind::kSwapFiles:
    case MutationKind::kDuplicateFile:
    case MutationKind::kAppendSector:
      return mutation.file == subject.newest_log || mutation.other_file == subject.newest_log;
    case MutationKind::kZeroSector:
    case MutationKind::kGarbageSector:
      return touches(mutation.file, mutation.place);
    case MutationKind::kSwapSectors:
    case MutationKind::kDuplicateSector:
      return touches(mutation.file, mutation.place) || touches(mutation.other_file, mutation.other_place);
  }
  return false;
}

// The end of the manifest and that of the log bear witness to each other: nothing is promised if one mutation damages
// both, but that the process goes on.
bool MayLoseBothEnds(const Subject& subject, const Mutation& mutation) {
  if (mutation.kind != MutationKind::kSwapSectors) return false;
  return (mutation.file == subject.newest_log && mutation.other_file == subject.newest_manifest) ||
         (mutation.file == subject.newest_manifest && mutation.other_file == subject.newest_log);
}

void Try(const Subject& subject, uint64_t number, const Mutations& mutations, uint64_t index, Search* search) {
  if (!search->Begin(absl::StrFormat("subject=%u mutation=%u", number, index))) return;
  const Mutation mutation = mutations.At(index);
  std::vector<std::string> buffers;
  const auto changed = mutations.Apply(mutation, &buffers);
  if (changed.empty()) return;
  Trial trial(subject, changed, MayLoseWitness(subject, mutation));
  trial.Run();
  if (!trial.wrong().empty() && !MayLoseBothEnds(subject, mutation)) {
    search->Fail(ToString(mutation) + ": " + trial.wrong());
  } else if (!trial.lost() && MustBeReported(subject, mutation)) {
    search->Fail(ToString(mutation) + ": not reported");
  }
  search->Add(trial.lost() ? "reported" : "harmless", 1);
  search->Count(Mix64(number << 40 | index));
}

// Every mutation once, in an order that the seed chooses.
void SearchCorruption(Search* search) {
  const std::vector<Subject> subjects = {MakeSubject(false), MakeSubject(true)};
  const std::vector<Mutations> mutations = {Mutations(&subjects[0]), Mutations(&subjects[1])};
  if (!search->only_case().empty()) {
    const uint64_t number = reliability::NumberIn(search->only_case(), "subject").value_or(0) % 2;
    const uint64_t index = reliability::NumberIn(search->only_case(), "mutation").value_or(0);
    if (index < mutations[number].count()) Try(subjects[number], number, mutations[number], index, search);
    return;
  }
  const uint64_t all = mutations[0].count() + mutations[1].count();
  uint64_t step = all * 618 / 1000 + 2 * search->seed() + 1;
  while (std::gcd(step, all) != 1) ++step;
  uint64_t at = Random(search->seed()).Uniform(all);
  for (uint64_t done = 0; done < all && search->GoOn(); ++done, at = (at + step) % all) {
    const uint64_t number = at < mutations[0].count() ? 0 : 1;
    Try(subjects[number], number, mutations[number], number == 0 ? at : at - mutations[0].count(), search);
  }
}

}  // namespace
}  // namespace sepal::corruption

namespace sepal::reliability {

void AddCorruptionHarnesses(std::vector<Harness>* all) {
  all->push_back({"corruption", "every flipped bit, length, sector and file of a small database, asked everything",
                  corruption::SearchCorruption});
}

}  // namespace sepal::reliability

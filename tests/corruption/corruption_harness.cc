// Damages a database in every way (mutation.h) and asks it everything: the answer is right, or DataLoss.
//
// For each mutation the database is opened read-only and as a writer, every key and keys beside them are asked for,
// every family is scanned both ways, checksums are verified; the writer then writes, flushes, compacts, closes, and
// what it leaves is asked again. A failed opening must have done no harm: with the undamaged files put back, all is
// there.
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/engine/face/engine.h"
#include "sepal/simulation/memory_file_system.h"
#include "tests/corruption/mutation.h"
#include "tests/corruption/subject.h"
#include "tests/reliability/harness.h"
#include "tests/reliability/rooms.h"

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
      const absl::StatusOr<std::string> got = db_->Get(**family, key);
      if (got.ok() && *got != value && !is_value(earlier, key, *got)) Wrong("Get gives a wrong value: " + key);
      if (absl::IsNotFound(got.status()) && earlier.contains(key)) Wrong("Get says that a key is absent: " + key);
      if (!got.ok() && !absl::IsNotFound(got.status())) Note(got.status(), "Get");
    }
    const std::unique_ptr<Iterator> it = db_->NewIterator(**family);
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
      const absl::StatusOr<std::string> got = db_->Get(*family_, key);
      if (got.ok() && !more) return Wrong("the tail of the log has a gap before " + key);
      more = more && got.ok();
      if (more) contents->emplace(key, value);
    }
  }

  void AskKey(const std::string& key, const std::optional<std::string>& expected) {
    const absl::StatusOr<std::string> got = db_->Get(*family_, key);
    if (got.ok()) {
      if (!expected.has_value()) return Wrong("Get finds a key that is not there: " + key);
      if (*got != *expected) Wrong("Get gives a wrong value: " + key);
    } else if (absl::IsNotFound(got.status())) {
      if (expected.has_value()) Wrong("Get says that a key is absent: " + key);
    } else {
      Note(got.status(), "Get");
    }
    if (expected.has_value() && !db_->KeyMayExist(*family_, key)) Wrong("KeyMayExist denies " + key);
  }

  void AskMany(const Contents& contents) {
    std::vector<std::string_view> keys;
    for (const auto& [key, value] : contents) keys.push_back(key);
    std::vector<PinnedValue> values(keys.size());
    std::vector<absl::Status> statuses(keys.size());
    db_->MultiGet(*family_, keys, values, statuses).IgnoreError();
    for (size_t i = 0; i < keys.size(); ++i) {
      if (absl::IsNotFound(statuses[i])) Wrong("MultiGet says that a key is absent: " + std::string(keys[i]));
      if (statuses[i].ok() && values[i].value() != contents.at(std::string(keys[i]))) {
        Wrong("MultiGet gives a wrong value: " + std::string(keys[i]));
      }
      if (!statuses[i].ok()) Note(statuses[i], "MultiGet");
    }
  }

  void AskScans(const Contents& contents) {
    const std::unique_ptr<Iterator> it = db_->NewIterator(*family_);
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
  Trial(const Subject& subject, const Changes& changed, bool loose)
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
  const Changes& changed_;
  const bool loose_;
  MemoryFileSystem memory_;
  bool lost_ = false;
  std::string wrong_;
};

void Try(const Subject& subject, const Mutation& mutation, const Changes& changed, Search* search) {
  Trial trial(subject, changed, MayLoseWitness(subject, mutation));
  trial.Run();
  if (!trial.wrong().empty() && !MayLoseBothEnds(subject, mutation)) {
    search->Fail(ToString(mutation) + ": " + trial.wrong());
  } else if (!trial.lost() && MustBeReported(subject, mutation)) {
    search->Fail(ToString(mutation) + ": not reported");
  }
  search->Add(trial.lost() ? "reported" : "harmless", 1);
}

void SearchCorruption(Search* search) { ForEachMutation(search, Try); }

}  // namespace
}  // namespace sepal::corruption

namespace sepal::reliability {

void AddCorruptionHarness(std::vector<Harness>* all) {
  all->push_back({"corruption", "every flipped bit, length, sector and file of a small database, asked everything",
                  corruption::SearchCorruption});
}

}  // namespace sepal::reliability

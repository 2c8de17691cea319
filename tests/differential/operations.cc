#include "tests/differential/operations.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_format.h"
#include "tests/noise.h"
#include "util/base/hash.h"
#include "util/base/random.h"

namespace sepal::reliability {

namespace {

class MapSubject final : public Subject {
 public:
  void Write(const std::vector<Update>& batch, bool) override {
    for (const Update& update : batch) {
      if (update.value.has_value()) {
        now_[update.key] = *update.value;
      } else {
        now_.erase(update.key);
      }
    }
  }
  std::optional<std::string> Get(const std::string& key, int snapshot) override {
    const Map& map = At(snapshot);
    const auto found = map.find(key);
    return found == map.end() ? std::nullopt : std::optional<std::string>(found->second);
  }
  Entries Scan(const std::string& begin, const std::string& end, bool backwards, size_t limit, int snapshot) override {
    const Map& map = At(snapshot);
    Entries entries(map.lower_bound(begin), map.lower_bound(std::max(begin, end)));
    if (backwards) std::reverse(entries.begin(), entries.end());
    if (entries.size() > limit) entries.resize(limit);
    return entries;
  }
  void TakeSnapshot() override { snapshots_.push_back(now_); }
  void LetSnapshotsGo() override { snapshots_.clear(); }
  void Flush() override {}
  void Compact(const std::string&, const std::string&) override {}
  void Reopen() override {}

 private:
  using Map = std::map<std::string, std::string>;
  const Map& At(int snapshot) const { return snapshot == kNow ? now_ : snapshots_[static_cast<size_t>(snapshot)]; }

  Map now_;
  std::vector<Map> snapshots_;
};

// Draws the operations; what is drawn does not depend on what the subject answers.
class Driver {
 public:
  Driver(uint64_t seed, Subject* subject) : random_(Mix64(seed)), subject_(subject) {}

  void Step() {
    const uint64_t drawn = random_.Uniform(100);
    if (drawn < 42) {
      Write();
    } else if (drawn < 70) {
      Get();
    } else if (drawn < 84) {
      Scan();
    } else if (drawn < 89) {
      subject_->TakeSnapshot();
      ++snapshots_;
    } else if (drawn < 92) {
      LetGo();
    } else if (drawn < 95) {
      subject_->Flush();
    } else if (drawn < 97) {
      const std::string begin = Key();
      subject_->Compact(begin, std::max(begin, Key()));
    } else if (drawn < 99) {
      LetGo();
      subject_->Reopen();
    }
  }
  void End() {
    results_.push_back(HashOf(subject_->Scan("", "\x7f", false, SIZE_MAX, Subject::kNow)));
    results_.push_back(HashOf(subject_->Scan("", "\x7f", true, SIZE_MAX, Subject::kNow)));
    LetGo();
  }
  std::vector<uint64_t> Take() { return std::move(results_); }

 private:
  std::string Key() {
    const uint64_t number = random_.Uniform(100);
    return random_.OneIn(10) ? absl::StrFormat("%s%u", std::string(40 + number % 3 * 50, 'k'), number % 7)
                             : absl::StrFormat("key%03u", number);
  }
  int Moment() {
    return snapshots_ > 0 && random_.OneIn(2) ? static_cast<int>(random_.Uniform(snapshots_)) : Subject::kNow;
  }

  void Write() {
    std::vector<Subject::Update> batch(random_.OneIn(5) ? 1 + random_.Uniform(20) : 1);
    for (Subject::Update& update : batch) {
      update.key = Key();
      if (random_.OneIn(4)) continue;
      update.value.emplace(absl::StrFormat("%u.", ++values_));
      update.value->resize(random_.OneIn(6) ? 300 + random_.Uniform(1500) : 10 + random_.Uniform(60), 'v');
      if (values_ % 3 == 0) *update.value = NoiseOf(values_, update.value->size());
    }
    subject_->Write(batch, random_.OneIn(6));
  }
  void Get() {
    const std::string key = Key();
    const std::optional<std::string> value = subject_->Get(key, Moment());
    results_.push_back(value.has_value() ? Checksum64(*value, 1) : 0);
  }
  void Scan() {
    std::string begin = Key();
    std::string end = Key();
    if (end < begin) std::swap(begin, end);
    const bool backwards = random_.OneIn(2);
    const size_t limit = random_.OneIn(3) ? SIZE_MAX : 1 + random_.Uniform(10);
    results_.push_back(HashOf(subject_->Scan(begin, end, backwards, limit, Moment())));
  }
  void LetGo() {
    subject_->LetSnapshotsGo();
    snapshots_ = 0;
  }
  static uint64_t HashOf(const Subject::Entries& entries) {
    uint64_t hash = entries.size();
    for (const auto& [key, value] : entries) hash = Checksum64(value, Checksum64(key, hash));
    return hash;
  }

  Random random_;
  Subject* const subject_;
  uint64_t snapshots_ = 0;
  uint64_t values_ = 0;
  std::vector<uint64_t> results_;
};

}  // namespace

std::unique_ptr<Subject> MakeMapSubject() { return std::make_unique<MapSubject>(); }

std::vector<uint64_t> RunOperations(uint64_t seed, int operations, Subject* subject) {
  Driver driver(seed, subject);
  for (int i = 0; i < operations && subject->error.empty(); ++i) driver.Step();
  if (subject->error.empty()) driver.End();
  return driver.Take();
}

std::string Compare(const std::vector<uint64_t>& expected, const std::vector<uint64_t>& got, const Subject& subject) {
  if (!subject.error.empty()) return subject.error;
  if (expected == got) return {};
  const auto parted = std::mismatch(expected.begin(), expected.end(), got.begin(), got.end());
  return absl::StrFormat("read %d of %u is another", parted.first - expected.begin(), expected.size());
}

}  // namespace sepal::reliability

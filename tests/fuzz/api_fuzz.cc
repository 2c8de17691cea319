// Bytes as calls on a database in memory, against an ordered map: every read is right, also through a snapshot, after a
// reopening, after the death of the process, and after a loss of power that follows a sync.
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/db/engine/test_database.h"
#include "util/base/check.h"
#include "util/base/coding.h"

namespace {

using namespace sepal;

using Contents = std::map<std::string, std::string>;
constexpr int kFamilies = 2;
constexpr const char* kOther = "other";

class Calls {
 public:
  Calls(const uint8_t* data, size_t size) : in_({reinterpret_cast<const char*>(data), size}) {
    const uint8_t options = in_.Byte();
    ColumnFamilyOptions& family = database_.options.family;
    family.compression = static_cast<CompressionKind>(options % 4);
    if ((options & 4) != 0) family.filter_policy = FilterPolicy::None();
    if ((options & 8) != 0) family.compaction_style = CompactionStyle::kLeveled;
    database_.options.info_log = false;
    database_.tuning.memtable_bytes = size_t{1} << ((options & 16) != 0 ? 10 : 14);
    database_.tuning.log_fragment_bytes = (options & 32) != 0 ? 100 : 4096;
    database_.tuning.log_allocation_bytes = 1024;
    database_.options.column_families = {{kOther, family}};
    Open(database_.Open());
  }

  void Run() {
    while (!in_.empty()) Step();
    CheckAll();
    Must(db()->CheckConsistency());
    snapshots_.clear();
    Must(db()->Close());
  }

 private:
  struct Taken {
    std::shared_ptr<const Snapshot> snapshot;
    Contents contents[kFamilies];
  };

  DB* db() { return database_.db.get(); }
  static void Must(const absl::Status& status) {
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
    SEPAL_CHECK(status.ok());
  }
  void Open(const absl::Status& status) {
    Must(status);
    const auto found = db()->FindColumnFamily(kOther);
    Must(found.status());
    other_ = *found;
  }
  const ColumnFamily& family(int i) { return i == 0 ? db()->DefaultColumnFamily() : *other_; }
  // Few keys, so that they meet; some are prefixes of others.
  std::string Key() {
    const uint8_t byte = in_.Byte();
    return std::string("k") + std::string(byte % 4, 'p') + static_cast<char>('a' + byte / 4 % 16);
  }
  std::string Value() {
    const uint8_t byte = in_.Byte();
    const size_t size = byte < 200 ? byte % 40 : (byte - 199) * size_t{60};
    return std::to_string(++writes_) + std::string(size, static_cast<char>('a' + byte % 26));
  }

  void Step() {
    const uint8_t code = in_.Byte();
    const int f = (code >> 5) & 1;
    switch (code % 20) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
        return Put(f, (code & 64) != 0);
      case 6:
      case 7:
        return Delete(f);
      case 8:
        return Batch();
      case 9:
      case 10:
        return CheckKey(f, Key(), nullptr);
      case 11:
        return CheckScan(f);
      case 12:
        return Must(db()->Flush(family(f)));
      case 13:
        return Must(db()->CompactRange(family(f)));
      case 14:
        return TakeSnapshot();
      case 15:
        return CheckSnapshot();
      case 16:
        return CheckAll();
      case 17:
        return Reopen();
      case 18:
        snapshots_.clear();
        return Open(database_.CrashAndReopen(CrashMode::kKillProcess));
      case 19:
        Must(db()->Sync());
        snapshots_.clear();
        return Open(database_.CrashAndReopen(CrashMode::kLoseUnsynced));
    }
  }

  void Put(int f, bool sync) {
    const std::string key = Key();
    const std::string value = Value();
    Must(db()->Put(family(f), key, value, {.sync = sync}));
    contents_[f][key] = value;
  }
  void Delete(int f) {
    const std::string key = Key();
    Must(db()->Delete(family(f), key));
    contents_[f].erase(key);
  }
  void Batch() {
    WriteBatch batch;
    for (int n = in_.Byte() % 8; n >= 0; --n) {
      const uint8_t code = in_.Byte();
      const std::string key = Key();
      if ((code & 1) != 0) {
        batch.Delete(family((code >> 1) & 1), key);
        contents_[(code >> 1) & 1].erase(key);
      } else {
        const std::string value = Value();
        batch.Put(family((code >> 1) & 1), key, value);
        contents_[(code >> 1) & 1][key] = value;
      }
    }
    Must(db()->Write(batch));
  }

  void TakeSnapshot() {
    if (snapshots_.size() == 4) snapshots_.erase(snapshots_.begin());
    Taken taken{.snapshot = db()->GetSnapshot(), .contents = {}};
    for (int f = 0; f < kFamilies; ++f) taken.contents[f] = contents_[f];
    snapshots_.push_back(std::move(taken));
  }
  void CheckSnapshot() {
    if (snapshots_.empty()) return;
    const Taken& taken = snapshots_[in_.Byte() % snapshots_.size()];
    for (int f = 0; f < kFamilies; ++f) Compare(f, taken.contents[f], {.snapshot = taken.snapshot.get()});
  }
  void Reopen() {
    snapshots_.clear();
    Open(database_.Reopen());
  }

  void CheckKey(int f, const std::string& key, const Snapshot* snapshot) {
    const absl::StatusOr<std::string> got = db()->Get(family(f), key, {.snapshot = snapshot});
    const auto it = contents_[f].find(key);
    if (it == contents_[f].end()) {
      SEPAL_CHECK(absl::IsNotFound(got.status()));
    } else {
      SEPAL_CHECK(got.ok() && *got == it->second);
      SEPAL_CHECK(db()->KeyMayExist(family(f), key));
    }
  }
  // A walk to and fro from a place in the middle, within bounds.
  void CheckScan(int f) {
    std::string lower = Key();
    std::string upper = Key();
    if (upper < lower) lower.swap(upper);
    const Contents& all = contents_[f];
    const Contents within(all.lower_bound(lower), all.lower_bound(upper));
    const std::unique_ptr<Iterator> it = db()->NewIterator(family(f), {.lower_bound = lower, .upper_bound = upper});
    const std::string target = Key();
    it->Seek(target);
    auto expected = within.lower_bound(target);
    for (int steps = in_.Byte(); steps > 0; steps /= 2) {
      SEPAL_CHECK(it->Valid() == (expected != within.end()));
      if (!it->Valid()) break;
      SEPAL_CHECK(it->key() == expected->first && it->value() == expected->second);
      if ((steps & 1) != 0) {
        it->Next();
        ++expected;
      } else {
        it->Prev();
        if (expected == within.begin()) {
          SEPAL_CHECK(!it->Valid());
          break;
        }
        --expected;
      }
    }
    Must(it->status());
  }
  void Compare(int f, const Contents& contents, const ReadOptions& options) {
    const std::unique_ptr<Iterator> it = db()->NewIterator(family(f), options);
    auto forward = contents.begin();
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++forward) {
      SEPAL_CHECK(forward != contents.end() && it->key() == forward->first && it->value() == forward->second);
    }
    Must(it->status());
    SEPAL_CHECK(forward == contents.end());
    auto backward = contents.rbegin();
    for (it->SeekToLast(); it->Valid(); it->Prev(), ++backward) {
      SEPAL_CHECK(backward != contents.rend() && it->key() == backward->first && it->value() == backward->second);
    }
    Must(it->status());
    SEPAL_CHECK(backward == contents.rend());
  }
  void CheckAll() {
    for (int f = 0; f < kFamilies; ++f) {
      Compare(f, contents_[f], {});
      for (const auto& [key, value] : contents_[f]) CheckKey(f, key, nullptr);
    }
  }

  Decoder in_;
  TestDatabase database_;
  std::shared_ptr<ColumnFamily> other_;
  Contents contents_[kFamilies];
  std::vector<Taken> snapshots_;
  uint64_t writes_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 4096) return 0;
  Calls(data, size).Run();
  return 0;
}

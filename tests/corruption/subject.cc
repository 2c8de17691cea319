#include "tests/corruption/subject.h"

#include <algorithm>

#include "db/engine/face/engine.h"
#include "db/format/manifest_format.h"
#include "db/format/value_file.h"
#include "tests/db/engine/test_database.h"
#include "util/base/check.h"
#include "util/base/random.h"

namespace sepal::corruption {

namespace {

constexpr std::string_view kFamilies[] = {"versions", "zstd", "plain", "values", "packed", "logged"};

ColumnFamilyOptions OptionsOf(std::string_view family) {
  ColumnFamilyOptions options;
  options.block_bytes = 512;
  if (family == "default") {
    options.compression_per_level = {CompressionKind::kNone, CompressionKind::kSnappy, CompressionKind::kLz4,
                                     CompressionKind::kZstd};
  } else if (family == "zstd") {
    options.compression = CompressionKind::kZstd;
  } else if (family == "plain") {
    options.compression = CompressionKind::kNone;
    options.filter_policy = FilterPolicy::None();
  } else if (family == "values") {
    options.separate_from = 64;
    options.compression = CompressionKind::kNone;
  } else if (family == "packed") {
    // What LZ4 makes ends with bytes of the value, none of which is 0.
    options.separate_from = 64;
    options.compression = CompressionKind::kLz4;
  } else {
    options.compression = CompressionKind::kLz4;
  }
  return options;
}

void Must(const absl::Status& status) {
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  SEPAL_CHECK(status.ok());
}

// Writes the history and keeps what should be there.
class Builder {
 public:
  Builder(Subject* subject, bool ring) : subject_(subject), files_(&memory_) {
    subject_->tuning = SmallTuning();
    subject_->tuning.memtable_bytes = size_t{1} << 20;
    subject_->tuning.memtable_limit_bytes = size_t{4} << 20;
    subject_->tuning.log_limit_bytes = uint64_t{4} << 20;
    subject_->tuning.log_allocation_bytes = uint64_t{1} << 10;
    subject_->tuning.log_fragment_bytes = 200;
    subject_->tuning.log_ring_bytes = ring ? 4096 : 0;
    subject_->tuning.table_bytes = size_t{3} << 10;
    subject_->tuning.manifest_limit_bytes = uint64_t{1} << 10;
    subject_->tuning.value_file_bytes = uint64_t{1} << 10;
    subject_->families["default"] = {};
    Options options = subject_->MakeOptions(&files_);
    options.create_if_missing = true;
    options.env.clock = &world_;
    options.env.executor = &world_;
    absl::StatusOr<std::unique_ptr<DB>> db = Engine::Open(options, subject_->tuning, kDirectory);
    Must(db.status());
    db_ = std::move(db).value();
    families_["default"] = db_->FindColumnFamily("default").value();
    for (const std::string_view name : kFamilies) MakeFamily(name);
  }

  void Build(bool closed) {
    KeepOldManifests();
    LevelsAndDeletions();
    Keep();
    Versions();
    Put("zstd", "big", Text(300 << 10, 'z'));
    Put("zstd", "small", Text(30, 'z'));
    Must(db_->Flush(*families_["zstd"]));
    for (int i = 0; i < 40; ++i) Put("plain", Key(i), Text(60, 'p'));
    Must(db_->Flush(*families_["plain"]));
    Keep();
    Values();
    Keep();
    RollManifest();
    Keep();
    Logs();
    Keep();
    const std::string tables = TablesText();
    if (closed) {
      Must(db_->Close());
      Keep();
    }
    WitnessedBytes(tables);
    if (!closed) {
      Tail();
      Keep();
    }
    subject_->files = snapshots_.back();
    for (size_t i = 0; i + 1 < snapshots_.size(); ++i) {
      for (const auto& [name, bytes] : snapshots_[i]) AddStale(name, bytes);
    }
  }

 private:
  static std::string Key(int i) { return NumberedKey(static_cast<uint64_t>(i)); }
  // Half of it repeats, so that codecs find something.
  std::string Text(size_t bytes, char kind) {
    std::string text(bytes, kind);
    for (size_t i = 0; i < std::min<size_t>(bytes / 2, 200); ++i)
      text[i] = static_cast<char>('a' + random_.Uniform(26));
    return text;
  }

  void MakeFamily(std::string_view name) {
    auto family = db_->CreateColumnFamily(name, OptionsOf(name));
    Must(family.status());
    families_[std::string(name)] = *family;
    subject_->families[std::string(name)] = {};
  }
  void Put(const std::string& family, const std::string& key, const std::string& value) {
    Must(db_->Put(*families_[family], key, value));
    subject_->families[family][key] = value;
    subject_->history[family][key].insert(value);
  }
  void Delete(const std::string& family, const std::string& key) {
    Must(db_->Delete(*families_[family], key));
    subject_->families[family].erase(key);
  }

  void LevelsAndDeletions() {
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 200; ++i) Put("default", Key(i), Text(50, 'd'));
      Must(db_->Flush());
    }
    Must(db_->CompactRange());
    for (int round = 0; round < 5; ++round) {
      for (int i = round; i < 200; i += 7) Put("default", Key(i), Text(40, 'e'));
      for (int i = round; i < 200; i += 31) Delete("default", Key(i));
      Must(db_->Flush());
      Must(db_->WaitForBackgroundWork());
    }
  }

  void Versions() {
    std::vector<std::shared_ptr<const Snapshot>> snapshots;
    Put("versions", "a", "first");
    for (int i = 0; i < 80; ++i) {
      Put("versions", "key", Text(60, 'v'));
      snapshots.push_back(db_->GetSnapshot());
    }
    Put("versions", "z", "last");
    Must(db_->Flush(*families_["versions"]));
  }

  // In several files. Of the first some are overwritten, in tables of two levels.
  void Values() {
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 12; i += 1 + round) Put("values", Key(i), Text(static_cast<size_t>(50 + 10 * i), 'V'));
      Must(db_->Flush(*families_["values"]));
    }
    Delete("values", Key(4));
    for (int i = 20; i < 40; ++i) Put("values", Key(i), Text(static_cast<size_t>(40 + 5 * i), 'W'));
    for (int i = 0; i < 20; ++i) Put("packed", Key(i), Text(static_cast<size_t>(64 + 20 * i), 'P'));
    Must(db_->Flush(*families_["packed"]));
    Must(db_->Flush(*families_["values"]));
  }

  void KeepOldManifests() { files_.Inject({.op = FileOp::kRemove, .name_contains = "MANIFEST", .sticky = true}); }
  size_t Manifests() {
    size_t count = 0;
    for (const std::string& name : FilesIn(&memory_, kDirectory)) count += name.starts_with("MANIFEST") ? 1 : 0;
    return count;
  }
  void RollManifest() {
    const size_t before = Manifests();
    for (int i = 0; Manifests() < std::max<size_t>(before + 1, 2); ++i) {
      SEPAL_CHECK(i < 1000);
      Put("default", Key(200 + i % 3), Text(10, 'm'));
      Must(db_->Flush());
      Must(db_->WaitForBackgroundWork());
    }
  }

  // Updates in logs alone: the first is held by "logged", the second made when the default family was flushed.
  void Logs() {
    for (int i = 0; i < 20; ++i) Put("logged", Key(i), Text(20, 'l'));
    Put("logged", "fragments", Text(900, 'f'));
    Put("default", Key(300), Text(10, 'm'));
    Must(db_->Flush());
    subject_->earlier = subject_->families;
    MakeFamily("late");
    subject_->earlier["late"] = {};
    Keep();
    WriteBatch batch;
    for (int i = 0; i < 10; ++i) {
      const std::string value = Text(80, 'b');
      for (const char* name : {"logged", "late", "default"}) {
        batch.Put(*families_[name], Key(400 + i), value);
        subject_->families[name][Key(400 + i)] = value;
        subject_->history[name][Key(400 + i)].insert(value);
      }
    }
    Must(db_->Write(batch));
    for (int i = 30; i < 36; ++i) Put("values", Key(i), Text(150, 'X'));
    for (int i = 30; i < 34; ++i) Put("packed", Key(i), Text(300, 'Q'));
    Delete("logged", Key(3));
    Put("plain", Key(5), "newer");
    Must(db_->Sync());
  }

  // The first says that all before it was synced; nothing says so of it.
  void Tail() {
    for (int i = 0; i < 4; ++i) {
      subject_->tail.emplace_back("tail" + std::to_string(i), Text(30, 't'));
      subject_->history["default"][subject_->tail.back().first].insert(subject_->tail.back().second);
      Must(db_->Put(subject_->tail.back().first, subject_->tail.back().second));
    }
  }

  void Keep() {
    if (db_->GetProperty("sepal.last-sequence").has_value()) db_->WaitForBackgroundWork().IgnoreError();
    Files now;
    for (const std::string& name : FilesIn(&memory_, kDirectory)) {
      if (name != "LOCK") now[name] = *memory_.ReadFileContents(std::string(kDirectory) + "/" + name);
    }
    snapshots_.push_back(std::move(now));
  }
  std::string TablesText() {
    std::string text;
    for (const auto& [name, family] : families_) text += db_->GetProperty(*family, "sepal.sstables").value();
    return text;
  }
  // All tables and logs that matter, and the last manifest but for its last mark.
  void WitnessedBytes(const std::string& tables) {
    for (const auto& [name, bytes] : snapshots_.back()) {
      if (name.ends_with(".sst")) {
        if (tables.find("table " + name.substr(0, name.find('.'))) != std::string::npos) {
          subject_->witnessed_bytes[name] = bytes.size();
        }
      } else if (name.ends_with(".log")) {
        subject_->witnessed_bytes[name] = bytes.find_last_not_of('\0') + 1;
        subject_->newest_log = name;
      } else if (name.ends_with(".val")) {
        subject_->witnessed_bytes[name] =
            HoldsOverwritten(bytes) ? kValueFileHeaderBytes : bytes.find_last_not_of('\0') + 1;
      }
    }
    const auto manifest = std::prev(snapshots_.back().lower_bound("MANIFEST-999999"));
    SEPAL_CHECK(manifest->first.starts_with("MANIFEST"));
    subject_->newest_manifest = manifest->first;
    subject_->witnessed_bytes[manifest->first] =
        manifest->second.size() - kManifestRecordHeaderBytes - kManifestControlBytes;
  }
  // Whether the file has a value that its key no longer has.
  bool HoldsOverwritten(const std::string& file) const {
    const Contents& now = subject_->families.at("values");
    for (const auto& [key, values] : subject_->history.at("values")) {
      for (const std::string& value : values) {
        const auto it = now.find(key);
        if (it != now.end() && it->second == value) continue;
        if (file.find(value) != std::string::npos) return true;
      }
    }
    return false;
  }
  void AddStale(const std::string& name, const std::string& bytes) {
    const auto it = subject_->files.find(name);
    if (it != subject_->files.end() && it->second == bytes) return;
    const std::pair<std::string, std::string> entry(name, bytes);
    if (std::find(subject_->stale.begin(), subject_->stale.end(), entry) == subject_->stale.end()) {
      subject_->stale.push_back(entry);
    }
  }

  Subject* const subject_;
  MemoryFileSystem memory_;
  FaultFileSystem files_;
  SimulatedWorld world_{SimulationOptions{.seed = 6}};
  Random random_{11};
  std::map<std::string, std::shared_ptr<ColumnFamily>> families_;
  std::vector<Files> snapshots_;
  std::unique_ptr<DB> db_;
};

}  // namespace

Options Subject::MakeOptions(FileSystem* file_system) const {
  Options options;
  options.memory_limit = size_t{8} << 20;
  options.info_log = false;
  // The cache is made for blocks of this size; smaller ones would only make it slower to set up.
  options.family.block_bytes = 16 << 10;
  options.env.file_system = file_system;
  options.env.random_seed = 3;
  for (const auto& [family, contents] : families) {
    options.column_families.push_back({family, OptionsOf(family)});
  }
  return options;
}

void Subject::Install(MemoryFileSystem* memory, const std::map<std::string, const std::string*>& changed) const {
  const auto write = [&](const std::string& file, const std::string& bytes) {
    Must(memory->WriteFileContents(std::string(kDirectory) + "/" + file, bytes));
  };
  for (const auto& [file, bytes] : files) {
    if (!changed.contains(file)) write(file, bytes);
  }
  for (const auto& [file, bytes] : changed) {
    if (bytes != nullptr) write(file, *bytes);
  }
}

uint64_t Subject::Bytes() const {
  uint64_t bytes = 0;
  for (const auto& [file, contents] : files) bytes += contents.size();
  return bytes;
}

Subject MakeSubject(SubjectKind kind) {
  Subject subject;
  const bool closed = kind == SubjectKind::kClosed;
  subject.has_ring = kind == SubjectKind::kKilledWithRing;
  subject.name = closed ? "closed" : subject.has_ring ? "killed-with-ring" : "killed";
  Builder(&subject, kind != SubjectKind::kKilled).Build(closed);
  return subject;
}

}  // namespace sepal::corruption

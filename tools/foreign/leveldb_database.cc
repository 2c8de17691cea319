#include <dlfcn.h>
#include <leveldb/cache.h>
#include <leveldb/comparator.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/write_batch.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "absl/strings/str_format.h"
#include "tools/foreign/foreign_database.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/thread/sync.h"

namespace sepal::tools {
namespace {

std::string_view View(const leveldb::Slice& slice) { return {slice.data(), slice.size()}; }
leveldb::Slice LevelSlice(std::string_view view) { return {view.data(), view.size()}; }

absl::Status FromLevelDb(const leveldb::Status& status) {
  if (status.ok()) return absl::OkStatus();
  if (status.IsCorruption()) return absl::DataLossError("LevelDB says: " + status.ToString());
  const std::string text = "LevelDB says: " + status.ToString();
  // Its statuses have no code for a full disk.
  if (status.IsIOError() && text.find(std::strerror(ENOSPC)) != text.npos) return absl::ResourceExhaustedError(text);
  return absl::InternalError(text);
}

// LevelDB cannot open a database read-only. With this it seems to write to `source`: its writes go to `scratch`, where
// it finds them again, and files that it removes are only hidden.
class OverlayEnv final : public leveldb::EnvWrapper {
 public:
  OverlayEnv(std::string source, std::string scratch)
      : EnvWrapper(leveldb::Env::Default()), source_(std::move(source)), scratch_(std::move(scratch)) {}

  leveldb::Status NewSequentialFile(const std::string& path, leveldb::SequentialFile** file) override {
    return target()->NewSequentialFile(Where(path), file);
  }
  leveldb::Status NewRandomAccessFile(const std::string& path, leveldb::RandomAccessFile** file) override {
    return target()->NewRandomAccessFile(Where(path), file);
  }
  leveldb::Status NewWritableFile(const std::string& path, leveldb::WritableFile** file) override {
    Reveal(path);
    return target()->NewWritableFile(Scratch(path), file);
  }
  // Only asked for with `reuse_logs`, which is off.
  leveldb::Status NewAppendableFile(const std::string& path, leveldb::WritableFile**) override {
    return leveldb::Status::NotSupported(path);
  }
  leveldb::Status NewLogger(const std::string& path, leveldb::Logger** logger) override {
    return target()->NewLogger(Scratch(path), logger);
  }
  bool FileExists(const std::string& path) override {
    return target()->FileExists(Scratch(path)) || (!Hidden(path) && target()->FileExists(path));
  }
  leveldb::Status GetChildren(const std::string& directory, std::vector<std::string>* names) override {
    std::vector<std::string> below, above;
    leveldb::Status status = target()->GetChildren(directory, &below);
    if (status.ok()) status = target()->GetChildren(scratch_, &above);
    std::set<std::string> all(above.begin(), above.end());
    for (const std::string& name : below) {
      if (!Hidden(source_ + "/" + name)) all.insert(name);
    }
    names->assign(all.begin(), all.end());
    return status;
  }
  leveldb::Status RemoveFile(const std::string& path) override {
    Hide(path);
    return target()->FileExists(Scratch(path)) ? target()->RemoveFile(Scratch(path)) : leveldb::Status::OK();
  }
  leveldb::Status CreateDir(const std::string&) override { return target()->CreateDir(scratch_); }
  leveldb::Status RemoveDir(const std::string&) override { return leveldb::Status::OK(); }
  leveldb::Status GetFileSize(const std::string& path, uint64_t* size) override {
    return target()->GetFileSize(Where(path), size);
  }
  leveldb::Status RenameFile(const std::string& from, const std::string& to) override {
    if (!target()->FileExists(Scratch(from))) {
      // The old LOG, of which there is no copy.
      Hide(from);
      return leveldb::Status::OK();
    }
    Hide(from);
    Reveal(to);
    return target()->RenameFile(Scratch(from), Scratch(to));
  }
  // The real lock, so that no other process writes meanwhile. If it cannot be taken because there is no file or no
  // permission to write, a writer could not take it either.
  leveldb::Status LockFile(const std::string& path, leveldb::FileLock** lock) override {
    return target()->LockFile(access(path.c_str(), W_OK) == 0 ? path : Scratch(path), lock);
  }

 private:
  std::string Scratch(const std::string& path) const {
    return path.starts_with(source_) ? scratch_ + path.substr(source_.size()) : path;
  }
  std::string Where(const std::string& path) {
    std::string above = Scratch(path);
    if (target()->FileExists(above)) return above;
    return Hidden(path) ? above : path;
  }
  bool Hidden(const std::string& path) {
    MutexLock lock(&mutex_);
    return hidden_.contains(path);
  }
  void Hide(const std::string& path) {
    MutexLock lock(&mutex_);
    hidden_.insert(path);
  }
  void Reveal(const std::string& path) {
    MutexLock lock(&mutex_);
    hidden_.erase(path);
  }

  const std::string source_, scratch_;
  Mutex mutex_;
  std::set<std::string> hidden_ ABSL_GUARDED_BY(mutex_);
};

class LevelDbCursor final : public ForeignCursor {
 public:
  explicit LevelDbCursor(leveldb::Iterator* iterator) : iterator_(iterator) { iterator_->SeekToFirst(); }
  bool Valid() const override { return iterator_->Valid(); }
  void Next() override { iterator_->Next(); }
  std::string_view key() const override { return View(iterator_->key()); }
  std::string_view value() const override { return View(iterator_->value()); }
  absl::Status status() const override { return FromLevelDb(iterator_->status()); }

 private:
  const std::unique_ptr<leveldb::Iterator> iterator_;
};

class LevelDb final : public ForeignDatabase {
 public:
  LevelDb(const std::string& path, const std::string& scratch) : env_(path, scratch) {}

  absl::Status Open(const std::string& path) {
    leveldb::Options options;
    options.env = &env_;
    options.paranoid_checks = true;
    leveldb::DB* opened = nullptr;
    const leveldb::Status status = leveldb::DB::Open(options, path, &opened);
    db_.reset(opened);
    return FromLevelDb(status);
  }

  const std::vector<std::string>& column_families() const override { return families_; }
  std::unique_ptr<ForeignCursor> NewCursor(size_t) override {
    leveldb::ReadOptions options;
    options.verify_checksums = true;
    options.fill_cache = false;
    return std::make_unique<LevelDbCursor>(db_->NewIterator(options));
  }
  uint64_t BytesBefore(size_t, std::string_view key) override {
    const leveldb::Range range("", LevelSlice(key));
    uint64_t bytes = 0;
    db_->GetApproximateSizes(&range, 1, &bytes);
    return bytes;
  }

 private:
  OverlayEnv env_;
  std::unique_ptr<leveldb::DB> db_;
  const std::vector<std::string> families_ = {"default"};
};

class LevelDbWriter final : public ForeignWriter {
 public:
  absl::Status Create(const std::string& path) {
    leveldb::Options options;
    options.create_if_missing = true;
    options.error_if_exists = true;
    leveldb::DB* opened = nullptr;
    const leveldb::Status status = leveldb::DB::Open(options, path, &opened);
    db_.reset(opened);
    return FromLevelDb(status);
  }

  absl::Status Put(std::string_view key, std::string_view value) override {
    batch_.Put(LevelSlice(key), LevelSlice(value));
    return batch_.ApproximateSize() < kBatchBytes ? absl::OkStatus() : Write(/*sync=*/false);
  }
  // Its compaction of a range, even of an empty one, waits until the memtable is in a synced table; it returns no
  // error, but the next write does.
  absl::Status Finish() override {
    RETURN_IF_ERROR(Write(/*sync=*/false));
    const leveldb::Slice first;
    db_->CompactRange(&first, &first);
    RETURN_IF_ERROR(Write(/*sync=*/true));
    db_.reset();
    return absl::OkStatus();
  }

 private:
  static constexpr size_t kBatchBytes = size_t{256} << 10;

  absl::Status Write(bool sync) {
    leveldb::WriteOptions options;
    options.sync = sync;
    const leveldb::Status status = db_->Write(options, &batch_);
    batch_.Clear();
    return FromLevelDb(status);
  }

  std::unique_ptr<leveldb::DB> db_;
  leveldb::WriteBatch batch_;
};

// The loaded library may be Sepal's own (`sepal run`), which cannot read LevelDB's databases.
absl::Status CheckTrueLevelDb() {
  Dl_info library = {};
  void* const function = ::dlsym(RTLD_DEFAULT, "leveldb_open");
  if (function == nullptr || ::dladdr(function, &library) == 0 || library.dli_fname == nullptr) return absl::OkStatus();
  if (std::string_view(library.dli_fname).find("/sepal/leveldb/") == std::string_view::npos) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("this needs LevelDB itself, and %s is Sepal's: unset LD_LIBRARY_PATH, and do not use sepal run",
                      library.dli_fname));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ForeignDatabase>> OpenLevelDb(const ForeignPlace& place) {
  RETURN_IF_ERROR(CheckTrueLevelDb());
  const leveldb::Status made = leveldb::Env::Default()->CreateDir(place.scratch);
  if (!made.ok()) return FromLevelDb(made);
  auto database = std::make_unique<LevelDb>(place.directory, place.scratch);
  if (absl::Status opened = database->Open(place.directory); !opened.ok()) return opened;
  return database;
}

absl::StatusOr<std::unique_ptr<ForeignWriter>> CreateLevelDb(const std::string& directory) {
  RETURN_IF_ERROR(CheckTrueLevelDb());
  auto writer = std::make_unique<LevelDbWriter>();
  RETURN_IF_ERROR(writer->Create(directory));
  return writer;
}

absl::Status DestroyLevelDb(const std::string& directory) {
  RETURN_IF_ERROR(CheckTrueLevelDb());
  const leveldb::Status status = leveldb::DestroyDB(directory, leveldb::Options());
  // The text is the only sign of a lock.
  if (status.IsIOError() && status.ToString().find("lock ") != std::string::npos) {
    return absl::UnavailableError("LevelDB says: " + status.ToString());
  }
  return FromLevelDb(status);
}

}  // namespace sepal::tools

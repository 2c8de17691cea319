#include <rocksdb/comparator.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/options_util.h>
#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/version.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "tools/foreign/foreign_database.h"
#include "tools/foreign/rocksdb_options.h"
#include "tools/terminal/utf8.h"
#include "util/base/coding.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/thread/sync.h"

namespace sepal::tools {
namespace {

namespace fs = std::filesystem;

std::string_view View(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }
rocksdb::Slice RockSlice(std::string_view view) { return {view.data(), view.size()}; }

absl::Status FromRocksDb(const rocksdb::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string text = status.ToString();
  // RocksDB reports a missing table as corruption.
  if (text.find("No such file") != text.npos) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "RocksDB says: %s; if the database has tables in other directories (db_paths, cf_paths), name them with "
        "--db-path; if not, it is damaged",
        text));
  }
  if (status.IsCorruption()) return absl::DataLossError("RocksDB says: " + text);
  return absl::InternalError("RocksDB says: " + text);
}

// Without it, RocksDB begins a LOG in the source.
class SilentLogger final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

// Searches the other directories for a table that is not where RocksDB expects it. The number in its name is unique in
// the whole database.
class SearchedFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit SearchedFileSystem(std::vector<std::string> directories)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), directories_(std::move(directories)) {}

  const char* Name() const override { return "SearchedFileSystem"; }
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* context) override {
    return target()->NewRandomAccessFile(Where(path), options, file, context);
  }
  rocksdb::IOStatus GetFileSize(const std::string& path, const rocksdb::IOOptions& options, uint64_t* size,
                                rocksdb::IODebugContext* context) override {
    return target()->GetFileSize(Where(path), options, size, context);
  }
  rocksdb::IOStatus FileExists(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override {
    return target()->FileExists(Where(path), options, context);
  }

 private:
  std::string Where(const std::string& path) const {
    std::error_code error;
    if (fs::exists(path, error)) return path;
    for (const std::string& directory : directories_) {
      const fs::path there = fs::path(directory) / fs::path(path).filename();
      if (fs::exists(there, error)) return there;
    }
    return path;
  }

  const std::vector<std::string> directories_;
};

bool HoldsLogs(const std::string& directory) {
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".log") return true;
  }
  return false;
}

// The directory of the logs. Its OPTIONS file has `recorded`, empty where the logs lie beside the tables; it may be of
// the place from which the database was moved.
absl::StatusOr<std::string> WalDirectory(const ForeignPlace& place, const std::string& recorded) {
  std::error_code error;
  if (!place.wal_directory.empty()) {
    if (fs::is_directory(place.wal_directory, error)) return place.wal_directory;
    return absl::NotFoundError(absl::StrFormat("--wal-dir %s is no directory", place.wal_directory));
  }
  if (recorded.empty() || fs::equivalent(recorded, place.directory, error)) return place.directory;
  const bool here = HoldsLogs(place.directory), there = HoldsLogs(recorded);
  if (here != there) return here ? place.directory : recorded;
  return absl::FailedPreconditionError(
      here ? absl::StrFormat("both %s and the wal_dir of its OPTIONS file, %s, hold write-ahead logs; name the "
                             "directory of its logs with --wal-dir",
                             place.directory, recorded)
           : absl::StrFormat("its OPTIONS file says that its write-ahead logs are in wal_dir %s, where there are none "
                             "(is the volume mounted?); name the directory of its logs with --wal-dir, or %s if it "
                             "has none",
                             recorded, place.directory));
}

// Applies an operator of Sepal's to RocksDB's operands. Keeps the reason of a failed merge for the reader.
class SepalOperator final : public rocksdb::MergeOperator {
 public:
  explicit SepalOperator(std::shared_ptr<const sepal::MergeOperator> does) : does_(std::move(does)) {}

  const char* Name() const override { return "SepalOperator"; }
  bool FullMergeV2(const MergeOperationInput& in, MergeOperationOutput* out) const override {
    std::optional<std::string_view> base;
    if (in.existing_value != nullptr) base = View(*in.existing_value);
    std::vector<std::string_view> operands;
    for (const rocksdb::Slice& operand : in.operand_list) operands.push_back(View(operand));
    const absl::Status merged = does_->Merge(View(in.key), base, operands, &out->new_value);
    if (merged.ok()) return true;
    MutexLock lock(&mutex_);
    KeepFirst(&failure_, merged);
    return false;
  }
  absl::Status failure() const {
    MutexLock lock(&mutex_);
    return failure_;
  }
  std::string_view operator_name() const { return does_->Name(); }

 private:
  const std::shared_ptr<const sepal::MergeOperator> does_;
  mutable Mutex mutex_;
  mutable absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

// How one column family is read.
struct FamilyReading {
  std::string name;
  rocksdb::ColumnFamilyOptions options;
  std::string merge_operator;                    // its name, if only the database's program has it
  std::shared_ptr<const SepalOperator> instead;  // null: none was given
  bool with_ttl = false;                         // DBWithTTL puts the time of writing behind each value
  int64_t ttl_seconds = 0;                       // then; 0: for ever
};

// The time of writing: seconds since 1970.
constexpr size_t kTtlBytes = 4;

class RocksDbCursor final : public ForeignCursor {
 public:
  RocksDbCursor(rocksdb::Iterator* iterator, const FamilyReading& family) : iterator_(iterator), family_(family) {
    iterator_->SeekToFirst();
    Look();
  }
  bool Valid() const override { return refused_.ok() && iterator_->Valid(); }
  void Next() override {
    last_key_ = key();
    iterator_->Next();
    Look();
  }
  std::string_view key() const override { return View(iterator_->key()); }
  std::string_view value() const override {
    const std::string_view value = View(iterator_->value());
    return family_.with_ttl ? value.substr(0, value.size() - kTtlBytes) : value;
  }
  std::optional<int64_t> ExpiresAtMillis() const override {
    if (!family_.with_ttl || family_.ttl_seconds == 0) return std::nullopt;
    const std::string_view value = View(iterator_->value());
    const auto written = static_cast<int32_t>(DecodeFixed32(value.data() + value.size() - kTtlBytes));
    return (written + family_.ttl_seconds) * 1000;
  }
  absl::Status status() const override {
    RETURN_IF_ERROR(refused_);
    const absl::Status status = FromRocksDb(iterator_->status());
    if (!status.ok() && family_.instead != nullptr && !family_.instead->failure().ok()) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "column family %s, the first key after '%s': %s cannot make its value: %s", family_.name,
          Escaped(last_key_, 40), family_.instead->operator_name(), family_.instead->failure().message()));
    }
    if (status.ok() || ToStd(status.message()).find("merge_operator") == std::string_view::npos) return status;
    return absl::FailedPreconditionError(absl::StrFormat(
        "column family %s, the first key after '%s': its value is made of merge operands, which only a program with "
        "the merge operator %s can read; if one of Sepal's does the same, name it with --merge-operator; else compact "
        "or rewrite such keys there first",
        family_.name, Escaped(last_key_, 40), family_.merge_operator));
  }

 private:
  // Refuses data that could only be read in part.
  void Look() {
    if (!iterator_->Valid()) return;
    const auto refuse = [&](const char* what) {
      refused_ = absl::FailedPreconditionError(
          absl::StrFormat("column family %s, key '%s': %s", family_.name, Escaped(key(), 40), what));
    };
#if ROCKSDB_MAJOR > 7 || (ROCKSDB_MAJOR == 7 && ROCKSDB_MINOR >= 8)
    const rocksdb::WideColumns& columns = iterator_->columns();
    if (columns.size() != 1 || columns.front().name() != rocksdb::kDefaultWideColumnName) {
      return refuse("it is a wide-column entity (PutEntity), which Sepal does not support");
    }
#endif
    if (family_.with_ttl && iterator_->value().size() < kTtlBytes) refuse("a value of DBWithTTL without its time");
  }

  const std::unique_ptr<rocksdb::Iterator> iterator_;
  const FamilyReading& family_;
  std::string last_key_;
  absl::Status refused_;
};

class RocksDb final : public ForeignDatabase {
 public:
  ~RocksDb() override {
    for (rocksdb::ColumnFamilyHandle* handle : handles_) db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }

  absl::Status Open(const ForeignPlace& place) {
    if (!place.table_directories.empty()) {
      env_ = rocksdb::NewCompositeEnv(std::make_shared<SearchedFileSystem>(place.table_directories));
    }
    rocksdb::DBOptions recorded, options;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    RETURN_IF_ERROR(ReadOptions(place, &recorded, &families));
    if (env_ != nullptr) options.env = env_.get();
    options.info_log = std::make_shared<SilentLogger>();
    // More than a merge of all files needs at a time; RocksDB reopens the others.
    options.max_open_files = 512;
    options.allow_mmap_reads = recorded.allow_mmap_reads;  // PlainTable needs it
    // Without it, RocksDB ends the process at a prepared transaction.
    options.allow_2pc = true;
    // By default RocksDB silently drops the rest of a log behind damage. Logs that are written over old ones end in
    // bytes that look like damage.
    if (recorded.recycle_log_file_num == 0) {
      options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
    }
    ASSIGN_OR_RETURN(options.wal_dir, WalDirectory(place, recorded.wal_dir));
    if (options.wal_dir != place.directory) notes_.push_back("its write-ahead logs are read from " + options.wal_dir);
    rocksdb::DB* opened = nullptr;
    const rocksdb::Status status = rocksdb::DB::OpenForReadOnly(options, place.directory, families, &handles_, &opened);
    db_.reset(opened);
    // Logs with operands cannot be read at all.
    if (!status.ok() && status.ToString().find("merge_operator") != std::string::npos) return UnknownOperator();
    RETURN_IF_ERROR(FromRocksDb(status));
    return recorded.allow_2pc ? FindPrepared() : absl::OkStatus();
  }

  const std::vector<std::string>& column_families() const override { return names_; }
  std::unique_ptr<ForeignCursor> NewCursor(size_t family) override {
    rocksdb::ReadOptions options;
    options.verify_checksums = true;
    options.fill_cache = false;
    options.total_order_seek = true;
    return std::make_unique<RocksDbCursor>(db_->NewIterator(options, handles_[family]), families_[family]);
  }
  uint64_t BytesBefore(size_t family, std::string_view key) override {
    const rocksdb::Range range("", RockSlice(key));
    uint64_t bytes = 0;
    db_->GetApproximateSizes(handles_[family], &range, 1, &bytes);
    return bytes;
  }
  std::vector<std::string> Notes() const override { return notes_; }
  std::vector<std::string> PreparedTransactions() const override { return prepared_; }

 private:
  // Fills `descriptors`, for opening, and families_.
  absl::Status ReadOptions(const ForeignPlace& place, rocksdb::DBOptions* recorded,
                           std::vector<rocksdb::ColumnFamilyDescriptor>* descriptors) {
    const std::string& path = place.directory;
    RETURN_IF_ERROR(FromRocksDb(rocksdb::DB::ListColumnFamilies(rocksdb::DBOptions(), path, &names_)));
    rocksdb::ConfigOptions config;
    config.ignore_unknown_options = true;
    config.ignore_unsupported_options = true;
    std::string file;
    std::vector<rocksdb::ColumnFamilyDescriptor> known;
    rocksdb::Status loaded = rocksdb::GetLatestOptionsFileName(path, rocksdb::Env::Default(), &file);
    if (loaded.ok()) loaded = rocksdb::LoadOptionsFromFile(config, path + "/" + file, recorded, &known);
    if (!loaded.ok() && !loaded.IsNotFound()) {
      return absl::FailedPreconditionError("its OPTIONS file cannot be read, RocksDB says: " + loaded.ToString());
    }
    if (!loaded.ok() && place.wal_directory.empty() && !HoldsLogs(path)) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "it has neither an OPTIONS file, which would say where its write-ahead logs are, nor logs; name their "
          "directory with --wal-dir, or %s if there are none",
          path));
    }
    std::ostringstream text;
    if (loaded.ok()) text << std::ifstream(path + "/" + file, std::ios::binary).rdbuf();
    std::map<std::string, RocksDbSettings> settings = RocksDbFamilySettings(text.str());
    for (const std::string& name : names_) {
      rocksdb::ColumnFamilyOptions options;
      for (const rocksdb::ColumnFamilyDescriptor& one : known) {
        if (one.name == name) options = one.options;
      }
      ASSIGN_OR_RETURN(FamilyReading family, HowToRead(place, name, options, settings[name]));
      descriptors->emplace_back(name, family.options);
      families_.push_back(std::move(family));
    }
    for (const auto& [name, given] : place.merge_operators) {
      if (std::find(names_.begin(), names_.end(), name) != names_.end()) continue;
      return absl::NotFoundError(absl::StrFormat("--merge-operator: there is no column family %s", name));
    }
    return absl::OkStatus();
  }

  // Takes from the recorded options only those for reading: others may name code that is not available.
  absl::StatusOr<FamilyReading> HowToRead(const ForeignPlace& place, const std::string& name,
                                          const rocksdb::ColumnFamilyOptions& recorded,
                                          const RocksDbSettings& settings) {
    FamilyReading family{
        .name = name, .options = {}, .merge_operator = RocksDbName(settings, "merge_operator"), .instead = nullptr};
    if (const std::string comparator = RocksDbName(settings, "comparator");
        !comparator.empty() && comparator != rocksdb::BytewiseComparator()->Name()) {
      return absl::FailedPreconditionError(
          absl::StrFormat("column family %s is ordered by the comparator %s; only bytewise order (%s) can be imported",
                          name, comparator, rocksdb::BytewiseComparator()->Name()));
    }
    if (const std::string format = RocksDbName(settings, "table_factory");
        !format.empty() && (recorded.table_factory == nullptr || recorded.table_factory->Name() != format)) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "column family %s has tables of the format %s, which the installed RocksDB library does not read", name,
          format));
    }
    if (recorded.table_factory != nullptr &&
        std::string_view(recorded.table_factory->Name()) != rocksdb::TableFactory::kBlockBasedTableName()) {
      family.options.table_factory = recorded.table_factory;
    }
    family.options.merge_operator = recorded.merge_operator;
    family.options.prefix_extractor = recorded.prefix_extractor;
    ReadTtl(place, settings, &family);
    if (const auto given = place.merge_operators.find(name); given != place.merge_operators.end()) {
      if (family.with_ttl) {
        return absl::FailedPreconditionError(absl::StrFormat(
            "--merge-operator: column family %s was written by DBWithTTL, whose operands carry times", name));
      }
      const auto instead = std::make_shared<SepalOperator>(given->second);
      family.options.merge_operator = instead;
      family.instead = instead;
    }
    return family;
  }

  void ReadTtl(const ForeignPlace& place, const RocksDbSettings& settings, FamilyReading* family) {
    constexpr char kFactory[] = "compaction_filter_factory";
    family->with_ttl = RocksDbName(settings, kFactory) == "TtlCompactionFilterFactory" ||
                       RocksDbName(settings, "compaction_filter") == "TtlCompactionFilter";
    if (!family->with_ttl) return;
    int64_t recorded = 0;
    if (!absl::SimpleAtoi(RocksDbSettingOf(settings, kFactory, "ttl"), &recorded)) recorded = 0;
    family->ttl_seconds = static_cast<int64_t>(place.ttl_seconds.value_or(std::max<int64_t>(recorded, 0)));
    notes_.push_back(
        family->ttl_seconds == 0
            ? absl::StrFormat("column family %s was written by DBWithTTL: its values come over without their times, "
                              "and do not expire; --ttl gives a time",
                              family->name)
            : absl::StrFormat("column family %s was written by DBWithTTL: its values expire %d s after they were "
                              "written, and those that have expired are left out; --ttl 0 keeps all for good",
                              family->name, family->ttl_seconds));
  }

  absl::Status UnknownOperator() const {
    std::string names;
    for (const FamilyReading& family : families_) {
      if (!family.merge_operator.empty()) names += " " + family.merge_operator;
    }
    return absl::FailedPreconditionError(absl::StrFormat(
        "its log holds merge operands, which only a program with the merge operator%s can read; if one of Sepal's does "
        "the same, name it with --merge-operator; else flush and compact the database there first",
        names));
  }

  absl::Status FindPrepared() {
    rocksdb::TransactionDB* wrapped = nullptr;
    // A failure leaves open whether the database was deleted: it is not used again.
    rocksdb::DB* const plain = db_.release();
    const rocksdb::Status status = rocksdb::TransactionDB::WrapDB(plain, {}, {}, handles_, &wrapped);
    if (!status.ok()) {
      handles_.clear();
      return FromRocksDb(status);
    }
    db_.reset(wrapped);
    std::vector<rocksdb::Transaction*> transactions;
    wrapped->GetAllPreparedTransactions(&transactions);
    for (const rocksdb::Transaction* transaction : transactions) {
      prepared_.push_back(transaction->GetName());
      delete transaction;
    }
    return absl::OkStatus();
  }

  std::vector<std::string> names_, notes_, prepared_;
  std::vector<FamilyReading> families_;
  std::unique_ptr<rocksdb::Env> env_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ForeignDatabase>> OpenRocksDb(const ForeignPlace& place) {
  auto database = std::make_unique<RocksDb>();
  if (absl::Status opened = database->Open(place); !opened.ok()) return opened;
  return database;
}

}  // namespace sepal::tools

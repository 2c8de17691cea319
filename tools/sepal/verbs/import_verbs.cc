// sepal import: the contents of another engine's database, as a new one.
//
// It is written in DIR.part (tools/sepal/new_part.h).
#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "absl/strings/str_format.h"
#include "db/act/files/guard.h"
#include "db/format/file_names.h"
#include "tools/foreign/foreign_database.h"
#include "tools/sepal/database_access.h"
#include "tools/sepal/expiring_entries.h"
#include "tools/sepal/new_part.h"
#include "tools/sepal/new_place.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/latency.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBatchBytes = size_t{512} << 10;
// Of the memory limit: however small its entries are, a batch takes less than a quarter of it.
constexpr uint64_t kBatchPart = 128;
// In DIR.part: what LevelDB writes at opening.
constexpr char kScratch[] = "source";

// The places are of no use where the engines' libraries were not there at build time.
absl::StatusOr<std::unique_ptr<ForeignDatabase>> OpenForeign(const std::string& engine,
                                                             [[maybe_unused]] const ForeignPlace& place) {
#ifdef SEPAL_WITH_LEVELDB
  if (engine == "leveldb") return OpenLevelDb(place);
#endif
#ifdef SEPAL_WITH_ROCKSDB
  if (engine == "rocksdb") return OpenRocksDb(place);
#endif
  return absl::UnimplementedError(
      absl::StrFormat("this sepal was built without %s: install lib%s-dev and build it again", engine, engine));
}

bool HasWholeGuard(const std::string& path) {
  const auto directory = FileSystem::Posix()->OpenDirectory(path, /*create=*/false);
  if (!directory.ok()) return false;
  const absl::StatusOr<GuardState> guard = ReadGuard(directory->get());
  return guard.ok() && *guard == GuardState::kWhole;
}

// The engine of the database in `path`, by its files.
absl::StatusOr<std::string> EngineOf(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    return absl::NotFoundError(
        absl::StrFormat("%s does not exist; the new directory comes first: sepal import NEW SOURCE", path));
  }
  if (fs::exists(fs::path(path) / kGuardFileName, error) ? HasWholeGuard(path) : HoldsDatabase(path)) {
    return absl::NotFoundError(
        absl::StrFormat("%s holds no LevelDB or RocksDB database: it is a database of Sepal's, which db restore and "
                        "db checkpoint copy",
                        path));
  }
  if (!fs::exists(fs::path(path) / kGuardFileName, error)) {
    return absl::NotFoundError(
        absl::StrFormat("%s holds no LevelDB or RocksDB database (there is no file CURRENT); the new directory comes "
                        "first: sepal import NEW SOURCE",
                        path));
  }
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    const std::string file = it->path().filename();
    if (file == "IDENTITY" || file.starts_with("OPTIONS-")) return "rocksdb";
  }
  return "leveldb";
}

// What an import that was interrupted has left.
absl::Status RemoveImport(const std::string& part) {
  RETURN_IF_ERROR(DB::Destroy(Options(), part));
  std::error_code error;
  fs::remove_all(fs::path(part) / kScratch, error);
  return absl::OkStatus();
}

std::optional<ExpiryTime> ExpiryOf(const ForeignCursor& cursor) {
  const std::optional<int64_t> millis = cursor.ExpiresAtMillis();
  if (!millis.has_value()) return std::nullopt;
  return ExpiryTime(std::chrono::milliseconds(*millis));
}

class ImportVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    app->add_option("DIR", directory_, "The new database: a new or empty directory")->required();
    app->add_option("SOURCE", source_.directory, "The directory of the other engine's database; it is not changed")
        ->required();
    app->add_option("--from", engine_, "The other engine (default: found by the files in SOURCE)")
        ->check(CLI::IsMember({"leveldb", "rocksdb"}));
    app->add_option("--wal-dir", source_.wal_directory,
                    "RocksDB: the directory of its write-ahead logs (default: as its OPTIONS file says)");
    AddList(app, "--db-path", &source_.table_directories,
            "RocksDB: more directories that hold its tables (db_paths, cf_paths)");
    app->add_option("--merge-operator", merge_operators_,
                    "RocksDB: [FAMILY=]NAME, an operator of Sepal's that does what the family's own does, and that the "
                    "new family gets (sepal.Add64, sepal.Append:SEPARATOR, sepal.Max, sepal.Min, "
                    "sepal.JsonMergePatch); once for each family")
        ->allow_extra_args(false);
    ttl_flag_ = AddSeconds(app, "--ttl", &ttl_seconds_,
                           "RocksDB: values of DBWithTTL expire so long after they were written, 0: never (default: as "
                           "its OPTIONS file says)");
    app->add_flag("--compare", compare_, "Read both databases again at the end, and compare every entry");
    AddMemoryLimit(app, &memory_limit_);
  }

  absl::Status Run(const Streams& io) override {
    while (directory_.size() > 1 && directory_.back() == '/') directory_.pop_back();
    while (source_.directory.size() > 1 && source_.directory.back() == '/') source_.directory.pop_back();
    RETURN_IF_ERROR(CheckSource());
    RETURN_IF_ERROR(FindMergeOperators());
    if (ttl_flag_->count() > 0) source_.ttl_seconds = static_cast<uint64_t>(std::ceil(ttl_seconds_));
    const NewPart part(directory_, "import", RemoveImport);
    RETURN_IF_ERROR(part.CheckTarget(source_.directory));
    RETURN_IF_ERROR(part.Remove());
    const uint64_t began = NowNanos();
    absl::Status status = part.Begin();
    if (status.ok()) status = ImportInto(part.path(), io);
    if (status.ok()) status = part.Finish();
    for (const std::string& note : notes_) io.err << "note: " << source_.directory << ": " << note << "\n";
    for (const std::string& transaction : prepared_) {
      io.err << absl::StrFormat(
          "note: %s: transaction '%s' is prepared, but neither committed nor rolled back; what it wrote is not "
          "imported\n",
          source_.directory, Escaped(transaction));
    }
    if (!status.ok()) {
      const absl::Status removed = part.Remove();
      return SourceDamage(removed.ok() ? WithNothingLeft(status) : status);
    }
    Tell(io.out, static_cast<double>(NowNanos() - began) / 1e9);
    return absl::OkStatus();
  }

 private:
  absl::Status CheckSource() {
    ASSIGN_OR_RETURN(const std::string found, EngineOf(source_.directory));
    if (engine_.empty()) engine_ = found;
    if (engine_ != found) {
      return absl::FailedPreconditionError(
          absl::StrFormat("%s is a database of %s, not %s: use --from %s", source_.directory, found, engine_, found));
    }
    const bool any_for_rocksdb = !source_.wal_directory.empty() || !source_.table_directories.empty() ||
                                 !merge_operators_.empty() || ttl_flag_->count() > 0;
    if (engine_ == "rocksdb" || !any_for_rocksdb) return absl::OkStatus();
    return absl::CancelledError(
        "--wal-dir, --db-path, --merge-operator and --ttl are for RocksDB; LevelDB has all its files in one directory, "
        "and neither merges nor DBWithTTL");
  }

  // What --merge-operator says. The names of Sepal's operators tell where that of a family ends.
  absl::Status FindMergeOperators() {
    for (const std::string& given : merge_operators_) {
      const size_t family_end = given.find("=sepal.");
      const bool of_default = family_end == std::string::npos;
      const std::string wanted = of_default ? given : given.substr(family_end + 1);
      std::shared_ptr<const MergeOperator> found = MergeOperators::ByName(wanted);
      if (found == nullptr) {
        return absl::CancelledError(
            absl::StrFormat("--merge-operator: %s is none of Sepal's operators; these are sepal.Add64, "
                            "sepal.Append:SEPARATOR, sepal.Max, sepal.Min and sepal.JsonMergePatch",
                            wanted));
      }
      source_.merge_operators[of_default ? std::string(kDefaultColumnFamilyName) : given.substr(0, family_end)] =
          std::move(found);
    }
    return absl::OkStatus();
  }
  ColumnFamilyOptions OptionsOf(const std::string& family) const {
    ColumnFamilyOptions options;
    const auto given = source_.merge_operators.find(family);
    if (given != source_.merge_operators.end()) options.merge_operator = given->second;
    return options;
  }

  // Sepal repairs no other engine's database.
  absl::Status SourceDamage(const absl::Status& status) const {
    if (!absl::IsDataLoss(status)) return status;
    return absl::DataLossError(absl::StrFormat(
        "the source %s is damaged; restore it from a backup, or repair it with its own engine (%s), and import again: "
        "%s",
        source_.directory, engine_ == "rocksdb" ? "ldb repair" : "leveldb::RepairDB", ToStd(status.message())));
  }

  struct Family {
    std::string name;
    uint64_t entries = 0;
    uint64_t bytes = 0;    // of keys and values
    uint64_t expired = 0;  // left out
  };

  absl::Status ImportInto(const std::string& part, const Streams& io) {
    Options options;
    options.create_if_missing = true;
    options.error_if_exists = true;
    options.memory_limit = memory_limit_;
    options.family = OptionsOf(std::string(kDefaultColumnFamilyName));
    // Opened first: its lock keeps others from the directory.
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> target, DB::Open(options, part));
    source_.scratch = part + "/" + kScratch;
    {
      ASSIGN_OR_RETURN(const std::unique_ptr<ForeignDatabase> source, OpenForeign(engine_, source_));
      notes_ = source->Notes();
      prepared_ = source->PreparedTransactions();
      RETURN_IF_ERROR(ForEachFamily("imported bytes", source.get(), target.get(), io, &ImportVerb::Copy));
      if (compare_) {
        RETURN_IF_ERROR(ForEachFamily("compared bytes", source.get(), target.get(), io, &ImportVerb::Compare));
      }
    }
    RETURN_IF_ERROR(target->Close());
    std::error_code error;
    fs::remove_all(source_.scratch, error);
    return absl::OkStatus();
  }

  // A family that is being read; `at` tells how far that is.
  struct Reading {
    ForeignCursor* cursor;
    DB* target;
    ColumnFamily* family;
    std::function<void(std::string_view key)> at;
  };
  using Work = absl::Status (ImportVerb::*)(const Reading& reading, Family* counts);

  absl::Status ForEachFamily(const std::string& what, ForeignDatabase* source, DB* target, const Streams& io,
                             Work work) {
    families_.clear();
    const std::vector<std::string>& names = source->column_families();
    uint64_t total = 0, before = 0;
    for (size_t i = 0; i < names.size(); ++i) total += source->BytesInAll(i);
    Progress progress(what, total, io.err, StandardErrorIsTerminal());
    for (size_t i = 0; i < names.size(); ++i) {
      ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, FindOrMake(target, names[i]));
      families_.push_back({.name = names[i]});
      const std::unique_ptr<ForeignCursor> cursor = source->NewCursor(i);
      const Reading reading{
          cursor.get(), target, family.get(), [&](std::string_view key) {
            // Nothing is known of a database all of which is in its log.
            progress.Update(total == 0 ? BytesSoFar() : std::min(total, before + source->BytesBefore(i, key)));
          }};
      RETURN_IF_ERROR((this->*work)(reading, &families_.back()));
      RETURN_IF_ERROR(cursor->status());
      before += source->BytesInAll(i);
    }
    return absl::OkStatus();
  }

  uint64_t BytesSoFar() const {
    uint64_t bytes = 0;
    for (const Family& family : families_) bytes += family.bytes;
    return bytes;
  }

  absl::StatusOr<std::shared_ptr<ColumnFamily>> FindOrMake(DB* target, const std::string& family_name) const {
    absl::StatusOr<std::shared_ptr<ColumnFamily>> family = target->FindColumnFamily(family_name);
    return absl::IsNotFound(family.status()) ? target->CreateColumnFamily(family_name, OptionsOf(family_name))
                                             : std::move(family);
  }

  absl::Status Copy(const Reading& reading, Family* counts) {
    ForeignCursor* const cursor = reading.cursor;
    const size_t most_bytes = std::min<uint64_t>(kBatchBytes, memory_limit_ / kBatchPart);
    WriteBatch batch;
    for (; cursor->Valid(); cursor->Next()) {
      const std::string_view key = cursor->key(), value = cursor->value();
      const size_t bytes = key.size() + value.size();
      const std::optional<ExpiryTime> expires_at = ExpiryOf(*cursor);
      if (expires_at.has_value() && *expires_at <= Soon()) {
        ++counts->expired;
        continue;
      }
      if (key.size() > kMaxKeyBytes || value.size() > kMaxValueBytes) {
        return OfKey(*counts, key,
                     absl::StrFormat("a key of %d and a value of %d bytes; Sepal takes %d and %d", key.size(),
                                     value.size(), kMaxKeyBytes, kMaxValueBytes));
      }
      if (batch.Count() > 0 && batch.ByteSize() + bytes > most_bytes) {
        RETURN_IF_ERROR(reading.target->Write(batch));
        batch.Clear();
        reading.at(key);
      }
      if (bytes > most_bytes) {
        RETURN_IF_ERROR(PutLarge(reading, *counts, key, value, expires_at));
      } else if (expires_at.has_value()) {
        batch.Put(*reading.family, key, value, *expires_at);
      } else {
        batch.Put(*reading.family, key, value);
      }
      ++counts->entries;
      counts->bytes += bytes;
    }
    return reading.target->Write(batch);
  }

  // By itself, so that it is known whose fault it is.
  static absl::Status PutLarge(const Reading& reading, const Family& counts, std::string_view key,
                               std::string_view value, std::optional<ExpiryTime> expires_at) {
    const absl::Status put =
        WithMemoryRemedy(reading.target->Put(*reading.family, key, value, {.expires_at = expires_at}));
    return absl::IsInvalidArgument(put) ? OfKey(counts, key, ToStd(put.message())) : put;
  }

  static absl::Status OfKey(const Family& counts, std::string_view key, std::string_view what) {
    return absl::OutOfRangeError(absl::StrFormat("family %s, key %s: %s", counts.name, ShownKey(key), what));
  }

  absl::Status Compare(const Reading& reading, Family* counts) {
    ForeignCursor* const cursor = reading.cursor;
    ReadOptions options;
    options.fill_cache = false;
    const std::unique_ptr<Iterator> it = reading.target->NewIterator(*reading.family, options);
    const auto differs = [&](std::string_view key) {
      return absl::DataLossError(
          absl::StrFormat("family %s, key %s is not what was imported", counts->name, ShownKey(key)));
    };
    uint64_t next_look = kBatchBytes;
    for (it->SeekToFirst(); cursor->Valid(); cursor->Next()) {
      // It may have expired since, or have been left out.
      const std::optional<ExpiryTime> expires_at = ExpiryOf(*cursor);
      if (expires_at.has_value() && *expires_at <= Soon() && !(it->Valid() && it->key() == cursor->key())) {
        ++counts->expired;
        continue;
      }
      if (!it->Valid()) return it->status().ok() ? differs(cursor->key()) : it->status();
      if (cursor->key() != it->key() || cursor->value() != it->value()) return differs(cursor->key());
      ++counts->entries;
      counts->bytes += it->key().size() + it->value().size();
      it->Next();
      if (counts->bytes < next_look) continue;
      next_look = counts->bytes + kBatchBytes;
      reading.at(cursor->key());
    }
    RETURN_IF_ERROR(it->status());
    return it->Valid() && cursor->status().ok() ? differs(it->key()) : absl::OkStatus();
  }

  void Tell(std::ostream& out, double seconds) const {
    const uint64_t bytes = BytesSoFar();
    uint64_t entries = 0, expired = 0;
    nlohmann::json line = JsonHead();
    line["column_families"] = nlohmann::json::array();
    for (const Family& family : families_) {
      entries += family.entries;
      expired += family.expired;
      line["column_families"].push_back({{"name", BytesJson(family.name)},
                                         {"entries", family.entries},
                                         {"bytes", family.bytes},
                                         {"expired", family.expired}});
    }
    line["directory"] = directory_;
    line["entries"] = entries;
    line["bytes"] = bytes;
    line["seconds"] = seconds;
    line["compared"] = compare_;
    line["from"] = engine_;
    line["notes"] = notes_;
    line["prepared_transactions"] = nlohmann::json::array();
    for (const std::string& transaction : prepared_) line["prepared_transactions"].push_back(BytesJson(transaction));
    if (json) {
      out << ToLine(line) << "\n";
      return;
    }
    out << absl::StrFormat("%s: %d entries, %s, in %d column %s, in %.1f s%s%s\n", directory_, entries,
                           HumanBytes(bytes), families_.size(), families_.size() == 1 ? "family" : "families", seconds,
                           expired > 0 ? absl::StrFormat("; %d had expired", expired) : "",
                           compare_ ? "; every entry compared" : "");
  }

  std::string directory_, engine_;
  std::vector<std::string> merge_operators_;
  CLI::Option* ttl_flag_ = nullptr;
  double ttl_seconds_ = 0;
  ForeignPlace source_;
  std::vector<std::string> notes_, prepared_;
  bool compare_ = false;
  uint64_t memory_limit_ = Options().memory_limit;
  std::vector<Family> families_;
};

}  // namespace

std::vector<VerbEntry> ImportVerbs() {
  return {{"import", "copy a LevelDB or RocksDB database into a new Sepal database", "import /var/lib/new /var/lib/old",
           MakeVerb<ImportVerb>}};
}

}  // namespace sepal::tools

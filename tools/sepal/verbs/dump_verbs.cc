// sepal dump|load: the contents of a database as one file, and back.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>

#include "absl/strings/str_format.h"
#include "sepal/write_batch.h"
#include "tools/files/tool_files.h"
#include "tools/sepal/database_access.h"
#include "tools/sepal/dump_format.h"
#include "tools/sepal/expiring_entries.h"
#include "tools/sepal/key_range.h"
#include "tools/sepal/new_place.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/base/unix_time.h"

namespace sepal::tools {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kProgressEntries = 256;

class DumpVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlags(app);
    app->add_option("--output", output_,
                    "File to write; it appears under this name once it is whole (default, and -: standard output)");
    app->add_option("--format", format_, "text, which people can read, or binary, which is smaller and faster")
        ->check(CLI::IsMember({"text", "binary"}))
        ->capture_default_str();
    app->add_option("--family", family_, "Only this column family (default: all)");
    range_.AddFlags(app);
    app->add_flag("--hex", hex_, "The keys of the range are given in hexadecimal");
  }

  absl::Status Run(const Streams& io) override {
    RETURN_IF_ERROR(range_.Resolve(hex_));
    if (output_ == "-") output_.clear();
    if (json && output_.empty()) return absl::CancelledError("--json needs --output: the dump is on standard output");
    if (output_.empty()) {
      if (format_ == "binary" && IsTerminal(io.out)) {
        return absl::CancelledError("a binary dump is nothing for a terminal; give --output or send it to a file");
      }
      return DumpTo(io.out, io);
    }
    RETURN_IF_ERROR(CheckOutputName(output_));
    const std::string temporary = output_ + ".tmp";
    absl::Status status = DumpInto(temporary, io);
    std::error_code error;
    if (status.ok()) fs::rename(temporary, output_, error);
    if (error) status = absl::InternalError(absl::StrFormat("%s: %s", output_, error.message()));
    if (!status.ok()) fs::remove(temporary, error);
    RETURN_IF_ERROR(status);
    Tell(io.out);
    return absl::OkStatus();
  }

 private:
  absl::Status DumpInto(const std::string& file, const Streams& io) {
    std::ofstream out(file, std::ios::binary | std::ios::trunc);
    if (!out) return absl::InternalError(absl::StrFormat("%s cannot be made; choose another file with --output", file));
    RETURN_IF_ERROR(DumpTo(out, io));
    out.close();
    return out ? absl::OkStatus()
               : absl::ResourceExhaustedError(
                     absl::StrFormat("%s could not be written completely; choose another file with --output", file));
  }

  // One view of the database for all families. Beside a live writer it may have to be begun again, which can be as long
  // as nothing was written.
  absl::Status DumpTo(std::ostream& out, const Streams& io) {
    bool begun = false;
    return LookAt(place_, [&](DB* db) -> absl::Status {
      const absl::Status status = Dump(db, out, io, &begun);
      if (!absl::IsAborted(status) || !begun) return status;
      return absl::UnavailableError(Overtaken(status, place_).message());
    });
  }

  absl::Status Dump(DB* db, std::ostream& out, const Streams& io, bool* begun) {
    std::vector<std::string> names = db->ColumnFamilyNames();
    if (!family_.empty()) names = {family_};
    uint64_t total = 0;
    for (const std::string& family_name : names) {
      ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, FamilyNamed(db, family_name));
      ASSIGN_OR_RETURN(const Properties properties, db->GetProperties(*family));
      total += properties.entries;
    }
    *begun = true;
    DumpWriter writer(format_ == "binary" ? DumpFormat::kBinary : DumpFormat::kText, out);
    Progress progress("dumped entries", range_.whole() ? total : 0, io.err, StandardErrorIsTerminal());
    for (const std::string& family_name : names) {
      ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, FamilyNamed(db, family_name));
      writer.Family(family_name);
      ReadOptions options;
      options.fill_cache = false;
      range_.ApplyTo(&options);
      // An iterator does not tell when a key expires; a lookup as of the same moment does.
      ReadOptions lookup{.fill_cache = false};
      std::shared_ptr<const Snapshot> snapshot;
      if (db->GetProperty(*family, "sepal.expires") == "1") {
        snapshot = db->GetSnapshot();
        lookup.snapshot = options.snapshot = snapshot.get();
      }
      const std::unique_ptr<Iterator> it = db->NewIterator(*family, options);
      for (it->SeekToFirst(); it->Valid() && out; it->Next()) {
        uint64_t expires_at_millis = 0;
        if (snapshot != nullptr) {
          ASSIGN_OR_RETURN(const GetExplanation found, db->ExplainGet(*family, it->key(), lookup));
          if (!found.found) continue;  // it has expired meanwhile
          expires_at_millis = found.expires_at.has_value() ? MillisOf(*found.expires_at) : 0;
        }
        writer.Entry(it->key(), it->value(), expires_at_millis);
        if (writer.entries() % kProgressEntries == 0) progress.Update(writer.entries());
      }
      RETURN_IF_ERROR(it->status());
    }
    writer.End();
    entries_ = writer.entries();
    bytes_ = writer.bytes();
    families_ = names.size();
    return absl::OkStatus();
  }

  void Tell(std::ostream& out) const {
    if (!json) {
      out << absl::StrFormat("%s: %s, %s, of %s\n", output_, Counted(entries_, "entry"), HumanBytes(bytes_),
                             Counted(families_, "column family"));
      return;
    }
    nlohmann::json line = JsonHead();
    line["output"] = output_;
    line["format"] = format_;
    line["column_families"] = families_;
    line["entries"] = entries_;
    line["bytes"] = bytes_;
    out << ToLine(line) << "\n";
  }

  Place place_;
  std::string output_, format_ = "text", family_;
  KeyRange range_;
  bool hex_ = false;
  uint64_t entries_ = 0, bytes_ = 0, families_ = 0;
};

// Writes what is known to be whole, in batches of bounded bytes.
class DumpLoader {
 public:
  DumpLoader(DB* db, uint64_t memory_limit, bool into_existing)
      : db_(db),
        most_bytes_(std::min<uint64_t>(kBatchBytes, memory_limit / kBatchPart)),
        into_existing_(into_existing) {}

  absl::Status Take(DumpPart part, const DumpReader& dump) {
    switch (part) {
      case DumpPart::kFamily:
        RETURN_IF_ERROR(Write());
        return Enter(dump.family());
      case DumpPart::kEntry:
        return Add(dump);
      case DumpPart::kCheck:
      case DumpPart::kEnd:
        return Write();
    }
    return absl::OkStatus();
  }

  uint64_t entries() const { return entries_; }  // that are written
  uint64_t bytes() const { return bytes_; }
  size_t families() const { return entered_.size(); }
  uint64_t expired() const { return expired_; }  // and were left out

  // Of a family that the dump names, before anything is written. `name` may be missing.
  static absl::Status CheckEmpty(DB* db, const std::string& name) {
    absl::StatusOr<std::shared_ptr<ColumnFamily>> family = db->FindColumnFamily(name);
    if (absl::IsNotFound(family.status())) return absl::OkStatus();
    RETURN_IF_ERROR(family.status());
    const std::unique_ptr<Iterator> it = db->NewIterator(**family);
    it->SeekToFirst();
    RETURN_IF_ERROR(it->status());
    if (!it->Valid()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrFormat(
        "the column family \"%s\" has entries already; --into-existing adds to them, and overwrites those of the same "
        "key",
        Escaped(name)));
  }

 private:
  static constexpr uint64_t kBatchBytes = uint64_t{512} << 10;
  // Of the memory limit: however small its entries are, a batch takes less than a quarter of it.
  static constexpr uint64_t kBatchPart = 128;
  // Of a text whose check lines were removed.
  static constexpr uint64_t kMostUnchecked = uint64_t{1} << 20;

  absl::Status Enter(const std::string& name) {
    // A dump may come to a family again.
    if (!into_existing_ && !entered_.contains(name)) RETURN_IF_ERROR(CheckEmpty(db_, name));
    entered_.insert(name);
    absl::StatusOr<std::shared_ptr<ColumnFamily>> family = db_->FindColumnFamily(name);
    if (absl::IsNotFound(family.status())) family = db_->CreateColumnFamily(name);
    RETURN_IF_ERROR(family.status());
    family_ = *std::move(family);
    return absl::OkStatus();
  }

  absl::Status Add(const DumpReader& dump) {
    const uint64_t bytes = dump.key().size() + dump.value().size();
    if (batches_.empty() || batches_.back().ByteSize() + bytes > most_bytes_) batches_.emplace_back();
    if (dump.expires_at_millis() == 0) {
      batches_.back().Put(*family_, dump.key(), dump.value());
    } else {
      const ExpiryTime expires_at = TimeOfMillis(dump.expires_at_millis());
      if (expires_at <= Soon()) {
        ++expired_;
        return absl::OkStatus();
      }
      batches_.back().Put(*family_, dump.key(), dump.value(), expires_at);
    }
    ++pending_entries_;
    pending_bytes_ += bytes;
    return pending_bytes_ < kMostUnchecked ? absl::OkStatus() : Write();
  }

  absl::Status Write() {
    for (WriteBatch& batch : batches_) RETURN_IF_ERROR(WithMemoryRemedy(db_->Write(batch)));
    batches_.clear();
    entries_ += std::exchange(pending_entries_, 0);
    bytes_ += std::exchange(pending_bytes_, 0);
    return absl::OkStatus();
  }

  DB* const db_;
  const uint64_t most_bytes_;
  const bool into_existing_;
  std::shared_ptr<ColumnFamily> family_;
  std::set<std::string> entered_;
  std::vector<WriteBatch> batches_;
  uint64_t pending_entries_ = 0, pending_bytes_ = 0;
  uint64_t entries_ = 0, bytes_ = 0, expired_ = 0;
};

class LoadVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlagsToWrite(app);
    app->add_option("FILE", file_, "The dump (default: standard input, as for -)");
    app->add_flag("--into-existing", into_existing_,
                  "Load into column families that have entries; those of the same key are overwritten");
    AddMemoryLimit(app, &memory_limit_);
  }

  absl::Status Run(const Streams& io) override {
    const bool from_file = !file_.empty() && file_ != "-";
    std::set<std::string> names;
    // A file is read twice, so that of a damaged one nothing is loaded.
    if (from_file) {
      ASSIGN_OR_RETURN(names, Check(io));
    }
    const bool is_new = !HoldsDatabase(place_.directory);
    std::error_code error;
    const bool was_there = fs::exists(place_.directory, error);
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenToWrite(place_, /*create=*/true, memory_limit_));
    absl::Status status = LoadAll(db.get(), names, io);
    KeepFirst(&status, db->Close());
    if (!status.ok() && is_new) return Undone(status, was_there);
    if (!status.ok() && entries_ > 0) {
      return absl::Status(status.code(), absl::StrFormat("%s; %s before that %s loaded", ToStd(status.message()),
                                                         Counted(entries_, "entry"), entries_ == 1 ? "was" : "were"));
    }
    RETURN_IF_ERROR(status);
    if (is_new) io.err << "note: created a new database in " << place_.directory << "\n";
    Tell(io.out);
    return absl::OkStatus();
  }

 private:
  // Calls take(part, reader) for each part.
  template <class Take>
  static absl::Status ForEachPart(std::istream& in, uint64_t total, const char* what, const Streams& io, Take take) {
    DumpReader dump(in);
    RETURN_IF_ERROR(dump.Open());
    Progress progress(what, total, io.err, StandardErrorIsTerminal());
    for (;;) {
      ASSIGN_OR_RETURN(const DumpPart part, dump.Next());
      RETURN_IF_ERROR(take(part, dump));
      progress.Update(dump.bytes_read());
      if (part == DumpPart::kEnd) return absl::OkStatus();
    }
  }

  absl::StatusOr<std::ifstream> OpenFile() const {
    std::error_code error;
    if (fs::is_directory(file_, error)) return absl::InvalidArgumentError(absl::StrFormat("%s is a directory", file_));
    std::ifstream in(file_, std::ios::binary);
    if (!in) return absl::ErrnoToStatus(errno, absl::StrFormat("%s cannot be read", file_));
    return in;
  }
  uint64_t FileBytes() const {
    std::error_code error;
    const uintmax_t bytes = fs::file_size(file_, error);
    return error ? 0 : bytes;
  }
  absl::Status OfFile(const absl::Status& status) const {
    return status.ok() ? status
                       : absl::Status(status.code(), absl::StrFormat("%s: %s", file_, ToStd(status.message())));
  }

  // Reads the whole file; the names of the families that it has.
  absl::StatusOr<std::set<std::string>> Check(const Streams& io) const {
    ASSIGN_OR_RETURN(std::ifstream in, OpenFile());
    std::set<std::string> names;
    RETURN_IF_ERROR(
        OfFile(ForEachPart(in, FileBytes(), "checked bytes", io, [&](DumpPart part, const DumpReader& dump) {
          if (part == DumpPart::kFamily) names.insert(dump.family());
          return absl::OkStatus();
        })));
    return names;
  }

  absl::Status LoadAll(DB* db, const std::set<std::string>& names, const Streams& io) {
    if (!into_existing_) {
      for (const std::string& family_name : names) RETURN_IF_ERROR(DumpLoader::CheckEmpty(db, family_name));
    }
    DumpLoader loader(db, memory_limit_, into_existing_);
    const auto take = [&](DumpPart part, const DumpReader& dump) { return loader.Take(part, dump); };
    absl::Status status;
    if (!file_.empty() && file_ != "-") {
      ASSIGN_OR_RETURN(std::ifstream in, OpenFile());
      status = OfFile(ForEachPart(in, FileBytes(), "loaded bytes", io, take));
    } else {
      status = ForEachPart(io.in, /*total=*/0, "loaded bytes", io, take);
    }
    entries_ = loader.entries();
    bytes_ = loader.bytes();
    families_ = loader.families();
    expired_ = loader.expired();
    return status;
  }

  // A new database of which only a part was loaded is none.
  absl::Status Undone(const absl::Status& status, bool was_there) {
    const absl::Status destroyed = DB::Destroy(OptionsAt(place_), place_.directory);
    std::error_code error;
    if (was_there && !IsRemote(place_.directory)) fs::create_directory(place_.directory, error);
    return destroyed.ok() ? WithNothingLeft(status) : status;
  }

  void Tell(std::ostream& out) const {
    if (!json) {
      out << absl::StrFormat("%s: loaded %s, %s, of %s%s\n", place_.directory, Counted(entries_, "entry"),
                             HumanBytes(bytes_), Counted(families_, "column family"),
                             expired_ == 0 ? "" : absl::StrFormat("; %u had expired", expired_));
      return;
    }
    nlohmann::json line = JsonHead();
    line["directory"] = place_.directory;
    line["column_families"] = families_;
    line["entries"] = entries_;
    line["entries_expired"] = expired_;
    line["bytes"] = bytes_;
    out << ToLine(line) << "\n";
  }

  Place place_;
  std::string file_;
  bool into_existing_ = false;
  uint64_t memory_limit_ = Options().memory_limit;
  uint64_t entries_ = 0, bytes_ = 0, families_ = 0, expired_ = 0;
};

}  // namespace

std::vector<VerbEntry> DumpVerbs() {
  return {
      {"dump", "write the contents of a database as one file, as text or binary", "dump /var/lib/app --output app.dump",
       MakeVerb<DumpVerb>},
      {"load", "read a dump into a new database, or into one that is there", "load /var/lib/new app.dump",
       MakeVerb<LoadVerb>},
  };
}

}  // namespace sepal::tools

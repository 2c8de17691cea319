// sepal db get|history|scan|put|delete|delete-range|merge: keys and values.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "sepal/merge_operator.h"
#include "tools/sepal/database_access.h"
#include "tools/sepal/key_range.h"
#include "tools/sepal/new_place.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/terminal_color.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/base/unix_time.h"

namespace sepal::tools {
namespace {

// What the verbs on keys have in common.
class KeyVerb : public Verb {
 protected:
  void AddCommonFlags(CLI::App* app, bool writes = false) {
    writes ? place_.AddFlagsToWrite(app) : place_.AddFlags(app);
    app->add_option("--family", family_, "Column family (default: default)");
    app->add_flag("--hex", hex_, "Keys and values are given and printed in hexadecimal");
  }

  Place place_;
  std::string family_;
  bool hex_ = false;
};

// Reads as of a named snapshot, or of a past moment.
class NamedMoment {
 public:
  void AddFlags(CLI::App* app) {
    CLI::Option* const name =
        app->add_option("--snapshot", name_, "Read as of this snapshot (sepal snapshot list has the names)");
    app->add_option("--as-of", as_of_,
                    "Read as of this time, such as 2026-01-31T18:00:00Z, or as of sequence number N with #N; of a "
                    "column family with a history")
        ->excludes(name);
  }
  // Holds it as long as this object.
  absl::Status ApplyTo(DB* db, ReadOptions* options) {
    if (!as_of_.empty()) return ApplyMoment(options);
    if (name_.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(held_, db->FindSnapshot(name_));
    options->snapshot = held_.get();
    return absl::OkStatus();
  }

 private:
  absl::Status ApplyMoment(ReadOptions* options) const {
    uint64_t sequence = 0;
    if (as_of_.starts_with('#') && absl::SimpleAtoi(as_of_.substr(1), &sequence)) {
      options->as_of_sequence = sequence;
      return absl::OkStatus();
    }
    absl::Time time;
    if (!absl::ParseTime(absl::RFC3339_full, as_of_, &time, nullptr)) {
      return absl::CancelledError(absl::StrFormat(
          "--as-of %s: give a time such as 2026-01-31T18:00:00Z, or a sequence number such as #1234", Escaped(as_of_)));
    }
    options->as_of_time = absl::ToChronoTime(time);
    return absl::OkStatus();
  }

  std::string name_, as_of_;
  std::shared_ptr<const Snapshot> held_;
};

class GetVerb final : public KeyVerb {
 public:
  void AddFlags(CLI::App* app) override {
    AddCommonFlags(app);
    moment_.AddFlags(app);
    app->add_option("KEY", key_, "The key")->required();
    CLI::Option* const raw = app->add_flag("--raw", raw_, "Print the bytes of the value alone, on a terminal too");
    app->add_flag("--newline", newline_, "End the output with a newline, in a file or pipe too")->excludes(raw);
  }

  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(const std::string key, BytesFrom(key_, hex_));
    std::string value;
    const auto get = [&](DB* db) -> absl::Status {
      ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, FamilyNamed(db, family_));
      ReadOptions options;
      RETURN_IF_ERROR(moment_.ApplyTo(db, &options));
      absl::StatusOr<std::string> found = db->Get(*family, key, options);
      if (absl::IsNotFound(found.status()))
        return absl::NotFoundError(absl::StrFormat("key %s not found", ShownKey(key)));
      ASSIGN_OR_RETURN(value, std::move(found));
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(LookAt(place_, get));
    if (json) {
      nlohmann::json line = JsonHead();
      line["key"] = BytesJson(key);
      line["value"] = BytesJson(value);
      io.out << ToLine(line) << "\n";
    } else {
      io.out << (hex_ ? ToHex(value) : value);
      // In a pipe, a byte behind the value would change it.
      if (newline_ || (!raw_ && (hex_ || IsTerminal(io.out)))) io.out << "\n";
    }
    return absl::OkStatus();
  }

 private:
  NamedMoment moment_;
  std::string key_;
  bool raw_ = false, newline_ = false;
};

class HistoryVerb final : public KeyVerb {
 public:
  void AddFlags(CLI::App* app) override {
    AddCommonFlags(app);
    app->add_option("KEY", key_, "The key")->required();
    AddCount(app, "--limit", &limit_, "At most so many versions, the newest ones (default: all)");
  }

  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(const std::string key, BytesFrom(key_, hex_));
    std::vector<KeyVersion> versions;
    RETURN_IF_ERROR(LookAt(place_, [&](DB* db) -> absl::Status {
      ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, FamilyNamed(db, family_));
      ASSIGN_OR_RETURN(versions, db->History(*family, key, {.limit = limit_}));
      return absl::OkStatus();
    }));
    for (const KeyVersion& version : versions) io.out << (json ? Json(version) : Text(version)) << "\n";
    if (!json) return absl::OkStatus();
    nlohmann::json line = JsonHead();
    line["key"] = BytesJson(key);
    line["versions"] = versions.size();
    io.out << ToLine(line) << "\n";
    return absl::OkStatus();
  }

 private:
  static std::string_view NameOf(KeyVersion::Kind kind) {
    switch (kind) {
      case KeyVersion::Kind::kPut:
        return "put";
      case KeyVersion::Kind::kDelete:
        return "delete";
      case KeyVersion::Kind::kMerge:
        return "merge";
      case KeyVersion::Kind::kExpired:
        return "expired";
    }
    return "";
  }
  static bool HasValue(const KeyVersion& version) {
    return version.kind == KeyVersion::Kind::kPut || version.kind == KeyVersion::Kind::kMerge;
  }
  static std::string Json(const KeyVersion& version) {
    nlohmann::json line = JsonRow();
    line["sequence"] = version.sequence;
    if (version.time.has_value()) line["time"] = TimeText(*version.time);
    line["kind"] = NameOf(version.kind);
    if (HasValue(version)) line["value"] = BytesJson(version.value);
    return ToLine(line);
  }
  std::string Text(const KeyVersion& version) const {
    std::string text = absl::StrFormat("%u\t%s\t%s", version.sequence,
                                       version.time.has_value() ? TimeText(*version.time) : "-", NameOf(version.kind));
    if (HasValue(version)) text += "\t" + (hex_ ? ToHex(version.value) : Escaped(version.value));
    return text;
  }

  std::string key_;
  size_t limit_ = SIZE_MAX;
};

class ScanVerb final : public KeyVerb {
 public:
  void AddFlags(CLI::App* app) override {
    AddCommonFlags(app);
    range_.AddFlags(app);
    moment_.AddFlags(app);
    AddCount(app, "--limit", &limit_, "At most this many entries");
    app->add_flag("--reverse", reverse_, "From the last key to the first");
    app->add_flag("--keys", keys_only_, "Print keys only");
    app->add_flag("--count", count_only_, "Print only the number of entries");
  }

  absl::Status Run(const Streams& io) override {
    RETURN_IF_ERROR(range_.Resolve(hex_));
    uint64_t entries = 0;
    RETURN_IF_ERROR(LookAt(place_, [&](DB* db) -> absl::Status {
      const absl::Status status = Scan(db, io, &entries);
      const bool again = absl::IsAborted(status) && (count_only_ || entries == 0);
      return absl::IsAborted(status) && !again ? absl::UnavailableError(Overtaken(status, place_).message()) : status;
    }));
    if (json) {
      nlohmann::json line = JsonHead();
      line["entries"] = entries;
      io.out << ToLine(line) << "\n";
    } else if (count_only_) {
      io.out << entries << "\n";
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Scan(DB* db, const Streams& io, uint64_t* entries) {
    ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, FamilyNamed(db, family_));
    ReadOptions options;
    options.fill_cache = false;
    options.keys_only = keys_only_ || count_only_;
    range_.ApplyTo(&options);
    RETURN_IF_ERROR(moment_.ApplyTo(db, &options));
    const std::unique_ptr<Iterator> it = db->NewIterator(*family, options);
    // Entries that are printed tell themselves how far it is.
    std::optional<Progress> progress;
    if (count_only_) progress.emplace("scanned entries", 0, io.err, StandardErrorIsTerminal());
    *entries = 0;
    reverse_ ? it->SeekToLast() : it->SeekToFirst();
    for (; it->Valid() && *entries < limit_ && io.out; reverse_ ? it->Prev() : it->Next()) {
      if (!count_only_) Print(*it, io.out);
      ++*entries;
      if (progress.has_value()) progress->Update(*entries);
    }
    return it->status();
  }

  // Text escapes what is not printable, so that an entry is a line.
  void Print(const Iterator& it, std::ostream& out) const {
    if (json) {
      nlohmann::json line = JsonRow();
      line["key"] = BytesJson(it.key());
      if (!keys_only_) line["value"] = BytesJson(it.value());
      out << ToLine(line) << "\n";
      return;
    }
    out << (hex_ ? ToHex(it.key()) : Escaped(it.key()));
    if (!keys_only_) out << '\t' << (hex_ ? ToHex(it.value()) : Escaped(it.value()));
    out << "\n";
  }

  KeyRange range_;
  NamedMoment moment_;
  uint64_t limit_ = UINT64_MAX;
  bool reverse_ = false, keys_only_ = false, count_only_ = false;
};

class PutVerb final : public KeyVerb {
 public:
  void AddFlags(CLI::App* app) override {
    AddCommonFlags(app, /*writes=*/true);
    app->add_option("KEY", key_, "The key")->required();
    app->add_option("VALUE", value_, "The value; - reads it from standard input, every byte")->required();
    ttl_ = AddSeconds(app, "--ttl", &ttl_seconds_, "How long the key is there (default: as its family says)");
    AddMemoryLimit(app, &memory_limit_);
  }

  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(const std::string key, BytesFrom(key_, hex_));
    WriteOptions options{.sync = true};
    if (ttl_->count() > 0) options.ttl = std::chrono::milliseconds(std::llround(ttl_seconds_ * 1000));
    std::string value;
    if (value_ == "-") {
      value.assign(std::istreambuf_iterator<char>(io.in), std::istreambuf_iterator<char>());
      if (io.in.bad()) return absl::InternalError("standard input could not be read to its end");
      // Digits end with a line.
      if (hex_) value.resize(value.find_last_not_of(" \t\r\n") + 1);
    } else {
      value = value_;
    }
    ASSIGN_OR_RETURN(value, BytesFrom(value, hex_));
    const bool is_new = !HoldsDatabase(place_.directory);
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenToWrite(place_, /*create=*/true, memory_limit_));
    ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, FamilyNamed(db.get(), family_));
    RETURN_IF_ERROR(WithMemoryRemedy(db->Put(*family, key, value, options)));
    RETURN_IF_ERROR(db->Close());
    if (is_new) io.err << "note: created a new database in " << place_.directory << "\n";
    if (json) {
      nlohmann::json line = JsonHead();
      line["created"] = is_new;
      io.out << ToLine(line) << "\n";
    }
    return absl::OkStatus();
  }

 private:
  std::string key_, value_;
  CLI::Option* ttl_ = nullptr;
  double ttl_seconds_ = 0;
  uint64_t memory_limit_ = Options().memory_limit;
};

class DeleteVerb final : public KeyVerb {
 public:
  void AddFlags(CLI::App* app) override {
    AddCommonFlags(app, /*writes=*/true);
    app->add_option("KEY", key_, "The key to delete; no error if it does not exist")->required();
  }

  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(const std::string key, BytesFrom(key_, hex_));
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenToWrite(place_, /*create=*/false));
    ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, FamilyNamed(db.get(), family_));
    RETURN_IF_ERROR(db->Delete(*family, key, {.sync = true}));
    RETURN_IF_ERROR(db->Close());
    if (json) io.out << ToLine(JsonHead()) << "\n";
    return absl::OkStatus();
  }

 private:
  std::string key_;
};

class DeleteRangeVerb final : public KeyVerb {
 public:
  void AddFlags(CLI::App* app) override {
    AddCommonFlags(app, /*writes=*/true);
    range_.AddFlags(app);
    app->add_flag("--all", all_, "Every key of the family, where no range is given");
  }

  absl::Status Run(const Streams& io) override {
    RETURN_IF_ERROR(range_.Resolve(hex_));
    if (range_.whole() && !all_) {
      return absl::CancelledError("no range is given: name one with --from, --to or --prefix, or say --all");
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenToWrite(place_, /*create=*/false));
    ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, FamilyNamed(db.get(), family_));
    RETURN_IF_ERROR(db->DeleteRange(*family, range_.first(), range_.beyond(), {.sync = true}));
    RETURN_IF_ERROR(db->Close());
    if (json) io.out << ToLine(JsonHead()) << "\n";
    return absl::OkStatus();
  }

 private:
  KeyRange range_;
  bool all_ = false;
};

class MergeVerb final : public KeyVerb {
 public:
  void AddFlags(CLI::App* app) override {
    AddCommonFlags(app, /*writes=*/true);
    app->add_option("KEY", key_, "The key")->required();
    app->add_option("OPERAND", operand_, "What is merged into the value")->required();
    app->add_flag("--number", number_, "OPERAND is a decimal number, for the operator that adds 64-bit numbers");
  }

  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(const std::string key, BytesFrom(key_, hex_));
    std::string operand;
    if (number_) {
      int64_t number;
      if (!absl::SimpleAtoi(operand_, &number)) {
        return absl::CancelledError(absl::StrFormat("%s is no 64-bit number", Printable(operand_)));
      }
      operand = MergeOperators::EncodeInt64(number);
    } else {
      ASSIGN_OR_RETURN(operand, BytesFrom(operand_, hex_));
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenToWrite(place_, /*create=*/false));
    ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, FamilyNamed(db.get(), family_));
    RETURN_IF_ERROR(db->Merge(*family, key, operand, {.sync = true}));
    RETURN_IF_ERROR(db->Close());
    if (json) io.out << ToLine(JsonHead()) << "\n";
    return absl::OkStatus();
  }

 private:
  std::string key_, operand_;
  bool number_ = false;
};

}  // namespace

std::vector<VerbEntry> DataVerbs() {
  return {
      {"db get", "print the value of a key", "db get /var/lib/app user:1", MakeVerb<GetVerb>},
      {"db history", "print the versions of a key, the newest first", "db history /var/lib/app user:1",
       MakeVerb<HistoryVerb>},
      {"db scan", "print entries in key order", "db scan /var/lib/app --prefix user: --limit 10", MakeVerb<ScanVerb>},
      {"db put", "write a value and sync it; creates the database if it does not exist",
       "db put /var/lib/app user:1 Ada", MakeVerb<PutVerb>},
      {"db delete", "delete a key and sync", "db delete /var/lib/app user:1", MakeVerb<DeleteVerb>},
      {"db delete-range", "delete all keys of a range, as one update, and sync",
       "db delete-range /var/lib/app --prefix session:", MakeVerb<DeleteRangeVerb>},
      {"db merge", "merge an operand into a value and sync; the family needs a merge operator",
       "db merge /var/lib/app --family counters visits 1 --number", MakeVerb<MergeVerb>},
  };
}

}  // namespace sepal::tools

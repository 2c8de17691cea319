// sepal db checkpoint|backup|backups|restore: other databases that hold the same.
#include <fcntl.h>
#include <sys/file.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "db/act/manifest/manifest_recovery.h"
#include "db/format/file_names.h"
#include "tools/sepal/database_access.h"
#include "tools/sepal/new_place.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/files/posix_status.h"

namespace sepal::tools {
namespace {

// Makes a checkpoint from a read-only view, so that it works beside a live writer, too.
absl::Status CopyDatabase(const Place& place, const std::string& target, CheckpointOptions options,
                          std::string_view what, const Streams& io) {
  Place from = place;
  from.target = target;
  const absl::Status status = LookAt(from, [&](DB* db) {
    std::optional<Progress> progress;
    options.progress = [&](uint64_t done, uint64_t total) {
      if (!progress.has_value()) progress.emplace(std::string(what), total, io.err, StandardErrorIsTerminal());
      progress->Update(done);
    };
    return db->Checkpoint(target, options);
  });
  return WithNothingLeft(status);
}

// What a copy consists of; `shared` tables have other names elsewhere.
struct Extent {
  uint64_t tables = 0, shared = 0, bytes = 0, shared_bytes = 0;
  uint64_t last_sequence = 0;
};

absl::StatusOr<Extent> Measure(const std::string& directory) {
  ASSIGN_OR_RETURN(const Tree tree, ReadTree({.directory = directory}));
  Extent extent;
  extent.last_sequence = tree.last_sequence.value();
  for (const AddedTable& added : tree.Tables()) {
    ++extent.tables;
    extent.bytes += added.table.size_bytes;
    std::error_code error;
    const auto links =
        std::filesystem::hard_link_count(std::filesystem::path(directory) / TableFileName(added.table.number), error);
    if (error || links < 2) continue;
    ++extent.shared;
    extent.shared_bytes += added.table.size_bytes;
  }
  return extent;
}

nlohmann::json ExtentJson(nlohmann::json line, const Extent& extent) {
  line["tables"] = extent.tables;
  line["linked"] = extent.shared;
  line["bytes"] = extent.bytes;
  line["linked_bytes"] = extent.shared_bytes;
  line["last_sequence"] = extent.last_sequence;
  return line;
}

class CheckpointVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlags(app);
    app->add_option("TARGET", target_, "A new or empty directory")->required();
  }

  absl::Status Run(const Streams& io) override {
    RETURN_IF_ERROR(CheckLink(target_));
    RETURN_IF_ERROR(CopyDatabase(place_, target_, {}, "checkpoint bytes", io));
    ASSIGN_OR_RETURN(const Extent extent, Measure(target_));
    if (json) {
      nlohmann::json line = ExtentJson(JsonHead(), extent);
      line["target"] = target_;
      io.out << ToLine(line) << "\n";
    } else {
      io.out << absl::StrFormat("%s: a database of %s, %s, %d of them shared with %s\n", target_,
                                Counted(extent.tables, "table"), HumanBytes(extent.bytes), extent.shared,
                                place_.directory);
    }
    return absl::OkStatus();
  }

 private:
  Place place_;
  std::string target_;
};

// A directory of backups: each is a database in a directory of its own, 000001, 000002, ...
struct Backup {
  uint64_t number = 0;
  std::string path;
};

std::vector<Backup> BackupsIn(const std::string& directory) {
  std::vector<Backup> backups;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string file = it->path().filename().string();
    uint64_t number = 0;
    if (file.size() < 6 || !absl::SimpleAtoi(file, &number) || !it->is_directory(error)) continue;
    backups.push_back({number, it->path().string()});
  }
  std::sort(backups.begin(), backups.end(), [](const Backup& a, const Backup& b) { return a.number < b.number; });
  return backups;
}

// Of one that is not whole: whether a crash ended its making. It holds nothing that was finished then, unlike one that
// is damaged, which can be repaired.
bool WasInterrupted(const Backup& backup) {
  const absl::StatusOr<std::unique_ptr<Directory>> directory =
      FileSystem::Posix()->OpenDirectory(backup.path, /*create=*/false);
  return directory.ok() && !MayHoldFinishedManifest(directory->get()).value_or(true);
}

// The directory of all backups while one is made. No other is made there meanwhile, so that one that is unfinished was
// interrupted.
class BackupsDirectory {
 public:
  static absl::StatusOr<BackupsDirectory> Take(const std::string& path) {
    std::error_code error;
    const bool made = std::filesystem::create_directories(path, error);
    if (error) return WithNothingLeft(PosixError(error.value(), path, "create"));
    UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid()) return LastError().Of(path, "open");
    // Some file systems lock no directory.
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      return absl::UnavailableError(absl::StrFormat("another backup is being made in %s", path));
    }
    return BackupsDirectory(std::move(fd), made ? path : "");
  }

  // Of a directory that was there before nothing goes.
  void RemoveIfMade() const {
    std::error_code unused;
    if (!made_.empty()) std::filesystem::remove(made_, unused);
  }

 private:
  BackupsDirectory(UniqueFd lock, std::string made) : lock_(std::move(lock)), made_(std::move(made)) {}

  UniqueFd lock_;
  std::string made_;  // its path, if this call made it
};

class BackupVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlags(app);
    app->add_option("BACKUPS", backups_, "The directory of all backups of this database")->required();
    AddCount(app, "--keep", &keep_,
             "Afterwards remove all but this many of the newest backups, and those that a crash interrupted; backups "
             "that cannot be read are neither counted nor removed",
             {.least = 1});
    app->add_flag("--no-verify", no_verify_, "Do not read back and check what was copied");
  }

  absl::Status Run(const Streams& io) override {
    RETURN_IF_ERROR(CheckPlace());
    ASSIGN_OR_RETURN(const BackupsDirectory directory, BackupsDirectory::Take(backups_));
    const std::vector<Backup> before = BackupsIn(backups_);
    CheckpointOptions options{.link_tables = false, .verify = !no_verify_};
    // The newest one that was finished.
    for (auto it = before.rbegin(); it != before.rend() && options.base.empty(); ++it) {
      if (Measure(it->path).ok()) options.base = it->path;
    }
    const uint64_t number = before.empty() ? 1 : before.back().number + 1;
    const std::string target = backups_ + "/" + absl::StrFormat("%06d", number);
    const absl::Status copied = CopyDatabase(place_, target, options, "backup bytes", io);
    if (!copied.ok()) directory.RemoveIfMade();
    RETURN_IF_ERROR(copied);
    ASSIGN_OR_RETURN(const Extent extent, Measure(target));
    nlohmann::json unreadable = nlohmann::json::array();
    RETURN_IF_ERROR(RemoveOld(before, io, &unreadable));
    if (json) {
      nlohmann::json line = ExtentJson(JsonHead(), extent);
      line["backup"] = target;
      if (keep_ != kKeepAll) line["unreadable"] = unreadable;
      io.out << ToLine(line) << "\n";
    } else {
      io.out << absl::StrFormat("%s: %s, %s, of which %s are new\n", target, Counted(extent.tables, "table"),
                                HumanBytes(extent.bytes), HumanBytes(extent.bytes - extent.shared_bytes));
    }
    return absl::OkStatus();
  }

 private:
  // The database itself, or another, is no directory of backups.
  absl::Status CheckPlace() const {
    RETURN_IF_ERROR(CheckLink(place_.directory));
    RETURN_IF_ERROR(CheckLink(backups_));
    if (!HoldsDatabase(backups_)) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s is a database; BACKUPS is a directory of its own for the backups of one database", backups_));
  }

  // The newest that are whole stay, with the one that was just made. What cannot be read stays as long as one that is
  // whole would, for it may be that, or be repaired; it does not count.
  absl::Status RemoveOld(const std::vector<Backup>& before, const Streams& io, nlohmann::json* unreadable) const {
    if (keep_ == kKeepAll) return absl::OkStatus();
    uint64_t kept = 1;
    for (auto backup = before.rbegin(); backup != before.rend(); ++backup) {
      const absl::Status whole = Measure(backup->path).status();
      if (kept >= keep_ || (!whole.ok() && WasInterrupted(*backup))) {
        RETURN_IF_ERROR(DB::Destroy(Options(), backup->path));
      } else if (whole.ok()) {
        ++kept;
      } else {
        unreadable->push_back({{"backup", backup->path}, {"error", MessageOf(whole)}});
        io.err << absl::StrFormat("sepal %s: %s cannot be read; it is neither counted nor removed: %s\n", name,
                                  backup->path, MessageOf(whole));
      }
    }
    return absl::OkStatus();
  }

  static constexpr uint64_t kKeepAll = UINT64_MAX;

  Place place_;
  std::string backups_;
  uint64_t keep_ = kKeepAll;
  bool no_verify_ = false;
};

class BackupsVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    app->add_option("BACKUPS", backups_, "A directory that db backup was given")->required();
  }

  absl::Status Run(const Streams& io) override {
    const std::vector<Backup> backups = BackupsIn(backups_);
    if (backups.empty()) return NoBackups();
    for (const Backup& backup : backups) {
      const absl::StatusOr<Extent> extent = Measure(backup.path);
      const bool interrupted = !extent.ok() && WasInterrupted(backup);
      if (json) {
        nlohmann::json line = JsonRow();
        line["backup"] = backup.path;
        line["finished"] = extent.ok();
        line["state"] = extent.ok() ? "whole" : interrupted ? "unfinished" : "unreadable";
        io.out << ToLine(extent.ok() ? ExtentJson(line, *extent) : line) << "\n";
      } else if (extent.ok()) {
        io.out << absl::StrFormat("%s  sequence %d, %s, %s\n", backup.path, extent->last_sequence,
                                  Counted(extent->tables, "table"), HumanBytes(extent->bytes));
      } else {
        io.out << absl::StrFormat("%s  %s: %s\n", backup.path,
                                  interrupted ? "interrupted, safe to remove" : "cannot be read",
                                  MessageOf(extent.status()));
      }
    }
    if (json) {
      nlohmann::json line = JsonHead();
      line["backups"] = backups.size();
      io.out << ToLine(line) << "\n";
    }
    return absl::OkStatus();
  }

 private:
  absl::Status NoBackups() const {
    RETURN_IF_ERROR(CheckLink(backups_));
    std::error_code error;
    if (!std::filesystem::exists(backups_, error)) {
      return absl::NotFoundError(absl::StrFormat("%s does not exist", backups_));
    }
    if (HoldsDatabase(backups_)) {
      return absl::NotFoundError(
          absl::StrFormat("%s is a database; give the directory of its backups, BACKUPS of sepal db backup %s BACKUPS",
                          backups_, backups_));
    }
    return absl::NotFoundError(
        absl::StrFormat("%s holds no backups; sepal db backup DIR %s makes one", backups_, backups_));
  }

  std::string backups_;
};

class RestoreVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    app->add_option("BACKUP", backup_.directory, "One backup: BACKUPS/000007")->required();
    app->add_option("TARGET", target_, "A new or empty directory")->required();
  }

  absl::Status Run(const Streams& io) override {
    RETURN_IF_ERROR(CheckNamed());
    RETURN_IF_ERROR(CopyDatabase(backup_, target_, {.link_tables = false, .verify = true}, "restored bytes", io));
    ASSIGN_OR_RETURN(const Extent extent, Measure(target_));
    if (json) {
      nlohmann::json line = ExtentJson(JsonHead(), extent);
      line["target"] = target_;
      io.out << ToLine(line) << "\n";
    } else {
      io.out << absl::StrFormat("%s: %s, %s, every byte checked\n", target_, Counted(extent.tables, "table"),
                                HumanBytes(extent.bytes));
    }
    return absl::OkStatus();
  }

 private:
  // A directory of backups is not one of them.
  absl::Status CheckNamed() const {
    RETURN_IF_ERROR(CheckLink(backup_.directory));
    RETURN_IF_ERROR(CheckLink(target_));
    const std::string& named = backup_.directory;
    std::error_code error;
    if (const std::vector<Backup> inside = BackupsIn(named); !inside.empty()) {
      return absl::NotFoundError(
          absl::StrFormat("%s holds backups; name one of them: the newest is %s", named, inside.back().path));
    }
    if (std::filesystem::exists(named, error)) return absl::OkStatus();
    std::string beside = std::filesystem::path(named).parent_path().string();
    if (beside.empty()) beside = ".";
    return absl::NotFoundError(absl::StrFormat("%s does not exist%s", named,
                                               BackupsIn(beside).empty()
                                                   ? "; give one backup, as sepal db backups BACKUPS lists them"
                                                   : "; sepal db backups " + beside + " lists those that do"));
  }

  Place backup_;
  std::string target_;
};

}  // namespace

std::vector<VerbEntry> CopyVerbs() {
  return {{"db checkpoint", "copy a database, with hard links to its tables where possible",
           "db checkpoint /var/lib/app /backup/today", MakeVerb<CheckpointVerb>},
          {"db backup", "make an incremental backup, and verify it", "db backup /var/lib/app /backup/app --keep 7",
           MakeVerb<BackupVerb>},
          {"db backups", "list the backups in a directory", "db backups /backup/app", MakeVerb<BackupsVerb>},
          {"db restore", "restore a backup as a new database, and verify it",
           "db restore /backup/app/000007 /var/lib/app", MakeVerb<RestoreVerb>}};
}

}  // namespace sepal::tools

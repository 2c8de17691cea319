// sepal sync|sync-server: two databases get what the other one has.
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/strings/str_format.h"
#include "sepal/sync.h"
#include "tools/sepal/database_access.h"
#include "tools/sepal/sync_process.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/verb.h"
#include "util/base/other_side.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/thread/sync.h"

namespace sepal::tools {
namespace {

constexpr size_t kShownConflicts = 20;

// A write to a side that is gone is an error and no signal.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~WithoutPipeSignal() { std::signal(SIGPIPE, before_); }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;

 private:
  void (*const before_)(int);
};

// What came is damaged, or no sync: nothing is wrong with the database here.
absl::Status WithoutDamageHere(const absl::Status& status) {
  const bool there = absl::IsDataLoss(status) && IsOfOtherSide(status);
  return there ? absl::UnavailableError(status.message()) : status;
}

void AddTimeout(CLI::App* app, double* seconds) {
  AddSeconds(app, "--timeout", seconds,
             "Give up when the other side sends and takes nothing for so long (default: wait)")
      ->check(CLI::PositiveNumber);
}

// Without it the command would have the first database repaired.
absl::Status WithDamageRemedy(const absl::Status& status, const Place& place) {
  if (!absl::IsDataLoss(status)) return status;
  return absl::DataLossError(
      absl::StrFormat("%s; restore a backup if there is one; sepal db repair %s --dry-run reports what can be kept "
                      "(docs/guide/operations.md)",
                      ToStd(status.message()), place.Arguments()));
}

// A side must be there: a mistyped path would have the other side's contents copied to it.
absl::StatusOr<std::unique_ptr<DB>> OpenSide(const Place& place, uint64_t memory_limit) {
  absl::StatusOr<std::unique_ptr<DB>> db = OpenToWrite(place, /*create=*/false, memory_limit);
  if (!absl::IsNotFound(db.status())) return db;
  return absl::NotFoundError(absl::StrFormat("%s; sepal db open %s --create makes an empty database to be filled",
                                             ToStd(db.status().message()), place.Arguments()));
}

class SyncVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlags(app);
    CLI::Option* const other = app->add_option("OTHER", other_.directory, "The other database, on this machine");
    app->add_option(
           "--over", command_,
           "A command whose standard input and output lead to the other side: 'ssh HOST sepal sync-server DIR'")
        ->excludes(other);
    app->add_option("--on-conflict", policy_, "Of keys with two values: report both, or take one")
        ->check(CLI::IsMember({"report", "ours", "theirs", "newer-by-sequence"}))
        ->capture_default_str();
    AddTimeout(app, &timeout_seconds_);
    AddMemoryLimit(app, &memory_limit_);
  }

  absl::Status Run(const Streams& io) override {
    if (other_.directory.empty() && command_.empty()) {
      return absl::CancelledError("give the OTHER database, or a command that leads to it with --over");
    }
    std::error_code error;
    if (command_.empty() && std::filesystem::equivalent(place_.directory, other_.directory, error)) {
      return absl::CancelledError(
          absl::StrFormat("%s and %s are one database: give two", place_.directory, other_.directory));
    }
    const WithoutPipeSignal without_signal;
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenSide(place_, memory_limit_));
    ASSIGN_OR_RETURN(const SyncReport report, command_.empty() ? SyncWithDirectory(db.get()) : SyncOver(db.get()));
    RETURN_IF_ERROR(WithRemedy(db->Close(), place_));
    const absl::Status status =
        report.conflicts.empty()
            ? absl::OkStatus()
            : absl::AbortedError(absl::StrFormat("%s with two values", Counted(report.conflicts.size(), "key")));
    json ? PrintJson(report, status, io.out) : Print(report, io.out);
    reported = !status.ok();
    return status;
  }

 private:
  ConflictPolicy Policy() const {
    if (policy_ == "ours") return ConflictPolicy::kOurs;
    if (policy_ == "theirs") return ConflictPolicy::kTheirs;
    if (policy_ == "newer-by-sequence") return ConflictPolicy::kNewerBySequence;
    return ConflictPolicy::kReport;
  }

  absl::StatusOr<SyncReport> SyncOver(DB* db) const {
    ASSIGN_OR_RETURN(const std::unique_ptr<SyncProcess> other, SyncProcess::Start(command_, timeout_seconds_));
    absl::StatusOr<SyncReport> report = BeginSync(*db, *other->stream(), {.policy = Policy()});
    const absl::Status ended = other->Finish();
    if (ended.ok()) return WithHint(std::move(report));
    if (report.ok()) return Annotate(ended, "the sync has come to its end, but not the other side");
    const absl::Status failed = WithoutDamageHere(report.status());
    return WithHint(absl::Status(failed.code(), absl::StrFormat("%s; %s", failed.message(), ended.message())));
  }

  // The other side is a thread of this process.
  absl::StatusOr<SyncReport> SyncWithDirectory(DB* db) const {
    const absl::StatusOr<std::unique_ptr<DB>> other = OpenSide(other_, memory_limit_);
    if (!other.ok()) return WithDamageRemedy(other.status(), other_);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      return absl::ErrnoToStatus(errno, "no pair of sockets");
    }
    absl::Status served;
    Thread server([&] {
      DescriptorStream stream(ends[1], ends[1], timeout_seconds_);
      served = ServeSync(**other, stream);
      close(ends[1]);
    });
    absl::StatusOr<SyncReport> report;
    {
      DescriptorStream stream(ends[0], ends[0], timeout_seconds_);
      report = BeginSync(*db, stream, {.policy = Policy()});
      close(ends[0]);
    }
    server.Join();
    // Of what else ends the other side, this one is told.
    if (absl::IsDataLoss(served) && !IsOfOtherSide(served)) return WithDamageRemedy(served, other_);
    report = WithHint(std::move(report));
    RETURN_IF_ERROR(WithRemedy((*other)->Close(), other_));
    return report;
  }

  absl::StatusOr<SyncReport> WithHint(absl::StatusOr<SyncReport> report) const {
    if (absl::IsDataLoss(report.status()) && !IsOfOtherSide(report.status())) {
      return WithDamageRemedy(report.status(), place_);
    }
    // These refuse what cannot be synced, before anything is written.
    const bool refused = absl::IsFailedPrecondition(report.status()) || absl::IsInvalidArgument(report.status());
    if (report.ok() || refused) return report;
    return Annotate(WithMemoryRemedy(WithoutDamageHere(report.status())),
                    "the databases are whole, and not equal yet; the sync can be begun again");
  }

  std::string OtherName() const { return command_.empty() ? other_.directory : "the other side"; }

  void Print(const SyncReport& report, std::ostream& out) const {
    out << absl::StrFormat("%s and %s hold the same %s of %s%s\n", place_.directory, OtherName(),
                           Counted(report.entries, "entry"), Counted(report.column_families, "column family"),
                           report.conflicts.empty() ? "" : ", but for keys with two values");
    out << absl::StrFormat("%s; %s came, %u of them over others, and %s went, %u over others; %s moved\n",
                           Counted(report.rounds, "round"), Counted(report.written, "entry"), report.overwritten,
                           Counted(report.written_there, "entry"), report.overwritten_there,
                           HumanBytes(report.sent_bytes + report.received_bytes));
    if (report.conflicts.empty()) return;
    const std::string_view remedy =
        Policy() == ConflictPolicy::kNewerBySequence
            ? "their sequence numbers do not tell which is newer: --on-conflict ours or theirs"
            : "--on-conflict takes one";
    out << absl::StrFormat("%s with two values stayed as they were on both sides (%s):\n",
                           Counted(report.conflicts.size(), "key"), remedy);
    for (size_t i = 0; i < std::min(report.conflicts.size(), kShownConflicts); ++i) {
      const SyncConflict& conflict = report.conflicts[i];
      out << absl::StrFormat("  %s: %s\n", Printable(conflict.column_family), ShownKey(conflict.key));
    }
    if (report.conflicts.size() > kShownConflicts) out << "  ...; --json has all of them\n";
  }

  void PrintJson(const SyncReport& report, const absl::Status& status, std::ostream& out) const {
    nlohmann::json line = JsonHead(status);
    line["equal"] = status.ok();
    line["column_families"] = report.column_families;
    line["entries"] = report.entries;
    line["rounds"] = report.rounds;
    line["entries_written"] = report.written;
    line["entries_overwritten"] = report.overwritten;
    line["entries_sent"] = report.sent;
    line["entries_written_there"] = report.written_there;
    line["entries_overwritten_there"] = report.overwritten_there;
    line["bytes_sent"] = report.sent_bytes;
    line["bytes_received"] = report.received_bytes;
    line["conflicts"] = nlohmann::json::array();
    for (const SyncConflict& conflict : report.conflicts) {
      line["conflicts"].push_back(
          {{"column_family", BytesJson(conflict.column_family)}, {"key", BytesJson(conflict.key)}});
    }
    out << ToLine(line) << "\n";
  }

  Place place_;
  Place other_;
  std::string command_, policy_ = "report";
  double timeout_seconds_ = 0;
  uint64_t memory_limit_ = Options().memory_limit;
};

class SyncServerVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlags(app);
    AddTimeout(app, &timeout_seconds_);
    AddMemoryLimit(app, &memory_limit_);
  }

  absl::Status Run(const Streams&) override {
    if (isatty(STDIN_FILENO) != 0 || isatty(STDOUT_FILENO) != 0) {
      return absl::CancelledError(
          "a sync-server is begun by sepal sync --over and speaks with it, not with a terminal");
    }
    const WithoutPipeSignal without_signal;
    DescriptorStream stream(STDIN_FILENO, STDOUT_FILENO, timeout_seconds_);
    absl::StatusOr<std::unique_ptr<DB>> db = OpenSide(place_, memory_limit_);
    if (!db.ok()) {
      RefuseSync(db.status(), stream);
      return db.status();
    }
    RETURN_IF_ERROR(WithoutDamageHere(ServeSync(**db, stream)));
    return WithRemedy((*db)->Close(), place_);
  }

 private:
  Place place_;
  double timeout_seconds_ = 0;
  uint64_t memory_limit_ = Options().memory_limit;
};

}  // namespace

std::vector<VerbEntry> SyncVerbs() {
  return {{"sync", "give two databases what the other one has, sending filters and not the data",
           "sync /data/a /data/b", MakeVerb<SyncVerb>},
          {"sync-server", "the other side of a sync, over standard input and output", "sync-server /data/b",
           MakeVerb<SyncServerVerb>}};
}

}  // namespace sepal::tools

// sepal snapshot create|list|drop: snapshots with names. `sepal db get` and `db scan` read at one with --snapshot.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/strings/str_format.h"
#include "sepal/named_snapshots.h"
#include "tools/sepal/database_access.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/base/unix_time.h"

namespace sepal::tools {
namespace {

// The words of one that a database lists.
nlohmann::json SnapshotJson(const NamedSnapshot& snapshot) {
  nlohmann::json row = {
      {"name", BytesJson(snapshot.name)}, {"sequence", snapshot.sequence}, {"created", TimeText(snapshot.created)}};
  if (snapshot.expires.has_value()) row["expires"] = TimeText(*snapshot.expires);
  if (snapshot.bytes_held.has_value()) row["bytes_held"] = *snapshot.bytes_held;
  return row;
}

class SnapshotVerb : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlagsToWrite(app);
    app->add_option("NAME", name_, "Name of the snapshot")->required();
    app->add_flag("--hex", hex_, "The name is given in hexadecimal");
  }
  absl::Status Run(const Streams& io) final {
    ASSIGN_OR_RETURN(snapshot_, BytesFrom(name_, hex_));
    return RunNamed(io);
  }

 protected:
  virtual absl::Status RunNamed(const Streams& io) = 0;
  void Tell(const Streams& io, const char* what) const {
    if (!json) return;
    nlohmann::json line = JsonHead();
    line["directory"] = place_.directory;
    line[what] = BytesJson(snapshot_);
    io.out << ToLine(line) << "\n";
  }

  Place place_;
  std::string snapshot_;

 private:
  std::string name_;
  bool hex_ = false;
};

class CreateSnapshotVerb final : public SnapshotVerb {
 public:
  void AddFlags(CLI::App* app) override {
    SnapshotVerb::AddFlags(app);
    expires_ = AddSeconds(app, "--expires", &expires_seconds_, "When it is dropped by itself (default: never)");
  }

 private:
  absl::Status RunNamed(const Streams& io) override {
    NamedSnapshotOptions options;
    if (expires_->count() > 0) options.expires_after = std::chrono::milliseconds(std::llround(expires_seconds_ * 1000));
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenToWrite(place_, /*create=*/false));
    RETURN_IF_ERROR(db->CreateSnapshot(snapshot_, options).status());
    RETURN_IF_ERROR(db->Close());
    Tell(io, "created");
    return absl::OkStatus();
  }

  CLI::Option* expires_ = nullptr;
  double expires_seconds_ = 0;
};

class DropSnapshotVerb final : public SnapshotVerb {
  absl::Status RunNamed(const Streams& io) override {
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenToWrite(place_, /*create=*/false));
    RETURN_IF_ERROR(db->DropSnapshot(snapshot_));
    RETURN_IF_ERROR(db->Close());
    Tell(io, "dropped");
    return absl::OkStatus();
  }
};

class ListSnapshotsVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlags(app);
    app->add_flag("--fast", fast_, "Do not look into tables for the bytes that each snapshot holds");
  }

  absl::Status Run(const Streams& io) override {
    std::vector<NamedSnapshot> all;
    absl::Status unknown_bytes;
    RETURN_IF_ERROR(LookAt(place_, [&](DB* db) -> absl::Status {
      ASSIGN_OR_RETURN(all, db->ListSnapshots());
      if (fast_) return absl::OkStatus();
      absl::StatusOr<std::vector<NamedSnapshot>> with_bytes = db->ListSnapshots({.bytes_held = true});
      unknown_bytes = with_bytes.status();
      if (with_bytes.ok()) all = *std::move(with_bytes);
      return absl::OkStatus();
    }));
    Show(io, all);
    return unknown_bytes;
  }

 private:
  void Show(const Streams& io, const std::vector<NamedSnapshot>& all) const {
    nlohmann::json line = JsonHead();
    line["snapshots"] = nlohmann::json::array();
    for (const NamedSnapshot& snapshot : all) {
      line["snapshots"].push_back(SnapshotJson(snapshot));
      if (json) continue;
      io.out << absl::StrFormat("%s\tsequence %u\tcreated %s", Escaped(snapshot.name), snapshot.sequence,
                                TimeText(snapshot.created));
      if (snapshot.expires.has_value()) io.out << "\texpires " << TimeText(*snapshot.expires);
      if (snapshot.bytes_held.has_value()) io.out << "\tholds about " << HumanBytes(*snapshot.bytes_held);
      io.out << "\n";
    }
    if (json) io.out << ToLine(line) << "\n";
  }

  Place place_;
  bool fast_ = false;
};

}  // namespace

std::vector<VerbEntry> SnapshotVerbs() {
  return {
      {"snapshot create", "keep what the database holds now under a name", "snapshot create /var/lib/app before",
       MakeVerb<CreateSnapshotVerb>},
      {"snapshot list", "list the snapshots with names", "snapshot list /var/lib/app", MakeVerb<ListSnapshotsVerb>},
      {"snapshot drop", "drop a snapshot", "snapshot drop /var/lib/app before", MakeVerb<DropSnapshotVerb>},
  };
}

}  // namespace sepal::tools

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
  return row;
}

class SnapshotVerb : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlagsToWrite(app);
    app->add_option("NAME", snapshot_, "Name of the snapshot")->required();
  }

 protected:
  void Tell(const Streams& io, const char* what) const {
    if (!json) return;
    nlohmann::json line = JsonHead();
    line["directory"] = place_.directory;
    line[what] = BytesJson(snapshot_);
    io.out << ToLine(line) << "\n";
  }

  Place place_;
  std::string snapshot_;
};

class CreateSnapshotVerb final : public SnapshotVerb {
 public:
  void AddFlags(CLI::App* app) override {
    SnapshotVerb::AddFlags(app);
    expires_ = AddSeconds(app, "--expires", &expires_seconds_, "When it is dropped by itself (default: never)");
  }

  absl::Status Run(const Streams& io) override {
    NamedSnapshotOptions options;
    if (expires_->count() > 0) options.expires_after = std::chrono::milliseconds(std::llround(expires_seconds_ * 1000));
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenToWrite(place_, /*create=*/false));
    RETURN_IF_ERROR(db->CreateSnapshot(snapshot_, options).status());
    RETURN_IF_ERROR(db->Close());
    Tell(io, "created");
    return absl::OkStatus();
  }

 private:
  CLI::Option* expires_ = nullptr;
  double expires_seconds_ = 0;
};

class DropSnapshotVerb final : public SnapshotVerb {
 public:
  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenToWrite(place_, /*create=*/false));
    RETURN_IF_ERROR(db->DropSnapshot(snapshot_));
    RETURN_IF_ERROR(db->Close());
    Tell(io, "dropped");
    return absl::OkStatus();
  }
};

class ListSnapshotsVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override { place_.AddFlags(app); }

  absl::Status Run(const Streams& io) override {
    std::vector<NamedSnapshot> all;
    RETURN_IF_ERROR(LookAt(place_, [&](DB* db) -> absl::Status {
      ASSIGN_OR_RETURN(all, db->ListSnapshots());
      return absl::OkStatus();
    }));
    nlohmann::json line = JsonHead();
    line["snapshots"] = nlohmann::json::array();
    for (const NamedSnapshot& snapshot : all) {
      line["snapshots"].push_back(SnapshotJson(snapshot));
      if (json) continue;
      io.out << absl::StrFormat("%s\tsequence %u\tcreated %s", Escaped(snapshot.name), snapshot.sequence,
                                TimeText(snapshot.created));
      if (snapshot.expires.has_value()) io.out << "\texpires " << TimeText(*snapshot.expires);
      io.out << "\n";
    }
    if (json) io.out << ToLine(line) << "\n";
    return absl::OkStatus();
  }

 private:
  Place place_;
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

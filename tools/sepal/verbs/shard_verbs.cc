// sepal shard create|list|route|split|move: a map of shards (sepal/shards.h).
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <random>

#include "absl/strings/str_format.h"
#include "db/doctor/kept_families.h"
#include "sepal/shards.h"
#include "tools/files/tool_files.h"
#include "tools/sepal/database_access.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

nlohmann::json ShardJson(const Shard& shard) {
  nlohmann::json row = {{"id", shard.id},
                        {"begin", BytesJson(shard.begin)},
                        {"database", shard.database},
                        {"owner", shard.owner},
                        {"epoch", shard.epoch}};
  if (shard.end.has_value()) row["end"] = BytesJson(*shard.end);
  if (shard.split.has_value()) row["split"] = BytesJson(*shard.split);
  if (shard.take_over) row["take_over"] = true;
  return row;
}

std::string ShardLine(const Shard& shard) {
  std::string line =
      absl::StrFormat("%d\tfrom %s", shard.id, shard.begin.empty() ? "the first key" : ShownKey(shard.begin));
  line += shard.end.has_value() ? absl::StrFormat(" to before %s", ShownKey(*shard.end)) : " to the last key";
  line += absl::StrFormat("\t%s\t%s\tepoch %d", shard.database,
                          shard.owner.empty() ? "no owner" : "of " + Escaped(shard.owner), shard.epoch);
  if (shard.split.has_value()) line += absl::StrFormat("\tto be split at %s", ShownKey(*shard.split));
  if (shard.take_over) line += "\tto be taken over";
  return line + "\n";
}

// What all of them have.
class ShardVerb : public Verb {
 public:
  void AddFlags(CLI::App* app) override { app->add_option("MAP", map_, "Directory of the map")->required(); }

 protected:
  static constexpr size_t kMapMemory = size_t{8} << 20;

  // Paths of databases in the map are names where the map lies.
  absl::StatusOr<PathInFiles> Locate() const { return tools::Locate(map_); }
  static Options MapOptions(const PathInFiles& at) {
    Options options;
    options.memory_limit = kMapMemory;
    options.env.file_system = at.files;
    return options;
  }
  void AddKey(CLI::App* app, const char* meaning) {
    app->add_option("KEY", key_, meaning)->required();
    app->add_flag("--hex", hex_, "The key is given in hexadecimal");
  }
  absl::StatusOr<std::unique_ptr<ShardMap>> Open() const {
    ASSIGN_OR_RETURN(const PathInFiles at, Locate());
    absl::StatusOr<std::unique_ptr<ShardMap>> map = ShardMap::Open(MapOptions(at), at.path);
    if (!map.ok()) return WithRemedy(map.status(), {.directory = map_});
    return map;
  }
  absl::StatusOr<std::string> Key() const { return BytesFrom(key_, hex_); }
  void Tell(const Streams& io, const std::vector<Shard>& shards) {
    nlohmann::json line = JsonHead();
    line["map"] = map_;
    line["shards"] = nlohmann::json::array();
    for (const Shard& shard : shards) {
      line["shards"].push_back(ShardJson(shard));
      if (!json) io.out << ShardLine(shard);
    }
    if (json) io.out << ToLine(line) << "\n";
  }

  std::string map_;
  std::string key_;
  bool hex_ = false;
};

class CreateShardsVerb final : public ShardVerb {
 public:
  void AddFlags(CLI::App* app) override {
    ShardVerb::AddFlags(app);
    app->add_option("--databases", create_.databases, "Directory in which the shards' databases are to lie")
        ->required();
    app->add_option("--owner", create_.owner, "Owner of the first shard, which has all keys (default: none)");
  }

  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(const PathInFiles at, Locate());
    ASSIGN_OR_RETURN(const PathInFiles databases, tools::Locate(create_.databases));
    if (databases.files != at.files) {
      return absl::CancelledError(
          "--databases: the shards' databases lie where the map lies: in its pool, or on local disks");
    }
    std::error_code error;
    create_.databases = IsRemote(map_) ? databases.path : std::filesystem::absolute(databases.path, error).string();
    RETURN_IF_ERROR(ShardMap::Create(MapOptions(at), at.path, create_));
    ASSIGN_OR_RETURN(const std::unique_ptr<ShardMap> map, Open());
    Tell(io, map->List());
    return absl::OkStatus();
  }

 private:
  ShardMap::CreateOptions create_;
};

class ListShardsVerb final : public ShardVerb {
 public:
  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(const std::unique_ptr<ShardMap> map, Open());
    Tell(io, map->List());
    return absl::OkStatus();
  }
};

class RouteVerb final : public ShardVerb {
 public:
  void AddFlags(CLI::App* app) override {
    ShardVerb::AddFlags(app);
    AddKey(app, "Key whose shard is asked for");
  }

  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(const std::string key, Key());
    ASSIGN_OR_RETURN(const std::unique_ptr<ShardMap> map, Open());
    Tell(io, {map->Find(key)});
    return absl::OkStatus();
  }
};

class SplitShardVerb final : public ShardVerb {
 public:
  void AddFlags(CLI::App* app) override {
    ShardVerb::AddFlags(app);
    AddKey(app, "First key of the new shard");
    AddSeconds(app, "--wait", &wait_seconds_, "How long to wait for the owner (default: 10 s; 0: not at all)");
  }

  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(const std::string key, Key());
    ASSIGN_OR_RETURN(const std::unique_ptr<ShardMap> map, Open());
    const Shard shard = map->Find(key);
    if (shard.owner.empty()) {
      RETURN_IF_ERROR(SplitHere(map.get(), shard, key));
    } else {
      RETURN_IF_ERROR(map->AskToSplit(shard, key).status());
      RETURN_IF_ERROR(Await(map.get(), shard.id, key));
    }
    ASSIGN_OR_RETURN(const Shard before, map->Get(shard.id));
    const Shard after = map->Find(key);
    Tell(io, after.id == before.id ? std::vector<Shard>{before} : std::vector<Shard>{before, after});
    return absl::OkStatus();
  }

 private:
  // Owns the shard meanwhile, under a name of its own.
  absl::Status SplitHere(ShardMap* map, const Shard& shard, const std::string& key) const {
    ASSIGN_OR_RETURN(const PathInFiles at, Locate());
    // Of no other process, on whatever machine.
    std::random_device random;
    const std::string own_name = absl::StrFormat("sepal shard split %08x%08x", random(), random());
    RETURN_IF_ERROR(map->Assign(shard, own_name, shard.take_over).status());
    ShardHost host(map, own_name, [&](const Shard& mine) { return OpenShard(at.files, mine); });
    absl::Status status = host.Refresh();
    if (status.ok()) status = host.Split(key);
    KeepFirst(&status, host.Close());
    for (const Shard& mine : map->List()) {
      if (mine.owner == own_name) KeepFirst(&status, map->Assign(mine, "").status());
    }
    return status;
  }

  // With the options that its manifest keeps.
  static absl::StatusOr<ShardHost::Opened> OpenShard(FileSystem* files, const Shard& shard) {
    Options options;
    options.env.file_system = files;
    options.create_if_missing = shard.unmade;
    options.take_over = shard.take_over;
    if (auto kept = KeptFamilies(files, shard.database, ""); kept.ok()) options.column_families = *std::move(kept);
    ASSIGN_OR_RETURN(std::unique_ptr<DB> db, DB::Open(options, shard.database));
    return ShardHost::Opened{.db = std::move(db)};
  }

  absl::Status Await(ShardMap* map, uint64_t id, const std::string& key) const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(wait_seconds_);
    while (wait_seconds_ > 0) {
      RETURN_IF_ERROR(map->Refresh());
      if (map->Find(key).id != id) return absl::OkStatus();
      if (std::chrono::steady_clock::now() >= until) {
        ASSIGN_OR_RETURN(const Shard shard, map->Get(id));
        return absl::UnavailableError(
            absl::StrFormat("the owner of shard %d, %s, has not split it in %g s; it is asked to, and sepal shard list "
                            "shows when it has",
                            id, Escaped(shard.owner), wait_seconds_));
      }
      usleep(50'000);
    }
    return absl::OkStatus();
  }

  double wait_seconds_ = 10;
};

class MoveShardVerb final : public ShardVerb {
 public:
  void AddFlags(CLI::App* app) override {
    ShardVerb::AddFlags(app);
    AddKey(app, "A key of the shard");
    app->add_option("OWNER", owner_, "The new owner; an empty one: nobody")->required();
    app->add_flag("--take-over", take_over_, "The new owner fences the one that has it, for one that is dead or hangs");
  }

  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(const std::string key, Key());
    ASSIGN_OR_RETURN(const std::unique_ptr<ShardMap> map, Open());
    ASSIGN_OR_RETURN(const Shard moved, map->Assign(map->Find(key), owner_, take_over_));
    ASSIGN_OR_RETURN(const Shard now, map->Get(moved.id));
    Tell(io, {now});
    return absl::OkStatus();
  }

 private:
  std::string owner_;
  bool take_over_ = false;
};

}  // namespace

std::vector<VerbEntry> ShardVerbs() {
  return {
      {"shard create", "make a map of shards", "shard create /srv/map --databases /srv/shards --owner a:4000",
       MakeVerb<CreateShardsVerb>},
      {"shard list", "list the shards of a map: keys, database, owner", "shard list /srv/map",
       MakeVerb<ListShardsVerb>},
      {"shard route", "tell which shard has a key", "shard route /srv/map user:17", MakeVerb<RouteVerb>},
      {"shard split", "split a shard at a key", "shard split /srv/map user:5000", MakeVerb<SplitShardVerb>},
      {"shard move", "give a shard to another owner", "shard move /srv/map user:17 b:4000", MakeVerb<MoveShardVerb>},
  };
}

}  // namespace sepal::tools

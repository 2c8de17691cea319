// Many databases as one: a map that says which range of keys lies in which database, and who has it open.
//
//   sepal::ShardMap::Create(options, "accounts/map", {.databases = "accounts/shards", .owner = "a"});
//
// A *shard* is a range of keys, in bytewise order, and a database of its own. Its *owner* is a name that the program
// gives: of a process, mostly with the address at which the others reach it. The shards cover all keys, without gaps.
// Sepal sends nothing over a network: whoever gets a request for a key asks the map, and passes the request on to the
// owner, which carries it out through its ShardHost.
//
// The map is a Sepal database itself, with a row for each shard. Whoever changes it opens it for writing for a moment,
// so that changes follow one another; each names the epoch of the shard that it has seen, and fails with Aborted if
// another change was faster. Everything works on local directories as on a shared store (sepal/rados.h). On the latter
// a shard moves between machines by being closed here and opened there: no data moves.
//
// Needs the CMake target sepal::shards.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/db.h"
#include "sepal/options.h"

namespace sepal {

struct Shard {
  uint64_t id = 0;                        // of no other shard, ever
  std::string begin = {};                 // inclusive
  std::optional<std::string> end = {};    // exclusive; none: up to the last key
  std::string database = {};              // the path of its database
  std::string owner = {};                 // empty: nobody's
  uint64_t epoch = 0;                     // counts the changes of the shard
  std::optional<std::string> split = {};  // the key at which the owner is to split it
  bool take_over = false;                 // the owner may fence who has the database
  // The database is still to be made; it may hold keys that belong to the shard from which this one was split.
  bool unmade = false;
  bool untrimmed = false;

  bool Contains(std::string_view key) const { return begin <= key && (!end.has_value() || key < *end); }
  friend bool operator==(const Shard&, const Shard&) = default;
};

// One process' view of a map, and its way to change it. Safe for concurrent use; a Refresh or a change waits for
// another.
class ShardMap {
 public:
  struct CreateOptions {
    std::string databases = {};  // the databases of shards are DATABASES/000001, DATABASES/000002, ...
    std::string owner = {};      // of the first shard, which has all keys
  };
  // `options` are those of the map's database: Env says where it lies. AlreadyExists if there is a map. InvalidArgument
  // without a place for the databases.
  static absl::Status Create(const Options& options, std::string_view path, const CreateOptions& create);
  // NotFound: there is no map.
  static absl::StatusOr<std::unique_ptr<ShardMap>> Open(const Options& options, std::string_view path);
  ~ShardMap();
  ShardMap(const ShardMap&) = delete;
  ShardMap& operator=(const ShardMap&) = delete;

  // From memory, as of the last Refresh or change. All shards, in order of keys.
  Shard Find(std::string_view key) const;
  std::vector<Shard> List() const;
  // NotFound: there is no such shard.
  absl::StatusOr<Shard> Get(uint64_t id) const;
  // Counts the changes of the map.
  uint64_t epoch() const;

  // Brings the view to what the map says now. Cheap where nothing has changed: DB::CatchUp.
  absl::Status Refresh();

  // Changes. Each is durable when it returns, and the view has it. Unavailable: others were changing the map for as
  // long as `patience`. Aborted: the shard has changed since `seen` was read; look again. Unknown: the change may have
  // been made or not; the next Refresh makes sure.
  //
  // Gives the shard to another owner, to whom it goes as soon as the one that has it notices. `take_over`: at once; the
  // database's file system fences who has it, alive or not (Options::take_over).
  absl::StatusOr<Shard> Assign(const Shard& seen, std::string_view owner, bool take_over = false);
  // Asks the owner to split the shard at `key`, which becomes the first key of a new shard. InvalidArgument: the key is
  // the shard's first, or not in it.
  absl::StatusOr<Shard> AskToSplit(const Shard& seen, std::string_view key);
  void set_patience(std::chrono::milliseconds patience);

  // For ShardHost.
  //
  // An id for a shard to come, and the path of its database.
  absl::StatusOr<Shard> Reserve();
  // Parts `seen`, of which a split at `key` was asked: it keeps the keys before `key`, `added` gets the others. Both
  // are untrimmed.
  absl::Status Split(const Shard& seen, std::string_view key, const Shard& added);
  // Makes what the view shows durable, and has nothing come behind it that another was about to write.
  absl::Status Settle();
  // The database is there, and holds the shard's keys only.
  absl::StatusOr<Shard> MarkReady(const Shard& seen);

 private:
  struct Impl;
  explicit ShardMap(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

// The shards that a process owns, with their databases open. The program calls Refresh each so many milliseconds, from
// one thread or several. No two hosts have one name.
//
// All column families must be in bytewise order. A shard is not split while it has prepared transactions
// (FailedPrecondition), and no transaction may be kept from one call of With to the next: the shard may be split
// between.
//
// Safe for concurrent use.
class ShardHost {
 public:
  // A database, and what must live as long as it, such as a file system of its own: RADOS wants one for each database.
  struct Opened {
    std::shared_ptr<void> keeps = nullptr;
    std::unique_ptr<DB> db = nullptr;
  };
  // Opens shard.database: with create_if_missing just if `shard.unmade`, and with Options::take_over just if
  // `shard.take_over`.
  using OpenDatabase = std::function<absl::StatusOr<Opened>(const Shard& shard)>;

  // Of all shards that `map`, which must outlive it, gives to `owner`. Opens nothing: Refresh does.
  ShardHost(ShardMap* map, std::string owner, OpenDatabase open);
  // Closes what is open; its errors are lost. Close tells them.
  ~ShardHost();
  ShardHost(const ShardHost&) = delete;
  ShardHost& operator=(const ShardHost&) = delete;

  // Calls `work` with the database of the key's shard, which neither moves nor is split meanwhile: calls of both wait
  // for the work, and the work for them, but not for the flush before a split, nor for the compaction after it. `work`
  // must not call the host. Its status; or Aborted where
  // the shard is another's, whose name the message has: Refresh the map, and pass the request on. Unavailable: the
  // shard is this host's, and not open yet.
  absl::Status With(std::string_view key, const std::function<absl::Status(DB& db)>& work);
  // The same of a shard as a whole, with the shard: for scans. The database may hold keys of no shard's range only
  // where the shard is `untrimmed`.
  absl::Status WithShard(std::string_view key, const std::function<absl::Status(DB& db, const Shard& shard)>& work);

  // Reads the map; closes the shards that are now another's, opens those that have become this host's, and splits those
  // of which that is asked. Closes and opens anew what was changed by others, or has stopped after an error. Goes on
  // after an error, and returns the first: what has failed is tried again by the next, but for a split, which is to be
  // asked for again; its copy of the database, which no shard names, can be removed. FailedPrecondition after Close.
  absl::Status Refresh();
  // Splits the shard that has `key` at it, as after AskToSplit.
  absl::Status Split(std::string_view key);
  // The shards that are open.
  std::vector<Shard> List() const;
  absl::Status Close();

 private:
  class Held;
  absl::Status CloseOthers();
  bool StaysOpen(Held* held, const Shard& now) const;
  absl::Status OpenMine();
  absl::Status SplitHeld(Held* held, const Shard& asked);
  absl::Status Trim(Held* held);
  absl::Status MakeReady(Held* held);
  std::shared_ptr<Held> HolderOf(std::string_view key) const;

  struct State;
  ShardMap* const map_;
  const std::string owner_;
  const OpenDatabase open_;
  const std::unique_ptr<State> state_;
};

}  // namespace sepal

// Short texts that say what a program does with a database.
//
//   p3 p3*300 p3!        put key 3; with a value of 300 bytes; synced        p+ puts the next key, p? any key
//   w3*300               put key 3 by a stream, into a file of its own if it has 100 bytes
//   x3*300               put key 3 with an expiry that no script comes to
//   m3*60                merge an operand into key 3, which is appended; needs the setting `merges`
//   r3-8                 delete keys 3 to 7 as a range
//   d3 s900              delete; single-delete (only keys from 900 on, put once between deletions)
//   f/p3                 in column family f
//   [p1 d2 f/p3]!        a batch
//   [p1 f/d2]@           a transaction with these updates, prepared; until it has ended nobody writes to its keys
//   commit rollback      take over the oldest that is prepared, and end it
//   fill:0-40*100        a put for each key of a range
//   flush compact compact:2-9 sync wait verify        flush:f compact:f for a family
//   create:f drop:f      column families
//   checkpoint           write one to a directory of its own
//   backup               the same without sharing tables with the database, on the base of the last one
//   snap unsnap          take a snapshot, and check it at every later `read`; let all go
//   iter uniter          the same with an iterator
//   name unname          create a named snapshot, which openings must find and later `read`s check; drop the oldest
//   moment               sync, and read as of now at every later opening and `read`; needs the setting `history`
//   read                 everything, by all ways
//   reopen kill power    close and open; open after the death of the process; after a loss of power
//   3{ ... }             three times
//
// The settings, words too, say how the database is kept: see `Configure`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "table/key/internal_key.h"
#include "tests/db/engine/test_database.h"

namespace sepal::reliability {

// The first key that is deleted by single deletions only.
inline constexpr uint64_t kFirstSingleDeleteKey = 900;

struct Op {
  enum class Kind : uint8_t {
    kWrite,
    kPrepare,
    kCommit,
    kRollback,
    kFlush,
    kCompact,
    kSync,
    kWait,
    kVerify,
    kCheckpoint,
    kBackup,
    kCreateFamily,
    kDropFamily,
    kSnapshot,
    kLetSnapshotsGo,
    kName,
    kDropName,
    kMoment,
    kIterator,
    kLetIteratorsGo,
    kRead,
    kReopen,
    kKill,
    kLosePower,
  };
  struct Update {
    ValueKind kind = ValueKind::kPut;
    std::string family = {};  // empty: the default one
    uint64_t key = 0;
    size_t value_bytes = 24;
    uint64_t end = 0;  // of a range that is deleted
    bool streamed = false;
  };

  Kind kind = Kind::kRead;
  std::vector<Update> updates = {};
  bool batch = false;
  bool sync = false;
  std::string family = {};
  uint64_t begin = 0;  // of a range; begin > end: everything
  uint64_t end = 0;
};

struct Script {
  std::string name;
  std::string settings;
  std::string text;
};

absl::StatusOr<std::vector<Op>> ParseScript(std::string_view text);
// Makes the database's options and tuning what the words say:
//   leveled  none lz4 zstd  logdir  logged (the info log)  tiny mid (memtable)  bare (no filters)  roll (manifest)
//   shortlog  wide  onefile  unmapped (the log)  history (all that was overwritten)
absl::Status Configure(std::string_view settings, TestDatabase* database);

// Written by hand and, from a fixed seed, at random; all kinds of operations in all of them together.
const std::vector<Script>& AllScripts();
// Those that make few file calls.
std::vector<Script> ShortScripts();
Script RandomScript(uint64_t seed, int operations);

}  // namespace sepal::reliability

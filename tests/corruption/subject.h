// A small database as files: every kind of file and of record in about 100 KiB, with what is in it.
//
// Families: the default one (a codec for each level, tables of several levels, deletions), "versions" (one key with so
// many versions that its blocks go on), "zstd" (a value of 300 KiB, zstd), "plain" (no filters, no compression),
// "values" (values in value files, which tables or only the logs refer to), "logged" (updates that only the logs hold,
// a batch in fragments, and the oldest log), "late" (made last). The manifest goes on in a second one, and the first is
// still there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "db/state/version/tuning.h"
#include "sepal/db.h"
#include "sepal/simulation/memory_file_system.h"

namespace sepal::corruption {

using Files = std::map<std::string, std::string>;
using Contents = std::map<std::string, std::string>;

inline constexpr const char* kDirectory = "/db";

struct Subject {
  std::string name;
  Files files;
  // Files as they were earlier: older bytes of those above, and files that are gone.
  std::vector<std::pair<std::string, std::string>> stale;
  std::map<std::string, Contents> families;
  // All values that a key ever had.
  std::map<std::string, std::map<std::string, std::set<std::string>>> history;
  // Updates of the default family, each a batch of its own, in order, to which no later record bears witness: after
  // damage, those from some point on may be missing. Not in `families`.
  std::vector<std::pair<std::string, std::string>> tail;
  // By file: the number of its bytes that affect results and are known to be durable, so that a flipped bit in them
  // must be reported.
  std::map<std::string, uint64_t> witnessed_bytes;
  std::string newest_log;
  // A log's newest records are in a ring too, from which damaged ones are taken.
  bool has_ring = false;
  std::string newest_manifest;
  // The state when the newest log was begun.
  std::map<std::string, Contents> earlier;
  Tuning tuning;

  Options MakeOptions(FileSystem* files) const;
  // Into an empty file system, with what is `changed`; a change to nullptr leaves the file out.
  void Install(MemoryFileSystem* memory, const std::map<std::string, const std::string*>& changed) const;
  uint64_t Bytes() const;
};

// The state that a killed process leaves, synced up to the tail, with or without a ring; or that after an orderly
// close.
enum class SubjectKind { kKilled, kKilledWithRing, kClosed };
inline constexpr SubjectKind kAllSubjects[] = {SubjectKind::kKilled, SubjectKind::kKilledWithRing,
                                               SubjectKind::kClosed};
Subject MakeSubject(SubjectKind kind);

}  // namespace sepal::corruption

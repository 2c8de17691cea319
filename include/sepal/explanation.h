// How a lookup found its answer: the memtables, files, filters and blocks that it searched, and the answer of each.
//
//   absl::StatusOr<sepal::GetExplanation> explanation = db->ExplainGet("user:1");
//   if (explanation.ok()) std::cout << explanation->ToString();
//
// A plain value. The lookup follows the path of a Get, but costs several times as much, and does not put blocks that it
// reads into the cache.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sepal/export.h"

namespace sepal {

// A data block that might hold the key, and its lane filter.
struct ExplainedBlock {
  uint64_t offset = 0;  // in the file
  uint64_t stored_bytes = 0;
  uint32_t leaf_page = 0;  // the index page that names the block, counted from 0
  bool leaf_page_cached = false;
  uint32_t fence = 0;  // the block's place in that page
  uint32_t fences = 0;
  bool has_lane = false;
  bool lane_admits = true;  // false is certain
  // The rest is set only if the lane admits the key.
  bool cached = false;
  bool key_present = false;  // whether the block holds an entry of the key; if not, the filters gave a false positive
};

// A memtable or a table file, in the order in which they were searched. One that answered with a merge operand is
// searched again for older entries.
struct ExplainedSource {
  enum class Kind : uint8_t { kActiveMemtable, kImmutableMemtable, kTable };
  enum class Answer : uint8_t { kFound, kDeleted, kAbsent, kGuardSaysNo, kLaneSaysNo, kOperand, kExpired, kRefused };

  Kind kind = Kind::kActiveMemtable;
  Answer answer = Answer::kAbsent;
  // Those of the entry that was found, if any: a put (also an expired or refused one), a tombstone or a merge operand.
  uint64_t sequence = 0;
  uint64_t value_bytes = 0;

  // For tables only.
  int level = 0;
  uint64_t run = 0;
  uint64_t file_number = 0;
  bool was_open = false;
  bool has_guard = false;
  bool guard_cached = false;
  bool guard_admits = true;
  // Usually one; more if the versions of the key continue in further blocks.
  std::vector<ExplainedBlock> blocks = {};
  // Bytes read from the file and time, for this source.
  uint64_t bytes_read = 0;
  uint64_t micros = 0;
};

struct SEPAL_EXPORT GetExplanation {
  std::string key = {};
  std::string column_family = {};
  bool found = false;
  uint64_t value_bytes = 0;
  // The number of operands in the value; one of a memtable may stand for several.
  uint64_t merge_operands = 0;
  // The sequence number of the newest visible range delete that covers the key; 0: there is none. It hides entries with
  // lower numbers.
  uint64_t range_deleted_at = 0;
  // The lookup met a put that expires (DB::Put with WriteOptions::ttl).
  bool expires = false;
  // When the key expires, if the lookup found such a put. Unset if operands were merged into it, since they outlive it.
  std::optional<std::chrono::system_clock::time_point> expires_at = {};
  // The key has a value that the family's filter refuses (sepal/compaction_filter.h) at `filter_epoch`, the epoch that
  // is in force for the read.
  bool refused = false;
  std::string filter_epoch = {};
  uint64_t visible_sequence = 0;
  // The number of sorted runs of tables, and how many of them have no file that spans the key. Runs after the one with
  // the answer were not searched.
  uint64_t runs = 0;
  uint64_t runs_without_file = 0;
  std::vector<ExplainedSource> sources = {};
  uint64_t bytes_read = 0;
  uint64_t micros = 0;

  // A few lines for people to read.
  std::string ToString() const;
};

}  // namespace sepal

// How a lookup found its answer: which memtables, files, filters and blocks it asked, and what each said.
//
//   absl::StatusOr<sepal::GetExplanation> explanation = db->ExplainGet("user:1");
//   if (explanation.ok()) std::cout << explanation->ToString();
//
// A value. The lookup takes the way of a Get, but is made for being looked at: it costs several times as much, and what
// it reads from files is not kept in the cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sepal/export.h"

namespace sepal {

// A data block that came into question, and its lane.
struct ExplainedBlock {
  uint64_t offset = 0;  // in the file
  uint64_t stored_bytes = 0;
  uint32_t leaf_page = 0;  // the page of the index that names it, counted from 0
  bool leaf_page_cached = false;
  uint32_t fence = 0;  // which of the page's blocks it is
  uint32_t fences = 0;
  bool has_lane = false;
  bool lane_admits = true;  // false is certain
  // The rest holds only if the lane admits.
  bool cached = false;
  bool key_present = false;  // whether any entry of the key is in it; if not, the filters were wrong
};

// A memtable or a table file, in the order in which they were asked.
struct ExplainedSource {
  enum class Kind : uint8_t { kActiveMemtable, kImmutableMemtable, kTable };
  enum class Answer : uint8_t { kFound, kDeleted, kAbsent, kGuardSaysNo, kLaneSaysNo };

  Kind kind = Kind::kActiveMemtable;
  Answer answer = Answer::kAbsent;
  // Of the entry, if one was found or says that the key is deleted.
  uint64_t sequence = 0;
  uint64_t value_bytes = 0;

  // Tables only.
  int level = 0;
  uint64_t run = 0;
  uint64_t file_number = 0;
  bool was_open = false;
  bool has_guard = false;
  bool guard_cached = false;
  bool guard_admits = true;
  // Usually one; more where the versions of the key go on from block to block.
  std::vector<ExplainedBlock> blocks = {};
  // Of this source: bytes read from the file, and time.
  uint64_t bytes_read = 0;
  uint64_t micros = 0;
};

struct SEPAL_EXPORT GetExplanation {
  std::string key = {};
  std::string column_family = {};
  bool found = false;
  uint64_t value_bytes = 0;
  uint64_t visible_sequence = 0;
  // Sorted runs of tables in all, and those in which no file spans the key. Runs behind the answer were not asked.
  uint64_t runs = 0;
  uint64_t runs_without_file = 0;
  std::vector<ExplainedSource> sources = {};
  uint64_t bytes_read = 0;
  uint64_t micros = 0;

  // Some lines for people.
  std::string ToString() const;
};

}  // namespace sepal

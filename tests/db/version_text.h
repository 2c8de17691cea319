// Versions drawn as text, for tests. One line is a run:
//
//   L1 run 5: 12[a..f] 13[g..k]{size=100 entries=100 tomb=0 seq=50-59}
//
// Values that the braces omit are as above; the sequence numbers are ten times the run's number and the nine after.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "db/state/version/version.h"
#include "db/state/version/version_builder.h"
#include "util/base/status.h"

namespace sepal {

inline TableRef MakeTable(const TableMetadata& metadata) {
  return std::make_shared<const TableFile>(metadata, nullptr);
}

inline TableMetadata TableOf(uint64_t number, uint64_t run, const std::string& smallest, const std::string& largest) {
  TableMetadata m;
  m.number = FileNumber(number);
  m.run = RunNumber(run);
  m.size_bytes = 100;
  m.entries = 100;
  m.lowest_sequence = SequenceNumber(run * 10);
  m.highest_sequence = SequenceNumber(run * 10 + 9);
  m.smallest = InternalKey(smallest, PackTrailer(m.highest_sequence, ValueKind::kPut));
  m.largest = InternalKey(largest, PackTrailer(m.lowest_sequence, ValueKind::kPut));
  return m;
}

// "12[a..f]{...}"
inline TableMetadata ParseTable(const std::string& text, uint64_t run) {
  const size_t open = text.find('[');
  const size_t dots = text.find("..", open);
  const size_t close = text.find(']', dots);
  TableMetadata m =
      TableOf(std::stoull(text), run, text.substr(open + 1, dots - open - 1), text.substr(dots + 2, close - dots - 2));
  std::string rest = text.substr(close + 1);
  for (char& c : rest) {
    if (c == '{' || c == '}') c = ' ';
  }
  std::istringstream words(rest);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const uint64_t value = std::stoull(word.substr(equals + 1));
    if (key == "size") m.size_bytes = value;
    if (key == "entries") m.entries = value;
    if (key == "tomb") m.tombstones = value;
    if (key == "seq") {
      m.lowest_sequence = SequenceNumber(value);
      m.highest_sequence = SequenceNumber(std::stoull(word.substr(word.find('-') + 1)));
      m.smallest.trailer = PackTrailer(m.highest_sequence, ValueKind::kPut);
      m.largest.trailer = PackTrailer(m.lowest_sequence, ValueKind::kPut);
    }
  }
  return m;
}

inline VersionEdit EditOf(const std::string& drawing) {
  VersionEdit edit;
  std::istringstream lines(drawing);
  for (std::string line; std::getline(lines, line);) {
    int level = 0;
    unsigned long run = 0;
    if (std::sscanf(line.c_str(), "L%d run %lu:", &level, &run) != 2) {
      ADD_FAILURE() << "not a run: " << line;
      continue;
    }
    size_t at = line.find(':') + 1;
    while ((at = line.find_first_not_of(' ', at)) != std::string::npos) {
      const size_t bracket = line.find(']', at) + 1;
      const size_t end = bracket < line.size() && line[bracket] == '{' ? line.find('}', bracket) + 1 : bracket;
      edit.added_tables.push_back({ColumnFamilyId(0), level, ParseTable(line.substr(at, end - at), run)});
      at = end;
    }
  }
  return edit;
}

inline absl::StatusOr<VersionRef> BuildOn(VersionRef base, const VersionEdit& edit) {
  VersionBuilder builder(std::move(base), MakeTable);
  RETURN_IF_ERROR(builder.Apply(ColumnFamilyId(0), edit));
  return builder.Build();
}

inline absl::StatusOr<VersionRef> Draw(const std::string& drawing, KeyOrder order = KeyOrder()) {
  return BuildOn(std::make_shared<const Version>(order), EditOf(drawing));
}

}  // namespace sepal

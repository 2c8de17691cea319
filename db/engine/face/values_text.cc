#include "db/engine/face/values_text.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "db/format/file_names.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

// All families have the same collection, or none.
ValueCollectionRef CollectionOf(const EngineState& state) REQUIRES_STATE_LOCK {
  for (const auto& [id, family] : state.families) {
    if (family->collection() != nullptr) return family->collection();
  }
  return nullptr;
}

uint64_t LiveBytesOf(const EngineState& state, FileNumber file) REQUIRES_STATE_LOCK {
  const auto& live = state.value_space.live_bytes();
  const auto it = live.find(file);
  return it != live.end() ? it->second : 0;
}

}  // namespace

ValueFileTotals TotalsOfValueFiles(const EngineState& state) {
  ValueFileTotals totals;
  for (const ValueStore::FileState& file : state.core->values.Files()) {
    ++totals.files;
    totals.bytes += file.ended_bytes;
  }
  for (const auto& [number, bytes] : state.value_space.live_bytes()) totals.live_bytes += bytes;
  return totals;
}

std::string ValuesText(const EngineState& state) {
  const std::vector<ValueStore::FileState> files = state.core->values.Files();
  const auto count = [&files](auto holds) {
    return static_cast<int>(std::count_if(files.begin(), files.end(), holds));
  };
  const ValueFileTotals totals = TotalsOfValueFiles(state);
  std::string text = absl::StrFormat(
      "%u value files of %s; tables refer to %s\n%d are written to, %d are held by memtables, %d have a value that "
      "could "
      "not be read\n",
      totals.files, HumanBytes(totals.bytes), HumanBytes(totals.live_bytes),
      count([](const auto& file) { return file.ended_bytes == 0; }),
      count([](const auto& file) { return file.memtables > 0; }),
      count([](const auto& file) { return file.unreadable; }));
  const StatisticsImpl& statistics = state.core->statistics;
  absl::StrAppendFormat(&text, "since the database was opened %s were written, and %s moved\n",
                        HumanBytes(statistics.Get(Ticker::kValueBytes)),
                        HumanBytes(statistics.Get(Ticker::kValueBytesMoved)));
  const ValueCollectionRef collection = CollectionOf(state);
  if (collection == nullptr) return text;
  for (const FileNumber file : collection->files) {
    absl::StrAppendFormat(&text, "%s is being emptied, of %s\n", ValueFileName(file),
                          HumanBytes(LiveBytesOf(state, file)));
  }
  return text;
}

}  // namespace sepal

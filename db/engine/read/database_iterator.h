// A user's iterator: shows the newest visible version of each key of all sources, in order, without deleted keys and
// within the bounds.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "db/engine/core/call_timing.h"
#include "db/engine/core/open_mark.h"
#include "db/engine/read/dead_run.h"
#include "sepal/iterator.h"
#include "sepal/options.h"
#include "table/iterate/iterator.h"
#include "table/key/internal_key.h"
#include "util/stats/statistics_impl.h"

namespace sepal {

struct DatabaseIteratorOptions {
  KeyOrder order;
  SequenceNumber visible;
  // The database and view that the entries belong to.
  DeadRun::Source source;
  std::optional<std::string> lower_bound = {};
  std::optional<std::string> upper_bound = {};
  // Asked about each key; null if there is no filter. It must outlive the iterator.
  const KeyFilter* key_filter = nullptr;
  bool keys_only = false;
  bool fill_cache = true;  // for values in value files
  // The mark of the database: once it is closed the iterator does nothing, and in a forked child it frees nothing.
  const OpenMark* open_mark = nullptr;
  StatisticsImpl* statistics = nullptr;
  CallWatch* calls = nullptr;
  std::string_view family_name = {};
  // Kept alive, and released after the sources.
  std::shared_ptr<const void> owner = {};
};

std::unique_ptr<Iterator> NewDatabaseIterator(DatabaseIteratorOptions options,
                                              std::unique_ptr<InternalIterator> entries);
// Returns an iterator without entries, with a status.
std::unique_ptr<Iterator> NewErrorIterator(absl::Status status);

}  // namespace sepal

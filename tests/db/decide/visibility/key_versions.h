// The versions of one key, and a reader's result.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/decide/visibility/operands.h"
#include "sepal/merge_operator.h"
#include "table/key/internal_key.h"

namespace sepal {

struct KeyEntry {
  Trailer trailer;
  std::string payload;
};
// Newest first.
using KeyEntries = std::vector<KeyEntry>;

inline KeyEntry VersionOf(uint64_t sequence, ValueKind kind, std::string payload) {
  return {PackTrailer(SequenceNumber(sequence), kind), std::move(payload)};
}

// Returns the result of a reader at `visible`, which asks for each version like a Get. `clock` may be null if none
// expires.
inline std::optional<std::string> SeenAt(const KeyEntries& versions, uint64_t visible, const MergeOperator& merge,
                                         ReadClock* clock) {
  OperandChain chain(clock);
  std::optional<SequenceNumber> bound = SequenceNumber(visible);
  while (bound.has_value()) {
    const auto next = std::find_if(versions.begin(), versions.end(),
                                   [&](const KeyEntry& v) { return TrailerSequence(v.trailer) <= *bound; });
    if (next == versions.end()) break;
    bound = chain.Take(next->trailer, next->payload);
  }
  return chain.Resolve(merge, "k").value();
}

}  // namespace sepal

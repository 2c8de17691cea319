#include "db/decide/writing/flush_splitter.h"

#include <algorithm>
#include <utility>

namespace sepal {

bool FlushSplitter::BeginsTable(SequenceNumber sequence, bool first_of_key, absl::FunctionRef<uint64_t()> table_bytes) {
  if (!first_of_key) return false;
  const bool falls = sequence < std::exchange(last_, sequence);
  const uint64_t ascending = falls ? std::exchange(ascending_, 0) : ascending_;
  ++ascending_;
  const bool begins = falls && ascending >= options_.min_ascending && ascending * 4 >= keys_ &&
                      table_bytes() >= std::max<uint64_t>(1, least_bytes_);
  if (begins) {
    keys_ = 0;
    least_bytes_ = options_.min_table_bytes;
  }
  ++keys_;
  return begins;
}

}  // namespace sepal

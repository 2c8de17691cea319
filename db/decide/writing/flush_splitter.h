// Where one table of a flush ends and the next begins. Pure apart from the place in the stream.
//
// Writers that each go through a range of their own, in order, leave entries whose sequence numbers ascend through a
// range and fall where the next one begins. A table that ends there meets no table of the flushes before and after,
// which are cut at the same places, so that it moves down the tree as it is. A table begins before the first entry of a
// user key where
//   - the sequence number falls, after `min_ascending` keys or more through which it rose (by chance random keys do
//     that once in min_ascending! entries);
//   - these are a quarter of the table at least: what is mostly out of order gains nothing;
//   - the table has `min_table_bytes`, or is the first of a part that begins amid a range: what the range has before it
//     lies in another part.
//
// One thread, keys in order. Cost: a comparison of two numbers an entry.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "table/key/internal_key.h"

namespace sepal {

struct FlushSplitterOptions {
  uint64_t min_ascending = 256;
  uint64_t min_table_bytes = 0;
  // The stream begins where another part of the flush ends.
  bool continues = false;
};

class FlushSplitter {
 public:
  explicit FlushSplitter(FlushSplitterOptions options)
      : options_(options), least_bytes_(options.continues ? 1 : options.min_table_bytes) {}

  // Whether a new table must begin before this entry. Asked for every entry; `first_of_key` as Retention says it,
  // `table_bytes` tells the size of the table being written, 0 if none is open, where that matters.
  bool BeginsTable(SequenceNumber sequence, bool first_of_key, absl::FunctionRef<uint64_t()> table_bytes);

 private:
  const FlushSplitterOptions options_;
  uint64_t least_bytes_;  // that this table takes before it may end
  SequenceNumber last_ = {};
  uint64_t ascending_ = 0;  // keys, up to the last one
  uint64_t keys_ = 0;       // in the table so far
};

}  // namespace sepal

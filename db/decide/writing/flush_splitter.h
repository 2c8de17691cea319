// Decides where one table of a flush ends and the next begins. Pure apart from the place in the stream.
//
// Writers that each write a range of their own, in order, leave entries whose sequence numbers ascend through a range
// and fall where the next one begins. A table that ends there overlaps no table of earlier and later flushes, which are
// cut at the same places, so that it moves down the tree as it is. A table begins before the first entry of a user key
// where
//   - the sequence number falls, after it rose through `min_ascending` keys or more (random keys do that by chance once
//     in min_ascending! entries);
//   - these keys are at least a quarter of the table: data mostly out of order gains nothing;
//   - the table has `min_table_bytes`, or is the first of a part that begins inside a range, whose earlier keys are in
//     another part.
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

  // Returns whether a new table must begin before this entry. Called for every entry; `first_of_key` is Retention's,
  // and `table_bytes` returns the size of the table being written, 0 if none is open, when it is needed.
  bool BeginsTable(SequenceNumber sequence, bool first_of_key, absl::FunctionRef<uint64_t()> table_bytes);

 private:
  const FlushSplitterOptions options_;
  uint64_t least_bytes_;  // that this table takes before it may end
  SequenceNumber last_ = {};
  uint64_t ascending_ = 0;  // consecutive keys, up to the last one
  uint64_t keys_ = 0;       // in the table so far
};

}  // namespace sepal

// Reads through the updates of a batch, which is not written, to the database below it: those of transactions and of
// indexed batches.
//
// The database is asked where the batch does not decide: for keys that it says nothing of, and for those that it merges
// operands into. What lies below a merge is asked for without a key filter, which would leave out a part of the value.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/engine/transaction/batch_index.h"
#include "db/engine/transaction/range_reads.h"
#include "sepal/db.h"

namespace sepal {

struct Below {
  DB* database;
  const ColumnFamily& handle;
  const FamilyRef& family;  // of the handle
  const ReadOptions& options;
};

// Called with each key that the database is asked for, before that. After an error it is not asked.
using ReadNote = absl::FunctionRef<absl::Status(std::string_view key)>;

absl::StatusOr<std::string> GetThrough(const BatchIndex& batch, const Below& below, std::string_view key,
                                       ReadNote note);
// The database is asked once, for all that it is asked for.
std::vector<absl::StatusOr<std::string>> MultiGetThrough(const BatchIndex& batch, const Below& below,
                                                         std::span<const std::string_view> keys, ReadNote note);
// Never null. Shows the updates that the batch has by now, until it is rolled back. `reads`: as in Overlay.
std::unique_ptr<Iterator> NewIteratorThrough(std::shared_ptr<Core> core, std::shared_ptr<const BatchIndex> batch,
                                             const Below& below, std::shared_ptr<RangeReads> reads);

}  // namespace sepal

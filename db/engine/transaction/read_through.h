// Reads through the updates of an unwritten batch to the database below it, for transactions and indexed batches.
//
// The database is asked where the batch alone does not decide: for keys that it does not mention, and for those into
// which it merges operands. The value below a merge is read without a key filter, which would hide a part of the
// result.
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
  const FamilyRef& family;  // the handle's family
  const ReadOptions& options;
};

// Called with each key before the database is asked for it. After an error it is not asked.
using ReadNote = absl::FunctionRef<absl::Status(std::string_view key)>;

absl::StatusOr<std::string> GetThrough(const BatchIndex& batch, const Below& below, std::string_view key,
                                       ReadNote note);
// Asks the database once, for all keys together.
std::vector<absl::StatusOr<std::string>> MultiGetThrough(const BatchIndex& batch, const Below& below,
                                                         std::span<const std::string_view> keys, ReadNote note);
// Never null. Shows the updates that the batch has at the call, until it is rolled back. `reads`: as in Overlay.
std::unique_ptr<Iterator> NewIteratorThrough(std::shared_ptr<Core> core, std::shared_ptr<const BatchIndex> batch,
                                             const Below& below, std::shared_ptr<RangeReads> reads);

}  // namespace sepal

// The iterator of a transaction, or of an indexed batch: the database's entries, with the batch's updates over them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "db/engine/transaction/batch_index.h"
#include "db/engine/transaction/range_reads.h"
#include "sepal/iterator.h"

namespace sepal {

struct Overlay {
  std::shared_ptr<Core> core;  // let go last
  std::shared_ptr<const BatchIndex> batch;
  FamilyRef family;
  // The bounds that `base` has.
  std::optional<std::string> lower_bound = {};  // inclusive
  std::optional<std::string> upper_bound = {};  // exclusive
  bool keys_only = false;                       // as `base`: values are empty
  // Null: nobody wants to know what is read.
  std::shared_ptr<RangeReads> reads = nullptr;
};

// Shows the updates that the batch has by now, until it is rolled back.
std::unique_ptr<Iterator> NewOverlayIterator(Overlay overlay, std::unique_ptr<Iterator> base);

}  // namespace sepal

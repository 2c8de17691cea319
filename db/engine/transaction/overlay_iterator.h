// The iterator of a transaction or of an indexed batch: the database's entries, overlaid with the batch's updates.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "db/engine/transaction/batch_index.h"
#include "db/engine/transaction/range_reads.h"
#include "sepal/iterator.h"

namespace sepal {

struct Overlay {
  std::shared_ptr<Core> core;  // released last
  std::shared_ptr<const BatchIndex> batch;
  FamilyRef family;
  // The bounds of `base`.
  std::optional<std::string> lower_bound = {};  // inclusive
  std::optional<std::string> upper_bound = {};  // exclusive
  bool keys_only = false;                       // as in `base`: values are empty
  // Null if reads are not recorded.
  std::shared_ptr<RangeReads> reads = nullptr;
};

// Shows the updates that the batch has when it is made; ends when the batch is rolled back.
std::unique_ptr<Iterator> NewOverlayIterator(Overlay overlay, std::unique_ptr<Iterator> base);

}  // namespace sepal

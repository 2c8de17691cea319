// Sums of what key sketches say about the user keys of several tables. The owners of the tables, chunks and runs, keep
// them.
//
// A sketch may become known after its table was added to versions (TableFile::LearnSketch). A table is *settled* when
// its sketch is known or could not be read: its contribution then never changes again. Sums over settled tables only
// are computed once and kept; as long as a table is not settled, they are computed for each caller.
//
// A KeptKeySums is empty, then full, and never changes again. A caller that has summed settled parts fills it by one
// compare-exchange (release); readers load it (acquire). If two callers fill it at once, the second discards its sums,
// which are the same. Safe for concurrent use.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "util/base/hyperloglog.h"

namespace sepal {

// Over the tables whose sketch is known.
struct KeySums {
  HyperLogLog keys;
  uint64_t bytes = 0;
  uint64_t entries = 0;
  double largest_entry_bytes = 0;   // the average entry size of the table where it is largest
  double most_entries_per_key = 1;  // of the table where it is largest (TableFile::EntriesPerKey)

  void Add(const KeySums& other) {
    if (other.entries == 0) return;
    keys.Merge(other.keys);
    bytes += other.bytes;
    entries += other.entries;
    largest_entry_bytes = std::max(largest_entry_bytes, other.largest_entry_bytes);
    most_entries_per_key = std::max(most_entries_per_key, other.most_entries_per_key);
  }
  friend bool operator==(const KeySums&, const KeySums&) = default;
};

class KeptKeySums {
 public:
  KeptKeySums() = default;
  ~KeptKeySums() { delete Get(); }
  KeptKeySums(const KeptKeySums&) = delete;
  KeptKeySums& operator=(const KeptKeySums&) = delete;

  // Null while nothing is kept.
  const KeySums* Get() const { return kept_.load(std::memory_order_acquire); }

  // Adds the sums of `parts`, which must be the same ones in every call, to `*sums`. Returns whether all are settled. A
  // part has `bool AddKeys(KeySums*) const` with the same meaning. Cost: one addition if the sums are kept, otherwise
  // one for each part.
  template <class Parts>
  bool Add(const Parts& parts, KeySums* sums) const {
    if (const KeySums* const kept = Get()) {
      sums->Add(*kept);
      return true;
    }
    auto own = std::make_unique<KeySums>();
    bool settled = true;
    for (const auto& part : parts) settled = part->AddKeys(own.get()) && settled;
    sums->Add(*own);
    if (settled) Keep(std::move(own));
    return settled;
  }

 private:
  void Keep(std::unique_ptr<const KeySums> sums) const {
    const KeySums* none = nullptr;
    if (kept_.compare_exchange_strong(none, sums.get(), std::memory_order_release, std::memory_order_relaxed)) {
      static_cast<void>(sums.release());
    }
  }

  mutable std::atomic<const KeySums*> kept_ = nullptr;
};

}  // namespace sepal

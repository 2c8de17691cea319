// What sketches tell of the user keys of several tables, kept by what has these tables: chunks and runs.
//
// A sketch may be learned after its table came into versions (TableFile::LearnSketch). A table is *settled* when its
// sketch is known, or was sought in vain: what it adds does not change any more. Sums of what is all settled are made
// once and kept; as long as something is not, they are made anew for each who asks.
//
// A KeptKeySums is empty, then full, and never changes again. Who has summed settled parts fills it by one
// compare-exchange (release), readers load it (acquire). Of two who fill it at a time the second throws away his, which
// are the same. Safe for concurrent use.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "util/base/hyperloglog.h"

namespace sepal {

// Of tables whose sketch is known.
struct KeySums {
  HyperLogLog keys;
  uint64_t bytes = 0;
  uint64_t entries = 0;
  double largest_entry_bytes = 0;   // on average in the table where that is most
  double most_entries_per_key = 1;  // in the table where that is most (TableFile::EntriesPerKey)

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

  // Adds the sums of `parts`, always the same ones, to `*sums`. Whether all are settled. A part has
  // `bool AddKeys(KeySums*) const`, of the same meaning. Cost: one addition where they are kept, else one for each
  // part.
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

// Filters between databases: a filter is exported from the keys of one database (DB::ExportFilter), and reads of this
// or another database leave out the keys that are not in it (ReadOptions::key_filter): a join by filter.
//
//   auto known = customers.ExportFilter(customers.DefaultColumnFamily(), {.false_positive_rate = 0.001});
//   if (!known.ok()) return known.status();
//   const sepal::KeyFilterOf asked(*known);
//   sepal::ScanRange range = orders.Scan({.key_filter = &asked});  // orders are kept by customer
//   for (auto [customer, order] : range) ...                       // strangers are left out, but for a few
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sepal/abi.h"
#include "sepal/export.h"
#include "sepal/filter/bloom.h"

namespace sepal {

// A test of keys, which a read applies before it touches the value.
class SEPAL_EXPORT KeyFilter {
 public:
  virtual ~KeyFilter() = default;
  // False: the key is certainly not wanted. Called by the reading threads, several at once. Must not throw.
  virtual bool MayContain(std::string_view key) const = 0;
  // Sets maybe[i] to MayContain(keys[i]); both spans have one length. Scans ask about many neighbouring keys at once:
  // override it if the filter's cache misses can overlap.
  virtual void MayContainMany(std::span<const std::string_view> keys, std::span<bool> maybe) const {
    size_t at = 0;
    for (const std::string_view key : keys) maybe[at++] = MayContain(key);
  }
};

// A KeyFilter that asks a filter of sepal/filter.h, which must outlive this object and not change meanwhile.
template <class Filter>
class KeyFilterOf final : public KeyFilter {
 public:
  explicit KeyFilterOf(const Filter& filter) : filter_(filter) {}
  bool MayContain(std::string_view key) const override { return filter_.MayContain(key); }
  void MayContainMany(std::span<const std::string_view> keys, std::span<bool> maybe) const override {
    if constexpr (requires { filter_.MayContainMany(keys, maybe); }) {
      filter_.MayContainMany(keys, maybe);
    } else {
      KeyFilter::MayContainMany(keys, maybe);
    }
  }

 private:
  const Filter& filter_;
};

// Options of DB::ExportFilter.
struct ExportFilterOptions {
  // In (0, 1).
  double false_positive_rate = 0.01;
  filters::BloomLayout layout = filters::BloomLayout::kBlocked;
  // The seed of the hash; a secret one if keys may be hostile.
  uint64_t seed = 0;
};

}  // namespace sepal

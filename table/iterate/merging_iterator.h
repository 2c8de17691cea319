// Merges many ordered sources into one: a loser tree over cached 8-byte key prefixes (Knuth, TAOCP vol. 3, 5.4.1), so
// that most comparisons touch neither the sources nor the keys.
//
// It goes forward and backward; changing direction costs a seek of every other child. If a child fails, the merging
// iterator becomes invalid with that status. If there is one child, that child is returned.
#pragma once

#include <memory>
#include <vector>

#include "table/iterate/iterator.h"
#include "table/key/internal_key.h"

namespace sepal {

// Children must not hold equal internal keys (no two updates share a sequence number). `common_prefix` is a prefix of
// nearly all keys, if one is known; the 8 bytes after it are cached. Keys without it are merged too, only slower. It is
// ignored if the order is not bytewise.
std::unique_ptr<InternalIterator> NewMergingIterator(KeyOrder order,
                                                     std::vector<std::unique_ptr<InternalIterator>> children,
                                                     std::string_view common_prefix = {});

// Disjoint sources in key order, which are opened when they are reached. `Open(i)` creates the iterator of source i.
class ConcatenationSources {
 public:
  virtual ~ConcatenationSources() = default;
  virtual size_t Count() const = 0;
  // Returns the first source whose last key is at or after `target`; Count() if there is none.
  virtual size_t Find(InternalKeyView target) const = 0;
  virtual std::unique_ptr<InternalIterator> Open(size_t index) = 0;
  // Requests what Open(index) will wait for, without waiting. Returns whether it did; the source must be opened then.
  virtual bool Ask(size_t index) {
    (void)index;
    return false;
  }
};
// Keeps up to `kept` (at least 1) visited sources open, all but the current one at rest.
std::unique_ptr<InternalIterator> NewConcatenatingIterator(std::unique_ptr<ConcatenationSources> sources,
                                                           size_t kept = 1);

}  // namespace sepal

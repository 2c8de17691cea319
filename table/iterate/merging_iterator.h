// Many ordered sources as one: a loser tree over cached 8-byte key prefixes (Knuth, TAOCP vol. 3, 5.4.1), so that most
// comparisons touch neither the sources nor the keys.
//
// Forward and backward; turning round costs a seek of every other child. A failed child makes the merge invalid with
// that status. With one child the child itself is returned.
#pragma once

#include <memory>
#include <vector>

#include "table/iterate/iterator.h"
#include "table/key/internal_key.h"

namespace sepal {

// Children must not hold equal internal keys (no two updates share a sequence number). `common_prefix`: what nearly all
// keys begin with, where known, so that the 8 bytes after it are those that are cached; keys without it are merged too,
// only slower. Ignored where the order is not bytewise.
std::unique_ptr<InternalIterator> NewMergingIterator(KeyOrder order,
                                                     std::vector<std::unique_ptr<InternalIterator>> children,
                                                     std::string_view common_prefix = {});

// Runs of disjoint sources in key order, opened when reached. `Open(i)` makes the iterator of source i.
class ConcatenationSources {
 public:
  virtual ~ConcatenationSources() = default;
  virtual size_t Count() const = 0;
  // The first source whose last key is at or after `target`; Count() if there is none.
  virtual size_t Find(InternalKeyView target) const = 0;
  virtual std::unique_ptr<InternalIterator> Open(size_t index) = 0;
};
// Of the sources that it has been at, up to `kept`, at least 1, stay open, all but the current one at rest.
std::unique_ptr<InternalIterator> NewConcatenatingIterator(std::unique_ptr<ConcatenationSources> sources,
                                                           size_t kept = 1);

}  // namespace sepal

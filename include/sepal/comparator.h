// The order of keys.
//
// A comparator is a total order over byte strings. It must be safe to call from any number of threads, must not throw,
// and must outlive every database that uses it. Its name is stored in the manifest and in every table; a database is
// only opened with a comparator of the same name and the same answer to `EqualMeansIdentical`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sepal/export.h"

namespace sepal {

class SEPAL_EXPORT Comparator {
 public:
  virtual ~Comparator() = default;

  // Less than, equal to or greater than zero as `a` sorts before, with or after `b`.
  virtual int Compare(std::string_view a, std::string_view b) const = 0;

  // A name for this order, stored on disk. Change it whenever the order changes. Names that begin with "sepal." are
  // reserved.
  virtual std::string_view Name() const = 0;

  // Whether keys that compare equal are identical bytes. Where they are not, no hash structure (filter, tag, memtable
  // index) is built or asked unless `Canonicalize` is offered too.
  virtual bool EqualMeansIdentical() const { return false; }

  // For an order in which different bytes may be equal: one representative of all keys that are equal to `key`, so that
  // hashes of equal keys agree. nullopt when the order offers none.
  virtual std::optional<std::string> Canonicalize(std::string_view key) const;
};

// Lexicographic order of unsigned bytes: the default, and the fastest (prefixes are compared as integers).
SEPAL_EXPORT const Comparator* BytewiseComparator();

}  // namespace sepal

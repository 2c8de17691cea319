// The order of keys.
//
// A comparator is a total order over byte strings. It must be safe to call from any number of threads, must not throw,
// and must outlive every database that uses it; iterators of a closed database do not call it. Its name is stored in
// the manifest and in every table. A database can only be opened with a comparator of the same name and the same answer
// to `EqualMeansIdentical`.
#pragma once

#include <string_view>

#include "sepal/export.h"

namespace sepal {

class SEPAL_EXPORT Comparator {
 public:
  virtual ~Comparator() = default;

  // Returns a number less than, equal to or greater than zero if `a` sorts before, with or after `b`.
  virtual int Compare(std::string_view a, std::string_view b) const = 0;

  // The name of this order, stored on disk. Change it whenever the order changes. Names that begin with "sepal." are
  // reserved.
  virtual std::string_view Name() const = 0;

  // Whether keys that compare equal are identical bytes. If they are not, no hash structure (filter, tag, memtable
  // index) is built or used.
  virtual bool EqualMeansIdentical() const { return false; }
};

// The lexicographic order of unsigned bytes: the default, and the fastest, since prefixes are compared as integers.
SEPAL_EXPORT const Comparator* BytewiseComparator();

}  // namespace sepal

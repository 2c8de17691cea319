// Filters: which entries of a column family are there at all. What a filter refuses is absent to every reader at once,
// and flushes and compactions remove it from the files as they come by.
//
//   // Keys "TENANT/..." of tenants that are gone; the epoch is their names, one a line.
//   class Tenants final : public sepal::PureFilter {
//    public:
//     std::string_view Name() const override { return "example.tenants"; }
//     bool Keep(std::string_view key, std::string_view, std::string_view epoch) const override {
//       return !IsListed(epoch, key.substr(0, key.find('/')));
//     }
//   };
//   options.family.compaction_filter = std::make_shared<Tenants>();
//   ...
//   db->SetFilterEpoch(db->DefaultColumnFamily(), "acme\n");   // the tenant acme is gone from now on
//
// The *epoch* is what the filter's decisions depend on besides key and value: a date, a version, a short list. It is
// the program's, up to kMaxFilterEpochBytes of any bytes. DB::SetFilterEpoch makes it durable, at a sequence number:
// snapshots and iterators from before go on with the epoch that they had. Before the first epoch is set nothing is
// refused, and the filter is not asked.
//
// A refused entry is absent as a deleted one is: it hides the older versions of its key, and a later put brings the key
// back if the filter keeps it. Reads ask the filter about what they would return otherwise: the value of a put that is
// not deleted and has not expired, or what the merge operator made of its operands. So the results of reads never
// depend on when a compaction ran. What a transaction or an indexed batch has written, its own reads return without
// asking: the filter is asked from the commit on. In a family with a merge operator nothing of what is refused is
// removed from files: an operand to come would build on it.
//
// The name of its filter belongs to a column family for good, as that of a merge operator does: later openings must
// give one of that name, or none. Without it the family opens, and once an epoch is set, reads that meet a value fail
// with FailedPrecondition, which names the filter; nothing is removed. Versions of the library without filters refuse
// to open a database that has a family with one.
#pragma once

#include <cstddef>
#include <string_view>

#include "sepal/abi.h"
#include "sepal/export.h"

namespace sepal {

inline constexpr size_t kMaxFilterEpochBytes = 64;

// Must be safe for concurrent use, must not throw (the library is built without handlers: an exception ends the
// process), and must neither block nor call the database. Reads call it once for each value that they meet, and
// background threads once for each that they write; no lock is held meanwhile.
class SEPAL_EXPORT PureFilter {
 public:
  virtual ~PureFilter() = default;

  // Stored on disk. Names that begin with "sepal." are reserved.
  virtual std::string_view Name() const = 0;

  // Whether `key` with `value` is there in `epoch`. Deterministic: the same arguments give the same answer in every
  // process that ever opens the database. Monotone: once the answer is false for an epoch, it is false for every epoch
  // that is set later. Where that is broken, what was refused may come back or not, as compactions had it; nothing else
  // is harmed.
  virtual bool Keep(std::string_view key, std::string_view value, std::string_view epoch) const = 0;
};

}  // namespace sepal

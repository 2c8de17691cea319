// Filters: the program decides which entries of a column family exist. An entry that the filter refuses is absent for
// every reader at once, and flushes and compactions remove it from the files when they reach it.
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
// The *epoch* is the input of the filter's decisions besides key and value: a date, a version, a short list. The
// program chooses it: up to kMaxFilterEpochBytes of any bytes. DB::SetFilterEpoch makes it durable, at a sequence
// number: older snapshots and iterators keep the epoch that they had. Before the first epoch is set nothing is refused,
// and the filter is not called.
//
// A refused entry is absent like a deleted one: it hides the older versions of its key, and a later put brings the key
// back if the filter keeps it. Reads ask the filter about the value that they would return otherwise: that of a put
// that is not deleted and has not expired, or the result of the merge operator. So the results of reads never depend on
// when a compaction ran. A transaction or an indexed batch reads its own writes without asking: the filter applies from
// the commit on. In a family with a merge operator refused entries stay in the files, because a later operand would
// build on them.
//
// The name of the filter belongs to the column family for good, like that of a merge operator: later openings must give
// a filter of that name, or none. Without one the family opens, but once an epoch is set, reads that find a value fail
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
// process), and must neither block nor call the database. Reads call it once for each value that they find, and
// background threads once for each value that they write; no lock is held meanwhile.
class SEPAL_EXPORT PureFilter {
 public:
  virtual ~PureFilter() = default;

  // Stored on disk. Names that begin with "sepal." are reserved.
  virtual std::string_view Name() const = 0;

  // Whether `key` with `value` exists in `epoch`. Must be deterministic: the same arguments give the same answer in
  // every process that ever opens the database. Must be monotone: once the answer is false for an epoch, it is false
  // for every epoch that is set later. Otherwise refused entries may reappear or not, depending on compactions; nothing
  // else is harmed.
  virtual bool Keep(std::string_view key, std::string_view value, std::string_view epoch) const = 0;
};

}  // namespace sepal

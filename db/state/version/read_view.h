// What a reader sees of one column family: its memtables and its tables, as one immutable value.
//
// A change of either creates a new view; readers of the old one are not disturbed. Point reads use a view inside an
// epoch and touch no counter; longer-lived users (iterators, large pinned values) take a shared reference.
//
// Law: a reader loads the view first and the visible sequence number after it. Every entry at or below that number that
// was written before the read began is then in the view, and no version visible at that number has been compacted away.
#pragma once

#include <memory>
#include <vector>

#include "db/state/memtable/memtable.h"
#include "db/state/version/version.h"

namespace sepal {

struct ReadView : std::enable_shared_from_this<ReadView> {
  ReadView(std::shared_ptr<MemTable> active_memtable, std::vector<std::shared_ptr<const MemTable>> flushing,
           std::shared_ptr<const Version> tables)
      : active(std::move(active_memtable)), immutables(std::move(flushing)), version(std::move(tables)) {}

  std::shared_ptr<MemTable> active;
  // The newest one first.
  std::vector<std::shared_ptr<const MemTable>> immutables;
  std::shared_ptr<const Version> version;
};

}  // namespace sepal

// What a reader sees of one column family: its memtables and its tables, as one immutable value.
//
// A change of either creates a new view; readers of the old one are not disturbed. Point reads use a view inside an
// epoch and touch no counter; longer-lived users (iterators, large pinned values) take a shared reference.
//
// Law: a reader loads the view first and the visible sequence number after it. Every entry at or below that number that
// was written before the read began is then in the view, and no version visible at that number has been compacted away.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "db/state/memtable/memtable.h"
#include "db/state/version/version.h"

namespace sepal {

// What stays known of a view that may no longer be accessed.
struct ViewLife {
  ViewLife(uint64_t view_number, SequenceNumber all_since) : number(view_number), since(all_since) {}

  const uint64_t number;       // numbered in the order of their creation
  const SequenceNumber since;  // its readers read at or above this, except for those of snapshots
  // True when nothing holds the view any more.
  std::atomic<bool> over{false};
};

struct ReadView : std::enable_shared_from_this<ReadView> {
  ReadView(std::shared_ptr<MemTable> active_memtable, std::vector<std::shared_ptr<const MemTable>> flushing,
           std::shared_ptr<const Version> tables, std::shared_ptr<ViewLife> its_life)
      : active(std::move(active_memtable)),
        immutables(std::move(flushing)),
        version(std::move(tables)),
        life(std::move(its_life)) {}
  ~ReadView() { life->over.store(true, std::memory_order_release); }
  ReadView(const ReadView&) = delete;
  ReadView& operator=(const ReadView&) = delete;

  std::shared_ptr<MemTable> active;
  // Newest first.
  std::vector<std::shared_ptr<const MemTable>> immutables;
  std::shared_ptr<const Version> version;
  const std::shared_ptr<ViewLife> life;
};

}  // namespace sepal

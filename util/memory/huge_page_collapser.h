// Brings the block heap's small chunks onto huge pages once readers have come to them (util/memory/block_heap.h):
// beside all else, a chunk at a time, so that whoever waits for the executor or for the group to close waits for one
// chunk.
//
// Safe for concurrent use.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "util/memory/block_heap.h"
#include "util/thread/task_group.h"

namespace sepal {

class ChunkCollapser {
 public:
  // `tasks` do the work; they are closed when this goes, before the heap.
  ChunkCollapser(BlockHeap* heap, std::shared_ptr<TaskGroup> tasks) : heap_(heap), tasks_(std::move(tasks)) {}
  ~ChunkCollapser() { tasks_->Close(); }
  ChunkCollapser(const ChunkCollapser&) = delete;
  ChunkCollapser& operator=(const ChunkCollapser&) = delete;

  // Goes on until no chunk is small; nothing, once the group is closed.
  void Ask();

 private:
  void Step();

  BlockHeap* const heap_;
  const std::shared_ptr<TaskGroup> tasks_;
  std::atomic<bool> under_way_{false};
};

}  // namespace sepal

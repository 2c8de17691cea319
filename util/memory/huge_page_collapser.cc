#include "util/memory/huge_page_collapser.h"

namespace sepal {

void ChunkCollapser::Ask() {
  if (under_way_.load(std::memory_order_relaxed) || under_way_.exchange(true, std::memory_order_acquire)) return;
  if (!tasks_->Run([this] { Step(); })) under_way_.store(false, std::memory_order_release);
}

void ChunkCollapser::Step() {
  const bool more = heap_->CollapseOne() && heap_->HasSmallChunks();
  if (!more || !tasks_->Run([this] { Step(); })) under_way_.store(false, std::memory_order_release);
}

}  // namespace sepal

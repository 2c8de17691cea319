#include "util/memory/memory_budget.h"

#include "absl/strings/str_format.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

bool IsCache(MemoryPart part) {
  return part == MemoryPart::kDataBlocks || part == MemoryPart::kLeafPages || part == MemoryPart::kGuards;
}

}  // namespace

std::string_view Name(MemoryPart part) {
  switch (part) {
    case MemoryPart::kMemtables:
      return "memtables";
    case MemoryPart::kDataBlocks:
      return "data blocks";
    case MemoryPart::kLeafPages:
      return "leaf pages";
    case MemoryPart::kGuards:
      return "guards";
    case MemoryPart::kTables:
      return "open tables";
    case MemoryPart::kCompaction:
      return "compaction";
    case MemoryPart::kReadAhead:
      return "read-ahead";
    case MemoryPart::kLog:
      return "log";
    case MemoryPart::kPins:
      return "pins";
    case MemoryPart::kTransactions:
      return "transactions";
    case MemoryPart::kCount:
      break;
  }
  return "unknown";
}

size_t MemoryBudget::total() const {
  size_t sum = 0;
  for (size_t i = 0; i < used_.size(); ++i) sum += used(static_cast<MemoryPart>(i));
  return sum;
}

size_t MemoryBudget::unreclaimable() const {
  size_t sum = 0;
  for (size_t i = 0; i < used_.size(); ++i) {
    const auto part = static_cast<MemoryPart>(i);
    if (!IsCache(part)) sum += used(part);
  }
  return sum;
}

absl::Status MemoryBudget::CheckRoomToPin(size_t bytes) const {
  const size_t pins = used(MemoryPart::kPins);
  if (pins == 0 || pins + bytes <= limit_bytes_ / 4 || unreclaimable() + bytes <= limit_bytes_ / 4 * 3) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrFormat(
      "an iterator comes to a value of %s, and iterators and pinned values hold %s of memory_limit (%s) "
      "already: release some of them, or raise the limit",
      HumanBytes(bytes), HumanBytes(pins), HumanBytes(limit_bytes_)));
}

size_t MemoryBudget::CacheCapacity() const {
  const size_t others = unreclaimable();
  return others < limit_bytes_ ? limit_bytes_ - others : 0;
}

std::string MemoryBudget::ToString() const {
  std::string text;
  for (size_t i = 0; i < used_.size(); ++i) {
    const auto part = static_cast<MemoryPart>(i);
    text += absl::StrFormat("%-12s %s\n", Name(part), HumanBytes(used(part)));
  }
  text += absl::StrFormat("%-12s %s of %s\n", "total", HumanBytes(total()), HumanBytes(limit_bytes_));
  return text;
}

}  // namespace sepal

#include "db/engine/core/log_pins.h"

#include <algorithm>

#include "util/base/check.h"

namespace sepal {

void LogPins::Move(FileNumber* pin, FileNumber log) {
  const auto place = [this](FileNumber number) {
    return std::lower_bound(pinned_.begin(), pinned_.end(), number,
                            [](const Pinned& pinned, FileNumber wanted) { return pinned.log < wanted; });
  };
  const FileNumber before = std::exchange(*pin, log);
  if (before == log) return;
  if (log != FileNumber()) {
    const auto it = place(log);
    if (it != pinned_.end() && it->log == log) {
      ++it->pins;
    } else {
      pinned_.insert(it, {log, 1});
    }
  }
  if (before == FileNumber()) return;
  const auto it = place(before);
  SEPAL_CHECK(it != pinned_.end() && it->log == before);
  if (--it->pins == 0) pinned_.erase(it);
}

FileNumber LogPins::OldestWithout(std::span<const FileNumber> gone) const {
  for (const Pinned& pinned : pinned_) {
    const auto going = static_cast<size_t>(std::count(gone.begin(), gone.end(), pinned.log));
    SEPAL_DCHECK(going <= pinned.pins);
    if (going < pinned.pins) return pinned.log;
  }
  return FileNumber(UINT64_MAX);
}

}  // namespace sepal

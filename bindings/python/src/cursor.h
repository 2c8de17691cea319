// A cursor that stands between two entries, like plyvel's iterators: a step forward returns the next entry, a step back
// the previous one, and a step back after a step forward the same entry again.
//
// Entries are read ahead in chunks that grow, so that the GIL is released once for many of them; the engine's iterator
// shows one moment, whenever its entries are read. Needs no GIL. Not safe for concurrent use.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sepal/iterator.h"

namespace sepal_python {

struct Entry {
  std::string_view key;
  std::string_view value;
};

class Cursor {
 public:
  enum class Direction : bool { kBack, kForward };

  Cursor(std::unique_ptr<sepal::Iterator> iterator, bool with_values)
      : iterator_(std::move(iterator)), with_values_(with_values) {}

  // Steps over one entry that was read ahead, which is valid until the next Fill or seek. False: there is none.
  bool Take(Direction direction, Entry* entry) {
    if (direction_ != direction || taken_ == chunk_.size()) return false;
    const Extent& extent = chunk_[taken_++];
    entry->key = std::string_view(bytes_).substr(extent.begin, extent.key_size);
    entry->value = std::string_view(bytes_).substr(extent.begin + extent.key_size, extent.value_size);
    return true;
  }
  // Reads entries ahead, after a Take that found none. Finds none at the end, and after an error.
  void Fill(Direction direction);
  // The status of the last Fill or Seek.
  const absl::Status& status() const { return status_; }

  // Before the first and behind the last entry. They read nothing.
  void SeekToStart() { Forget(Place::kStart); }
  void SeekToStop() { Forget(Place::kStop); }
  // Before the first entry that is at or after `target`.
  void Seek(std::string_view target);

 private:
  enum class Place : char { kStart, kStop, kBeforeEntry };  // the last: before the one at which the iterator stands
  struct Extent {
    size_t begin = 0, key_size = 0, value_size = 0;
  };

  void Forget(Place place);
  std::string KeyBehind() const;
  void GoBackToCursor();
  bool StepOnto(Direction direction);
  void Collect();

  const std::unique_ptr<sepal::Iterator> iterator_;
  const bool with_values_;
  Place place_ = Place::kStart;  // of the cursor once the chunk is used up
  Direction direction_ = Direction::kForward;
  size_t most_ = 1;
  std::vector<Extent> chunk_;
  size_t taken_ = 0;
  std::string bytes_;
  absl::Status status_;
};

}  // namespace sepal_python

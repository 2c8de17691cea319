// The files that were removed, whose objects are still there: other clients that have one open may read it for a time.
// Pure: times and bytes in, what goes out. One thread at a time.
//
// Law: what is kept takes at most an eighth of the room that the pool has left, so that in a full pool nothing is.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>

#include "rados/layout.h"

namespace sepal::rados {

class Burials {
 public:
  struct Dead {
    std::string space;
    Entry entry;
    uint64_t objects = 0;  // of a file whose size the entry does not tell
  };

  explicit Burials(uint64_t grace_micros) : grace_micros_(grace_micros) {}

  // One that is kept is not kept a second time.
  void Add(Dead dead, uint64_t now_micros);
  // The next that goes: the oldest, if its time is over, if there is no room for all (`free_bytes`: of the pool, as far
  // as is known), or if `all` are to go.
  std::optional<Dead> Take(uint64_t now_micros, std::optional<uint64_t> free_bytes, bool all);
  // Until the oldest one's time is over; UINT64_MAX: there is none.
  uint64_t MicrosLeft(uint64_t now_micros) const;
  bool empty() const { return kept_.empty(); }

 private:
  struct Kept {
    Dead dead;
    uint64_t since;
  };
  static uint64_t BytesOf(const Dead& dead);
  static std::string KeyOf(const Dead& dead);

  const uint64_t grace_micros_;
  std::deque<Kept> kept_;
  std::set<std::string> keys_;  // of those
  uint64_t bytes_ = 0;
};

}  // namespace sepal::rados

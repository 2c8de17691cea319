#include "rados/burials.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace sepal::rados {
namespace {

constexpr uint64_t kShareOfRoom = 8;
// Before the first answer of the monitors.
constexpr uint64_t kRoomUnlessKnown = uint64_t{8} << 30;

}  // namespace

uint64_t Burials::BytesOf(const Dead& dead) {
  return dead.entry.size >= 0 ? static_cast<uint64_t>(dead.entry.size) : dead.objects * dead.entry.object_bytes;
}

std::string Burials::KeyOf(const Dead& dead) { return absl::StrCat(dead.space, "/", DeadKey(dead.entry)); }

void Burials::Add(Dead dead, uint64_t now_micros) {
  if (!keys_.insert(KeyOf(dead)).second) return;
  bytes_ += BytesOf(dead);
  kept_.push_back({std::move(dead), now_micros});
}

std::optional<Burials::Dead> Burials::Take(uint64_t now_micros, std::optional<uint64_t> free_bytes, bool all) {
  if (kept_.empty()) return std::nullopt;
  const bool over = MicrosLeft(now_micros) == 0;
  const bool too_much = bytes_ > free_bytes.value_or(kRoomUnlessKnown) / kShareOfRoom;
  if (!over && !too_much && !all) return std::nullopt;
  Dead dead = std::move(kept_.front().dead);
  kept_.pop_front();
  keys_.erase(KeyOf(dead));
  bytes_ -= BytesOf(dead);
  return dead;
}

uint64_t Burials::MicrosLeft(uint64_t now_micros) const {
  if (kept_.empty()) return UINT64_MAX;
  const uint64_t end = kept_.front().since + grace_micros_;
  return end - (now_micros < end ? now_micros : end);
}

}  // namespace sepal::rados

#include <utility>

#include "sepal/db.h"

namespace sepal {

// A copied value lies in `copy_`, whose bytes move with it or, when short, are copied.
PinnedValue& PinnedValue::operator=(PinnedValue&& other) noexcept {
  if (this == &other) return *this;
  Reset();
  const bool copied = other.release_ == nullptr;
  copy_ = std::move(other.copy_);
  value_ = copied ? std::string_view(copy_).substr(0, other.value_.size()) : other.value_;
  release_ = std::exchange(other.release_, nullptr);
  owner_ = std::exchange(other.owner_, nullptr);
  detail_ = std::exchange(other.detail_, nullptr);
  other.value_ = {};
  return *this;
}

void PinnedValue::Reset() {
  value_ = {};
  if (release_ != nullptr) std::exchange(release_, nullptr)(owner_, detail_);
}

void PinnedValue::Pin(std::string_view value, Release release, void* owner, void* detail) {
  Reset();
  value_ = value;
  release_ = release;
  owner_ = owner;
  detail_ = detail;
}

void PinnedValue::Copy(std::string_view value) {
  Reset();
  copy_.assign(value);
  value_ = copy_;
}

}  // namespace sepal

#include <cstring>
#include <utility>

#include "sepal/db.h"

namespace sepal {

PinnedValue& PinnedValue::operator=(PinnedValue&& other) noexcept {
  if (this == &other) return *this;
  Reset();
  const bool is_near = other.value_.data() == other.near_;
  const bool is_far = !is_near && other.release_ == nullptr;
  if (is_near) std::memcpy(near_, other.near_, other.value_.size());
  far_ = std::move(other.far_);
  value_ = {is_near ? near_ : is_far ? far_.data() : other.value_.data(), other.value_.size()};
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
  if (value.size() <= kNearBytes) {
    value.copy(near_, value.size());
    value_ = {near_, value.size()};
  } else {
    far_.assign(value);
    value_ = far_;
  }
}

}  // namespace sepal

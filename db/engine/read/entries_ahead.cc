#include "db/engine/read/entries_ahead.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "db/engine/read/separated_value.h"

namespace sepal {

void EntriesAhead::Begin(std::string_view key, std::string_view reference, uint64_t expiry_millis) {
  const bool first = most_references_ == 1 && entries_.empty();
  if (!first) most_references_ = std::min(2 * most_references_, kMostReferences);
  Drop();
  AddReference(key, reference, expiry_millis);
}

void EntriesAhead::AddReference(std::string_view key, std::string_view reference, uint64_t expiry_millis) {
  // What is no reference is one whose value cannot be fetched.
  const ValueReference parsed = ParseValueReference(reference).value_or(ValueReference());
  entries_.push_back({Hold(key), Hold(reference), static_cast<uint32_t>(references_.size()), expiry_millis});
  references_.push_back(parsed);
  core_->values.Prefetch(parsed);
  value_bytes_ += parsed.stored_bytes;
  inline_run_ = 0;
}

void EntriesAhead::AddValue(std::string_view key, std::string_view value, uint64_t expiry_millis) {
  entries_.push_back({Hold(key), Hold(value), kNone, expiry_millis});
  ++inline_run_;
}

absl::StatusOr<CachePin> EntriesAhead::Fetch() {
  const Entry& entry = entries_[shown_];
  const ValueReference& reference = references_[entry.reference];
  if (reference.stored_bytes > 0) {
    CachePin pin = TakeFromWindow(entry.reference);
    if (!pin) pin = core_->values.FindCached(reference);
    if (!pin && entry.reference >= window_end_ && references_.size() - entry.reference > 1) {
      window_begin_ = entry.reference;
      window_end_ = window_begin_ + static_cast<uint32_t>(window_.Fill(std::span(references_).subspan(window_begin_)));
      pin = TakeFromWindow(entry.reference);
    }
    if (pin) return pin;
  }
  return FetchShown(core_, Bytes(entry.key), Bytes(entry.value), fill_cache_);
}

CachePin EntriesAhead::TakeFromWindow(uint32_t reference) {
  if (reference >= window_end_) return {};
  return window_.Take(reference - window_begin_, references_[reference], fill_cache_);
}

EntriesAhead::Span EntriesAhead::Hold(std::string_view bytes) {
  const Span span{bytes_.size(), bytes.size()};
  bytes_.append(bytes);
  return span;
}

// Frees the buffer if a single key made it larger than the limit.
void EntriesAhead::Drop() {
  bytes_.clear();
  if (bytes_.capacity() > 2 * kMostHeldBytes) bytes_.shrink_to_fit();
  entries_.clear();
  references_.clear();
  window_.Forget();
  shown_ = 0;
  value_bytes_ = 0;
  inline_run_ = passed_ = 0;
  window_begin_ = window_end_ = 0;
}

}  // namespace sepal

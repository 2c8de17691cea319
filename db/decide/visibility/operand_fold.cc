#include "db/decide/visibility/operand_fold.h"

#include <optional>
#include <utility>

#include "db/decide/merge/fold.h"
#include "db/decide/visibility/operands.h"
#include "db/decide/visibility/visibility.h"

namespace sepal {

void OperandFold::Add(std::string_view key, Trailer trailer, std::string_view payload, SequenceNumber stripe_begin) {
  const SequenceNumber sequence = TrailerSequence(trailer);
  const Operand operand = OperandOf(trailer, payload);
  const bool whole = operand.oldest >= stripe_begin;
  entries_.push_back({PackTrailer(sequence, ValueKind::kMerge), std::string(whole ? operand.all : operand.own)});
  bytes_ += entries_.back().operand.size() + sizeof(Entry);
  ++added_;
  if (whole) covered_from_ = operand.oldest;
  if (entries_.size() >= kManyOperands && bytes_ >= 2 * bytes_combined_) Combine(key);
  if (bytes_ >= kManyBytes && bytes_ >= 2 * bytes_combined_) Combine(key);
}

bool OperandFold::Resolve(std::string_view key, Trailer trailer, std::string_view payload) {
  // A single delete removes exactly the put that it meets, not a value made from it.
  if (TrailerKind(trailer) == ValueKind::kSingleDelete) return false;
  const Meaning below = MeaningOf(trailer);
  if (below == Meaning::kExpiring || below == Meaning::kReference) return false;
  const bool there = below == Meaning::kValue;
  return Resolve(key, there ? std::optional(payload) : std::nullopt);
}

bool OperandFold::ResolveWithoutBase(std::string_view key) { return Resolve(key, std::nullopt); }

bool OperandFold::Resolve(std::string_view key, std::optional<std::string_view> base) {
  return merge_ != nullptr && MergeValue(*merge_, key, base, OldestFirst(), &value_).ok();
}

void OperandFold::Combine(std::string_view key) {
  bytes_combined_ = bytes_;
  if (merge_ == nullptr || entries_.size() < 2) return;
  std::string combined;
  if (!CombineOperands(*merge_, key, OldestFirst(), &combined)) return;
  entries_.resize(1);
  bytes_ = bytes_combined_ = combined.size() + sizeof(Entry);
  entries_.front().operand = std::move(combined);
}

std::vector<std::string_view> OperandFold::OldestFirst() const {
  std::vector<std::string_view> operands;
  operands.reserve(entries_.size());
  for (auto it = entries_.rbegin(); it != entries_.rend(); ++it) operands.push_back(it->operand);
  return operands;
}

void OperandFold::Clear() {
  entries_.clear();
  added_ = bytes_ = bytes_combined_ = 0;
  value_.clear();
}

}  // namespace sepal

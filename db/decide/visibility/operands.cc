#include "db/decide/visibility/operands.h"

#include <utility>

#include "db/decide/merge/fold.h"
#include "util/base/check.h"
#include "util/base/coding.h"
#include "util/base/status.h"

namespace sepal {

Operand OperandOf(Trailer trailer, std::string_view payload) {
  const SequenceNumber sequence = TrailerSequence(trailer);
  if (TrailerKind(trailer) == ValueKind::kMerge) return {.oldest = sequence, .own = payload, .all = payload};
  Decoder in(payload);
  Operand operand;
  operand.oldest = SequenceNumber(sequence.value() - in.Varint());
  operand.next_older_bytes = in.Varint();
  operand.own = in.LengthPrefixed();
  operand.all = in.Bytes(in.remaining());
  SEPAL_DCHECK(in.ok());
  return operand;
}

std::string FoldedPayload(SequenceNumber sequence, const Operand& operand) {
  std::string payload;
  PutVarint(&payload, sequence.value() - operand.oldest.value());
  PutVarint(&payload, operand.next_older_bytes);
  PutLengthPrefixed(&payload, operand.own);
  payload.append(operand.all);
  return payload;
}

std::optional<SequenceNumber> OperandChain::Take(Trailer trailer, std::string_view payload) {
  switch (MeaningNow(trailer, &payload, clock_)) {
    case Meaning::kValue:
      base_ = payload;
      return std::nullopt;
    case Meaning::kReference:
      base_ = payload;
      base_is_reference_ = true;
      return std::nullopt;
    case Meaning::kAbsent:
    case Meaning::kExpiring:
      return std::nullopt;
    case Meaning::kOperand:
      break;
  }
  const Operand operand = OperandOf(trailer, payload);
  operands_.emplace_back(operand.all);
  if (operand.oldest == SequenceNumber(0)) return std::nullopt;
  return SequenceNumber(operand.oldest.value() - 1);
}

void OperandChain::Clear() {
  operands_.clear();
  base_.reset();
  base_is_reference_ = false;
}

absl::StatusOr<std::optional<std::string>> OperandChain::Resolve(const MergeOperator& merge, std::string_view key) {
  SEPAL_DCHECK(!base_is_reference_);
  if (operands_.empty()) return std::move(base_);
  const absl::InlinedVector<std::string_view, 4> oldest_first(operands_.rbegin(), operands_.rend());
  std::string value;
  RETURN_IF_ERROR(MergeValue(merge, key, base_, oldest_first, &value));
  return value;
}

}  // namespace sepal

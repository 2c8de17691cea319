// A merge operator's answers, checked. Pure, as operators are.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "sepal/merge_operator.h"

namespace sepal {

// Sets `*value` to what the key's value is after `operands`, at least one and oldest first. An error names operator and
// key. In debug builds it is also made operand by operand, and must come out the same.
absl::Status MergeValue(const MergeOperator& merge, std::string_view key, std::optional<std::string_view> base,
                        std::span<const std::string_view> operands, std::string* value);

// Sets `*operand` to one that stands for `operands`, at least two and oldest first; false: they cannot be combined. In
// debug builds it is also combined pair by pair, and must come out the same.
bool CombineOperands(const MergeOperator& merge, std::string_view key, std::span<const std::string_view> operands,
                     std::string* operand);

// FailedPrecondition: the family has operands of the operator `name`, which is not at hand; empty: of an unknown one.
absl::Status NoMergeOperator(std::string_view family, std::string_view name);

}  // namespace sepal

// Applies merge operators, and checks their results. Pure, as operators are.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "sepal/merge_operator.h"

namespace sepal {

// Sets `*value` to the key's value after `operands`, at least one and oldest first. An error names operator and key. In
// debug builds, applying the operands one by one must give the same value.
absl::Status MergeValue(const MergeOperator& merge, std::string_view key, std::optional<std::string_view> base,
                        std::span<const std::string_view> operands, std::string* value);

// Sets `*operand` to one that replaces `operands`, at least two and oldest first. Returns false if they cannot be
// combined. In debug builds, combining them pair by pair must give the same operand.
bool CombineOperands(const MergeOperator& merge, std::string_view key, std::span<const std::string_view> operands,
                     std::string* operand);

// FailedPrecondition: the family has operands of the operator `name`, which is missing; empty if its name is unknown.
absl::Status NoMergeOperator(std::string_view family, std::string_view name);

}  // namespace sepal

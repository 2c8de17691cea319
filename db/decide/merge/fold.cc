#include "db/decide/merge/fold.h"

#include <array>
#include <utility>

#include "absl/strings/str_format.h"
#include "sepal/db.h"
#include "util/base/check.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

absl::Status Failed(const MergeOperator& merge, std::string_view key, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrFormat("merge operator \"%s\" failed for key '%s': %s", merge.Name(),
                                                     Printable(key), ToStd(status.message())));
}

#ifndef NDEBUG
// Checks that applying the operands one by one gives the same value.
bool GivesOneByOne(const MergeOperator& merge, std::string_view key, std::optional<std::string_view> base,
                   std::span<const std::string_view> operands, std::string_view expected) {
  std::optional<std::string> value;
  if (base.has_value()) value = std::string(*base);
  for (const std::string_view& operand : operands) {
    std::string next;
    const std::optional<std::string_view> before = value;
    // An intermediate result need not be a valid value, for an operator that checks the whole.
    if (!merge.Merge(key, before, {&operand, 1}, &next).ok()) return true;
    value = std::move(next);
  }
  return value == expected;
}

bool CombinesPairByPair(const MergeOperator& merge, std::string_view key, std::span<const std::string_view> operands,
                        std::string_view expected) {
  std::string combined(operands.front());
  for (const std::string_view operand : operands.subspan(1)) {
    std::string next;
    const std::array<std::string_view, 2> pair = {combined, operand};
    if (const absl::StatusOr<bool> done = merge.Combine(key, pair, &next); !done.ok() || !*done) return true;
    combined = std::move(next);
  }
  return combined == expected;
}
#endif

}  // namespace

absl::Status MergeValue(const MergeOperator& merge, std::string_view key, std::optional<std::string_view> base,
                        std::span<const std::string_view> operands, std::string* value) {
  value->clear();
  const absl::Status status = merge.Merge(key, base, operands, value);
  if (!status.ok()) return Failed(merge, key, status);
  if (value->size() > kMaxValueBytes) {
    return Failed(merge, key,
                  absl::ResourceExhaustedError(
                      absl::StrFormat("the value would have %u bytes, of at most %u", value->size(), kMaxValueBytes)));
  }
#ifndef NDEBUG
  SEPAL_CHECK(operands.size() < 2 || GivesOneByOne(merge, key, base, operands, *value));
#endif
  return absl::OkStatus();
}

bool CombineOperands(const MergeOperator& merge, std::string_view key, std::span<const std::string_view> operands,
                     std::string* operand) {
  operand->clear();
  const absl::StatusOr<bool> combined = merge.Combine(key, operands, operand);
  if (!combined.ok() || !*combined || operand->size() > kMaxValueBytes) return false;
#ifndef NDEBUG
  SEPAL_CHECK(CombinesPairByPair(merge, key, operands, *operand));
#endif
  return true;
}

absl::Status NoMergeOperator(std::string_view family, std::string_view name) {
  const std::string which = name.empty() ? std::string() : absl::StrFormat(" \"%s\"", Printable(name));
  return absl::FailedPreconditionError(absl::StrFormat(
      "the key has merge operands, and column family \"%s\" was opened without its merge operator%s: set "
      "ColumnFamilyOptions::merge_operator",
      family, which));
}

}  // namespace sepal

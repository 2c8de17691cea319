#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/decide/merge/json_merge_patch.h"
#include "sepal/merge_operator.h"
#include "util/base/coding.h"
#include "util/base/status.h"

namespace sepal {

absl::StatusOr<bool> MergeOperator::Combine(std::string_view, std::span<const std::string_view>, std::string*) const {
  return false;
}

namespace {

constexpr std::string_view kAdd64 = "sepal.Add64";
constexpr std::string_view kMax = "sepal.Max";
constexpr std::string_view kMin = "sepal.Min";
constexpr std::string_view kAppend = "sepal.Append:";
constexpr std::string_view kJson = "sepal.JsonMergePatch";

// An operator whose operands are values: the value made from several, without a base, replaces them.
class OfValues : public MergeOperator {
 public:
  absl::StatusOr<bool> Combine(std::string_view key, std::span<const std::string_view> operands,
                               std::string* operand) const override {
    RETURN_IF_ERROR(Merge(key, std::nullopt, operands, operand));
    return true;
  }
};

class Add64Operator final : public OfValues {
 public:
  std::string_view Name() const override { return kAdd64; }
  absl::Status Merge(std::string_view, std::optional<std::string_view> base, std::span<const std::string_view> operands,
                     std::string* value) const override {
    uint64_t sum = 0;
    if (base.has_value()) RETURN_IF_ERROR(AddTo(&sum, *base, "value"));
    for (const std::string_view operand : operands) RETURN_IF_ERROR(AddTo(&sum, operand, "operand"));
    PutFixed64(value, sum);
    return absl::OkStatus();
  }

 private:
  static absl::Status AddTo(uint64_t* sum, std::string_view number, std::string_view what) {
    if (number.size() != sizeof(uint64_t)) {
      return absl::InvalidArgumentError(
          absl::StrFormat("the %s has %u bytes, and a 64-bit number has 8", what, number.size()));
    }
    *sum += DecodeFixed64(number.data());
    return absl::OkStatus();
  }
};

class AppendOperator final : public OfValues {
 public:
  explicit AppendOperator(std::string_view separator) : name_(std::string(kAppend).append(separator)) {}

  std::string_view Name() const override { return name_; }
  absl::Status Merge(std::string_view, std::optional<std::string_view> base, std::span<const std::string_view> operands,
                     std::string* value) const override {
    const std::string_view separator = std::string_view(name_).substr(kAppend.size());
    size_t bytes = base.value_or("").size();
    for (const std::string_view operand : operands) bytes += operand.size() + separator.size();
    value->reserve(bytes);
    bool first = !base.has_value();
    value->append(base.value_or(""));
    for (const std::string_view operand : operands) {
      if (!std::exchange(first, false)) value->append(separator);
      value->append(operand);
    }
    return absl::OkStatus();
  }

 private:
  const std::string name_;
};

template <class Better>
class BestOperator final : public OfValues {
 public:
  explicit BestOperator(std::string_view name) : name_(name) {}

  std::string_view Name() const override { return name_; }
  absl::Status Merge(std::string_view, std::optional<std::string_view> base, std::span<const std::string_view> operands,
                     std::string* value) const override {
    std::string_view best = base.value_or(operands.front());
    for (const std::string_view operand : operands) {
      if (Better()(operand, best)) best = operand;
    }
    value->assign(best);
    return absl::OkStatus();
  }

 private:
  const std::string_view name_;
};

class JsonOperator final : public MergeOperator {
 public:
  std::string_view Name() const override { return kJson; }
  absl::Status Merge(std::string_view, std::optional<std::string_view> base, std::span<const std::string_view> operands,
                     std::string* value) const override {
    return ApplyJsonMergePatches(base, operands, value);
  }
  absl::StatusOr<bool> Combine(std::string_view, std::span<const std::string_view> operands,
                               std::string* operand) const override {
    return CombineJsonMergePatches(operands, operand);
  }
};

}  // namespace

std::shared_ptr<const MergeOperator> MergeOperators::Add64() { return std::make_shared<Add64Operator>(); }
std::shared_ptr<const MergeOperator> MergeOperators::Append(std::string_view separator) {
  return std::make_shared<AppendOperator>(separator);
}
std::shared_ptr<const MergeOperator> MergeOperators::Max() {
  return std::make_shared<BestOperator<std::greater<std::string_view>>>(kMax);
}
std::shared_ptr<const MergeOperator> MergeOperators::Min() {
  return std::make_shared<BestOperator<std::less<std::string_view>>>(kMin);
}
std::shared_ptr<const MergeOperator> MergeOperators::JsonMergePatch() { return std::make_shared<JsonOperator>(); }

std::shared_ptr<const MergeOperator> MergeOperators::ByName(std::string_view name) {
  if (name == kAdd64) return Add64();
  if (name == kMax) return Max();
  if (name == kMin) return Min();
  if (name == kJson) return JsonMergePatch();
  if (name.substr(0, kAppend.size()) == kAppend) return Append(name.substr(kAppend.size()));
  return nullptr;
}

std::string MergeOperators::EncodeInt64(int64_t number) {
  std::string bytes;
  PutFixed64(&bytes, static_cast<uint64_t>(number));
  return bytes;
}

absl::StatusOr<int64_t> MergeOperators::DecodeInt64(std::string_view bytes) {
  if (bytes.size() == sizeof(int64_t)) return static_cast<int64_t>(DecodeFixed64(bytes.data()));
  return absl::InvalidArgumentError(absl::StrFormat("%u bytes are no 64-bit number, which has 8", bytes.size()));
}

}  // namespace sepal

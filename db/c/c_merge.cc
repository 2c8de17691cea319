// The C interface: merge operators.
#include "sepal/c_merge.h"

#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/c/c_types.h"
#include "sepal/merge_operator.h"

namespace {

using MergeFunction = char* (*)(void*, const char*, size_t, const char*, size_t, const char* const*, const size_t*,
                                size_t, size_t*);
using CombineFunction = char* (*)(void*, const char*, size_t, const char* const*, const size_t*, size_t, size_t*);

class OperatorOfC final : public sepal::MergeOperator {
 public:
  OperatorOfC(void* state, void (*destructor)(void*), MergeFunction merge, CombineFunction combine, std::string name)
      : state_(state), destructor_(destructor), merge_(merge), combine_(combine), name_(std::move(name)) {}
  ~OperatorOfC() override {
    if (destructor_ != nullptr) destructor_(state_);
  }

  std::string_view Name() const override { return name_; }
  absl::Status Merge(std::string_view key, std::optional<std::string_view> base,
                     std::span<const std::string_view> operands, std::string* value) const override {
    const Arrays arrays(operands);
    size_t size = 0;
    // An empty value is not NULL either.
    const std::string_view bytes =
        base.has_value() && base->empty() ? std::string_view("") : base.value_or(std::string_view());
    char* const made = merge_(state_, key.data(), key.size(), bytes.data(), bytes.size(), arrays.bytes.data(),
                              arrays.sizes.data(), operands.size(), &size);
    return Take(made, size, value) ? absl::OkStatus()
                                   : absl::InvalidArgumentError("the operands cannot be merged into the value");
  }
  absl::StatusOr<bool> Combine(std::string_view key, std::span<const std::string_view> operands,
                               std::string* operand) const override {
    if (combine_ == nullptr) return false;
    const Arrays arrays(operands);
    size_t size = 0;
    char* const made =
        combine_(state_, key.data(), key.size(), arrays.bytes.data(), arrays.sizes.data(), operands.size(), &size);
    return Take(made, size, operand);
  }

 private:
  struct Arrays {
    explicit Arrays(std::span<const std::string_view> operands) {
      for (const std::string_view operand : operands) {
        bytes.push_back(operand.data());
        sizes.push_back(operand.size());
      }
    }
    std::vector<const char*> bytes;
    std::vector<size_t> sizes;
  };

  static bool Take(char* made, size_t size, std::string* out) {
    if (made == nullptr) return false;
    out->assign(made, size);
    std::free(made);
    return true;
  }

  void* const state_;
  void (*const destructor_)(void*);
  const MergeFunction merge_;
  const CombineFunction combine_;
  const std::string name_;
};

sepal_mergeoperator_t* NewOperator(std::shared_ptr<const sepal::MergeOperator> merge) {
  return merge == nullptr ? nullptr : new sepal_mergeoperator_t{std::move(merge)};
}

}  // namespace

extern "C" {

sepal_mergeoperator_t* sepal_mergeoperator_create(void* state, void (*destructor)(void*), MergeFunction merge,
                                                  CombineFunction combine, const char* (*name)(void*)) {
  return NewOperator(std::make_shared<OperatorOfC>(state, destructor, merge, combine, name(state)));
}
sepal_mergeoperator_t* sepal_mergeoperator_create_add64(void) { return NewOperator(sepal::MergeOperators::Add64()); }
sepal_mergeoperator_t* sepal_mergeoperator_create_append(const char* separator, size_t size) {
  return NewOperator(sepal::MergeOperators::Append(sepal::BytesOf(separator, size)));
}
sepal_mergeoperator_t* sepal_mergeoperator_create_max(void) { return NewOperator(sepal::MergeOperators::Max()); }
sepal_mergeoperator_t* sepal_mergeoperator_create_min(void) { return NewOperator(sepal::MergeOperators::Min()); }
sepal_mergeoperator_t* sepal_mergeoperator_create_json_merge_patch(void) {
  return NewOperator(sepal::MergeOperators::JsonMergePatch());
}
sepal_mergeoperator_t* sepal_mergeoperator_create_by_name(const char* name, size_t size) {
  return NewOperator(sepal::MergeOperators::ByName(sepal::BytesOf(name, size)));
}
void sepal_mergeoperator_destroy(sepal_mergeoperator_t* merge) { delete merge; }

}  // extern "C"

// The C interface: filters of compactions.
#include "sepal/c_compaction_filter.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "db/c/c_types.h"
#include "sepal/compaction_filter.h"

struct sepal_purefilter_t {
  std::shared_ptr<const sepal::PureFilter> rep;
};

namespace {

using KeepFunction = unsigned char (*)(void*, const char*, size_t, const char*, size_t, const char*, size_t);

class FilterOfC final : public sepal::PureFilter {
 public:
  FilterOfC(void* state, void (*destructor)(void*), KeepFunction keep, std::string name)
      : state_(state), destructor_(destructor), keep_(keep), name_(std::move(name)) {}
  ~FilterOfC() override {
    if (destructor_ != nullptr) destructor_(state_);
  }

  std::string_view Name() const override { return name_; }
  bool Keep(std::string_view key, std::string_view value, std::string_view epoch) const override {
    return keep_(state_, key.data(), key.size(), value.data(), value.size(), epoch.data(), epoch.size()) != 0;
  }

 private:
  void* const state_;
  void (*const destructor_)(void*);
  const KeepFunction keep_;
  const std::string name_;
};

}  // namespace

extern "C" {

sepal_purefilter_t* sepal_purefilter_create(void* state, void (*destructor)(void*), KeepFunction keep,
                                            const char* (*name)(void*)) {
  return new sepal_purefilter_t{std::make_shared<FilterOfC>(state, destructor, keep, name(state))};
}
void sepal_purefilter_destroy(sepal_purefilter_t* filter) { delete filter; }

void sepal_options_set_compaction_filter(sepal_options_t* options, const sepal_purefilter_t* filter) {
  options->rep.family.compaction_filter = filter->rep;
}

void sepal_set_filter_epoch(sepal_t* db, sepal_column_family_t* family, const char* epoch, size_t elen, char** errptr) {
  sepal::SaveError(errptr, db->rep->SetFilterEpoch(sepal::FamilyOf(db, family), sepal::BytesOf(epoch, elen)));
}

}  // extern "C"

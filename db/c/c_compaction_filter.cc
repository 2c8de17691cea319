// The C interface: compaction filters.
#include "sepal/c_compaction_filter.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "db/c/c_types.h"
#include "sepal/compaction_filter.h"
#include "sepal/context_filter.h"

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

struct sepal_filter_entry_t {
  const sepal::FilterEntry& rep;
  std::string bytes = {};
  absl::Status error = {};
};

namespace {

using JudgeFunction = sepal_filter_verdict_t (*)(void*, int, unsigned char, unsigned char, sepal_filter_entry_t*);

// The state that the filters of all compactions share.
struct JudgeOfC {
  JudgeOfC(void* s, void (*d)(void*), JudgeFunction j) : state(s), destructor(d), judge(j) {}
  ~JudgeOfC() {
    if (destructor != nullptr) destructor(state);
  }
  JudgeOfC(const JudgeOfC&) = delete;
  JudgeOfC& operator=(const JudgeOfC&) = delete;

  void* const state;
  void (*const destructor)(void*);
  const JudgeFunction judge;
};

class ContextFilterOfC final : public sepal::ContextFilter {
 public:
  ContextFilterOfC(std::shared_ptr<const JudgeOfC> judge, const sepal::FilterContext& context)
      : judge_(std::move(judge)),
        output_level_(context.output_level),
        last_level_(context.last_level),
        manual_(context.manual) {}

  absl::StatusOr<sepal::FilterVerdict> Judge(const sepal::FilterEntry& entry) override {
    sepal_filter_entry_t of_c{.rep = entry};
    switch (judge_->judge(judge_->state, output_level_, last_level_ ? 1 : 0, manual_ ? 1 : 0, &of_c)) {
      case sepal_verdict_keep:
        return sepal::FilterVerdict::Keep();
      case sepal_verdict_remove:
        return sepal::FilterVerdict::Remove();
      case sepal_verdict_change:
        return sepal::FilterVerdict::ChangeTo(std::move(of_c.bytes));
      case sepal_verdict_remove_through:
        return sepal::FilterVerdict::RemoveThrough(std::move(of_c.bytes));
      case sepal_verdict_fail:
        break;
    }
    return of_c.error.ok() ? absl::AbortedError("the filter with context failed, and does not say why") : of_c.error;
  }

 private:
  const std::shared_ptr<const JudgeOfC> judge_;
  const int output_level_;
  const bool last_level_;
  const bool manual_;
};

class ContextFilterFactoryOfC final : public sepal::ContextFilterFactory {
 public:
  explicit ContextFilterFactoryOfC(std::shared_ptr<const JudgeOfC> judge) : judge_(std::move(judge)) {}
  std::unique_ptr<sepal::ContextFilter> Create(const sepal::FilterContext& context) const override {
    return std::make_unique<ContextFilterOfC>(judge_, context);
  }

 private:
  const std::shared_ptr<const JudgeOfC> judge_;
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

const char* sepal_filter_entry_key(const sepal_filter_entry_t* entry, size_t* klen) {
  *klen = entry->rep.key().size();
  return entry->rep.key().data();
}
uint64_t sepal_filter_entry_value_bytes(const sepal_filter_entry_t* entry) { return entry->rep.value_bytes(); }
const char* sepal_filter_entry_value(sepal_filter_entry_t* entry, size_t* vlen) {
  const absl::StatusOr<std::string_view> value = entry->rep.Value();
  *vlen = value.ok() ? value->size() : 0;
  if (value.ok()) return value->data();
  entry->error = value.status();
  return nullptr;
}
uint64_t sepal_filter_entry_expires_at(const sepal_filter_entry_t* entry) {
  const auto at = entry->rep.expires_at();
  return at.has_value() ? sepal::MillisOf(*at) : 0;
}
void sepal_filter_entry_set_bytes(sepal_filter_entry_t* entry, const char* bytes, size_t size) {
  entry->bytes = sepal::BytesOf(bytes, size);
}
void sepal_filter_entry_set_error(sepal_filter_entry_t* entry, const char* message) {
  entry->error = absl::AbortedError(message);
}

void sepal_options_set_context_filter(sepal_options_t* options, void* state, void (*destructor)(void*),
                                      JudgeFunction judge) {
  options->rep.family.context_filter =
      std::make_shared<ContextFilterFactoryOfC>(std::make_shared<const JudgeOfC>(state, destructor, judge));
}

}  // extern "C"

// Sizes, compactions, properties, and calls on databases that are not open.
#include <iterator>
#include <utility>

#include "src/handle.h"
#include "src/range.h"

namespace sepal_node {
namespace {

class SizeJob : public PromiseJob {
 public:
  SizeJob(std::shared_ptr<Handle> handle, std::string begin, std::string end)
      : PromiseJob(std::move(handle)), begin_(std::move(begin)), end_(std::move(end)) {}

 private:
  absl::Status Call() override {
    const sepal::Range range = {begin_, end_};
    const auto sizes = handle_->db()->GetApproximateSizes({&range, 1});
    if (sizes.ok()) size_ = sizes->front();
    return sizes.status();
  }
  napi_value Result(napi_env env) override {
    napi_value result = nullptr;
    napi_create_double(env, static_cast<double>(size_), &result);
    return result;
  }

  const std::string begin_, end_;
  uint64_t size_ = 0;
};

class CompactJob : public PromiseJob {
 public:
  CompactJob(std::shared_ptr<Handle> handle, std::string begin, std::string end)
      : PromiseJob(std::move(handle)), begin_(std::move(begin)), end_(std::move(end)) {}

 private:
  absl::Status Call() override { return handle_->db()->CompactRange({.begin = begin_, .end = end_}); }

  const std::string begin_, end_;
};

template <class RangeJob>
napi_value StartOnRange(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  Handle* const handle = TakeOpen(env, arguments[0]);
  Bytes begin, end;
  if (handle == nullptr || !begin.Take(env, arguments[1]) || !end.Take(env, arguments[2])) return nullptr;
  return PromiseJob::Start(
      env, std::make_unique<RangeJob>(handle->shared_from_this(), std::string(begin.view()), std::string(end.view())));
}

// approximateSize(handle, start, end), compactRange(handle, start, end)
napi_value ApproximateSize(napi_env env, napi_callback_info info) { return StartOnRange<SizeJob>(env, info); }
napi_value CompactRange(napi_env env, napi_callback_info info) { return StartOnRange<CompactJob>(env, info); }

// getProperty(handle, name): '' for one that is not known
napi_value GetProperty(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  Handle* const handle = TakeOpen(env, arguments[0]);
  std::string name;
  if (handle == nullptr || !TakeText(env, arguments[1], &name)) return nullptr;
  constexpr std::string_view kLevelDb = "leveldb.";
  if (name.starts_with(kLevelDb)) name.replace(0, kLevelDb.size(), "sepal.");
  return ToJs(env, handle->db()->GetProperty(name).value_or(""), Form::kText);
}

class DestroyJob : public PromiseJob {
 public:
  DestroyJob(std::shared_ptr<Handle> handle, std::string location)
      : PromiseJob(std::move(handle)), location_(std::move(location)) {}

 private:
  absl::Status Call() override { return sepal::DB::Destroy({}, location_); }

  const std::string location_;
};

class RepairJob : public PromiseJob {
 public:
  RepairJob(std::shared_ptr<Handle> handle, std::string location)
      : PromiseJob(std::move(handle)), location_(std::move(location)) {}

 private:
  absl::Status Call() override {
    const auto report = sepal::DB::Repair({}, location_);
    if (report.ok()) report_ = report->ToString();
    return report.status();
  }
  napi_value Result(napi_env env) override { return ToJs(env, report_, Form::kText); }

  const std::string location_;
  std::string report_;
};

// These calls have no database; a handle without one counts them.
template <class LocationJob>
napi_value StartOnLocation(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  std::string location;
  if (!TakeText(env, arguments[0], &location)) return nullptr;
  return PromiseJob::Start(env, std::make_unique<LocationJob>(std::make_shared<Handle>(), std::move(location)));
}

// destroy(location), repair(location)
napi_value Destroy(napi_env env, napi_callback_info info) { return StartOnLocation<DestroyJob>(env, info); }
napi_value Repair(napi_env env, napi_callback_info info) { return StartOnLocation<RepairJob>(env, info); }

}  // namespace

void ExportMaintenance(napi_env env, napi_value exports) {
  constexpr NamedFunction kFunctions[] = {
      {"approximateSize", ApproximateSize},
      {"compactRange", CompactRange},
      {"getProperty", GetProperty},
      {"destroy", Destroy},
      {"repair", Repair},
  };
  Export(env, exports, kFunctions, std::size(kFunctions));
}

}  // namespace sepal_node

// Reads of keys, and snapshots.
#include <utility>
#include <vector>

#include "src/handle.h"

namespace sepal_node {
namespace {

struct ReadRequest {
  Form form = Form::kText;
  bool exists_only = false;
  bool fill_cache = true;
  std::shared_ptr<const sepal::Snapshot> snapshot;

  sepal::ReadOptions options() const {
    sepal::ReadOptions options;
    options.snapshot = snapshot.get();
    options.fill_cache = fill_cache;
    return options;
  }
  // Whether it can be read together with others.
  bool plain() const { return fill_cache && snapshot == nullptr; }
};

// The arguments after the handle and the key or keys.
bool TakeReadRequest(napi_env env, napi_value form, napi_value snapshot, ReadRequest* request) {
  return TakeReadForm(env, form, &request->form, &request->fill_cache) &&
         TakeSnapshot(env, snapshot, &request->snapshot);
}

// A read that cannot join the queued ones.
class GetJob : public PromiseJob {
 public:
  GetJob(std::shared_ptr<Handle> handle, std::string key, ReadRequest request)
      : PromiseJob(std::move(handle)), key_(std::move(key)), request_(std::move(request)) {}

 private:
  absl::Status Call() override {
    const absl::Status status = handle_->db()->Get(key_, value_, request_.options());
    found_ = status.ok();
    return absl::IsNotFound(status) ? absl::OkStatus() : status;
  }
  napi_value Result(napi_env env) override {
    napi_value result = nullptr;
    if (request_.exists_only) {
      napi_get_boolean(env, found_, &result);
      return result;
    }
    return found_ ? ToJs(env, value_.value(), request_.form) : Undefined(env);
  }

  const std::string key_;
  const ReadRequest request_;
  sepal::PinnedValue value_;
  bool found_ = false;
};

napi_value StartGet(napi_env env, napi_callback_info info, bool exists_only) {
  const Arguments<4> arguments(env, info);
  Handle* const handle = TakeOpen(env, arguments[0]);
  Bytes key;
  ReadRequest request{.exists_only = exists_only, .snapshot = nullptr};
  if (handle == nullptr || !key.Take(env, arguments[1]) ||
      !TakeReadRequest(env, arguments[2], arguments[3], &request)) {
    return nullptr;
  }
  if (request.plain()) {
    return handle->Add(env, QueuedRead{exists_only, request.form, std::string(key.view()), nullptr});
  }
  return PromiseJob::Start(
      env, std::make_unique<GetJob>(handle->shared_from_this(), std::string(key.view()), std::move(request)));
}

// get(handle, key, form, snapshot), and has
napi_value Get(napi_env env, napi_callback_info info) { return StartGet(env, info, false); }
napi_value Has(napi_env env, napi_callback_info info) { return StartGet(env, info, true); }

// getSync(handle, key, form, snapshot)
napi_value GetSync(napi_env env, napi_callback_info info) {
  const Arguments<4> arguments(env, info);
  Handle* const handle = TakeOpen(env, arguments[0]);
  Bytes key;
  ReadRequest request;
  if (handle == nullptr || !key.Take(env, arguments[1]) ||
      !TakeReadRequest(env, arguments[2], arguments[3], &request)) {
    return nullptr;
  }
  sepal::PinnedValue value;
  sepal::DB& db = *handle->db();
  const absl::Status status =
      request.plain() ? db.Get(key.view(), value) : db.Get(key.view(), value, request.options());
  if (status.ok()) return ToJs(env, value.value(), request.form);
  return absl::IsNotFound(status) ? Undefined(env) : Throw(env, status);
}

// Many keys in one piece of memory.
class Keys {
 public:
  bool Take(napi_env env, napi_value array) {
    uint32_t count = 0;
    if (napi_get_array_length(env, array, &count) != napi_ok) {
      ThrowType(env, "Expected an array of keys");
      return false;
    }
    ends_.reserve(count);
    for (uint32_t i = 0; i < count; ++i) {
      napi_handle_scope scope = nullptr;
      if (napi_open_handle_scope(env, &scope) != napi_ok) return false;
      napi_value element = nullptr;
      Bytes key;
      const bool taken = napi_get_element(env, array, i, &element) == napi_ok && key.Take(env, element);
      if (taken) ends_.push_back(bytes_.append(key.view()).size());
      napi_close_handle_scope(env, scope);
      if (!taken) return false;
    }
    return true;
  }
  std::vector<std::string_view> views() const {
    std::vector<std::string_view> views;
    views.reserve(ends_.size());
    size_t begin = 0;
    for (const size_t end : ends_) {
      views.push_back(std::string_view(bytes_).substr(begin, end - begin));
      begin = end;
    }
    return views;
  }

 private:
  std::string bytes_;
  std::vector<size_t> ends_;
};

class MultiGetJob : public PromiseJob {
 public:
  MultiGetJob(std::shared_ptr<Handle> handle, Keys keys, ReadRequest request)
      : PromiseJob(std::move(handle)), keys_(std::move(keys)), request_(std::move(request)) {}

 private:
  absl::Status Call() override {
    const std::vector<std::string_view> keys = keys_.views();
    values_ = std::vector<sepal::PinnedValue>(keys.size());
    statuses_.resize(keys.size());
    return handle_->db()->MultiGet(keys, values_, statuses_, request_.options());
  }
  napi_value Result(napi_env env) override {
    napi_value array = nullptr;
    if (napi_create_array_with_length(env, values_.size(), &array) != napi_ok) return nullptr;
    const napi_value absent = Undefined(env);
    for (size_t i = 0; i < values_.size(); ++i) {
      napi_handle_scope scope = nullptr;
      if (napi_open_handle_scope(env, &scope) != napi_ok) return nullptr;
      napi_value element = absent;
      if (request_.exists_only) {
        napi_get_boolean(env, statuses_[i].ok(), &element);
      } else if (statuses_[i].ok()) {
        element = ToJs(env, values_[i].value(), request_.form);
      }
      const bool set = element != nullptr && napi_set_element(env, array, static_cast<uint32_t>(i), element) == napi_ok;
      napi_close_handle_scope(env, scope);
      if (!set) return nullptr;
    }
    return array;
  }

  const Keys keys_;
  const ReadRequest request_;
  std::vector<sepal::PinnedValue> values_;
  std::vector<absl::Status> statuses_;
};

napi_value StartMultiGet(napi_env env, napi_callback_info info, bool exists_only) {
  const Arguments<4> arguments(env, info);
  Handle* const handle = TakeOpen(env, arguments[0]);
  Keys keys;
  ReadRequest request{.exists_only = exists_only, .snapshot = nullptr};
  if (handle == nullptr || !keys.Take(env, arguments[1]) ||
      !TakeReadRequest(env, arguments[2], arguments[3], &request)) {
    return nullptr;
  }
  return PromiseJob::Start(
      env, std::make_unique<MultiGetJob>(handle->shared_from_this(), std::move(keys), std::move(request)));
}

// getMany(handle, keys, form, snapshot), and hasMany
napi_value GetMany(napi_env env, napi_callback_info info) { return StartMultiGet(env, info, false); }
napi_value HasMany(napi_env env, napi_callback_info info) { return StartMultiGet(env, info, true); }

// newSnapshot(handle)
napi_value NewSnapshot(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  Handle* const handle = TakeOpen(env, arguments[0]);
  if (handle == nullptr) return nullptr;
  return Hold(env, SnapshotState::kKind, std::make_shared<SnapshotState>(SnapshotState{handle->db()->GetSnapshot()}));
}

// closeSnapshot(snapshot)
napi_value CloseSnapshot(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  auto* const state = Take<SnapshotState>(env, arguments[0]);
  if (state == nullptr) return nullptr;
  state->snapshot = nullptr;
  return Undefined(env);
}

}  // namespace

void ExportReads(napi_env env, napi_value exports) {
  constexpr NamedFunction kFunctions[] = {
      {"get", Get},
      {"has", Has},
      {"getSync", GetSync},
      {"getMany", GetMany},
      {"hasMany", HasMany},
      {"newSnapshot", NewSnapshot},
      {"closeSnapshot", CloseSnapshot},
  };
  Export(env, exports, kFunctions, std::size(kFunctions));
}

}  // namespace sepal_node

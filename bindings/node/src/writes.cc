// Writes, batches, and the removal of ranges.
#include <iterator>
#include <utility>

#include "src/handle.h"
#include "src/range.h"

namespace sepal_node {
namespace {

// put(handle, key, value, sync)
napi_value Put(napi_env env, napi_callback_info info) {
  const Arguments<4> arguments(env, info);
  Handle* const handle = TakeOpen(env, arguments[0]);
  Bytes key, value;
  QueuedWrite write;
  if (handle == nullptr || !key.Take(env, arguments[1]) || !value.Take(env, arguments[2]) ||
      !TakeFlag(env, arguments[3], &write.sync)) {
    return nullptr;
  }
  write.key = key.view();
  write.value = value.view();
  return handle->Add(env, std::move(write));
}

// del(handle, key, sync)
napi_value Del(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  Handle* const handle = TakeOpen(env, arguments[0]);
  Bytes key;
  QueuedWrite write{.what = QueuedWrite::What::kDelete};
  if (handle == nullptr || !key.Take(env, arguments[1]) || !TakeFlag(env, arguments[2], &write.sync)) return nullptr;
  write.key = key.view();
  return handle->Add(env, std::move(write));
}

// --- batches ---

napi_value NewBatch(napi_env env, napi_callback_info) {
  return Hold(env, BatchState::kKind, std::make_shared<BatchState>());
}

// batchPut(batch, key, value)
napi_value BatchPut(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  auto* const state = Take<BatchState>(env, arguments[0]);
  Bytes key, value;
  if (state == nullptr || !key.Take(env, arguments[1]) || !value.Take(env, arguments[2])) return nullptr;
  state->batch.Put(key.view(), value.view());
  return nullptr;
}

// batchDel(batch, key)
napi_value BatchDel(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  auto* const state = Take<BatchState>(env, arguments[0]);
  Bytes key;
  if (state == nullptr || !key.Take(env, arguments[1])) return nullptr;
  state->batch.Delete(key.view());
  return nullptr;
}

// batchClear(batch)
napi_value BatchClear(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  auto* const state = Take<BatchState>(env, arguments[0]);
  if (state != nullptr) state->batch.Clear();
  return nullptr;
}

// batchWrite(handle, batch, sync): the batch must not change until the promise is settled
napi_value BatchWrite(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  Handle* const handle = TakeOpen(env, arguments[0]);
  if (handle == nullptr) return nullptr;
  QueuedWrite write{.what = QueuedWrite::What::kBatch};
  write.batch = TakeShared<BatchState>(env, arguments[1]);
  if (write.batch == nullptr || !TakeFlag(env, arguments[2], &write.sync)) return nullptr;
  return handle->Add(env, std::move(write));
}

// --- ranges ---

// Deletes the keys of a range in a snapshot, or the first or last so many of them.
class ClearJob : public PromiseJob {
 public:
  struct Request {
    KeyRange range;
    bool reverse = false;
    size_t limit = 0;
    bool limited = false;
    std::shared_ptr<const sepal::Snapshot> snapshot;
  };

  ClearJob(std::shared_ptr<Handle> handle, Request request)
      : PromiseJob(std::move(handle)), request_(std::move(request)) {}

 private:
  absl::Status Call() override {
    sepal::DB& db = *handle_->db();
    sepal::ReadOptions options;
    options.snapshot = request_.snapshot.get();
    options.fill_cache = false;
    options.keys_only = true;
    options.lower_bound = request_.range.begin;
    options.upper_bound = request_.range.end;
    const std::unique_ptr<sepal::Iterator> entries = db.NewIterator(options);
    sepal::WriteBatch batch;
    size_t deleted = 0;
    constexpr size_t kBatchBytes = 64 << 10;
    request_.reverse ? entries->SeekToLast() : entries->SeekToFirst();
    for (; entries->Valid() && !(request_.limited && deleted == request_.limit); ++deleted) {
      batch.Delete(entries->key());
      if (batch.ByteSize() >= kBatchBytes) {
        const absl::Status written = db.Write(batch);
        if (!written.ok()) return written;
        batch.Clear();
      }
      request_.reverse ? entries->Prev() : entries->Next();
    }
    const absl::Status read = entries->status();
    return read.ok() ? db.Write(batch) : read;
  }

  const Request request_;
};

// clear(handle, range, reverse, limit, snapshot): a limit of undefined is none
napi_value Clear(napi_env env, napi_callback_info info) {
  const Arguments<5> arguments(env, info);
  Handle* const handle = TakeOpen(env, arguments[0]);
  ClearJob::Request request;
  request.limited = IsSet(env, arguments[3]);
  if (handle == nullptr || !TakeRange(env, arguments[1], &request.range) ||
      !TakeFlag(env, arguments[2], &request.reverse) ||
      (request.limited && !TakeCount(env, arguments[3], &request.limit)) ||
      !TakeSnapshot(env, arguments[4], &request.snapshot)) {
    return nullptr;
  }
  const bool bounds_fit = (!request.range.begin || request.range.begin->size() <= sepal::kMaxKeyBytes) &&
                          (!request.range.end || request.range.end->size() <= sepal::kMaxKeyBytes);
  if (request.limited || request.snapshot != nullptr || !bounds_fit || request.range.empty()) {
    return PromiseJob::Start(env, std::make_unique<ClearJob>(handle->shared_from_this(), std::move(request)));
  }
  QueuedWrite write{.what = QueuedWrite::What::kDeleteRange};
  write.key = request.range.begin.value_or("");
  write.has_end = request.range.end.has_value();
  write.value = request.range.end.value_or("");
  return handle->Add(env, std::move(write));
}

}  // namespace

bool TakeRange(napi_env env, napi_value object, KeyRange* range) {
  // Of two bounds on one side the inclusive one counts.
  const auto take = [&](const char* inclusive, const char* exclusive, bool follow_inclusive,
                        std::optional<std::string>* bound) {
    napi_value value = Member(env, object, inclusive);
    if (value == nullptr) return false;
    const bool is_inclusive = IsSet(env, value);
    if (!is_inclusive) value = Member(env, object, exclusive);
    if (value == nullptr) return false;
    if (!IsSet(env, value)) return true;
    Bytes bytes;
    if (!bytes.Take(env, value)) return false;
    *bound = bytes.view();
    // The key that follows, in bytewise order.
    if (is_inclusive == follow_inclusive) bound->value().push_back('\0');
    return true;
  };
  return take("gte", "gt", false, &range->begin) && take("lte", "lt", true, &range->end);
}

void ExportWrites(napi_env env, napi_value exports) {
  constexpr NamedFunction kFunctions[] = {
      {"put", Put},
      {"del", Del},
      {"newBatch", NewBatch},
      {"batchPut", BatchPut},
      {"batchDel", BatchDel},
      {"batchClear", BatchClear},
      {"batchWrite", BatchWrite},
      {"clear", Clear},
  };
  Export(env, exports, kFunctions, std::size(kFunctions));
}

}  // namespace sepal_node

// Iterators: chunks of entries are read in the thread pool, and made into objects in the thread of JavaScript.
#include <atomic>
#include <iterator>
#include <utility>
#include <vector>

#include "src/handle.h"
#include "src/range.h"

namespace sepal_node {
namespace {

struct IteratorState {
  static constexpr Kind kKind = Kind::kIterator;

  std::unique_ptr<sepal::Iterator> entries;  // null: it is closed
  KeyRange range;
  bool reverse = false;
  bool keys = true;
  bool values = true;
  Form key_form = Form::kText;
  Form value_form = Form::kText;

  // Where the next chunk begins; done by the thread that reads it.
  enum class Place : uint8_t { kFirst, kTarget, kNext, kEnd };
  Place place = Place::kFirst;
  std::string target;
  bool busy = false;
  std::atomic<bool> aborted = false;  // set while a chunk is read

  void Move() {
    switch (std::exchange(place, Place::kNext)) {
      case Place::kFirst:
        return reverse ? entries->SeekToLast() : entries->SeekToFirst();
      case Place::kTarget:
        return reverse ? entries->SeekForPrev(target) : entries->Seek(target);
      case Place::kNext:
        if (entries->Valid()) return reverse ? entries->Prev() : entries->Next();
        return;
      case Place::kEnd:
        place = Place::kEnd;
        return;
    }
  }
};

class ChunkJob : public PromiseJob {
 public:
  ChunkJob(std::shared_ptr<Handle> handle, std::shared_ptr<IteratorState> state, size_t most, size_t most_bytes)
      : PromiseJob(std::move(handle)), state_(std::move(state)), most_(most), most_bytes_(most_bytes) {}

 private:
  absl::Status Call() override {
    IteratorState& state = *state_;
    while (ends_.size() < most_parts() && (ends_.empty() || bytes_.size() < most_bytes_)) {
      if (state.aborted.load(std::memory_order_relaxed)) return absl::CancelledError("Operation has been aborted");
      state.Move();
      if (state.place == IteratorState::Place::kEnd) break;
      if (!state.entries->Valid()) {
        state.place = IteratorState::Place::kEnd;
        if (absl::Status status = state.entries->status(); !status.ok()) return status;
        break;
      }
      if (state.keys) ends_.push_back(bytes_.append(state.entries->key()).size());
      if (state.values) ends_.push_back(bytes_.append(state.entries->value()).size());
      if (!state.keys && !state.values) ends_.push_back(0);
    }
    ascii_ = IsAscii(bytes_);
    return absl::OkStatus();
  }

  // An array of keys and values in turn, or of one of them.
  napi_value Result(napi_env env) override {
    napi_value array = nullptr;
    if (napi_create_array_with_length(env, ends_.size(), &array) != napi_ok) return nullptr;
    size_t begin = 0;
    for (size_t i = 0; i < ends_.size(); ++i) {
      napi_handle_scope scope = nullptr;
      if (napi_open_handle_scope(env, &scope) != napi_ok) return nullptr;
      const bool is_key = state_->keys && (!state_->values || i % 2 == 0);
      const Form form = is_key ? state_->key_form : state_->value_form;
      const std::string_view bytes = std::string_view(bytes_).substr(begin, ends_[i] - begin);
      begin = ends_[i];
      const napi_value part = form == Form::kText ? ToText(env, bytes, ascii_) : ToJs(env, bytes, form);
      const bool set = part != nullptr && napi_set_element(env, array, static_cast<uint32_t>(i), part) == napi_ok;
      napi_close_handle_scope(env, scope);
      if (!set) return nullptr;
    }
    return array;
  }

  void Finish(napi_env env) override {
    state_->busy = false;
    // It may have been read before the request to end it came.
    if (state_->aborted.load(std::memory_order_relaxed)) FailWith(absl::CancelledError("Operation has been aborted"));
    PromiseJob::Finish(env);
  }

  size_t most_parts() const { return state_->keys && state_->values ? 2 * most_ : most_; }

  const std::shared_ptr<IteratorState> state_;
  const size_t most_;
  const size_t most_bytes_;
  std::string bytes_;
  std::vector<size_t> ends_;
  bool ascii_ = false;
};

// newIterator(handle, options, keyForm, valueForm, snapshot)
napi_value NewIterator(napi_env env, napi_callback_info info) {
  const Arguments<5> arguments(env, info);
  Handle* const handle = TakeOpen(env, arguments[0]);
  auto state = std::make_shared<IteratorState>();
  bool fill_cache = true;
  std::shared_ptr<const sepal::Snapshot> snapshot;
  const auto flag = [&](const char* name, bool* value) {
    const napi_value member = Member(env, arguments[1], name);
    return member != nullptr && (!IsSet(env, member) || TakeFlag(env, member, value));
  };
  if (handle == nullptr || !TakeRange(env, arguments[1], &state->range) || !flag("reverse", &state->reverse) ||
      !flag("keys", &state->keys) || !flag("values", &state->values) || !flag("fillCache", &fill_cache) ||
      !TakeForm(env, arguments[2], &state->key_form) || !TakeForm(env, arguments[3], &state->value_form) ||
      !TakeSnapshot(env, arguments[4], &snapshot)) {
    return nullptr;
  }
  if (state->range.empty()) state->place = IteratorState::Place::kEnd;
  sepal::ReadOptions options;
  options.snapshot = snapshot.get();
  options.fill_cache = fill_cache;
  options.keys_only = !state->values;
  options.lower_bound = state->range.begin;
  options.upper_bound = state->range.end;
  state->entries = handle->db()->NewIterator(options);
  return Hold(env, IteratorState::kKind, std::move(state));
}

// Null with an exception if it is closed or reads.
std::shared_ptr<IteratorState> TakeIdle(napi_env env, napi_value value) {
  std::shared_ptr<IteratorState> state = TakeShared<IteratorState>(env, value);
  if (state == nullptr) return nullptr;
  if (state->entries == nullptr) {
    napi_throw_error(env, "LEVEL_ITERATOR_NOT_OPEN", "Iterator is not open");
    return nullptr;
  }
  if (state->busy) {
    napi_throw_error(env, "LEVEL_ITERATOR_BUSY", "Iterator is busy");
    return nullptr;
  }
  return state;
}

// iteratorNext(handle, iterator, size, bytes): at most so many entries, and few more bytes
napi_value IteratorNext(napi_env env, napi_callback_info info) {
  const Arguments<4> arguments(env, info);
  Handle* const handle = TakeOpen(env, arguments[0]);
  if (handle == nullptr) return nullptr;
  std::shared_ptr<IteratorState> state = TakeIdle(env, arguments[1]);
  size_t most = 0, most_bytes = 0;
  if (state == nullptr || !TakeCount(env, arguments[2], &most) || !TakeCount(env, arguments[3], &most_bytes)) {
    return nullptr;
  }
  IteratorState& reading = *state;
  const napi_value promise =
      PromiseJob::Start(env, std::make_unique<ChunkJob>(handle->shared_from_this(), std::move(state),
                                                        std::min<size_t>(most, INT32_MAX), most_bytes));
  reading.busy = promise != nullptr;
  return promise;
}

// iteratorSeek(iterator, target)
napi_value IteratorSeek(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const auto state = TakeIdle(env, arguments[0]);
  Bytes target;
  if (state == nullptr || !target.Take(env, arguments[1])) return nullptr;
  state->target = target.view();
  state->place = state->range.Contains(target.view()) ? IteratorState::Place::kTarget : IteratorState::Place::kEnd;
  return nullptr;
}

// iteratorAbort(iterator): a chunk that is being read ends with LEVEL_ABORTED
napi_value IteratorAbort(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  auto* const state = Take<IteratorState>(env, arguments[0]);
  if (state != nullptr) state->aborted.store(true, std::memory_order_relaxed);
  return nullptr;
}

// iteratorClose(iterator)
napi_value IteratorClose(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  const auto state = TakeIdle(env, arguments[0]);
  if (state != nullptr) state->entries = nullptr;
  return nullptr;
}

}  // namespace

void ExportIterators(napi_env env, napi_value exports) {
  constexpr NamedFunction kFunctions[] = {
      {"newIterator", NewIterator},     {"iteratorNext", IteratorNext},   {"iteratorSeek", IteratorSeek},
      {"iteratorAbort", IteratorAbort}, {"iteratorClose", IteratorClose},
  };
  Export(env, exports, kFunctions, std::size(kFunctions));
}

}  // namespace sepal_node

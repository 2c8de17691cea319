// The common parts of the addon: arguments from JavaScript, results for it, and errors.
//
// A function that returns bool and fails leaves an exception pending; a napi_value that is null says the same. Calls
// into Node fail while a worker thread is being ended: then a result has no receiver and is dropped.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#define NAPI_VERSION 8
#include <node_api.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/db.h"

namespace sepal_node {

// The forms in which abstract-level asks for keys and values; index.js has the same numbers.
enum class Form : uint8_t { kText = 0, kBuffer = 1, kView = 2 };

// The arguments of a call; those that were not given are undefined.
template <size_t kCount>
class Arguments {
 public:
  Arguments(napi_env env, napi_callback_info info) {
    size_t count = kCount;
    napi_get_cb_info(env, info, &count, values_.data(), nullptr, nullptr);
  }
  napi_value operator[](size_t i) const { return values_[i]; }

 private:
  std::array<napi_value, kCount> values_ = {};
};

// The bytes of a string, or of a buffer, whose memory stays JavaScript's: they are valid during the call.
class Bytes {
 public:
  Bytes() = default;
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  bool Take(napi_env env, napi_value value);
  std::string_view view() const { return view_; }

 private:
  bool TakeText(napi_env env, napi_value value);

  std::array<char, 512> near_;
  std::string far_;
  std::string_view view_;
};

bool IsSet(napi_env env, napi_value value);  // neither undefined nor null
bool TakeText(napi_env env, napi_value value, std::string* text);
bool TakeFlag(napi_env env, napi_value value, bool* flag);
bool TakeForm(napi_env env, napi_value value, Form* form);
// A form and, in the bit above it, whether blocks that are read stay in the cache.
bool TakeReadForm(napi_env env, napi_value value, Form* form, bool* fill_cache);
bool TakeCount(napi_env env, napi_value value, size_t* count);  // refuses negative values and other types

// The member of an object; null with an exception; undefined if it is not set.
napi_value Member(napi_env env, napi_value object, const char* name);

bool IsAscii(std::string_view bytes);
napi_value ToJs(napi_env env, std::string_view bytes, Form form);
// The same for text of which it is known whether it is ASCII.
napi_value ToText(napi_env env, std::string_view bytes, bool ascii);
napi_value Undefined(napi_env env);

// Errors have a `code` as abstract-level's users expect it: LEVEL_CORRUPTION, LEVEL_LOCKED, ...
napi_value ErrorOf(napi_env env, const absl::Status& status);
std::nullptr_t Throw(napi_env env, const absl::Status& status);
std::nullptr_t ThrowType(napi_env env, const char* message);
std::nullptr_t ThrowClosed(napi_env env);

// JavaScript's reference to an object of the addon's. It has a kind, so that a wrong kind is an error.
enum class Kind : uint8_t { kHandle, kSnapshot, kIterator, kBatch };

struct Held {
  Kind kind;
  std::shared_ptr<void> object;
};

napi_value Hold(napi_env env, Kind kind, std::shared_ptr<void> object);
// Null with an exception if it is no such object.
const std::shared_ptr<void>* TakeHeld(napi_env env, napi_value value, Kind kind);

template <class Object>
std::shared_ptr<Object> TakeShared(napi_env env, napi_value value) {
  const std::shared_ptr<void>* const object = TakeHeld(env, value, Object::kKind);
  return object == nullptr ? nullptr : std::static_pointer_cast<Object>(*object);
}
// JavaScript keeps the object during the call.
template <class Object>
Object* Take(napi_env env, napi_value value) {
  const std::shared_ptr<void>* const object = TakeHeld(env, value, Object::kKind);
  return object == nullptr ? nullptr : static_cast<Object*>(object->get());
}

struct SnapshotState {
  static constexpr Kind kKind = Kind::kSnapshot;
  std::shared_ptr<const sepal::Snapshot> snapshot;  // null: it is closed
};

// Undefined means no snapshot. False, with an exception, if it is closed.
bool TakeSnapshot(napi_env env, napi_value value, std::shared_ptr<const sepal::Snapshot>* snapshot);

// The functions of the addon, by file.
using Function = napi_value (*)(napi_env env, napi_callback_info info);
struct NamedFunction {
  const char* name;
  Function function;
};
void Export(napi_env env, napi_value exports, const NamedFunction* functions, size_t count);

void ExportDatabase(napi_env env, napi_value exports);
void ExportReads(napi_env env, napi_value exports);
void ExportWrites(napi_env env, napi_value exports);
void ExportIterators(napi_env env, napi_value exports);
void ExportMaintenance(napi_env env, napi_value exports);

}  // namespace sepal_node

#include "src/node.h"

#include <cmath>
#include <cstring>

namespace sepal_node {
namespace {

// The abstract-level code for an error if there is one, otherwise the engine's own.
std::string CodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kDataLoss:
      return "LEVEL_CORRUPTION";
    case absl::StatusCode::kUnimplemented:
      return "LEVEL_NOT_SUPPORTED";
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kResourceExhausted:
      return "LEVEL_IO_ERROR";
    case absl::StatusCode::kUnavailable:
      // The addon never sets `no_slowdown`, so this error concerns a directory's lock.
      return "LEVEL_LOCKED";
    case absl::StatusCode::kCancelled:
      return "LEVEL_ABORTED";
    default:
      return "LEVEL_" + absl::StatusCodeToString(status.code());
  }
}

napi_value TextOf(napi_env env, std::string_view text) {
  napi_value result = nullptr;
  napi_create_string_utf8(env, text.data(), text.size(), &result);
  return result;
}

bool TypeIs(napi_env env, napi_value value, napi_valuetype type) {
  napi_valuetype found = napi_undefined;
  return napi_typeof(env, value, &found) == napi_ok && found == type;
}

}  // namespace

// --- arguments ---

bool Bytes::TakeText(napi_env env, napi_value value) {
  size_t size = 0;
  if (napi_get_value_string_utf8(env, value, near_.data(), near_.size(), &size) != napi_ok) return false;
  // A character that did not fit may have left three bytes and the terminator unused.
  if (size + 4 < near_.size()) {
    view_ = {near_.data(), size};
    return true;
  }
  if (napi_get_value_string_utf8(env, value, nullptr, 0, &size) != napi_ok) return false;
  far_.resize(size + 1);
  if (napi_get_value_string_utf8(env, value, far_.data(), size + 1, &size) != napi_ok) return false;
  view_ = {far_.data(), size};
  return true;
}

bool Bytes::Take(napi_env env, napi_value value) {
  if (TypeIs(env, value, napi_string)) return TakeText(env, value);
  bool is_buffer = false;
  void* data = nullptr;
  size_t size = 0;
  if (napi_is_buffer(env, value, &is_buffer) != napi_ok || !is_buffer ||
      napi_get_buffer_info(env, value, &data, &size) != napi_ok) {
    ThrowType(env, "Keys and values must be strings, Buffers or Uint8Arrays");
    return false;
  }
  view_ = size == 0 ? std::string_view() : std::string_view(static_cast<const char*>(data), size);
  return true;
}

bool IsSet(napi_env env, napi_value value) {
  napi_valuetype type = napi_undefined;
  return value != nullptr && napi_typeof(env, value, &type) == napi_ok && type != napi_undefined && type != napi_null;
}

bool TakeText(napi_env env, napi_value value, std::string* text) {
  Bytes bytes;
  if (!TypeIs(env, value, napi_string)) {
    ThrowType(env, "Expected a string");
    return false;
  }
  if (!bytes.Take(env, value)) return false;
  *text = bytes.view();
  return true;
}

bool TakeFlag(napi_env env, napi_value value, bool* flag) {
  if (napi_get_value_bool(env, value, flag) == napi_ok) return true;
  ThrowType(env, "Expected a boolean");
  return false;
}

bool TakeForm(napi_env env, napi_value value, Form* form) {
  uint32_t number = 0;
  if (napi_get_value_uint32(env, value, &number) != napi_ok || number > static_cast<uint32_t>(Form::kView)) {
    ThrowType(env, "Expected the number of an encoding");
    return false;
  }
  *form = static_cast<Form>(number);
  return true;
}

bool TakeReadForm(napi_env env, napi_value value, Form* form, bool* fill_cache) {
  uint32_t number = 0;
  constexpr uint32_t kFillCache = 4;
  if (napi_get_value_uint32(env, value, &number) != napi_ok ||
      (number & ~kFillCache) > static_cast<uint32_t>(Form::kView)) {
    ThrowType(env, "Expected the number of an encoding");
    return false;
  }
  *form = static_cast<Form>(number & ~kFillCache);
  *fill_cache = (number & kFillCache) != 0;
  return true;
}

bool TakeCount(napi_env env, napi_value value, size_t* count) {
  double number = 0;
  constexpr double kMost = 9007199254740991;  // Number.MAX_SAFE_INTEGER
  if (napi_get_value_double(env, value, &number) != napi_ok || !(number >= 0) || number > kMost ||
      std::floor(number) != number) {
    ThrowType(env, "Expected a whole number that is not negative");
    return false;
  }
  *count = static_cast<size_t>(number);
  return true;
}

napi_value Member(napi_env env, napi_value object, const char* name) {
  napi_value value = nullptr;
  if (napi_get_named_property(env, object, name, &value) != napi_ok) return nullptr;
  return value;
}

// --- results ---

bool IsAscii(std::string_view bytes) {
  const char* at = bytes.data();
  size_t left = bytes.size();
  uint64_t seen = 0;
  for (; left >= sizeof(uint64_t); at += sizeof(uint64_t), left -= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, at, sizeof(word));
    seen |= word;
  }
  for (; left > 0; ++at, --left) seen |= static_cast<unsigned char>(*at);
  return (seen & 0x8080808080808080) == 0;
}

napi_value ToText(napi_env env, std::string_view bytes, bool ascii) {
  napi_value result = nullptr;
  // Node makes a string of Latin-1 faster than one that it has to decode.
  const napi_status made = ascii ? napi_create_string_latin1(env, bytes.data(), bytes.size(), &result)
                                 : napi_create_string_utf8(env, bytes.data(), bytes.size(), &result);
  if (made == napi_ok) return result;
  bool pending = false;
  napi_is_exception_pending(env, &pending);
  if (!pending) napi_throw_range_error(env, "LEVEL_DECODE_ERROR", "The value is too long for a string");
  return nullptr;
}

napi_value ToJs(napi_env env, std::string_view bytes, Form form) {
  if (form == Form::kText) return ToText(env, bytes, IsAscii(bytes));
  napi_value result = nullptr;
  void* memory = nullptr;
  if (form == Form::kBuffer) {
    napi_create_buffer_copy(env, bytes.size(), bytes.data(), &memory, &result);
    return result;
  }
  napi_value storage = nullptr;
  if (napi_create_arraybuffer(env, bytes.size(), &memory, &storage) != napi_ok) return nullptr;
  if (!bytes.empty()) std::memcpy(memory, bytes.data(), bytes.size());
  napi_create_typedarray(env, napi_uint8_array, bytes.size(), storage, 0, &result);
  return result;
}

napi_value Undefined(napi_env env) {
  napi_value result = nullptr;
  napi_get_undefined(env, &result);
  return result;
}

// --- errors ---

napi_value ErrorOf(napi_env env, const absl::Status& status) {
  napi_value error = nullptr;
  const absl::string_view message = status.message();
  napi_create_error(env, TextOf(env, CodeOf(status)), TextOf(env, {message.data(), message.size()}), &error);
  // The name on web platforms.
  if (absl::IsCancelled(status)) napi_set_named_property(env, error, "name", TextOf(env, "AbortError"));
  return error;
}

std::nullptr_t Throw(napi_env env, const absl::Status& status) {
  napi_throw(env, ErrorOf(env, status));
  return nullptr;
}

std::nullptr_t ThrowType(napi_env env, const char* message) {
  napi_throw_type_error(env, nullptr, message);
  return nullptr;
}

std::nullptr_t ThrowClosed(napi_env env) {
  napi_throw_error(env, "LEVEL_DATABASE_NOT_OPEN", "Database is not open");
  return nullptr;
}

// --- objects that JavaScript holds ---

napi_value Hold(napi_env env, Kind kind, std::shared_ptr<void> object) {
  auto held = std::make_unique<Held>(Held{kind, std::move(object)});
  napi_value external = nullptr;
  const auto release = [](napi_env, void* data, void*) { delete static_cast<Held*>(data); };
  if (napi_create_external(env, held.get(), release, nullptr, &external) != napi_ok) return nullptr;
  static_cast<void>(held.release());  // the external owns it
  return external;
}

const std::shared_ptr<void>* TakeHeld(napi_env env, napi_value value, Kind kind) {
  void* data = nullptr;
  if (napi_get_value_external(env, value, &data) != napi_ok) data = nullptr;
  const auto* const held = static_cast<const Held*>(data);
  if (held != nullptr && held->kind == kind) return &held->object;
  return ThrowType(env, "Expected an object of the addon's");
}

bool TakeSnapshot(napi_env env, napi_value value, std::shared_ptr<const sepal::Snapshot>* snapshot) {
  if (!IsSet(env, value)) return true;
  const auto* const state = Take<SnapshotState>(env, value);
  if (state == nullptr) return false;
  *snapshot = state->snapshot;
  if (*snapshot != nullptr) return true;
  napi_throw_error(env, "LEVEL_SNAPSHOT_NOT_OPEN", "Snapshot is not open");
  return false;
}

void Export(napi_env env, napi_value exports, const NamedFunction* functions, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    napi_value function = nullptr;
    napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].function, nullptr, &function);
    napi_set_named_property(env, exports, functions[i].name, function);
  }
}

}  // namespace sepal_node

NAPI_MODULE_INIT() {
  sepal_node::ExportDatabase(env, exports);
  sepal_node::ExportReads(env, exports);
  sepal_node::ExportWrites(env, exports);
  sepal_node::ExportIterators(env, exports);
  sepal_node::ExportMaintenance(env, exports);
  return exports;
}

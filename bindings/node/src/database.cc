// Opening and closing.
#include <algorithm>
#include <utility>

#include "src/handle.h"

namespace sepal_node {
namespace {

struct OpenRequest {
  std::string location;
  sepal::Options options;
  bool shared = false;
};

class OpenJob : public PromiseJob {
 public:
  OpenJob(std::shared_ptr<Handle> handle, OpenRequest request)
      : PromiseJob(std::move(handle)), request_(std::move(request)) {}

 private:
  absl::Status Call() override {
    auto opened = SharedDatabase::Open(request_.options, request_.location, request_.shared);
    if (absl::IsNotFound(opened.status())) {
      return absl::NotFoundError(request_.location + ": does not exist (createIfMissing is false)");
    }
    if (!opened.ok()) return opened.status();
    database_ = *std::move(opened);
    return absl::OkStatus();
  }
  napi_value Result(napi_env env) override {
    handle_->SetOpen(std::move(database_));
    return Undefined(env);
  }

  const OpenRequest request_;
  std::shared_ptr<SharedDatabase> database_;
};

// Reads members of an options object; members that are not set leave the value as it is.
class OptionReader {
 public:
  OptionReader(napi_env env, napi_value object) : env_(env), object_(object) {}

  bool Flag(const char* name, bool* flag) {
    const napi_value value = Find(name);
    return ok_ && (value == nullptr || Keep(napi_get_value_bool(env_, value, flag) == napi_ok, name, "a boolean"));
  }
  bool Text(const char* name, std::string* text) {
    const napi_value value = Find(name);
    napi_valuetype type = napi_undefined;
    if (value != nullptr) napi_typeof(env_, value, &type);
    return ok_ && (value == nullptr || (Keep(type == napi_string, name, "a string") && TakeText(env_, value, text)));
  }
  bool Size(const char* name, size_t* size) {
    const napi_value value = Find(name);
    double number = 0;
    constexpr double kMost = 9007199254740991;  // Number.MAX_SAFE_INTEGER
    if (value == nullptr) return ok_;
    const bool good = napi_get_value_double(env_, value, &number) == napi_ok && number >= 0 && number <= kMost;
    if (good) *size = static_cast<size_t>(number);
    return Keep(good, name, "a number that is not negative");
  }

 private:
  // Null if it is not set.
  napi_value Find(const char* name) {
    const napi_value value = Member(env_, object_, name);
    if (value == nullptr) ok_ = false;  // a getter threw
    return IsSet(env_, value) ? value : nullptr;
  }
  bool Keep(bool good, const char* name, const char* kind) {
    if (!good) ThrowType(env_, ("The option '" + std::string(name) + "' must be " + kind).c_str());
    ok_ &= good;
    return good;
  }

  const napi_env env_;
  const napi_value object_;
  bool ok_ = true;
};

// A boolean, as LevelDB has it, or the name of a codec.
bool TakeCompression(napi_env env, napi_value object, sepal::CompressionKind* kind) {
  const napi_value value = Member(env, object, "compression");
  if (value == nullptr) return false;
  bool flag = false;
  if (!IsSet(env, value)) return true;
  if (napi_get_value_bool(env, value, &flag) == napi_ok) {
    if (!flag) *kind = sepal::CompressionKind::kNone;
    return true;
  }
  constexpr std::pair<std::string_view, sepal::CompressionKind> kKinds[] = {{"none", sepal::CompressionKind::kNone},
                                                                            {"snappy", sepal::CompressionKind::kSnappy},
                                                                            {"lz4", sepal::CompressionKind::kLz4},
                                                                            {"zstd", sepal::CompressionKind::kZstd}};
  Bytes name;
  if (!name.Take(env, value)) return false;
  for (const auto& [known, codec] : kKinds) {
    if (name.view() != known) continue;
    *kind = codec;
    return true;
  }
  ThrowType(env, "The option 'compression' must be a boolean or one of 'none', 'snappy', 'lz4' and 'zstd'");
  return false;
}

// `memoryLimit`, or the memory for LevelDB's two sizes if that is more than the default.
bool TakeMemory(OptionReader& reader, sepal::Options* options) {
  size_t limit = 0, cache = 0, buffer = 0;
  if (!reader.Size("memoryLimit", &limit) || !reader.Size("cacheSize", &cache) ||
      !reader.Size("writeBufferSize", &buffer)) {
    return false;
  }
  constexpr size_t kMost = size_t{1} << 40;  // of each; the engine refuses more
  const size_t asked = std::min(cache, kMost) + 4 * std::min(buffer, kMost);
  options->memory_limit = limit > 0 ? limit : std::max(options->memory_limit, asked);
  return true;
}

bool TakeOpenRequest(napi_env env, napi_value object, OpenRequest* request) {
  OptionReader reader(env, object);
  sepal::Options& options = request->options;
  size_t threads = 0, follow = 0;
  if (!reader.Flag("createIfMissing", &options.create_if_missing) ||
      !reader.Flag("errorIfExists", &options.error_if_exists) || !reader.Flag("readOnly", &options.read_only) ||
      !reader.Flag("directReads", &options.direct_reads) || !reader.Flag("infoLog", &options.info_log) ||
      !reader.Flag("multithreading", &request->shared) || !reader.Text("logDirectory", &options.log_directory) ||
      !reader.Size("blockSize", &options.family.block_bytes) || !reader.Size("backgroundThreads", &threads) ||
      !reader.Size("followMilliseconds", &follow) || !TakeMemory(reader, &options) ||
      !TakeCompression(env, object, &options.family.compression)) {
    return false;
  }
  // A sum out of range stays out of range.
  options.background_threads = static_cast<int>(std::min<size_t>(threads, INT32_MAX));
  options.follow_milliseconds = follow;
  return true;
}

napi_value NewHandle(napi_env env, napi_callback_info) { return Hold(env, Handle::kKind, std::make_shared<Handle>()); }

// open(handle, location, options)
napi_value Open(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  std::shared_ptr<Handle> handle = TakeShared<Handle>(env, arguments[0]);
  OpenRequest request;
  if (handle == nullptr || !TakeText(env, arguments[1], &request.location) ||
      !TakeOpenRequest(env, arguments[2], &request)) {
    return nullptr;
  }
  if (handle->db() != nullptr) return Throw(env, absl::FailedPreconditionError("the database is open already"));
  return PromiseJob::Start(env, std::make_unique<OpenJob>(std::move(handle), std::move(request)));
}

// close(handle)
napi_value Close(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  Handle* const handle = Take<Handle>(env, arguments[0]);
  if (handle == nullptr) return nullptr;
  if (handle->closing()) return ThrowClosed(env);
  // After an attempt that failed, it is closed nevertheless.
  return handle->db() == nullptr ? Undefined(env) : handle->Close(env);
}

}  // namespace

void ExportDatabase(napi_env env, napi_value exports) {
  constexpr NamedFunction kFunctions[] = {{"newHandle", NewHandle}, {"open", Open}, {"close", Close}};
  Export(env, exports, kFunctions, std::size(kFunctions));
}

}  // namespace sepal_node

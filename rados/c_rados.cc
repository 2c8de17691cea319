// The C interface of RADOS.
#include "sepal/c_rados.h"

#include <chrono>
#include <memory>
#include <utility>

#include "db/c/c_types.h"
#include "sepal/rados.h"

struct sepal_rados_options_t {
  sepal::RadosOptions rep;
};

extern "C" {

sepal_rados_options_t* sepal_rados_options_create(const char* pool) {
  return new sepal_rados_options_t{sepal::RadosOptions{.pool = pool}};
}
void sepal_rados_options_destroy(sepal_rados_options_t* options) { delete options; }
void sepal_rados_options_set_data_pool(sepal_rados_options_t* options, const char* pool) {
  options->rep.data_pool = pool;
}
void sepal_rados_options_set_user(sepal_rados_options_t* options, const char* user) { options->rep.user = user; }
void sepal_rados_options_set_config_file(sepal_rados_options_t* options, const char* path) {
  options->rep.config_file = path;
}
void sepal_rados_options_set_keyring(sepal_rados_options_t* options, const char* path) { options->rep.keyring = path; }
void sepal_rados_options_set_object_bytes(sepal_rados_options_t* options, uint64_t bytes) {
  options->rep.object_bytes = bytes;
}
void sepal_rados_options_set_linger(sepal_rados_options_t* options, uint64_t millis) {
  options->rep.linger = std::chrono::milliseconds(millis);
}
void sepal_rados_options_set_log_buffer_bytes(sepal_rados_options_t* options, uint64_t bytes) {
  options->rep.log_buffer_bytes = bytes;
}
void sepal_rados_options_set_lease(sepal_rados_options_t* options, uint64_t millis) {
  options->rep.lease = std::chrono::milliseconds(millis);
}
void sepal_rados_options_set_fence(sepal_rados_options_t* options, uint64_t seconds) {
  options->rep.fence = std::chrono::seconds(seconds);
}
void sepal_rados_options_set_operation_timeout(sepal_rados_options_t* options, uint64_t seconds) {
  options->rep.operation_timeout = std::chrono::seconds(seconds);
}
void sepal_rados_options_set_connect_timeout(sepal_rados_options_t* options, uint64_t seconds) {
  options->rep.connect_timeout = std::chrono::seconds(seconds);
}
void sepal_rados_options_set_removal_grace(sepal_rados_options_t* options, uint64_t millis) {
  options->rep.removal_grace = std::chrono::milliseconds(millis);
}
void sepal_rados_options_set_cache(sepal_rados_options_t* options, const char* directory, uint64_t bytes) {
  options->rep.cache_directory = directory;
  options->rep.cache_bytes = bytes;
}

void sepal_env_set_rados(sepal_env_t* env, const sepal_rados_options_t* options, char** errptr) {
  absl::StatusOr<std::unique_ptr<sepal::RadosFileSystem>> connected = sepal::RadosFileSystem::Connect(options->rep);
  if (sepal::SaveError(errptr, connected.status())) return;
  env->file_systems.push_back(*std::move(connected));
  env->rep.file_system = env->file_systems.back().get();
}

}  // extern "C"

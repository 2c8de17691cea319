// The C interface of memory and threads that databases share.
#include "sepal/c_shared.h"

#include <memory>
#include <utility>

#include "db/c/c_types.h"
#include "sepal/shared_resources.h"

struct sepal_shared_t {
  std::shared_ptr<sepal::SharedResources> rep;
};

extern "C" {

sepal_shared_t* sepal_shared_create(size_t memory_limit, int background_threads, sepal_env_t* env, char** errptr) {
  sepal::SharedOptions options;
  options.memory_limit = memory_limit;
  options.background_threads = background_threads;
  if (env != nullptr) options.env = env->rep;
  absl::StatusOr<std::shared_ptr<sepal::SharedResources>> shared = sepal::SharedResources::Make(options);
  if (sepal::SaveError(errptr, shared.status())) return nullptr;
  return new sepal_shared_t{*std::move(shared)};
}

void sepal_shared_destroy(sepal_shared_t* shared) { delete shared; }

size_t sepal_shared_memory_limit(const sepal_shared_t* shared) { return shared->rep->memory_limit(); }
size_t sepal_shared_memory_used(const sepal_shared_t* shared) { return shared->rep->memory_used(); }
size_t sepal_shared_databases(const sepal_shared_t* shared) { return shared->rep->databases(); }

void sepal_options_set_shared(sepal_options_t* options, const sepal_shared_t* shared) {
  options->rep.shared = shared != nullptr ? shared->rep : nullptr;
}

}  // extern "C"

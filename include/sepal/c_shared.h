/* Memory and threads that several databases share, in C: sepal/shared_resources.h says what is shared and how, and
   sepal/c.h has the rules for errors.

     sepal_shared_t* shared = sepal_shared_create(1 << 30, 0, NULL, &error);
     sepal_options_set_shared(options, shared);
     ...
     sepal_shared_destroy(shared); */
#pragma once

#include "sepal/c.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sepal_shared_t sepal_shared_t;

/* With `background_threads` of 0, one for each core, at most 8. Of `env`, which may be NULL and must outlive all
   databases otherwise, the clock and the executor count. NULL after an error. */
SEPAL_C_EXPORT sepal_shared_t* sepal_shared_create(size_t memory_limit, int background_threads, sepal_env_t* env,
                                                   char** errptr);
/* May be called at any time: databases and options keep a reference. */
SEPAL_C_EXPORT void sepal_shared_destroy(sepal_shared_t* shared);

SEPAL_C_EXPORT size_t sepal_shared_memory_limit(const sepal_shared_t* shared);
SEPAL_C_EXPORT size_t sepal_shared_memory_used(const sepal_shared_t* shared);
SEPAL_C_EXPORT size_t sepal_shared_databases(const sepal_shared_t* shared);

/* NULL: the database has memory and threads of its own, as by default. */
SEPAL_C_EXPORT void sepal_options_set_shared(sepal_options_t* options, const sepal_shared_t* shared);

#ifdef __cplusplus
}
#endif

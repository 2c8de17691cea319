/* Databases on Ceph RADOS, in C: sepal/rados.h says what a cluster has to have and what is durable when, and sepal/c.h
   has the rules for strings and errors. Needs librados and the CMake target sepal::rados.

     sepal_rados_options_t* where = sepal_rados_options_create("sepal");
     sepal_env_t* env = sepal_create_default_env();
     sepal_env_set_rados(env, where, &error);
     sepal_options_set_env(options, env);
     sepal_options_set_take_over(options, 1);

   One environment is one RADOS client: open one database with each. The environment owns the client, and must outlive
   the database. */
#pragma once

#include "sepal/c.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sepal_rados_options_t sepal_rados_options_t;

/* As RadosOptions of sepal/rados.h with its defaults; strings are copied. */
SEPAL_C_EXPORT sepal_rados_options_t* sepal_rados_options_create(const char* pool);
SEPAL_C_EXPORT void sepal_rados_options_destroy(sepal_rados_options_t* options);
SEPAL_C_EXPORT void sepal_rados_options_set_data_pool(sepal_rados_options_t* options, const char* pool);
SEPAL_C_EXPORT void sepal_rados_options_set_user(sepal_rados_options_t* options, const char* user);
SEPAL_C_EXPORT void sepal_rados_options_set_config_file(sepal_rados_options_t* options, const char* path);
SEPAL_C_EXPORT void sepal_rados_options_set_keyring(sepal_rados_options_t* options, const char* path);
SEPAL_C_EXPORT void sepal_rados_options_set_object_bytes(sepal_rados_options_t* options, uint64_t bytes);
SEPAL_C_EXPORT void sepal_rados_options_set_linger(sepal_rados_options_t* options, uint64_t millis);
SEPAL_C_EXPORT void sepal_rados_options_set_log_buffer_bytes(sepal_rados_options_t* options, uint64_t bytes);
SEPAL_C_EXPORT void sepal_rados_options_set_lease(sepal_rados_options_t* options, uint64_t millis);
SEPAL_C_EXPORT void sepal_rados_options_set_fence(sepal_rados_options_t* options, uint64_t seconds);
SEPAL_C_EXPORT void sepal_rados_options_set_operation_timeout(sepal_rados_options_t* options, uint64_t seconds);
SEPAL_C_EXPORT void sepal_rados_options_set_connect_timeout(sepal_rados_options_t* options, uint64_t seconds);
SEPAL_C_EXPORT void sepal_rados_options_set_removal_grace(sepal_rados_options_t* options, uint64_t millis);
/* A directory on a local disk for a cache of table bytes, of at most so many bytes. */
SEPAL_C_EXPORT void sepal_rados_options_set_cache(sepal_rados_options_t* options, const char* directory,
                                                  uint64_t bytes);

/* Connects, and has the databases that are opened with `env` from then on lie in the pool. Errors: those of
   RadosFileSystem::Connect, after which `env` is as it was. */
SEPAL_C_EXPORT void sepal_env_set_rados(sepal_env_t* env, const sepal_rados_options_t* options, char** errptr);

#ifdef __cplusplus
}
#endif

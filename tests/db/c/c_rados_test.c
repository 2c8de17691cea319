/* A database on a Ceph cluster, from C. tests/rados/c_interface_test.cc calls it where there is a cluster. */
#include "c_rados_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sepal/c_rados.h"

static char what[512];

/* Takes the error, with what failed. */
static const char* failed(const char* call, char** error) {
  snprintf(what, sizeof what, "%s: %s", call, *error != NULL ? *error : "no error");
  sepal_free(*error);
  *error = NULL;
  return what;
}

static sepal_rados_options_t* options_of(const c_rados_cluster_t* cluster) {
  sepal_rados_options_t* where = sepal_rados_options_create(cluster->pool);
  sepal_rados_options_set_config_file(where, cluster->config_file);
  sepal_rados_options_set_keyring(where, cluster->keyring);
  sepal_rados_options_set_user(where, cluster->user);
  sepal_rados_options_set_data_pool(where, "");
  sepal_rados_options_set_object_bytes(where, 1 << 20);
  sepal_rados_options_set_linger(where, 10);
  sepal_rados_options_set_log_buffer_bytes(where, 64 << 10);
  sepal_rados_options_set_lease(where, 5000);
  sepal_rados_options_set_fence(where, 3600);
  sepal_rados_options_set_operation_timeout(where, 30);
  sepal_rados_options_set_connect_timeout(where, 10);
  sepal_rados_options_set_removal_grace(where, 0);
  sepal_rados_options_set_cache(where, cluster->cache_directory, 16 << 20);
  return where;
}

/* Writes with one client, then takes the database over with another and reads. */
static const char* write_and_take_over(const c_rados_cluster_t* cluster, sepal_env_t** envs, char** error) {
  const char* result = NULL;
  for (int i = 0; i < 2 && result == NULL; ++i) {
    sepal_rados_options_t* where = options_of(cluster);
    if (i == 1) sepal_rados_options_set_cache(where, "", 0);
    sepal_env_set_rados(envs[i], where, error);
    sepal_rados_options_destroy(where);
    if (*error != NULL) return failed("connect", error);
    sepal_options_t* options = sepal_options_create();
    sepal_options_set_env(options, envs[i]);
    sepal_options_set_create_if_missing(options, i == 0);
    sepal_options_set_take_over(options, 1);
    sepal_t* db = sepal_open(options, cluster->path, error);
    sepal_options_destroy(options);
    if (*error != NULL) return failed("open", error);
    if (i == 0) {
      sepal_writeoptions_t* synced = sepal_writeoptions_create();
      sepal_writeoptions_set_sync(synced, 1);
      sepal_put(db, synced, "key", 3, "value", 5, error);
      sepal_writeoptions_destroy(synced);
      if (*error != NULL) result = failed("put", error);
    } else {
      sepal_readoptions_t* read = sepal_readoptions_create();
      size_t bytes = 0;
      char* value = sepal_get(db, read, "key", 3, &bytes, error);
      sepal_readoptions_destroy(read);
      if (value == NULL || bytes != 5 || memcmp(value, "value", 5) != 0) result = failed("get", error);
      sepal_free(value);
    }
    sepal_close(db);
  }
  return result;
}

const char* c_rados_test(const c_rados_cluster_t* cluster) {
  char* error = NULL;
  sepal_env_t* envs[2] = {sepal_create_default_env(), sepal_create_default_env()};
  const char* result = write_and_take_over(cluster, envs, &error);
  if (result == NULL) {
    sepal_rados_options_t* nowhere = options_of(cluster);
    sepal_rados_options_set_object_bytes(nowhere, 1);
    sepal_env_set_rados(envs[1], nowhere, &error);
    sepal_rados_options_destroy(nowhere);
    const int refused = error != NULL && strstr(error, "INVALID_ARGUMENT") != NULL;
    if (!refused) result = failed("objects of one byte are not refused", &error);
    sepal_free(error);
  }
  sepal_env_destroy(envs[0]);
  sepal_env_destroy(envs[1]);
  return result;
}

#pragma once

#ifdef __cplusplus
extern "C" {
#endif

typedef struct c_rados_cluster_t {
  const char* pool;
  const char* user;
  const char* config_file;
  const char* keyring;
  const char* path;            /* of the database */
  const char* cache_directory; /* on a local disk */
} c_rados_cluster_t;

/* NULL if all went well, else what did not. */
const char* c_rados_test(const c_rados_cluster_t* cluster);

#ifdef __cplusplus
}
#endif

/* What the tests of the C interface share. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sepal/c.h"

extern const char* phase;
extern char* error;

#define CHECK(condition)                                                                    \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      fprintf(stderr, "%s:%d: %s: %s (error: %s)\n", __FILE__, __LINE__, phase, #condition, \
              error == NULL ? "none" : error);                                              \
      exit(1);                                                                              \
    }                                                                                       \
  } while (0)
#define CHECK_OK() CHECK(error == NULL)

void begin(const char* name);
/* Requires an error of this code, and forgets it. */
void expect_error(const char* code);
void check_value(char* value, size_t length, const char* expected);
void check_get_cf(sepal_t* db, const sepal_readoptions_t* options, sepal_column_family_t* family, const char* key,
                  const char* expected);
void check_get(sepal_t* db, const sepal_readoptions_t* options, const char* key, const char* expected);
void put(sepal_t* db, const sepal_writeoptions_t* options, const char* key, const char* value);
void check_at(sepal_iterator_t* iter, const char* key, const char* value);

/* c_world_test.c */
void test_statistics(sepal_t* db, const sepal_readoptions_t* ro);
void test_progress(sepal_t* db, const char* directory);
void test_disable_wal(const sepal_options_t* options, const char* directory, const sepal_readoptions_t* ro);
void test_explanation(sepal_t* db, const sepal_readoptions_t* ro);
void test_env(const char* directory, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo);
void test_env_changes(const char* directory, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo);

/* c_merge_test.c */
void test_merges(const char* directory, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo);

/* c_compaction_filter_test.c */
void test_context_filter(const char* directory, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo);
void test_compaction_filter(const char* directory, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo);
/* c_expiry_test.c */
void test_expiry(const char* directory, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo);

/* c_file_system_test.c */
void test_file_system(const char* directory, const char* checkpoint, const sepal_readoptions_t* ro,
                      const sepal_writeoptions_t* wo);

/* c_filter_test.c */
void test_filters(const char* directory, const sepal_writeoptions_t* wo);

/* c_shared_test.c */
void test_shared(const char* directory, const char* other_directory, const sepal_readoptions_t* ro,
                 const sepal_writeoptions_t* wo);

/* c_value_stream_test.c */
void test_value_streams(sepal_t* db, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo);

/* c_snapshot_test.c */
void test_named_snapshots(sepal_t* db, sepal_readoptions_t* ro, const sepal_writeoptions_t* wo);

/* c_history_test.c */
void test_history(const char* directory, sepal_readoptions_t* ro, const sepal_writeoptions_t* wo);

/* c_sync_test.c */
void test_transactions(sepal_t* db, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo);
/* c_indexed_batch_test.c */
void test_indexed_batches(sepal_t* db, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo);
void test_sync(const char* directory, const char* other_directory, const sepal_readoptions_t* ro,
               const sepal_writeoptions_t* wo);

/* Filters of compactions, from C. */
#include "sepal/c_compaction_filter.h"

#include "c_test.h"

/* Keys that begin with a letter of the epoch are gone. */
static unsigned char keep(void* state, const char* key, size_t klen, const char* value, size_t vlen, const char* epoch,
                          size_t elen) {
  (void)state;
  (void)value;
  (void)vlen;
  return klen == 0 || memchr(epoch, key[0], elen) == NULL;
}
static const char* name(void* state) {
  (void)state;
  return "test.letters";
}
static void destroyed(void* state) { ++*(int*)state; }

static void check_refused(sepal_t* db, const sepal_readoptions_t* ro, const char* key) {
  size_t length;
  CHECK(sepal_get(db, ro, key, strlen(key), &length, &error) == NULL);
  CHECK_OK();
  sepal_explanation_t* explanation = sepal_explanation_create(db, ro, NULL, key, strlen(key), &error);
  CHECK_OK();
  sepal_explained_get_t explained;
  sepal_explanation_get(explanation, &explained, sizeof explained);
  CHECK(explained.refused && !explained.found);
  CHECK(strcmp(explained.filter_epoch, "xy") == 0);
  sepal_explanation_destroy(explanation);
}

/* Removes "r...", changes "c..." to "changed", fails at "f...", removes from "t" through "tz". */
static sepal_filter_verdict_t judge(void* state, int output_level, unsigned char last_level, unsigned char manual,
                                    sepal_filter_entry_t* entry) {
  (void)state;
  size_t klen = 0;
  size_t vlen = 0;
  const char* key = sepal_filter_entry_key(entry, &klen);
  CHECK(klen > 0 && output_level >= 1 && last_level && manual);
  switch (key[0]) {
    case 'r':
      return sepal_verdict_remove;
    case 'c':
      CHECK(sepal_filter_entry_value(entry, &vlen) != NULL && vlen == sepal_filter_entry_value_bytes(entry));
      CHECK(sepal_filter_entry_expires_at(entry) == 0);
      sepal_filter_entry_set_bytes(entry, "changed", 7);
      return sepal_verdict_change;
    case 't':
      sepal_filter_entry_set_bytes(entry, "tz", 2);
      return sepal_verdict_remove_through;
    case 'z':
      sepal_filter_entry_set_error(entry, "no idea");
      return sepal_verdict_fail;
    default:
      return sepal_verdict_keep;
  }
}

void test_context_filter(const char* directory, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo) {
  begin("context filter");
  int ended = 0;
  sepal_options_t* options = sepal_options_create();
  sepal_options_set_create_if_missing(options, 1);
  sepal_options_set_context_filter(options, &ended, destroyed, judge);
  sepal_t* db = sepal_open(options, directory, &error);
  CHECK_OK();
  put(db, wo, "c", "1");
  put(db, wo, "k", "2");
  put(db, wo, "r", "3");
  put(db, wo, "ta", "4");
  put(db, wo, "tb", "5");
  sepal_compact_range(db, NULL, 0, NULL, 0, &error);
  CHECK_OK();
  check_get(db, ro, "c", "changed");
  check_get(db, ro, "k", "2");
  check_get(db, ro, "r", NULL);
  check_get(db, ro, "ta", NULL);
  check_get(db, ro, "tb", NULL);
  put(db, wo, "z", "6");
  sepal_compact_range(db, NULL, 0, NULL, 0, &error);
  expect_error("ABORTED: no idea");
  check_get(db, ro, "z", "6");
  sepal_close(db);
  sepal_destroy_db(options, directory, &error);
  CHECK_OK();
  sepal_options_destroy(options);
  CHECK(ended == 1);
}

void test_compaction_filter(const char* directory, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo) {
  begin("compaction filter");
  int ended = 0;
  sepal_purefilter_t* filter = sepal_purefilter_create(&ended, destroyed, keep, name);
  sepal_options_t* options = sepal_options_create();
  sepal_options_set_create_if_missing(options, 1);
  sepal_options_set_compaction_filter(options, filter);
  sepal_purefilter_destroy(filter);
  sepal_t* db = sepal_open(options, directory, &error);
  CHECK_OK();
  put(db, wo, "x1", "1");
  put(db, wo, "z1", "2");
  check_get(db, ro, "x1", "1");
  sepal_set_filter_epoch(db, NULL, "xy", 2, &error);
  CHECK_OK();
  check_refused(db, ro, "x1");
  check_get(db, ro, "z1", "2");
  char long_epoch[65] = {0};
  sepal_set_filter_epoch(db, NULL, long_epoch, sizeof long_epoch, &error);
  expect_error("INVALID_ARGUMENT");
  sepal_close(db);

  db = sepal_open(options, directory, &error);
  CHECK_OK();
  check_refused(db, ro, "x1");
  sepal_close(db);
  sepal_options_destroy(options);
  CHECK(ended == 1);

  options = sepal_options_create();
  db = sepal_open(options, directory, &error);
  CHECK_OK();
  size_t length;
  CHECK(sepal_get(db, ro, "z1", 2, &length, &error) == NULL);
  expect_error("FAILED_PRECONDITION");
  sepal_set_filter_epoch(db, NULL, "xyz", 3, &error);
  expect_error("INVALID_ARGUMENT");
  sepal_close(db);
  sepal_destroy_db(options, directory, &error);
  CHECK_OK();
  sepal_options_destroy(options);
}

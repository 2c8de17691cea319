/* Reads as of past moments, from C. */
#include "sepal/c_history.h"

#include "c_test.h"

static void check_version(const sepal_history_t* history, size_t index, int kind, const char* value) {
  size_t length;
  CHECK(sepal_history_kind(history, index) == kind);
  CHECK(strcmp(sepal_history_value(history, index, &length), value) == 0 && length == strlen(value));
}

void test_history(const char* directory, sepal_readoptions_t* ro, const sepal_writeoptions_t* wo) {
  begin("history");
  sepal_options_t* options = sepal_options_create();
  sepal_options_set_create_if_missing(options, 1);
  sepal_options_set_history(options, -1);
  sepal_t* db = sepal_open(options, directory, &error);
  CHECK(db == NULL);
  expect_error("INVALID_ARGUMENT");
  sepal_options_set_history(options, 3600 * 1000);
  db = sepal_open(options, directory, &error);
  CHECK_OK();
  put(db, wo, "k", "old");
  const sepal_snapshot_t* snapshot = sepal_create_snapshot(db);
  const uint64_t old = sepal_snapshot_sequence(snapshot);
  sepal_release_snapshot(db, snapshot);
  put(db, wo, "k", "new");
  sepal_delete(db, wo, "k", 1, &error);
  CHECK_OK();

  sepal_readoptions_set_as_of_sequence(ro, old);
  check_get(db, ro, "k", "old");
  sepal_readoptions_set_as_of_time(ro, 1);
  size_t length;
  CHECK(sepal_get(db, ro, "k", 1, &length, &error) == NULL);
  expect_error("OUT_OF_RANGE");
  sepal_readoptions_set_as_of_now(ro);
  check_get(db, ro, "k", NULL);

  sepal_history_t* history = sepal_history_create(db, NULL, "k", 1, &error);
  CHECK_OK();
  CHECK(sepal_history_count(history) == 3);
  check_version(history, 0, sepal_version_delete, "");
  check_version(history, 1, sepal_version_put, "new");
  check_version(history, 2, sepal_version_put, "old");
  CHECK(sepal_history_sequence(history, 2) == old);
  CHECK(sepal_history_time(history, 2) > 0);
  sepal_history_destroy(history);
  history = sepal_history_create_part(db, NULL, "k", 1, 1, old + 1, &error);
  CHECK_OK();
  CHECK(sepal_history_count(history) == 1);
  check_version(history, 0, sepal_version_put, "old");
  sepal_history_destroy(history);
  sepal_close(db);
  sepal_options_destroy(options);
}

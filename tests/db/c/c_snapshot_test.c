/* Snapshots with names, from C. */
#include "sepal/c_snapshot.h"

#include "c_test.h"

void test_named_snapshots(sepal_t* db, sepal_readoptions_t* ro, const sepal_writeoptions_t* wo) {
  begin("named snapshots");
  put(db, wo, "k", "old");
  const sepal_snapshot_t* made = sepal_create_named_snapshot(db, "one", 3, 0, &error);
  CHECK_OK();
  put(db, wo, "k", "new");
  sepal_release_snapshot(db, sepal_create_named_snapshot(db, "two", 3, 1000000000, &error));
  CHECK_OK();
  CHECK(sepal_create_named_snapshot(db, "one", 3, 0, &error) == NULL);
  expect_error("ALREADY_EXISTS");
  CHECK(sepal_create_named_snapshot(db, "far", 3, UINT64_MAX, &error) == NULL);
  expect_error("INVALID_ARGUMENT");
  const sepal_snapshot_t* found = sepal_find_snapshot(db, "one", 3, &error);
  CHECK_OK();
  CHECK(sepal_snapshot_sequence(found) == sepal_snapshot_sequence(made));
  sepal_readoptions_set_snapshot(ro, found);
  check_get(db, ro, "k", "old");
  sepal_readoptions_set_snapshot(ro, NULL);

  sepal_snapshot_list_t* list = sepal_list_snapshots(db, &error);
  CHECK_OK();
  CHECK(sepal_snapshot_list_count(list) == 2);
  size_t length;
  CHECK(strcmp(sepal_snapshot_list_name(list, 1, &length), "two") == 0 && length == 3);
  CHECK(sepal_snapshot_list_sequence(list, 0) == sepal_snapshot_sequence(made));
  CHECK(sepal_snapshot_list_created(list, 0) > 0 && sepal_snapshot_list_expires(list, 0) == 0);
  CHECK(sepal_snapshot_list_expires(list, 1) == sepal_snapshot_list_created(list, 1) + 1000000000);
  CHECK(sepal_snapshot_list_bytes_held(list, 0) == 0);
  sepal_snapshot_list_destroy(list);
  list = sepal_list_snapshots_with_bytes(db, &error);
  CHECK_OK();
  CHECK(sepal_snapshot_list_count(list) == 2);
  CHECK(sepal_snapshot_list_bytes_held(list, 0) > 0);
  sepal_snapshot_list_destroy(list);

  sepal_release_snapshot(db, made);
  sepal_release_snapshot(db, found);
  sepal_drop_snapshot(db, "one", 3, &error);
  CHECK_OK();
  sepal_drop_snapshot(db, "one", 3, &error);
  expect_error("NOT_FOUND");
  CHECK(sepal_find_snapshot(db, "one", 3, &error) == NULL);
  expect_error("NOT_FOUND");
  sepal_drop_snapshot(db, "two", 3, &error);
  CHECK_OK();
}

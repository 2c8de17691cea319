/* Batches that are read over a database before they are written, from C. */
#include "sepal/c_indexed_batch.h"

#include "c_test.h"

static void check_batch_get(const sepal_indexedbatch_t* batch, const sepal_readoptions_t* ro, const char* key,
                            const char* expected) {
  size_t size;
  char* value = sepal_indexedbatch_get(batch, ro, NULL, key, strlen(key), &size, &error);
  CHECK_OK();
  check_value(value, size, expected);
}

void test_indexed_batches(sepal_t* db, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo) {
  begin("indexed batches");
  put(db, wo, "old", "1");
  sepal_indexedbatch_t* batch = sepal_indexedbatch_create(db);
  const size_t empty = sepal_indexedbatch_byte_size(batch);
  sepal_indexedbatch_put(batch, NULL, "a", 1, "x", 1, &error);
  CHECK_OK();
  CHECK(sepal_indexedbatch_byte_size(batch) > empty);
  CHECK(sepal_indexedbatch_memory_bytes(batch) > sepal_indexedbatch_byte_size(batch));
  sepal_indexedbatch_set_savepoint(batch);
  sepal_indexedbatch_delete(batch, NULL, "old", 3, &error);
  sepal_indexedbatch_singledelete(batch, NULL, "a", 1, &error);
  CHECK(sepal_indexedbatch_count(batch) == 3);
  check_batch_get(batch, ro, "old", NULL);
  check_batch_get(batch, ro, "a", NULL);
  sepal_indexedbatch_rollback_to_savepoint(batch, &error);
  CHECK_OK();
  sepal_indexedbatch_rollback_to_savepoint(batch, &error);
  expect_error("NOT_FOUND");
  check_batch_get(batch, ro, "old", "1");
  sepal_indexedbatch_delete_range(batch, NULL, "b", 1, NULL, 0, &error);
  CHECK_OK();
  sepal_indexedbatch_merge(batch, NULL, "a", 1, "y", 1, &error);
  expect_error("INVALID_ARGUMENT");
  const char* keys[] = {"a", "old"};
  const size_t lengths[] = {1, 3};
  char* values[2];
  size_t sizes[2];
  char* errors[2];
  sepal_indexedbatch_multi_get(batch, ro, NULL, 2, keys, lengths, values, sizes, errors);
  CHECK(errors[0] == NULL && errors[1] == NULL && values[1] == NULL);
  check_value(values[0], sizes[0], "x");
  sepal_iterator_t* it = sepal_indexedbatch_create_iterator(batch, ro, NULL);
  sepal_iter_seek_to_last(it);
  check_at(it, "a", "x");
  check_get(db, ro, "a", NULL);
  sepal_write_indexedbatch(db, wo, batch, &error);
  CHECK_OK();
  check_get(db, ro, "a", "x");
  check_get(db, ro, "old", NULL);
  sepal_indexedbatch_clear(batch);
  CHECK(sepal_indexedbatch_count(batch) == 0 && !sepal_iter_valid(it));
  sepal_iter_get_error(it, &error);
  expect_error("FAILED_PRECONDITION");
  sepal_iter_destroy(it);
  sepal_indexedbatch_destroy(batch);
  sepal_delete(db, wo, "a", 1, &error);
  CHECK_OK();
}

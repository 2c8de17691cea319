/* Transactions and writes with conditions, from C. */
#include "sepal/c_transaction.h"

#include "c_test.h"

static sepal_transaction_t* begin_txn(sepal_t* db, int isolation, int locking) {
  sepal_transaction_t* txn = sepal_begin_transaction(db, isolation, locking, 50, &error);
  CHECK_OK();
  return txn;
}

static void check_txn_get(sepal_transaction_t* txn, const sepal_readoptions_t* ro, const char* key,
                          const char* expected) {
  size_t size;
  char* value = sepal_transaction_get(txn, ro, NULL, key, strlen(key), &size, &error);
  CHECK_OK();
  check_value(value, size, expected);
}

static void test_calls(sepal_t* db, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo) {
  put(db, wo, "old", "1");
  sepal_transaction_t* txn = begin_txn(db, sepal_isolation_serializable, sepal_locking_optimistic);
  CHECK(sepal_transaction_id(txn) > 0);
  sepal_transaction_put(txn, NULL, "a", 1, "x", 1, &error);
  sepal_transaction_set_savepoint(txn, &error);
  sepal_transaction_delete(txn, NULL, "old", 3, &error);
  sepal_transaction_singledelete(txn, NULL, "a", 1, &error);
  CHECK(sepal_transaction_count(txn) == 3);
  check_txn_get(txn, ro, "old", NULL);
  sepal_transaction_rollback_to_savepoint(txn, &error);
  CHECK_OK();
  check_txn_get(txn, ro, "old", "1");
  sepal_transaction_delete_range(txn, NULL, "b", 1, NULL, 0, &error);
  CHECK_OK();
  check_txn_get(txn, ro, "old", NULL);
  sepal_transaction_merge(txn, NULL, "a", 1, "y", 1, &error);
  expect_error("INVALID_ARGUMENT");
  sepal_iterator_t* it = sepal_transaction_create_iterator(txn, ro, NULL);
  sepal_iter_seek_to_first(it);
  check_at(it, "a", "x");
  sepal_iter_destroy(it);
  const char* keys[] = {"a", "old"};
  const size_t lengths[] = {1, 3};
  char* values[2];
  size_t sizes[2];
  char* errors[2];
  sepal_transaction_multi_get(txn, ro, NULL, 2, keys, lengths, values, sizes, errors);
  CHECK(errors[0] == NULL && errors[1] == NULL && values[1] == NULL);
  check_value(values[0], sizes[0], "x");
  check_get(db, ro, "a", NULL);
  sepal_transaction_commit(txn, wo, &error);
  CHECK_OK();
  check_get(db, ro, "a", "x");
  sepal_transaction_rollback(txn, &error);
  expect_error("FAILED_PRECONDITION");
  sepal_transaction_destroy(txn);
}

static void test_locks(sepal_t* db, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo) {
  sepal_transaction_t* holder = begin_txn(db, sepal_isolation_snapshot, sepal_locking_pessimistic);
  sepal_transaction_t* other = begin_txn(db, sepal_isolation_snapshot, sepal_locking_pessimistic);
  size_t size;
  char* value = sepal_transaction_get_for_share(holder, ro, NULL, "a", 1, &size, &error);
  check_value(value, size, "x");
  value = sepal_transaction_get_for_share(other, ro, NULL, "a", 1, &size, &error);
  check_value(value, size, "x");
  CHECK(sepal_transaction_get_for_update(other, ro, NULL, "a", 1, &size, &error) == NULL);
  expect_error("DEADLINE_EXCEEDED");
  sepal_transaction_rollback(holder, &error);
  CHECK_OK();
  value = sepal_transaction_get_for_update(other, ro, NULL, "a", 1, &size, &error);
  check_value(value, size, "x");
  sepal_transaction_destroy(holder);
  sepal_transaction_destroy(other);
  CHECK(sepal_begin_transaction(db, 2, 0, 0, &error) == NULL);
  expect_error("INVALID_ARGUMENT");
  CHECK(sepal_begin_transaction(db, 0, 2, 0, &error) == NULL);
  expect_error("INVALID_ARGUMENT");
  (void)wo;
}

static void test_two_phases(sepal_t* db, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo) {
  sepal_transaction_t* txn = begin_txn(db, sepal_isolation_snapshot, sepal_locking_optimistic);
  sepal_transaction_put(txn, NULL, "two", 3, "x", 1, &error);
  sepal_transaction_prepare(txn, "", 0, &error);
  expect_error("INVALID_ARGUMENT");
  sepal_transaction_prepare(txn, "t1", 2, &error);
  CHECK_OK();
  sepal_transaction_put(txn, NULL, "two", 3, "y", 1, &error);
  expect_error("FAILED_PRECONDITION");
  sepal_transaction_destroy(txn);
  check_get(db, ro, "two", NULL);
  sepal_prepared_list_t* list = sepal_prepared_transactions(db, &error);
  CHECK_OK();
  CHECK(sepal_prepared_list_count(list) == 1);
  size_t size;
  const char* name = sepal_prepared_list_name(list, 0, &size);
  CHECK(size == 2 && strcmp(name, "t1") == 0);
  CHECK(sepal_prepared_list_prepared(list, 0) > 0);
  CHECK(sepal_prepared_list_updates(list, 0) == 1);
  CHECK(sepal_prepared_list_bytes(list, 0) > 4);
  CHECK(sepal_prepared_list_locks(list, 0) == 1);
  sepal_prepared_list_destroy(list);
  CHECK(sepal_find_prepared(db, "t2", 2, &error) == NULL);
  expect_error("NOT_FOUND");
  txn = sepal_find_prepared(db, "t1", 2, &error);
  CHECK_OK();
  sepal_transaction_commit(txn, wo, &error);
  CHECK_OK();
  sepal_transaction_destroy(txn);
  check_get(db, ro, "two", "x");
}

struct run {
  sepal_t* db;
  const sepal_writeoptions_t* wo;
  int attempts;
  int fails;
};
/* Its first attempt meets a write of another. */
static void interrupted(void* state, sepal_transaction_t* txn, char** errptr) {
  struct run* run = (struct run*)state;
  ++run->attempts;
  sepal_transaction_put(txn, NULL, "run", 3, "mine", 4, errptr);
  if (run->attempts == 1) put(run->db, run->wo, "run", "theirs");
  if (run->fails) sepal_transaction_rollback_to_savepoint(txn, errptr);
}

static void test_run(sepal_t* db, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo) {
  struct run run = {db, wo, 0, 0};
  sepal_run_transaction(db, sepal_isolation_snapshot, sepal_locking_optimistic, 0, interrupted, &run, wo, &error);
  CHECK_OK();
  CHECK(run.attempts == 2);
  check_get(db, ro, "run", "mine");
  run.fails = 1;
  sepal_run_transaction(db, sepal_isolation_snapshot, sepal_locking_optimistic, 0, interrupted, &run, wo, &error);
  expect_error("NOT_FOUND");
  CHECK(run.attempts == 3);
  sepal_run_transaction(db, 7, 0, 0, interrupted, &run, wo, &error);
  expect_error("INVALID_ARGUMENT");
}

static void test_conditions(sepal_t* db, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo) {
  CHECK(sepal_put_if_absent(db, wo, NULL, "c", 1, "1", 1, &error) == 1);
  CHECK(sepal_put_if_absent(db, wo, NULL, "c", 1, "2", 1, &error) == 0);
  CHECK(sepal_compare_and_set(db, wo, NULL, "c", 1, "1", 1, "3", 1, &error) == 1);
  CHECK(sepal_compare_and_set(db, wo, NULL, "c", 1, NULL, 0, "4", 1, &error) == 0);
  CHECK(sepal_delete_if(db, wo, NULL, "c", 1, "9", 1, &error) == 0);
  CHECK_OK();
  check_get(db, ro, "c", "3");
  sepal_writeconditions_t* conditions = sepal_writeconditions_create();
  sepal_writeconditions_present(conditions, NULL, "c", 1);
  sepal_writeconditions_equals(conditions, NULL, "c", 1, "3", 1);
  sepal_writeconditions_absent(conditions, NULL, "d", 1);
  sepal_writebatch_t* batch = sepal_writebatch_create();
  sepal_writebatch_put(batch, "d", 1, "4", 1);
  CHECK(sepal_write_if(db, wo, conditions, batch, &error) == 1);
  CHECK(sepal_write_if(db, wo, conditions, batch, &error) == 0);
  sepal_writeconditions_clear(conditions);
  CHECK(sepal_write_if(db, wo, conditions, batch, &error) == 1);
  CHECK(sepal_compare_and_set(db, wo, NULL, "d", 1, "4", 1, NULL, 0, &error) == 1);
  CHECK(sepal_delete_if(db, wo, NULL, "c", 1, "3", 1, &error) == 1);
  CHECK_OK();
  check_get(db, ro, "c", NULL);
  check_get(db, ro, "d", NULL);
  sepal_writebatch_destroy(batch);
  sepal_writeconditions_destroy(conditions);
}

void test_transactions(sepal_t* db, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo) {
  begin("transactions");
  test_calls(db, ro, wo);
  test_locks(db, ro, wo);
  test_two_phases(db, ro, wo);
  test_run(db, ro, wo);
  test_conditions(db, ro, wo);
  sepal_delete_range(db, wo, "", 0, NULL, 0, &error);
  CHECK_OK();
}

/* Keys that expire, from C, under a clock of the program's own. */
#include "c_test.h"
#include "sepal/c_indexed_batch.h"
#include "sepal/c_transaction.h"

static uint64_t now_micros;
static uint64_t micros(void* state) {
  (void)state;
  return now_micros;
}
static uint64_t ahead_micros;
static uint64_t wall_micros(void* state) { return micros(state) + ahead_micros; }
static void sleep_micros(void* state, uint64_t time) {
  (void)state;
  (void)time;
}

static void on_clock_doubt(void* state, int in_doubt, uint64_t wall_millis, uint64_t removal_millis,
                           const char* message) {
  int* told = state;
  CHECK(in_doubt == (*told == 0));
  CHECK(in_doubt ? wall_millis > removal_millis : wall_millis == removal_millis);
  CHECK(strstr(message, "wall clock") != NULL);
  ++*told;
}

static void check_absent(sepal_t* db, const sepal_readoptions_t* ro, const char* key) {
  size_t length;
  CHECK(sepal_get(db, ro, key, strlen(key), &length, &error) == NULL);
  CHECK_OK();
}

void test_expiry(const char* directory, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo) {
  begin("expiry");
  now_micros = 1000000;
  sepal_env_t* env = sepal_create_default_env();
  sepal_env_set_clock(env, NULL, micros, wall_micros, sleep_micros);
  sepal_options_t* options = sepal_options_create();
  int doubts_told = 0;
  const sepal_listener_t listener = {.state = &doubts_told, .clock_doubt = on_clock_doubt};
  sepal_options_add_listener(options, &listener, sizeof listener);
  sepal_options_set_create_if_missing(options, 1);
  sepal_options_set_env(options, env);
  sepal_options_set_ttl(options, 60000);
  sepal_t* db = sepal_open(options, directory, &error);
  CHECK_OK();
  put(db, wo, "of the family", "1");

  sepal_writeoptions_t* expiring = sepal_writeoptions_create();
  sepal_writeoptions_set_ttl(expiring, 5000);
  put(db, expiring, "ttl", "2");
  sepal_writeoptions_set_ttl(expiring, 0);
  sepal_put(db, expiring, "bad", 3, "", 0, &error);
  expect_error("INVALID_ARGUMENT");
  sepal_writeoptions_destroy(expiring);
  expiring = sepal_writeoptions_create();
  sepal_writeoptions_set_expires_at(expiring, 9000);
  put(db, expiring, "at", "3");
  sepal_writeoptions_destroy(expiring);

  sepal_writebatch_t* batch = sepal_writebatch_create();
  sepal_writebatch_put_expiring(batch, NULL, "batch", 5, "4", 1, 9000);
  sepal_writebatch_put_expiring(batch, NULL, "late", 4, "5", 1, UINT64_MAX);
  sepal_write(db, wo, batch, &error);
  CHECK_OK();
  sepal_writebatch_destroy(batch);

  sepal_transaction_t* txn = sepal_begin_transaction(db, sepal_isolation_snapshot, sepal_locking_optimistic, 0, &error);
  sepal_transaction_put_with_ttl(txn, NULL, "txn ttl", 7, "6", 1, 5000, &error);
  sepal_transaction_put_expiring(txn, NULL, "txn at", 6, "7", 1, 9000, &error);
  CHECK_OK();
  sepal_transaction_put_with_ttl(txn, NULL, "bad", 3, "", 0, -1, &error);
  expect_error("INVALID_ARGUMENT");
  sepal_transaction_commit(txn, wo, &error);
  CHECK_OK();
  sepal_transaction_destroy(txn);
  sepal_indexedbatch_t* indexed = sepal_indexedbatch_create(db);
  sepal_indexedbatch_put_with_ttl(indexed, NULL, "indexed ttl", 11, "8", 1, 5000, &error);
  sepal_indexedbatch_put_expiring(indexed, NULL, "indexed at", 10, "9", 1, 9000, &error);
  CHECK_OK();
  sepal_indexedbatch_put_expiring(indexed, NULL, "bad", 3, "", 0, 1, &error);
  expect_error("INVALID_ARGUMENT");
  sepal_write_indexedbatch(db, wo, indexed, &error);
  CHECK_OK();
  sepal_indexedbatch_destroy(indexed);

  check_get(db, ro, "ttl", "2");
  check_get(db, ro, "at", "3");
  check_get(db, ro, "batch", "4");
  check_get(db, ro, "txn ttl", "6");
  check_get(db, ro, "indexed ttl", "8");
  now_micros = 6000000;
  check_absent(db, ro, "ttl");
  check_absent(db, ro, "txn ttl");
  check_absent(db, ro, "indexed ttl");
  check_get(db, ro, "txn at", "7");
  check_get(db, ro, "indexed at", "9");
  check_get(db, ro, "at", "3");
  sepal_explanation_t* explanation = sepal_explanation_create(db, ro, NULL, "ttl", 3, &error);
  CHECK_OK();
  sepal_explained_get_t explained;
  sepal_explanation_get(explanation, &explained, sizeof explained);
  CHECK(explained.expires && !explained.found && explained.expires_at_millis == 0);
  sepal_explanation_destroy(explanation);
  explanation = sepal_explanation_create(db, ro, NULL, "at", 2, &error);
  CHECK_OK();
  sepal_explanation_get(explanation, &explained, sizeof explained);
  CHECK(explained.expires && explained.found && explained.expires_at_millis == 9000);
  sepal_explanation_destroy(explanation);
  now_micros = 9000000;
  check_absent(db, ro, "at");
  check_absent(db, ro, "batch");
  check_absent(db, ro, "txn at");
  check_absent(db, ro, "indexed at");
  check_get(db, ro, "of the family", "1");
  now_micros = 61000000;
  check_absent(db, ro, "of the family");
  check_get(db, ro, "late", "5");
  ahead_micros = 24 * UINT64_C(3600000000);
  sepal_flush(db, NULL, 1, &error);
  CHECK_OK();
  /* The job that flushed looks at the clock once more before it ends, and may be the one that tells. */
  sepal_wait_for_background_work(db, &error);
  CHECK_OK();
  CHECK(doubts_told == 1);
  sepal_accept_clock(db, &error);
  CHECK_OK();
  CHECK(doubts_told == 2);
  sepal_close(db);
  sepal_destroy_db(options, directory, &error);
  CHECK_OK();
  sepal_options_destroy(options);
  sepal_env_destroy(env);
}

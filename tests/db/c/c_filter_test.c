/* Filters from C. */
#include "sepal/c_filter.h"

#include "c_test.h"

static void add(sepal_filter_t* filter, const char* key) {
  sepal_filter_add(filter, key, strlen(key), &error);
  CHECK_OK();
}

static unsigned char may_contain(const sepal_filter_t* filter, const char* key) {
  const unsigned char maybe = sepal_filter_may_contain(filter, key, strlen(key), &error);
  CHECK_OK();
  return maybe;
}

static sepal_filter_info_t describe(const sepal_filter_t* filter) {
  sepal_filter_info_t info;
  sepal_filter_describe(filter, &info, sizeof info);
  return info;
}

/* Holds "red", and is the same when it is saved and loaded. Destroys the filter. */
static void check_filter(sepal_filter_t* filter, int kind) {
  CHECK_OK();
  CHECK(filter != NULL);
  if (kind != sepal_filter_static) add(filter, "red");
  CHECK(describe(filter).kind == kind && describe(filter).memory_bytes > 0);
  size_t size = 0, again_size = 0;
  char* bytes = sepal_filter_serialize(filter, &size);
  sepal_filter_t* loaded = sepal_filter_parse_filter(bytes, size, "bytes", &error);
  CHECK_OK();
  char* again = sepal_filter_serialize(loaded, &again_size);
  CHECK(size == again_size && memcmp(bytes, again, size) == 0);
  if (kind != sepal_filter_hyperloglog) CHECK(may_contain(loaded, "red"));
  bytes[size - 1] ^= 1;
  CHECK(sepal_filter_parse_filter(bytes, size, "bytes", &error) == NULL);
  expect_error("DATA_LOSS");
  CHECK(sepal_filter_parse_filter("bytes", 5, "bytes", &error) == NULL);
  expect_error("INVALID_ARGUMENT");
  sepal_free(bytes);
  sepal_free(again);
  sepal_filter_destroy(loaded);
  sepal_filter_destroy(filter);
}

static void test_kinds(void) {
  const char* const keys[] = {"red", "green"};
  const size_t keylens[] = {3, 5};
  const uint64_t hashes[] = {sepal_filter_key_hash("red", 3, 1), 7, 7};
  for (int kind = sepal_filter_classic_bloom; kind <= sepal_filter_partitioned_bloom; ++kind) {
    check_filter(sepal_filter_create_bloom(kind, 100, 0.01, 1, &error), kind);
    check_filter(sepal_filter_create_bloom_of_bits(kind, 1000, 3, 1, &error), kind);
  }
  check_filter(sepal_filter_create_counting(100, 0.01, 4, 1, &error), sepal_filter_counting_bloom);
  check_filter(sepal_filter_create_ageing(100, 0.01, 1, &error), sepal_filter_ageing);
  check_filter(sepal_filter_create_two_generations(100, 0.01, 1, &error), sepal_filter_two_generations);
  check_filter(sepal_filter_create_scalable(100, 0.01, 1, &error), sepal_filter_scalable_bloom);
  check_filter(sepal_filter_create_fingerprint_table(100, 16, 1, &error), sepal_filter_fingerprint_table);
  check_filter(sepal_filter_build_static(2, keys, keylens, 8, 1, &error), sepal_filter_static);
  check_filter(sepal_filter_build_from_hashes(3, hashes, 16, 1, &error), sepal_filter_static);
  check_filter(sepal_filter_create_for_error(0.01, 0.01, 1, &error), sepal_filter_count_min);
  check_filter(sepal_filter_create_hyperloglog(10, 1, &error), sepal_filter_hyperloglog);
  CHECK(strcmp(sepal_filter_name_of(sepal_filter_blocked_bloom), "blocked") == 0);
  CHECK(strcmp(sepal_filter_name_of(99), "") == 0);
}

static void test_bloom(void) {
  sepal_filter_t* filter = sepal_filter_create_bloom(sepal_filter_blocked_bloom, 100, 0.001, 1, &error);
  sepal_filter_t* other = sepal_filter_create_bloom(sepal_filter_blocked_bloom, 100, 0.001, 1, &error);
  sepal_filter_t* foreign = sepal_filter_create_bloom(sepal_filter_blocked_bloom, 100, 0.001, 2, &error);
  CHECK_OK();
  add(filter, "red");
  sepal_filter_add_hash(other, sepal_filter_key_hash("green", 5, 1), &error);
  sepal_filter_merge(filter, other, &error);
  CHECK_OK();
  const char* const keys[] = {"red", "green", "blue"};
  const size_t keylens[] = {3, 5, 4};
  unsigned char maybe[3];
  sepal_filter_may_contain_many(filter, 3, keys, keylens, maybe, &error);
  CHECK_OK();
  CHECK(maybe[0] && maybe[1] && !maybe[2]);
  CHECK(sepal_filter_may_contain_hash(filter, sepal_filter_key_hash("green", 5, 1), &error));
  sepal_filter_intersect(filter, other, &error);
  CHECK_OK();
  CHECK(may_contain(filter, "green") && !may_contain(filter, "red"));
  sepal_filter_merge(filter, foreign, &error);
  expect_error("FAILED_PRECONDITION");
  sepal_filter_remove(filter, "red", 3, &error);
  expect_error("INVALID_ARGUMENT");
  sepal_filter_destroy(filter);
  sepal_filter_destroy(other);
  sepal_filter_destroy(foreign);
}

static void test_sizes(void) {
  int probes = 0;
  const uint64_t bits = sepal_filter_bits_for(sepal_filter_classic_bloom, 1000, 0.01, &probes, &error);
  CHECK_OK();
  CHECK(bits > 9000 && bits < 10000 && probes == 7);
  CHECK(sepal_filter_rate_at(sepal_filter_classic_bloom, bits, probes, 1000) <= 0.01);
  CHECK(sepal_filter_keys_at(sepal_filter_classic_bloom, bits, probes, 0.01) >= 1000);
  CHECK(sepal_filter_probes_of_bits(sepal_filter_classic_bloom, 1000, 10000, &error) == 7);
  CHECK_OK();
  CHECK(sepal_filter_bits_for(sepal_filter_classic_bloom, 1000, 2, &probes, &error) == 0);
  expect_error("INVALID_ARGUMENT");
  CHECK(sepal_filter_create_bloom(77, 1000, 0.1, 0, &error) == NULL);
  expect_error("INVALID_ARGUMENT");
}

static void test_other_calls(void) {
  sepal_filter_t* counting = sepal_filter_create_counting(100, 0.001, 8, 1, &error);
  add(counting, "red");
  add(counting, "red");
  CHECK(sepal_filter_estimate_count(counting, "red", 3, &error) == 2);
  sepal_filter_t* plain = sepal_filter_to_bloom(counting, &error);
  CHECK_OK();
  CHECK(may_contain(plain, "red"));
  sepal_filter_remove(counting, "red", 3, &error);
  CHECK_OK();
  sepal_filter_remove(counting, "never", 5, &error);
  expect_error("NOT_FOUND");
  CHECK(sepal_filter_to_bloom(plain, &error) == NULL);
  expect_error("INVALID_ARGUMENT");
  sepal_filter_destroy(plain);
  sepal_filter_destroy(counting);

  sepal_filter_t* ageing = sepal_filter_create_ageing(100, 0.01, 1, &error);
  CHECK(!sepal_filter_add_and_test(ageing, "red", 3, &error));
  CHECK(sepal_filter_add_and_test(ageing, "red", 3, &error));
  sepal_filter_age(ageing, 1, &error);
  CHECK_OK();
  CHECK(!may_contain(ageing, "red"));
  sepal_filter_destroy(ageing);
}

/* Filters of a database's keys, and reads that ask one. */
static void test_keys_of_database(const char* directory, const sepal_writeoptions_t* wo) {
  sepal_options_t* options = sepal_options_create();
  sepal_options_set_create_if_missing(options, 1);
  sepal_t* db = sepal_open(options, directory, &error);
  CHECK_OK();
  put(db, wo, "blue", "1");
  put(db, wo, "green", "2");
  put(db, wo, "red", "3");
  const double keys = sepal_approximate_distinct(db, NULL, NULL, 0, NULL, 0, &error);
  CHECK_OK();
  CHECK(keys > 2.5 && keys < 3.5);
  const double some = sepal_approximate_distinct(db, NULL, "c", 1, "h", 1, &error);
  CHECK_OK();
  CHECK(some > 0.5 && some < 1.5);
  sepal_approximate_distinct(db, NULL, "c", 1, NULL, 0, &error);
  expect_error("INVALID_ARGUMENT");

  sepal_readoptions_t* reads = sepal_readoptions_create();
  sepal_readoptions_set_lower_bound(reads, "c", 1);
  sepal_filter_t* filter = sepal_export_filter(db, reads, NULL, sepal_filter_blocked_bloom, 0.001, 7, &error);
  CHECK_OK();
  CHECK(may_contain(filter, "green") && may_contain(filter, "red") && !may_contain(filter, "blue"));
  CHECK(sepal_export_filter(db, reads, NULL, sepal_filter_static, 0.001, 7, &error) == NULL);
  expect_error("INVALID_ARGUMENT");
  sepal_readoptions_destroy(reads);

  reads = sepal_readoptions_create();
  sepal_readoptions_set_key_filter(reads, filter, &error);
  CHECK_OK();
  sepal_iterator_t* iter = sepal_create_iterator(db, reads);
  sepal_iter_seek_to_first(iter);
  check_at(iter, "green", "2");
  sepal_iter_destroy(iter);
  sepal_filter_t* sketch = sepal_filter_create_hyperloglog(10, 1, &error);
  CHECK_OK();
  sepal_readoptions_set_key_filter(reads, sketch, &error);
  expect_error("INVALID_ARGUMENT");
  sepal_filter_destroy(sketch);
  sepal_readoptions_set_key_filter(reads, NULL, &error);
  CHECK_OK();
  check_get(db, reads, "blue", "1");
  sepal_readoptions_destroy(reads);
  sepal_filter_destroy(filter);
  sepal_close(db);
  sepal_destroy_db(options, directory, &error);
  CHECK_OK();
  sepal_options_destroy(options);
}

void test_filters(const char* directory, const sepal_writeoptions_t* wo) {
  begin("filters");
  test_kinds();
  test_bloom();
  test_sizes();
  test_other_calls();
  test_keys_of_database(directory, wo);
}

/* The C interface, used from C. Prints the first check that fails and ends with status 1. */
#include "c_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

const char* phase = "";
char* error = NULL;

void begin(const char* name) { phase = name; }

void expect_error(const char* code) {
  CHECK(error != NULL);
  CHECK(strncmp(error, code, strlen(code)) == 0);
  sepal_free(error);
  error = NULL;
}

void check_value(char* value, size_t length, const char* expected) {
  if (expected == NULL) {
    CHECK(value == NULL);
    return;
  }
  CHECK(value != NULL);
  CHECK(length == strlen(expected));
  CHECK(memcmp(value, expected, length) == 0);
  sepal_free(value);
}

void check_get_cf(sepal_t* db, const sepal_readoptions_t* options, sepal_column_family_t* family, const char* key,
                  const char* expected) {
  size_t length = 0;
  char* value = sepal_get_cf(db, options, family, key, strlen(key), &length, &error);
  CHECK_OK();
  check_value(value, length, expected);
}

void check_get(sepal_t* db, const sepal_readoptions_t* options, const char* key, const char* expected) {
  size_t length = 0;
  char* value = sepal_get(db, options, key, strlen(key), &length, &error);
  CHECK_OK();
  check_value(value, length, expected);
}

void put(sepal_t* db, const sepal_writeoptions_t* options, const char* key, const char* value) {
  sepal_put(db, options, key, strlen(key), value, strlen(value), &error);
  CHECK_OK();
}

void check_at(sepal_iterator_t* iter, const char* key, const char* value) {
  size_t length = 0;
  CHECK(sepal_iter_valid(iter));
  const char* bytes = sepal_iter_key(iter, &length);
  CHECK(length == strlen(key) && memcmp(bytes, key, length) == 0);
  bytes = sepal_iter_value(iter, &length);
  CHECK(length == strlen(value) && memcmp(bytes, value, length) == 0);
}

struct counts {
  int puts, deletes, single_deletes, merges;
  int ranges[2];  // with an end, and without
  uint32_t families;
};
static void count_put(void* state, const char* k, size_t klen, const char* v, size_t vlen) {
  (void)k, (void)v;
  CHECK(klen > 0 && vlen > 0);
  ++((struct counts*)state)->puts;
}
static void count_delete(void* state, const char* k, size_t klen) {
  (void)k;
  CHECK(klen > 0);
  ++((struct counts*)state)->deletes;
}

static void count_put_cf(void* state, uint32_t family, const char* k, size_t klen, const char* v, size_t vlen) {
  ((struct counts*)state)->families |= 1u << family;
  count_put(state, k, klen, v, vlen);
}
static void count_delete_cf(void* state, uint32_t family, const char* k, size_t klen) {
  ((struct counts*)state)->families |= 1u << family;
  count_delete(state, k, klen);
}
static void count_single_delete_cf(void* state, uint32_t family, const char* k, size_t klen) {
  (void)k;
  CHECK(family == 0 && klen > 0);
  ++((struct counts*)state)->single_deletes;
}
static void count_merge_cf(void* state, uint32_t family, const char* k, size_t klen, const char* operand, size_t olen) {
  (void)k, (void)family;
  CHECK(klen == 3 && olen == 7 && memcmp(operand, "operand", 7) == 0);
  ++((struct counts*)state)->merges;
}

static void count_range_cf(void* state, uint32_t family, const char* begin, size_t blen, const char* end, size_t elen) {
  (void)family;
  CHECK(blen == 1 && begin[0] == 'r' && (end == NULL || (elen == 1 && end[0] == 's')));
  ++((struct counts*)state)->ranges[end == NULL];
}

static void test_delete_range(sepal_t* db, const sepal_readoptions_t* ro, sepal_writeoptions_t* wo) {
  begin("delete_range");
  put(db, wo, "r1", "1");
  put(db, wo, "s1", "1");
  sepal_delete_range(db, wo, "r", 1, "s", 1, &error);
  CHECK_OK();
  check_get(db, ro, "r1", NULL);
  check_get(db, ro, "s1", "1");
  sepal_delete_range_cf(db, wo, NULL, "s", 1, "r", 1, &error);
  expect_error("INVALID_ARGUMENT");
  sepal_writebatch_t* batch = sepal_writebatch_create();
  sepal_writebatch_delete_range(batch, "r", 1, NULL, 0);
  sepal_writebatch_delete_range_cf(batch, NULL, "r", 1, "s", 1);
  struct counts counts = {0};
  sepal_writebatch_iterate(batch, &counts, count_put, count_delete);
  sepal_writebatch_iterate_cf(batch, &counts, count_put_cf, count_delete_cf, count_single_delete_cf, count_merge_cf,
                              count_range_cf);
  CHECK(counts.ranges[0] == 1 && counts.ranges[1] == 1 && counts.puts == 0 && counts.deletes == 0);
  sepal_write(db, wo, batch, &error);
  CHECK_OK();
  sepal_writebatch_destroy(batch);
  check_get(db, ro, "s1", NULL);
}

static void test_reads_and_writes(sepal_t* db, const sepal_readoptions_t* ro, sepal_writeoptions_t* wo) {
  begin("put and get");
  sepal_writeoptions_set_sync(wo, 1);
  put(db, wo, "foo", "hello");
  check_get(db, ro, "foo", "hello");
  check_get(db, ro, "absent", NULL);
  sepal_put(db, wo, "empty", 5, NULL, 0, &error);
  CHECK_OK();
  check_get(db, ro, "empty", "");
  sepal_delete(db, wo, "empty", 5, &error);
  CHECK_OK();
  check_get(db, ro, "empty", NULL);
  put(db, wo, "once", "1");
  sepal_singledelete(db, wo, "once", 4, &error);
  CHECK_OK();
  check_get(db, ro, "once", NULL);

  begin("pinned");
  size_t length = 0;
  sepal_pinned_value_t* pinned = sepal_get_pinned(db, ro, NULL, "foo", 3, &error);
  CHECK(pinned != NULL);
  const char* bytes = sepal_pinned_value(pinned, &length);
  CHECK(length == 5 && memcmp(bytes, "hello", 5) == 0);
  sepal_pinned_value_destroy(pinned);
  CHECK(sepal_get_pinned(db, ro, NULL, "absent", 6, &error) == NULL);
  CHECK_OK();
  CHECK(sepal_key_may_exist(db, ro, NULL, "foo", 3));

  begin("multi_get");
  const char* keys[] = {"foo", "absent"};
  const size_t lengths[] = {3, 6};
  char *values[2], *errors[2];
  size_t value_lengths[2];
  sepal_multi_get(db, ro, NULL, 2, keys, lengths, values, value_lengths, errors);
  CHECK(errors[0] == NULL && errors[1] == NULL);
  check_value(values[0], value_lengths[0], "hello");
  check_value(values[1], value_lengths[1], NULL);
}

static void test_batches(sepal_t* db, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo) {
  begin("writebatch");
  sepal_writebatch_t* batch = sepal_writebatch_create();
  sepal_writebatch_put(batch, "foo", 3, "a", 1);
  sepal_writebatch_clear(batch);
  sepal_writebatch_put(batch, "bar", 3, "b", 1);
  sepal_writebatch_put(batch, "box", 3, "c", 1);
  sepal_writebatch_t* more = sepal_writebatch_create();
  sepal_writebatch_delete(more, "bar", 3);
  sepal_writebatch_singledelete(more, "unknown", 7);
  sepal_writebatch_append(batch, more);
  sepal_writebatch_destroy(more);
  CHECK(sepal_writebatch_count(batch) == 4);
  struct counts counts = {0};
  sepal_writebatch_iterate(batch, &counts, count_put, count_delete);
  CHECK(counts.puts == 2 && counts.deletes == 2);
  memset(&counts, 0, sizeof counts);
  sepal_writebatch_iterate_cf(batch, &counts, count_put_cf, count_delete_cf, count_single_delete_cf, count_merge_cf,
                              count_range_cf);
  CHECK(counts.puts == 2 && counts.deletes == 1 && counts.single_deletes == 1 && counts.families == 1);
  CHECK(counts.merges == 0);
  sepal_writebatch_t* merges = sepal_writebatch_create();
  sepal_writebatch_merge(merges, "foo", 3, "operand", 7);
  sepal_writebatch_iterate(merges, &counts, count_put, count_delete);
  sepal_writebatch_iterate_cf(merges, &counts, count_put_cf, count_delete_cf, count_single_delete_cf, count_merge_cf,
                              count_range_cf);
  CHECK(counts.merges == 1 && counts.puts == 2);
  sepal_write(db, wo, merges, &error);
  expect_error("INVALID_ARGUMENT");
  sepal_writebatch_destroy(merges);
  size_t size = 0;
  const char* data = sepal_writebatch_data(batch, &size);
  sepal_writebatch_t* again = sepal_writebatch_create_from(data, size, &error);
  CHECK_OK();
  sepal_write(db, wo, again, &error);
  CHECK_OK();
  CHECK(sepal_writebatch_create_from("xyz", 3, &error) == NULL);
  expect_error("DATA_LOSS");
  sepal_writebatch_destroy(again);
  sepal_writebatch_destroy(batch);
  check_get(db, ro, "foo", "hello");
  check_get(db, ro, "bar", NULL);
  check_get(db, ro, "box", "c");
}

static void test_iteration(sepal_t* db, sepal_readoptions_t* ro) {
  begin("iter");
  sepal_iterator_t* iter = sepal_create_iterator(db, ro);
  CHECK(!sepal_iter_valid(iter));
  sepal_iter_seek_to_first(iter);
  check_at(iter, "box", "c");
  sepal_iter_next(iter);
  check_at(iter, "foo", "hello");
  sepal_iter_prev(iter);
  check_at(iter, "box", "c");
  sepal_iter_seek_to_last(iter);
  check_at(iter, "foo", "hello");
  sepal_iter_seek(iter, "b", 1);
  check_at(iter, "box", "c");
  sepal_iter_seek_for_prev(iter, "fon", 3);
  check_at(iter, "box", "c");
  sepal_iter_prev(iter);
  CHECK(!sepal_iter_valid(iter));
  sepal_iter_get_error(iter, &error);
  CHECK_OK();
  sepal_iter_destroy(iter);
  sepal_readoptions_set_keys_only(ro, 1);
  iter = sepal_create_iterator(db, ro);
  sepal_readoptions_set_keys_only(ro, 0);
  sepal_iter_seek_to_first(iter);
  check_at(iter, "box", "");
  sepal_iter_destroy(iter);

  begin("bounds");
  sepal_readoptions_set_lower_bound(ro, "c", 1);
  sepal_readoptions_set_upper_bound(ro, "foo", 3);
  iter = sepal_create_iterator(db, ro);
  sepal_iter_seek_to_first(iter);
  CHECK(!sepal_iter_valid(iter));
  sepal_iter_destroy(iter);
  sepal_readoptions_set_prefix(ro, "fo", 2);
  iter = sepal_create_iterator(db, ro);
  sepal_iter_seek_to_last(iter);
  check_at(iter, "foo", "hello");
  sepal_iter_prev(iter);
  CHECK(!sepal_iter_valid(iter));
  sepal_iter_destroy(iter);
  sepal_readoptions_set_prefix(ro, "b", 1);
  iter = sepal_create_iterator(db, ro);
  sepal_iter_seek_to_last(iter);
  check_at(iter, "box", "c");
  sepal_iter_destroy(iter);
  sepal_readoptions_set_prefix(ro, "\xff", 1);
  iter = sepal_create_iterator(db, ro);
  sepal_iter_seek_to_first(iter);
  CHECK(!sepal_iter_valid(iter));
  sepal_iter_destroy(iter);
  sepal_readoptions_set_prefix(ro, NULL, 0);
  iter = sepal_create_iterator(db, ro);
  sepal_iter_seek_to_first(iter);
  check_at(iter, "box", "c");
  sepal_iter_destroy(iter);
  sepal_readoptions_set_lower_bound(ro, NULL, 0);
  sepal_readoptions_set_upper_bound(ro, NULL, 0);
}

static void test_snapshot(sepal_t* db, sepal_readoptions_t* ro, const sepal_writeoptions_t* wo) {
  begin("snapshot");
  const sepal_snapshot_t* snapshot = sepal_create_snapshot(db);
  CHECK(sepal_snapshot_sequence(snapshot) > 0);
  sepal_delete(db, wo, "foo", 3, &error);
  CHECK_OK();
  sepal_readoptions_set_snapshot(ro, snapshot);
  check_get(db, ro, "foo", "hello");
  sepal_readoptions_set_snapshot(ro, NULL);
  check_get(db, ro, "foo", NULL);
  sepal_release_snapshot(db, snapshot);
}

struct progress {
  int calls, end_at;
  uint64_t done, total;
};
static unsigned char note_progress(void* state, uint64_t bytes_done, uint64_t bytes_total, double seconds_left) {
  struct progress* progress = state;
  CHECK(bytes_done <= bytes_total);
  CHECK(bytes_done > 0 || seconds_left <= 0);
  progress->done = bytes_done;
  progress->total = bytes_total;
  return ++progress->calls != progress->end_at;
}

static void test_background_work(sepal_t* db) {
  begin("background work");
  sepal_accept_clock(db, &error);
  CHECK_OK();
  sepal_continue_background_work(db, &error);
  expect_error("FAILED_PRECONDITION");
  sepal_pause_background_work(db, &error);
  CHECK_OK();
  sepal_continue_background_work(db, &error);
  CHECK_OK();
  struct progress progress = {0, 1, 0, 0};
  sepal_compact_range_with_progress(db, NULL, NULL, 0, NULL, 0, &progress, note_progress, &error);
  expect_error("CANCELLED");
  CHECK(progress.calls == 1);
  progress.end_at = 0;
  sepal_compact_range_with_progress(db, NULL, NULL, 0, NULL, 0, &progress, note_progress, &error);
  CHECK_OK();
  CHECK(progress.calls > 2 && progress.done == progress.total && progress.total > 0);
}

static void test_administration(sepal_t* db, const sepal_readoptions_t* ro, const char* checkpoint,
                                const char* backup) {
  begin("administration");
  sepal_flush(db, NULL, 1, &error);
  CHECK_OK();
  test_background_work(db);
  begin("administration");
  sepal_compact_range(db, NULL, 0, NULL, 0, &error);
  CHECK_OK();
  sepal_compact_range(db, "z", 1, "a", 1, &error);
  expect_error("INVALID_ARGUMENT");
  sepal_sync(db, &error);
  sepal_wait_for_background_work(db, &error);
  sepal_check_consistency(db, &error);
  sepal_verify_checksums(db, &error);
  CHECK_OK();
  char* text = sepal_property_value(db, "sepal.num-entries");
  CHECK(text != NULL && strcmp(text, "1") == 0);
  sepal_free(text);
  CHECK(sepal_property_value(db, "nosuchprop") == NULL);
  text = sepal_statistics_prometheus(db);
  CHECK(strstr(text, "sepal_gets_total ") != NULL);
  sepal_free(text);
  text = sepal_statistics_string(db);
  CHECK(strlen(text) > 0);
  sepal_free(text);
  sepal_statistics_reset(db);
  text = sepal_explain_get(db, ro, NULL, "box", 3, &error);
  CHECK(text != NULL && strstr(text, "found, 1 bytes") != NULL);
  sepal_free(text);
  const char *start[] = {"a"}, *limit[] = {"z"};
  const size_t one[] = {1};
  uint64_t sizes[1] = {0};
  sepal_approximate_sizes(db, NULL, 1, start, one, limit, one, sizes, &error);
  CHECK_OK();
  CHECK(sizes[0] > 0);
  sepal_checkpoint(db, checkpoint, &error);
  CHECK_OK();
  sepal_checkpoint(db, checkpoint, &error);
  expect_error("ALREADY_EXISTS");
  sepal_checkpoint_from(db, backup, checkpoint, 0, 1, &error);
  CHECK_OK();
}

static void test_catch_up(sepal_t* reader, const char* directory, const sepal_readoptions_t* ro,
                          const sepal_writeoptions_t* wo) {
  begin("catch up");
  sepal_options_t* options = sepal_options_create();
  sepal_t* writer = sepal_open(options, directory, &error);
  CHECK_OK();
  put(writer, wo, "caught", "up");
  check_get(reader, ro, "caught", NULL);
  sepal_catch_up(reader, &error);
  CHECK_OK();
  check_get(reader, ro, "caught", "up");
  sepal_catch_up(writer, &error);
  expect_error("FAILED_PRECONDITION");
  sepal_close(writer);
  sepal_options_destroy(options);
}

static void test_families(sepal_t* db, const sepal_options_t* options, const char* directory,
                          const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo) {
  begin("families");
  sepal_column_family_t* family = sepal_create_column_family(db, NULL, "f", &error);
  CHECK_OK();
  CHECK(sepal_create_column_family(db, options, "f", &error) == NULL);
  expect_error("ALREADY_EXISTS");
  sepal_put_cf(db, wo, family, "k", 1, "v", 1, &error);
  CHECK_OK();
  check_get_cf(db, ro, family, "k", "v");
  check_get(db, ro, "k", NULL);
  sepal_writebatch_t* batch = sepal_writebatch_create();
  sepal_writebatch_put_cf(batch, family, "k2", 2, "v2", 2);
  sepal_writebatch_delete_cf(batch, family, "k", 1);
  sepal_write(db, wo, batch, &error);
  CHECK_OK();
  sepal_writebatch_destroy(batch);
  check_get_cf(db, ro, family, "k", NULL);
  sepal_iterator_t* iter = sepal_create_iterator_cf(db, ro, family);
  sepal_iter_seek_to_first(iter);
  check_at(iter, "k2", "v2");
  sepal_iter_destroy(iter);
  sepal_delete_cf(db, wo, family, "k2", 2, &error);
  CHECK_OK();
  batch = sepal_writebatch_create();
  sepal_writebatch_singledelete_cf(batch, family, "never", 5);
  sepal_write(db, wo, batch, &error);
  CHECK_OK();
  sepal_writebatch_destroy(batch);
  sepal_put_cf(db, wo, family, "once", 4, "v", 1, &error);
  sepal_singledelete_cf(db, wo, family, "once", 4, &error);
  CHECK_OK();
  check_get_cf(db, ro, family, "once", NULL);
  sepal_compact_range_cf(db, family, NULL, 0, NULL, 0, &error);
  sepal_compact_range_covered_only(db, family, "a", 1, "z", 1, &error);
  CHECK_OK();
  char* text = sepal_property_value_cf(db, family, "sepal.num-runs");
  CHECK(text != NULL);
  sepal_free(text);
  sepal_column_family_t* found = sepal_find_column_family(db, "f", &error);
  CHECK(found != NULL && sepal_column_family_id(found) == sepal_column_family_id(family));
  size_t length = 0;
  const char* found_name = sepal_column_family_name(found, &length);
  CHECK(length == 1 && found_name[0] == 'f');
  sepal_column_family_handle_destroy(found);
  sepal_options_t* unknown_style = sepal_options_create();
  sepal_options_set_compaction_style(unknown_style, 257);
  CHECK(sepal_create_column_family(db, unknown_style, "g", &error) == NULL);
  expect_error("INVALID_ARGUMENT");
  sepal_options_destroy(unknown_style);
  CHECK(sepal_find_column_family(db, "g", &error) == NULL);
  expect_error("NOT_FOUND");
  size_t count = 0;
  char** names = sepal_list_column_families(options, directory, &count, &error);
  CHECK_OK();
  CHECK(count == 2 && strcmp(names[0], "default") == 0 && strcmp(names[1], "f") == 0);
  sepal_list_column_families_destroy(names, count);
  names = sepal_column_family_names(db, &count);
  CHECK(count == 2 && strcmp(names[1], "f") == 0);
  sepal_list_column_families_destroy(names, count);
  sepal_drop_column_family(db, family, &error);
  CHECK_OK();
  sepal_put_cf(db, wo, family, "k", 1, "v", 1, &error);
  expect_error("FAILED_PRECONDITION");
  sepal_column_family_handle_destroy(family);
}

static int destroyed = 0;
static void destroy_comparator(void* state) {
  (void)state;
  ++destroyed;
}
/* The other way round. */
static int compare_backward(void* state, const char* a, size_t alen, const char* b, size_t blen) {
  (void)state;
  const int order = memcmp(b, a, alen < blen ? alen : blen);
  if (order != 0) return order;
  return alen < blen ? 1 : alen > blen ? -1 : 0;
}
static const char* comparator_name(void* state) {
  (void)state;
  return "test.backward";
}

static void on_flush(void* state, const sepal_flush_event_t* event) {
  if (event->error == NULL && strcmp(event->column_family, "default") == 0) ++*(int*)state;
}

static void on_slow_call(void* state, const sepal_slow_call_event_t* event) {
  CHECK(event->call != NULL && event->reason != NULL && event->column_family != NULL);
  CHECK(event->micros >= event->read_micros);
  if (strcmp(event->call, "write") == 0 && event->keylen == 1 && event->key[0] == 'a') ++((int*)state)[1];
}

static void test_comparator_and_listener(const char* directory, const sepal_readoptions_t* ro,
                                         const sepal_writeoptions_t* wo) {
  begin("comparator");
  int told[2] = {0, 0}; /* flushes, slow writes of "a" */
  sepal_comparator_t* comparator = sepal_comparator_create(NULL, destroy_comparator, compare_backward, comparator_name);
  sepal_comparator_set_equal_means_identical(comparator, 1);
  sepal_filterpolicy_t* filter = sepal_filterpolicy_create_rate(0.01);
  CHECK(sepal_filterpolicy_expected_rate(filter) <= 0.01);
  sepal_filterpolicy_destroy(filter);
  filter = sepal_filterpolicy_create_none();
  CHECK(sepal_filterpolicy_expected_rate(filter) == 1);
  sepal_filterpolicy_destroy(filter);
  filter = sepal_filterpolicy_create_bloom(10);
  sepal_filterpolicy_destroy(filter);
  filter = sepal_filterpolicy_create_split(6, 4);
  CHECK(sepal_filterpolicy_lane_bits_per_key(filter) == 6 && sepal_filterpolicy_guard_bits_per_key(filter) == 4);
  CHECK(sepal_filterpolicy_probes_for(10) == 7 && sepal_filterpolicy_expected_rate_for(0) == 1);
  sepal_options_t* options = sepal_options_create();
  const sepal_listener_t listener = {.state = told, .flush_end = on_flush, .slow_call = on_slow_call};
  const int codecs[] = {sepal_no_compression, sepal_zstd_compression};
  sepal_options_set_create_if_missing(options, 1);
  sepal_options_set_memory_limit(options, 16 << 20);
  sepal_options_set_write_buffer_size(options, 1 << 20);
  sepal_options_set_large_batches(options, 1);
  sepal_options_set_direct_reads(options, 0);
  sepal_options_set_background_threads(options, 1);
  sepal_options_set_info_log(options, 0);
  sepal_options_set_latency_histograms(options, 1);
  sepal_options_set_slow_call_micros(options, 1);
  sepal_options_set_comparator(options, comparator);
  sepal_options_set_compression(options, sepal_lz4_compression);
  sepal_options_set_compression_per_level(options, codecs, 2);
  sepal_options_set_block_size(options, 1024);
  sepal_options_set_filter_policy(options, filter);
  sepal_options_set_compaction_style(options, sepal_universal);
  sepal_options_set_max_space_amplification(options, 1.5);
  sepal_options_set_separate_from(options, 4096);
  sepal_options_set_last_level_inline_below(options, 8192);
  sepal_options_set_background_bytes_per_second(options, 100 << 20);
  sepal_options_set_scrub_seconds(options, 3600);
  char* text = sepal_options_to_text(options);
  CHECK(strstr(text, "block_bytes = 1024\n") != NULL && strstr(text, "scrub_seconds = 3600\n") != NULL);
  sepal_options_from_text(options, text, &error);
  CHECK_OK();
  sepal_free(text);
  sepal_options_from_text(options, "blok_bytes = 1", &error);
  CHECK(error != NULL && strstr(error, "line 1") != NULL);
  sepal_free(error);
  error = NULL;
  sepal_options_add_listener(options, &listener, sizeof listener);
  sepal_options_add_column_family(options, "second", options);
  sepal_filterpolicy_destroy(filter);
  sepal_t* db = sepal_open(options, directory, &error);
  CHECK_OK();
  put(db, wo, "a", "1");
  put(db, wo, "b", "2");
  sepal_flush(db, NULL, 1, &error);
  CHECK_OK();
  sepal_iterator_t* iter = sepal_create_iterator(db, ro);
  sepal_iter_seek_to_first(iter);
  check_at(iter, "b", "2");
  sepal_iter_destroy(iter);
  sepal_close_with_error(db, &error);
  CHECK_OK();
  CHECK(told[0] == 1 && told[1] == 1);

  begin("another comparator is refused");
  sepal_options_t* plain = sepal_options_create();
  CHECK(sepal_open(plain, directory, &error) == NULL);
  expect_error("INVALID_ARGUMENT");
  sepal_options_destroy(plain);
  sepal_destroy_db(options, directory, &error);
  CHECK_OK();
  sepal_options_destroy(options);
  sepal_comparator_destroy(comparator);
  CHECK(destroyed == 1);
}

static const int no_enumerators[] = {-1, 255, 256, 257, 1 << 20, INT_MIN, INT_MAX};

static void set_second_level_compression(sepal_options_t* options, int compression) {
  const int codecs[] = {sepal_no_compression, compression};
  sepal_options_set_compression_per_level(options, codecs, 2);
}

/* Whatever number it gets, an opening with it is refused, for a reason that names the option and what it may be. */
static void check_refused(const char* directory, void (*set)(sepal_options_t*, int), int first_beyond,
                          const char* reason) {
  for (size_t i = 0; i <= sizeof no_enumerators / sizeof no_enumerators[0]; ++i) {
    sepal_options_t* options = sepal_options_create();
    sepal_options_set_create_if_missing(options, 1);
    set(options, i == 0 ? first_beyond : no_enumerators[i - 1]);
    CHECK(sepal_open(options, directory, &error) == NULL);
    CHECK(error != NULL && strstr(error, reason) != NULL);
    expect_error("INVALID_ARGUMENT");
    sepal_options_destroy(options);
  }
}

static void test_numbers_out_of_range(const char* directory) {
  begin("numbers out of range");
  check_refused(directory, sepal_options_set_compaction_style, 3,
                "compaction_style must be kLazyLeveling (0), kLeveled (1) or kUniversal (2)");
  check_refused(directory, sepal_options_set_compression, 4,
                "compression must be kNone (0), kSnappy (1), kLz4 (2) or kZstd (3)");
  check_refused(directory, set_second_level_compression, 4,
                "compression_per_level: each must be kNone (0), kSnappy (1), kLz4 (2) or kZstd (3)");
}

static void count_repaired(void* state, uint64_t done_bytes, uint64_t total_bytes) {
  CHECK(done_bytes > 0 && done_bytes <= total_bytes);
  *(uint64_t*)state = done_bytes;
}

/* A manifest that is gone is made again from the tables. */
static void test_repair(const sepal_options_t* options, const char* directory, const sepal_readoptions_t* ro) {
  begin("repair");
  char* report = sepal_repair_db(options, directory, &error);
  CHECK_OK();
  CHECK(report != NULL && strstr(report, "dropped:") == NULL);
  sepal_free(report);

  /* A checkpoint has no log before it is opened, and without one a database whose manifest is damaged is refused. */
  sepal_t* db = sepal_open(options, directory, &error);
  CHECK_OK();
  sepal_close(db);
  DIR* listing = opendir(directory);
  CHECK(listing != NULL);
  int removed = 0;
  for (struct dirent* entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
    if (strncmp(entry->d_name, "MANIFEST-", 9) != 0) continue;
    CHECK(unlinkat(dirfd(listing), entry->d_name, 0) == 0);
    ++removed;
  }
  closedir(listing);
  CHECK(removed == 1);
  CHECK(sepal_open(options, directory, &error) == NULL);
  expect_error("DATA_LOSS");
  report = sepal_repair_db_dry_run(options, directory, &error);
  CHECK_OK();
  CHECK(report != NULL && strstr(report, "dropped:") != NULL);
  sepal_free(report);
  CHECK(sepal_open(options, directory, &error) == NULL);
  expect_error("DATA_LOSS");

  sepal_repair_report_t* repaired = sepal_repair_db_report(options, directory, 1, &error);
  CHECK_OK();
  sepal_repair_report_destroy(repaired);
  uint64_t told = 0;
  repaired = sepal_repair_db_with_progress(options, directory, 0, &told, count_repaired, &error);
  CHECK_OK();
  CHECK(told > 0);
  report = sepal_repair_report_string(repaired);
  CHECK(strlen(report) > 0);
  sepal_free(report);
  sepal_repair_summary_t summary;
  sepal_repair_report_summary(repaired, &summary, sizeof summary);
  CHECK(summary.changed && !summary.dry_run && summary.tables_kept + summary.tables_rewritten > 0);
  sepal_dropped_data_t dropped;
  CHECK(summary.dropped > 0 && sepal_repair_report_dropped(repaired, 0, &dropped, sizeof dropped));
  CHECK(strncmp(dropped.file, "MANIFEST", 8) == 0 && strlen(dropped.reason) > 0);
  CHECK(!sepal_repair_report_dropped(repaired, summary.dropped, &dropped, sizeof dropped));
  for (size_t i = 0; i < summary.put_aside; ++i) CHECK(sepal_repair_report_put_aside(repaired, i) != NULL);
  CHECK(sepal_repair_report_put_aside(repaired, summary.put_aside) == NULL);
  sepal_repair_report_destroy(repaired);
  report = sepal_repair_db(options, directory, &error);
  CHECK_OK();
  CHECK(report != NULL);
  sepal_free(report);
  db = sepal_open(options, directory, &error);
  CHECK_OK();
  check_get(db, ro, "box", "c");
  sepal_close(db);

  CHECK(sepal_repair_db(options, "/nonexistent/database", &error) == NULL);
  expect_error("NOT_FOUND");
}

int main(void) {
  char base[] = "/tmp/sepal_c_test_XXXXXX";
  char directory[64], checkpoint[64], backup[64], other[64], third[64], copy[64], past[64];
  CHECK(mkdtemp(base) != NULL);
  snprintf(directory, sizeof directory, "%s/db", base);
  snprintf(checkpoint, sizeof checkpoint, "%s/checkpoint", base);
  snprintf(backup, sizeof backup, "%s/backup", base);
  snprintf(other, sizeof other, "%s/other", base);
  snprintf(copy, sizeof copy, "%s/copy", base);
  snprintf(third, sizeof third, "%s/third", base);
  snprintf(past, sizeof past, "%s/past", base);
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", sepal_major_version(), sepal_minor_version(), sepal_patch_version());
  CHECK(strcmp(version, sepal_version_string()) == 0);

  begin("open");
  sepal_options_t* options = sepal_options_create();
  sepal_readoptions_t* ro = sepal_readoptions_create();
  sepal_writeoptions_t* wo = sepal_writeoptions_create();
  sepal_readoptions_set_fill_cache(ro, 1);
  sepal_writeoptions_set_no_slowdown(wo, 0);
  sepal_writeoptions_set_disable_wal(wo, 0);
  CHECK(sepal_open(options, directory, &error) == NULL);
  expect_error("NOT_FOUND");
  sepal_options_set_create_if_missing(options, 1);
  sepal_t* db = sepal_open(options, directory, &error);
  CHECK_OK();
  sepal_options_set_error_if_exists(options, 1);
  CHECK(sepal_open(options, directory, &error) == NULL);
  expect_error("UNAVAILABLE");
  sepal_options_set_error_if_exists(options, 0);

  test_reads_and_writes(db, ro, wo);
  test_delete_range(db, ro, wo);
  test_batches(db, ro, wo);
  test_iteration(db, ro);
  test_snapshot(db, ro, wo);
  test_administration(db, ro, checkpoint, backup);
  test_statistics(db, ro);
  test_explanation(db, ro);
  test_progress(db, third);
  test_named_snapshots(db, ro, wo);
  test_value_streams(db, ro, wo);
  test_transactions(db, ro, wo);
  test_indexed_batches(db, ro, wo);
  test_families(db, options, directory, ro, wo);
  sepal_close(db);
  test_disable_wal(options, other, ro);

  begin("read-only");
  sepal_options_set_create_if_missing(options, 0);
  sepal_options_set_read_only(options, 1);
  db = sepal_open(options, checkpoint, &error);
  CHECK_OK();
  check_get(db, ro, "box", "c");
  sepal_put(db, wo, "k", 1, "v", 1, &error);
  expect_error("FAILED_PRECONDITION");
  test_catch_up(db, checkpoint, ro, wo);
  sepal_close(db);
  sepal_options_set_take_over(options, 1);
  CHECK(sepal_open(options, checkpoint, &error) == NULL);
  expect_error("INVALID_ARGUMENT");
  sepal_options_set_read_only(options, 0);
  CHECK(sepal_open(options, checkpoint, &error) == NULL);
  expect_error("UNIMPLEMENTED"); /* local files */
  sepal_options_set_take_over(options, 0);
  sepal_options_set_follow_milliseconds(options, 1);
  CHECK(sepal_open(options, checkpoint, &error) == NULL);
  expect_error("INVALID_ARGUMENT"); /* a writer */
  sepal_options_set_follow_milliseconds(options, 0);

  test_repair(options, checkpoint, ro);
  test_numbers_out_of_range(other);
  test_comparator_and_listener(other, ro, wo);
  test_merges(other, ro, wo);
  test_expiry(other, ro, wo);
  test_history(past, ro, wo);
  test_compaction_filter(other, ro, wo);
  test_context_filter(other, ro, wo);
  test_env(other, ro, wo);
  test_env_changes(other, ro, wo);
  test_file_system(other, copy, ro, wo);
  test_filters(other, wo);
  test_sync(other, copy, ro, wo);
  test_shared(other, copy, ro, wo);

  begin("destroy");
  sepal_destroy_db(options, directory, &error);
  sepal_destroy_db(options, checkpoint, &error);
  sepal_destroy_db(options, backup, &error);
  sepal_destroy_db(options, third, &error);
  sepal_destroy_db(options, past, &error);
  CHECK_OK();
  CHECK(rmdir(base) == 0);
  sepal_readoptions_destroy(ro);
  sepal_writeoptions_destroy(wo);
  sepal_options_destroy(options);
  printf("PASS\n");
  return 0;
}

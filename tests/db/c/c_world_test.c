/* Statistics, progress, writes without the log, and the world that a database runs in, from C. */
#include <ctype.h>
#include <pthread.h>
#include <unistd.h>

#include "c_test.h"

/* A program may have been compiled when a struct had fewer members, or more. */
static void check_sizes(sepal_t* db) {
  struct {
    sepal_histogram_t known;
    double later;
  } larger;
  memset(&larger, 1, sizeof larger);
  CHECK(sepal_statistics_histogram(db, "sync.micros", &larger.known, sizeof larger));
  CHECK(larger.known.count > 0 && larger.later == 0);
  sepal_histogram_t smaller, untouched;
  memset(&smaller, 1, sizeof smaller);
  memset(&untouched, 1, sizeof untouched);
  const size_t size = offsetof(sepal_histogram_t, minimum);
  CHECK(sepal_statistics_histogram(db, "sync.micros", &smaller, size));
  CHECK(smaller.count == larger.known.count && smaller.average == larger.known.average);
  CHECK(memcmp((char*)&smaller + size, (char*)&untouched + size, sizeof smaller - size) == 0);
}

void test_statistics(sepal_t* db, const sepal_readoptions_t* ro) {
  begin("statistics");
  uint64_t before = 0, after = 0;
  CHECK(sepal_statistics_ticker(db, "get.count", &before));
  check_get(db, ro, "box", "c");
  CHECK(sepal_statistics_ticker(db, "get.count", &after));
  CHECK(after == before + 1);
  CHECK(!sepal_statistics_ticker(db, "no.such.count", &after));
  sepal_writeoptions_t* wo = sepal_writeoptions_create();
  sepal_delete(db, wo, "never", 5, &error);
  sepal_sync(db, &error);
  CHECK_OK();
  sepal_writeoptions_destroy(wo);
  sepal_histogram_t histogram;
  CHECK(sepal_statistics_histogram(db, "sync.micros", &histogram, sizeof histogram));
  CHECK(histogram.count > 0 && histogram.maximum >= histogram.minimum && histogram.p99 >= histogram.p50);
  check_sizes(db);
  CHECK(!sepal_statistics_histogram(db, "no.such.micros", &histogram, sizeof histogram));
  sepal_filter_statistics_t filter;
  uint64_t lookups = 0;
  for (int level = 0; sepal_statistics_filter(db, level, &filter, sizeof filter); ++level) lookups += filter.lookups;
  CHECK(lookups > 0);
  CHECK(!sepal_statistics_filter(db, -1, &filter, sizeof filter));
  CHECK(sepal_statistics_thread_ticker(db, "get.count", &after) && after > 0);
  CHECK(!sepal_statistics_thread_ticker(db, "no.such.count", &after));
  uint64_t of_thread = 0;
  for (int level = 0; sepal_statistics_thread_filter(db, level, &filter, sizeof filter); ++level)
    of_thread += filter.lookups;
  CHECK(of_thread > 0 && of_thread <= lookups);
  CHECK(!sepal_statistics_thread_filter(db, SEPAL_MAX_LEVELS, &filter, sizeof filter));

  begin("perfcontext");
  sepal_perfcontext_t* context = sepal_perfcontext_create(db);
  uint64_t value = 1;
  check_get(db, ro, "box", "c");
  CHECK(sepal_perfcontext_metric(context, "get.found", &value) && value == 1);
  CHECK(sepal_perfcontext_metric(context, "call.micros", &value));
  CHECK(sepal_perfcontext_metric(context, "call.read.micros", &value));
  CHECK(!sepal_perfcontext_metric(context, "call.other.micros", &value));
  lookups = 0;
  for (int level = 0; sepal_perfcontext_filter(context, level, &filter, sizeof filter); ++level)
    lookups += filter.lookups;
  CHECK(lookups > 0);
  CHECK(!sepal_perfcontext_filter(context, -1, &filter, sizeof filter));
  char* text = sepal_perfcontext_string(context);
  CHECK(strstr(text, "get.count 1\n") != NULL);
  sepal_free(text);
  sepal_perfcontext_reset(context);
  CHECK(sepal_perfcontext_metric(context, "get.found", &value) && value == 0);
  sepal_perfcontext_destroy(context);
}

void test_explanation(sepal_t* db, const sepal_readoptions_t* ro) {
  begin("explanation");
  sepal_explanation_t* explanation = sepal_explanation_create(db, ro, NULL, "box", 3, &error);
  CHECK_OK();
  sepal_explained_get_t get;
  sepal_explanation_get(explanation, &get, sizeof get);
  CHECK(get.found && get.value_bytes == 1 && get.sources > 0 && get.visible_sequence > 0);
  CHECK(get.keylen == 3 && memcmp(get.key, "box", 3) == 0 && strcmp(get.column_family, "default") == 0);
  sepal_explained_source_t source;
  CHECK(sepal_explanation_source(explanation, get.sources - 1, &source, sizeof source));
  CHECK(source.answer == sepal_answer_found && source.value_bytes == 1);
  CHECK(!sepal_explanation_source(explanation, get.sources, &source, sizeof source));
  /* A table's: the block that holds the key comes last. */
  CHECK(source.kind == sepal_in_table && source.file_number > 0 && source.has_guard && source.guard_admits);
  sepal_explained_block_t block;
  CHECK(source.blocks > 0 &&
        sepal_explanation_block(explanation, get.sources - 1, source.blocks - 1, &block, sizeof block));
  CHECK(block.key_present && block.lane_admits && block.stored_bytes > 0 && block.fences > block.fence);
  CHECK(!sepal_explanation_block(explanation, get.sources - 1, source.blocks, &block, sizeof block));
  CHECK(!sepal_explanation_block(explanation, get.sources, 0, &block, sizeof block));
  char* parts = sepal_explanation_string(explanation);
  CHECK(strstr(parts, "box") != NULL);
  sepal_free(parts);
  sepal_explanation_destroy(explanation);

  explanation = sepal_explanation_create(db, ro, NULL, "no such key", 11, &error);
  CHECK_OK();
  sepal_explanation_get(explanation, &get, sizeof get);
  CHECK(!get.found && get.value_bytes == 0);
  sepal_explanation_destroy(explanation);
}

static void count_bytes(void* state, uint64_t done, uint64_t total) {
  CHECK(done <= total);
  *(uint64_t*)state = done;
}
static unsigned char count_tables(void* state, uint64_t tables_done, uint64_t tables, uint64_t bytes_done,
                                  uint64_t bytes) {
  CHECK(tables_done <= tables && bytes_done <= bytes);
  *(uint64_t*)state = tables_done;
  return 1;
}
static unsigned char end_at_once(void* state, uint64_t tables_done, uint64_t tables, uint64_t bytes_done,
                                 uint64_t bytes) {
  (void)state, (void)tables_done, (void)tables, (void)bytes_done, (void)bytes;
  return 0;
}
static void no_damage(void* state, const char* message) {
  (void)state;
  fprintf(stderr, "%s\n", message);
  CHECK(0);
}

void test_progress(sepal_t* db, const char* directory) {
  begin("progress");
  uint64_t done = 0;
  sepal_verify_checksums_with_progress(db, &done, count_tables, no_damage, &error);
  CHECK_OK();
  CHECK(done > 0);
  sepal_verify_checksums_with_progress(db, NULL, end_at_once, NULL, &error);
  expect_error("CANCELLED");
  done = 0;
  sepal_checkpoint_with_progress(db, directory, NULL, 0, 0, &done, count_bytes, &error);
  CHECK_OK();
  CHECK(done > 0);
}

/* Makes a database in `directory`, and removes it. */
void test_disable_wal(const sepal_options_t* options, const char* directory, const sepal_readoptions_t* ro) {
  begin("disable_wal");
  uint64_t bytes = 1;
  sepal_writeoptions_t* wo = sepal_writeoptions_create();
  sepal_writeoptions_set_disable_wal(wo, 1);
  sepal_t* db = sepal_open(options, directory, &error);
  CHECK_OK();
  put(db, wo, "unlogged", "kept");
  CHECK(sepal_statistics_ticker(db, "log.bytes", &bytes) && bytes == 0);
  sepal_close_with_error(db, &error);
  CHECK_OK();
  db = sepal_open(options, directory, &error);
  CHECK_OK();
  check_get(db, ro, "unlogged", "kept");

  sepal_writeoptions_set_sync(wo, 1);
  sepal_put(db, wo, "k", 1, "v", 1, &error);
  expect_error("INVALID_ARGUMENT");
  check_get(db, ro, "k", NULL);
  sepal_writeoptions_set_disable_wal(wo, 0);
  put(db, wo, "k", "v");
  CHECK(sepal_statistics_ticker(db, "log.bytes", &bytes) && bytes > 0);
  sepal_close_with_error(db, &error);
  CHECK_OK();
  sepal_writeoptions_destroy(wo);
  sepal_destroy_db(options, directory, &error);
  CHECK_OK();
}

/* Keys are equal if they differ in case alone. */
static int compare_lower(void* state, const char* a, size_t alen, const char* b, size_t blen) {
  (void)state;
  for (size_t i = 0; i < alen && i < blen; ++i) {
    const int order = tolower((unsigned char)a[i]) - tolower((unsigned char)b[i]);
    if (order != 0) return order;
  }
  return alen < blen ? -1 : alen > blen ? 1 : 0;
}
static const char* lower_name(void* state) {
  (void)state;
  return "test.lower";
}

struct world {
  uint64_t now, slept;
  int scheduled;
};
static uint64_t tick(void* state) { return __atomic_add_fetch(&((struct world*)state)->now, 1, __ATOMIC_RELAXED); }
static void note_sleep(void* state, uint64_t micros) {
  __atomic_add_fetch(&((struct world*)state)->now, micros, __ATOMIC_RELAXED);
}
struct job {
  void (*run)(void* work);
  void* work;
};
static void* run_job(void* argument) {
  struct job job = *(struct job*)argument;
  free(argument);
  job.run(job.work);
  return NULL;
}
/* A thread for each piece of work. */
static void schedule(void* state, int priority, void (*run)(void* work), void* work) {
  CHECK(priority == 0 || priority == 1);
  __atomic_add_fetch(&((struct world*)state)->scheduled, 1, __ATOMIC_RELAXED);
  struct job* job = malloc(sizeof *job);
  job->run = run;
  job->work = work;
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, run_job, job) == 0);
  CHECK(pthread_detach(thread) == 0);
}

void test_env(const char* directory, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo) {
  begin("env");
  struct world world = {1000000, 0, 0};
  sepal_env_t* env = sepal_create_default_env();
  char* tests = sepal_env_get_test_directory(env);
  CHECK(tests != NULL && access(tests, W_OK) == 0);
  sepal_free(tests);
  sepal_env_set_random_seed(env, 7);
  sepal_env_set_clock(env, &world, tick, tick, note_sleep);
  sepal_env_set_executor(env, &world, 1, schedule);
  sepal_comparator_t* comparator = sepal_comparator_create(NULL, NULL, compare_lower, lower_name);
  sepal_options_t* options = sepal_options_create();
  sepal_options_set_create_if_missing(options, 1);
  sepal_options_set_comparator(options, comparator);
  sepal_options_set_env(options, env);
  char logs[128];
  snprintf(logs, sizeof logs, "%s_logs", directory);
  sepal_options_set_log_directory(options, logs);
  sepal_t* db = sepal_open(options, directory, &error);
  CHECK_OK();
  put(db, wo, "Key", "1");
  sepal_flush(db, NULL, 1, &error);
  CHECK_OK();
  put(db, wo, "other", "2");
  check_get(db, ro, "kEY", "1");
  check_get(db, ro, "kEYs", NULL);
  CHECK(world.scheduled > 0 && world.now > 1000000);
  sepal_close_with_error(db, &error);
  CHECK_OK();
  sepal_options_set_log_directory(options, directory);
  CHECK(sepal_repair_db_report(options, directory, 1, &error) == NULL);
  expect_error("FAILED_PRECONDITION");
  sepal_repair_report_t* report = sepal_repair_db_logs_lost(options, directory, 1, NULL, NULL, &error);
  CHECK_OK();
  sepal_repair_summary_t summary;
  sepal_repair_report_summary(report, &summary, sizeof summary);
  CHECK(summary.changed && summary.dry_run && summary.dropped == 1);
  sepal_repair_report_destroy(report);
  sepal_options_set_log_directory(options, logs);
  sepal_destroy_db(options, directory, &error);
  CHECK_OK();
  CHECK(rmdir(logs) == 0);
  sepal_options_set_env(options, NULL);
  sepal_options_destroy(options);
  sepal_comparator_destroy(comparator);
  sepal_env_destroy(env);
}

/* What is set in an env after the options have it counts, for what is opened from then on. */
void test_env_changes(const char* directory, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo) {
  begin("env, set later");
  struct world first = {1000000, 0, 0}, second = {1000000, 0, 0};
  sepal_env_t* env = sepal_create_default_env();
  sepal_options_t* options = sepal_options_create();
  sepal_options_set_create_if_missing(options, 1);
  sepal_options_set_env(options, env);
  sepal_env_set_clock(env, &first, tick, tick, note_sleep);
  sepal_env_set_executor(env, &first, 1, schedule);
  sepal_t* db = sepal_open(options, directory, &error);
  CHECK_OK();
  const uint64_t opened = first.now;
  CHECK(opened > 1000000);
  sepal_env_set_clock(env, &second, tick, tick, note_sleep);
  sepal_env_set_executor(env, &second, 1, schedule);
  put(db, wo, "k", "v");
  sepal_flush(db, NULL, 1, &error);
  CHECK_OK();
  sepal_close_with_error(db, &error);
  CHECK_OK();
  CHECK(first.scheduled > 0 && first.now > opened && second.scheduled == 0 && second.now == 1000000);

  db = sepal_open(options, directory, &error);
  CHECK_OK();
  check_get(db, ro, "k", "v");
  put(db, wo, "k", "w");
  sepal_flush(db, NULL, 1, &error);
  CHECK_OK();
  sepal_close(db);
  CHECK(second.scheduled > 0 && second.now > 1000000);
  sepal_destroy_db(options, directory, &error);
  CHECK_OK();
  sepal_options_destroy(options);
  sepal_env_destroy(env);
}

/* A program that calls every function of LevelDB's C interface, and prints what it got: with LevelDB and with Sepal's
 * libleveldb it must print the same.
 *   c_calls SEED DIRECTORY
 */
#include <leveldb/c.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char* error = NULL;

static void say(const char* what) {
  printf("%s: %s\n", what, error == NULL ? "ok" : error);
  leveldb_free(error);
  error = NULL;
}

static void get(leveldb_t* db, const leveldb_readoptions_t* read, const char* key) {
  size_t size = 9;
  char* value = leveldb_get(db, read, key, strlen(key), &size, &error);
  if (value == NULL) {
    printf("no value, %zu\n", size);
  } else {
    printf("%.*s, %zu\n", (int)size, value, size);
  }
  leveldb_free(value);
}

static int destroyed = 0;
static void on_destroy(void* state) { *(int*)state += 1; }
static int compare(void* state, const char* a, size_t alen, const char* b, size_t blen) {
  const size_t both = alen < blen ? alen : blen;
  const int order = memcmp(a, b, both);
  (void)state;
  if (order != 0) return -order;
  return alen < blen ? 1 : alen > blen ? -1 : 0;
}
static const char* name_of_order(void* state) {
  (void)state;
  return "test.backward";
}
static char* create_filter(void* state, const char* const* keys, const size_t* sizes, int count, size_t* size) {
  (void)state, (void)keys, (void)sizes, (void)count;
  *size = 4;
  return strdup("fake");
}
static uint8_t key_may_match(void* state, const char* key, size_t size, const char* filter, size_t filter_size) {
  (void)state, (void)key, (void)size, (void)filter, (void)filter_size;
  return 1;
}
static const char* name_of_filter(void* state) {
  (void)state;
  return "test.filter";
}
static void on_put(void* state, const char* key, size_t size, const char* value, size_t value_size) {
  printf("%s put %.*s %.*s\n", (char*)state, (int)size, key, (int)value_size, value);
}
static void on_delete(void* state, const char* key, size_t size) {
  printf("%s delete %.*s\n", (char*)state, (int)size, key);
}

static leveldb_options_t* make_options(leveldb_cache_t* cache, leveldb_env_t* env, leveldb_filterpolicy_t* policy) {
  leveldb_options_t* options = leveldb_options_create();
  leveldb_options_set_create_if_missing(options, 1);
  leveldb_options_set_error_if_exists(options, 0);
  leveldb_options_set_paranoid_checks(options, 1);
  leveldb_options_set_env(options, env);
  leveldb_options_set_info_log(options, NULL);
  leveldb_options_set_write_buffer_size(options, 100000);
  leveldb_options_set_max_open_files(options, 100);
  leveldb_options_set_cache(options, cache);
  leveldb_options_set_block_size(options, 1024);
  leveldb_options_set_block_restart_interval(options, 8);
  leveldb_options_set_max_file_size(options, 3 << 20);
  leveldb_options_set_compression(options, leveldb_no_compression);
  leveldb_options_set_filter_policy(options, policy);
  return options;
}

static void walk(leveldb_t* db, const leveldb_readoptions_t* read) {
  leveldb_iterator_t* it = leveldb_create_iterator(db, read);
  size_t size;
  printf("valid %d\n", leveldb_iter_valid(it));
  for (leveldb_iter_seek_to_first(it); leveldb_iter_valid(it); leveldb_iter_next(it)) {
    const char* key = leveldb_iter_key(it, &size);
    printf("  %.*s", (int)size, key);
    const char* value = leveldb_iter_value(it, &size);
    printf(" %.*s\n", (int)size, value);
  }
  for (leveldb_iter_seek_to_last(it); leveldb_iter_valid(it); leveldb_iter_prev(it)) {
    const char* key = leveldb_iter_key(it, &size);
    printf("  %.*s\n", (int)size, key);
  }
  leveldb_iter_seek(it, "b", 1);
  printf("valid %d\n", leveldb_iter_valid(it));
  leveldb_iter_get_error(it, &error);
  say("iterator");
  leveldb_iter_destroy(it);
}

static void write_and_read(leveldb_t* db) {
  leveldb_writeoptions_t* write = leveldb_writeoptions_create();
  leveldb_readoptions_t* read = leveldb_readoptions_create();
  leveldb_writeoptions_set_sync(write, 1);
  leveldb_readoptions_set_verify_checksums(read, 1);
  leveldb_readoptions_set_fill_cache(read, 0);
  leveldb_put(db, write, "a", 1, "1", 1, &error);
  say("put");
  leveldb_put(db, write, "empty", 5, "", 0, &error);
  get(db, read, "empty");
  const leveldb_snapshot_t* snapshot = leveldb_create_snapshot(db);
  leveldb_delete(db, write, "a", 1, &error);
  say("delete");
  get(db, read, "a");
  say("get");
  leveldb_readoptions_set_snapshot(read, snapshot);
  get(db, read, "a");
  walk(db, read);
  leveldb_readoptions_set_snapshot(read, NULL);
  leveldb_release_snapshot(db, snapshot);

  leveldb_writebatch_t* batch = leveldb_writebatch_create();
  leveldb_writebatch_t* more = leveldb_writebatch_create();
  leveldb_writebatch_put(batch, "gone", 4, "x", 1);
  leveldb_writebatch_clear(batch);
  leveldb_writebatch_put(batch, "b", 1, "2", 1);
  leveldb_writebatch_delete(more, "empty", 5);
  leveldb_writebatch_put(more, "c", 1, "3", 1);
  leveldb_writebatch_append(batch, more);
  leveldb_writebatch_iterate(batch, "batch", on_put, on_delete);
  leveldb_write(db, write, batch, &error);
  say("write");
  leveldb_writebatch_destroy(batch);
  leveldb_writebatch_destroy(more);
  walk(db, read);
  leveldb_readoptions_destroy(read);
  leveldb_writeoptions_destroy(write);
}

static void ask(leveldb_t* db) {
  const char* const starts[] = {"a", "k"};
  const char* const limits[] = {"b", "z"};
  const size_t ones[] = {1, 1};
  uint64_t sizes[] = {7, 7};
  char* value = leveldb_property_value(db, "leveldb.stats");
  printf("stats %d\n", value != NULL);
  leveldb_free(value);
  value = leveldb_property_value(db, "nothing");
  printf("nothing %d\n", value != NULL);
  value = leveldb_property_value(db, "leveldb.num-files-at-level3");
  printf("level 3 %d\n", value != NULL);
  leveldb_free(value);
  leveldb_approximate_sizes(db, 2, starts, ones, limits, ones, sizes);
  leveldb_compact_range(db, NULL, 0, NULL, 0);
  leveldb_compact_range(db, "a", 1, "c", 1);
}

static void open_and_use(leveldb_options_t* options, const char* name) {
  leveldb_t* db = leveldb_open(options, name, &error);
  say("open");
  if (db == NULL) return;
  leveldb_t* second = leveldb_open(options, name, &error);
  printf("second %d\n", second != NULL);
  say("second");
  write_and_read(db);
  ask(db);
  leveldb_close(db);
  leveldb_repair_db(options, name, &error);
  say("repair");
  db = leveldb_open(options, name, &error);
  leveldb_readoptions_t* read = leveldb_readoptions_create();
  walk(db, read);
  leveldb_readoptions_destroy(read);
  leveldb_close(db);
  leveldb_options_set_error_if_exists(options, 1);
  leveldb_open(options, name, &error);
  leveldb_open(options, name, &error); /* the text before is freed */
  say("exists");
  leveldb_options_set_error_if_exists(options, 0);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  mkdir(argv[2], 0755);
  if (chdir(argv[2]) != 0) return 1;
  printf("%d.%d\n", leveldb_major_version(), leveldb_minor_version());
  leveldb_cache_t* cache = leveldb_cache_create_lru(1 << 20);
  leveldb_env_t* env = leveldb_create_default_env();
  char* directory = leveldb_env_get_test_directory(env);
  printf("%s\n", directory);
  leveldb_free(directory);
  leveldb_filterpolicy_t* bloom = leveldb_filterpolicy_create_bloom(10);
  leveldb_filterpolicy_t* own =
      leveldb_filterpolicy_create(&destroyed, on_destroy, create_filter, key_may_match, name_of_filter);
  leveldb_comparator_t* order = leveldb_comparator_create(&destroyed, on_destroy, compare, name_of_order);

  leveldb_options_t* options = make_options(cache, env, bloom);
  open_and_use(options, "bytewise");
  leveldb_options_set_comparator(options, order);
  leveldb_open(options, "bytewise", &error);
  say("another order");
  leveldb_options_set_filter_policy(options, own);
  open_and_use(options, "backward");
  leveldb_destroy_db(options, "backward", &error);
  say("destroy");
  leveldb_options_set_create_if_missing(options, 0);
  leveldb_open(options, "backward", &error);
  say("missing");

  leveldb_options_destroy(options);
  leveldb_comparator_destroy(order);
  leveldb_filterpolicy_destroy(own);
  leveldb_filterpolicy_destroy(bloom);
  leveldb_cache_destroy(cache);
  leveldb_env_destroy(env);
  printf("destroyed %d\n", destroyed);
  return 0;
}

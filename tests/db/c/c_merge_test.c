/* Merges, from C: the built-in operators, and one of the program's own. */
#include "sepal/c_merge.h"

#include "c_test.h"

/* Keeps the longest; cannot take an operand "!". */
static char* longest(void* state, const char* key, size_t klen, const char* base, size_t blen,
                     const char* const* operands, const size_t* operand_sizes, size_t count, size_t* size) {
  (void)key;
  CHECK(klen > 0 && count > 0);
  ++*(int*)state;
  const char* best = base == NULL ? "" : base;
  *size = base == NULL ? 0 : blen;
  for (size_t i = 0; i < count; ++i) {
    if (operand_sizes[i] == 1 && operands[i][0] == '!') return NULL;
    if (operand_sizes[i] > *size) {
      best = operands[i];
      *size = operand_sizes[i];
    }
  }
  char* made = (char*)malloc(*size + 1);
  memcpy(made, best, *size);
  return made;
}
static char* longest_operand(void* state, const char* key, size_t klen, const char* const* operands,
                             const size_t* operand_sizes, size_t count, size_t* size) {
  return longest(state, key, klen, NULL, 0, operands, operand_sizes, count, size);
}
static const char* longest_name(void* state) {
  (void)state;
  return "test.longest";
}
static void destroyed(void* state) { *(int*)state = -1; }

static sepal_t* open_with(sepal_options_t* options, const char* directory, sepal_mergeoperator_t* merge) {
  sepal_options_set_merge_operator(options, merge);
  sepal_mergeoperator_destroy(merge);
  sepal_t* db = sepal_open(options, directory, &error);
  CHECK_OK();
  return db;
}

static void test_own_operator(sepal_options_t* options, const char* directory, const sepal_readoptions_t* ro,
                              const sepal_writeoptions_t* wo) {
  begin("own merge operator");
  int calls = 0;
  sepal_t* db = open_with(options, directory,
                          sepal_mergeoperator_create(&calls, destroyed, longest, longest_operand, longest_name));
  sepal_merge(db, wo, "k", 1, "four", 4, &error);
  sepal_merge(db, wo, "k", 1, "three", 5, &error);
  sepal_merge(db, wo, "k", 1, "x", 1, &error);
  CHECK_OK();
  check_get(db, ro, "k", "three");
  sepal_merge(db, wo, "bad", 3, "!", 1, &error);
  CHECK_OK();
  size_t length;
  CHECK(sepal_get(db, ro, "bad", 3, &length, &error) == NULL);
  expect_error("INVALID_ARGUMENT");
  CHECK(calls > 0);
  sepal_close(db);
  sepal_options_t* plain = sepal_options_create();
  db = sepal_open(plain, directory, &error);
  CHECK_OK();
  CHECK(sepal_get(db, ro, "bad", 3, &length, &error) == NULL);
  expect_error("FAILED_PRECONDITION");
  sepal_close(db);
  sepal_options_destroy(plain);
  sepal_destroy_db(options, directory, &error);
  CHECK_OK();
  sepal_mergeoperator_t* other = sepal_mergeoperator_create_max();
  sepal_options_set_merge_operator(options, other);
  CHECK(calls == -1);
  sepal_mergeoperator_destroy(other);
}

void test_merges(const char* directory, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo) {
  sepal_options_t* options = sepal_options_create();
  sepal_options_set_create_if_missing(options, 1);
  test_own_operator(options, directory, ro, wo);

  begin("built-in merge operators");
  sepal_t* db = open_with(options, directory, sepal_mergeoperator_create_append(",", 1));
  sepal_merge(db, wo, "k", 1, "a", 1, &error);
  sepal_merge(db, wo, "k", 1, "b", 1, &error);
  CHECK_OK();
  check_get(db, ro, "k", "a,b");
  sepal_mergeoperator_t* all[] = {sepal_mergeoperator_create_add64(), sepal_mergeoperator_create_max(),
                                  sepal_mergeoperator_create_min(), sepal_mergeoperator_create_json_merge_patch(),
                                  sepal_mergeoperator_create_by_name("sepal.Append:x", 14)};
  const char* names[] = {"add", "max", "min", "json", "by name"};
  const char* operands[] = {"12345678", "z", "z", "{\"a\":1}", "p"};
  const char* values[] = {"12345678", "z", "z", "{\"a\":1}", "p"};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
    sepal_options_t* family_options = sepal_options_create();
    sepal_options_set_merge_operator(family_options, all[i]);
    sepal_column_family_t* family = sepal_create_column_family(db, family_options, names[i], &error);
    CHECK_OK();
    sepal_writebatch_t* batch = sepal_writebatch_create();
    sepal_writebatch_merge_cf(batch, family, "k", 1, operands[i], strlen(operands[i]));
    sepal_write(db, wo, batch, &error);
    sepal_writebatch_destroy(batch);
    CHECK_OK();
    check_get_cf(db, ro, family, "k", values[i]);
    if (i == 1) {
      sepal_merge_cf(db, wo, family, "k", 1, "zz", 2, &error);
      CHECK_OK();
      check_get_cf(db, ro, family, "k", "zz");
    }
    sepal_column_family_handle_destroy(family);
    sepal_options_destroy(family_options);
    sepal_mergeoperator_destroy(all[i]);
  }
  CHECK(sepal_mergeoperator_create_by_name("nothing", 7) == NULL);
  sepal_close(db);
  sepal_destroy_db(options, directory, &error);
  CHECK_OK();
  sepal_options_destroy(options);
}

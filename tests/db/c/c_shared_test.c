/* Memory and threads that databases share, from C. */
#include "sepal/c_shared.h"

#include "c_test.h"

void test_shared(const char* directory, const char* other_directory, const sepal_readoptions_t* ro,
                 const sepal_writeoptions_t* wo) {
  begin("shared");
  CHECK(sepal_shared_create(1, 0, NULL, &error) == NULL);
  expect_error("INVALID_ARGUMENT");
  sepal_env_t* env = sepal_create_default_env();
  sepal_shared_t* shared = sepal_shared_create(32 << 20, 1, env, &error);
  CHECK_OK();
  CHECK(sepal_shared_memory_limit(shared) == 32 << 20);
  CHECK(sepal_shared_databases(shared) == 0);
  sepal_options_t* options = sepal_options_create();
  sepal_options_set_create_if_missing(options, 1);
  sepal_options_set_shared(options, shared);
  sepal_t* one = sepal_open(options, directory, &error);
  CHECK_OK();
  sepal_t* two = sepal_open(options, other_directory, &error);
  CHECK_OK();
  CHECK(sepal_shared_databases(shared) == 2);
  CHECK(sepal_shared_memory_used(shared) > 0);
  sepal_options_destroy(options);
  sepal_shared_destroy(shared);
  put(one, wo, "k", "one");
  put(two, wo, "k", "two");
  check_get(one, ro, "k", "one");
  sepal_close(one);
  check_get(two, ro, "k", "two");
  sepal_close(two);
  sepal_env_destroy(env);
  options = sepal_options_create();
  sepal_options_set_shared(options, NULL);
  sepal_destroy_db(options, directory, &error);
  sepal_destroy_db(options, other_directory, &error);
  CHECK_OK();
  sepal_options_destroy(options);
}

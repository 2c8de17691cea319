/* Values that are written and read in parts, from C. */
#include "sepal/c_value_stream.h"

#include "c_test.h"

enum { kStreamedBytes = 1500000 };

struct source {
  size_t given, bytes, fail_at;
};

static char byte_at(size_t at) { return (char)('a' + at * 7 / 5 % 26); }

static size_t give(void* state, char* buffer, size_t size) {
  struct source* source = state;
  if (source->given >= source->fail_at) return SIZE_MAX;
  if (size > source->bytes - source->given) size = source->bytes - source->given;
  if (size > 70001) size = 70001;
  for (size_t i = 0; i < size; ++i) buffer[i] = byte_at(source->given + i);
  source->given += size;
  return size;
}

void test_value_streams(sepal_t* db, const sepal_readoptions_t* ro, const sepal_writeoptions_t* wo) {
  begin("value streams");
  struct source source = {0, kStreamedBytes, SIZE_MAX};
  sepal_put_stream(db, wo, NULL, "streamed", 8, kStreamedBytes, give, &source, &error);
  CHECK_OK();
  char buffer[100];
  uint64_t value_bytes = 0;
  CHECK(sepal_read_value(db, ro, NULL, "streamed", 8, kStreamedBytes - 60, buffer, 100, &value_bytes, &error) == 60);
  CHECK_OK();
  CHECK(value_bytes == kStreamedBytes);
  for (size_t i = 0; i < 60; ++i) CHECK(buffer[i] == byte_at(kStreamedBytes - 60 + i));
  CHECK(sepal_read_value(db, ro, NULL, "streamed", 8, kStreamedBytes, buffer, 100, NULL, &error) == 0);
  CHECK_OK();
  CHECK(sepal_read_value(db, ro, NULL, "no such", 7, 0, buffer, 100, NULL, &error) == SIZE_MAX);
  CHECK_OK();

  struct source short_one = {0, 1000, SIZE_MAX};
  sepal_put_stream(db, wo, NULL, "other", 5, 1001, give, &short_one, &error);
  expect_error("INVALID_ARGUMENT");
  struct source failing = {0, kStreamedBytes, 500000};
  sepal_put_stream(db, wo, NULL, "other", 5, kStreamedBytes, give, &failing, &error);
  expect_error("CANCELLED");
  check_get(db, ro, "other", NULL);
  sepal_delete(db, wo, "streamed", 8, &error);
  CHECK_OK();
}

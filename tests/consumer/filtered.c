/* A program in C that needs filters and no database. */
#include <stdio.h>
#include <string.h>

#include "sepal/c_filter.h"

int main(void) {
  char* error = NULL;
  size_t size = 0;
  sepal_filter_t* const filter = sepal_filter_create_bloom(sepal_filter_blocked_bloom, 1000, 0.01, 0, &error);
  sepal_filter_add(filter, "pear", 4, &error);
  char* const bytes = sepal_filter_serialize(filter, &size);
  sepal_filter_t* const read = sepal_filter_parse_filter(bytes, size, "pears", &error);
  const int known = read != NULL && sepal_filter_may_contain(read, "pear", 4, &error);
  const uint64_t bits = sepal_filter_bits_for(sepal_filter_classic_bloom, 1000, 0.01, NULL, &error);
  if (!known || bits < 9000 || error != NULL) {
    printf("filters in C: %s\n", error != NULL ? error : "wrong answers");
    return 1;
  }
  bytes[0] = 'x';
  if (sepal_filter_parse_filter(bytes, size, "pears", &error) != NULL || strstr(error, "pears") == NULL) return 1;
  sepal_free(error);
  sepal_free(bytes);
  sepal_filter_destroy(read);
  sepal_filter_destroy(filter);
  return 0;
}

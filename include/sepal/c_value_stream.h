/* Values that are written and read in parts, in C: sepal/value_stream.h says what that promises and costs, and
   sepal/c.h has the rules for errors, strings and structs. */
#pragma once

#include "sepal/c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* PutStream: a value of exactly `value_bytes` bytes. `read` fills a part of `buffer`, of `size` bytes, and returns how
   many: at least one, or 0 at the end. SIZE_MAX ends the put, with an error of the code CANCELLED. `family`: NULL, the
   default one. */
SEPAL_C_EXPORT void sepal_put_stream(sepal_t* db, const sepal_writeoptions_t* options, sepal_column_family_t* family,
                                     const char* key, size_t keylen, uint64_t value_bytes,
                                     size_t (*read)(void* state, char* buffer, size_t size), void* state,
                                     char** errptr);
/* ReadValue: copies what the value has from `offset` on into `buffer`, at most `size` bytes, and returns how many.
   `*value_bytes`, unless it is NULL, is the length of the whole value. Returns SIZE_MAX if there is no such key, and
   after an error. */
SEPAL_C_EXPORT size_t sepal_read_value(sepal_t* db, const sepal_readoptions_t* options, sepal_column_family_t* family,
                                       const char* key, size_t keylen, uint64_t offset, char* buffer, size_t size,
                                       uint64_t* value_bytes, char** errptr);

#ifdef __cplusplus
}
#endif

/* Reads as of a past moment in C: sepal/history.h says what they promise and cost, and sepal/c.h has the rules for
   errors, strings and structs.

     sepal_options_set_history(options, 3600 * 1000);
     ...
     sepal_readoptions_set_as_of_time(read_options, now_millis - 600 * 1000);
     char* value = sepal_get(db, read_options, key, keylen, &vallen, &error);
     sepal_readoptions_set_as_of_now(read_options);

   An error that begins with "OUT_OF_RANGE" means that the moment is older than the history. */
#pragma once

#include "sepal/c.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sepal_history_t sepal_history_t;

/* Milliseconds for which the family keeps overwritten and deleted versions; 0: none from now on. If it is not called,
   the family keeps its setting. */
SEPAL_C_EXPORT void sepal_options_set_history(sepal_options_t* options, int64_t milliseconds);

/* Reads as of a sequence number (sepal_snapshot_sequence), or as of a time in milliseconds since 1970; each replaces
   the other. */
SEPAL_C_EXPORT void sepal_readoptions_set_as_of_sequence(sepal_readoptions_t* options, uint64_t sequence);
SEPAL_C_EXPORT void sepal_readoptions_set_as_of_time(sepal_readoptions_t* options, uint64_t unix_millis);
SEPAL_C_EXPORT void sepal_readoptions_set_as_of_now(sepal_readoptions_t* options);

enum { sepal_version_put = 0, sepal_version_delete = 1, sepal_version_merge = 2, sepal_version_expired = 3 };

/* The versions of a key, the newest first. A family of NULL is the default one. NULL after an error. The second
   function returns at most `limit` of them, with numbers below `below_sequence` (UINT64_MAX: all). */
SEPAL_C_EXPORT sepal_history_t* sepal_history_create(sepal_t* db, sepal_column_family_t* family, const char* key,
                                                     size_t keylen, char** errptr);
SEPAL_C_EXPORT sepal_history_t* sepal_history_create_part(sepal_t* db, sepal_column_family_t* family, const char* key,
                                                          size_t keylen, size_t limit, uint64_t below_sequence,
                                                          char** errptr);
SEPAL_C_EXPORT void sepal_history_destroy(sepal_history_t* history);
SEPAL_C_EXPORT size_t sepal_history_count(const sepal_history_t* history);
/* 0: older than the history. */
SEPAL_C_EXPORT uint64_t sepal_history_sequence(const sepal_history_t* history, size_t index);
/* In milliseconds since 1970; 0: it is not known. */
SEPAL_C_EXPORT uint64_t sepal_history_time(const sepal_history_t* history, size_t index);
SEPAL_C_EXPORT int sepal_history_kind(const sepal_history_t* history, size_t index);
/* The bytes are valid as long as the history, and a zero is after them. */
SEPAL_C_EXPORT const char* sepal_history_value(const sepal_history_t* history, size_t index, size_t* vallen);

#ifdef __cplusplus
}
#endif

/* Makes two databases equal, in C: sepal/sync.h says what this promises and costs, and sepal/c.h has the rules for
   errors, strings and structs. */
#pragma once

#include "sepal/c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A two-way stream of bytes. Each call moves all of `size` bytes and returns 1, or 0 if the other side is gone. */
typedef struct {
  void* state;
  unsigned char (*read)(void* state, char* to, size_t size);
  unsigned char (*write)(void* state, const char* bytes, size_t size);
} sepal_sync_channel_t;

/* The result for a key that has different values on the two sides. */
enum { sepal_sync_report_conflicts = 0, sepal_sync_ours = 1, sepal_sync_theirs = 2, sepal_sync_newer_by_sequence = 3 };

typedef struct {
  uint64_t column_families, entries, rounds;
  uint64_t written, overwritten, sent;
  uint64_t written_there, overwritten_there;
  uint64_t sent_bytes, received_bytes;
  uint64_t conflicts;
} sepal_sync_report_t;

/* BeginSync: fills `report`, of report_size bytes, unless there is an error. Unless it is NULL, `conflict` is called
   for each conflict that stays, before sepal_begin_sync returns. `seed`: 0 for one from the operating system. */
SEPAL_C_EXPORT void sepal_begin_sync(sepal_t* db, const sepal_sync_channel_t* other, int policy, uint64_t seed,
                                     void (*conflict)(void* state, const char* family, const char* key, size_t keylen),
                                     void* conflict_state, sepal_sync_report_t* report, size_t report_size,
                                     char** errptr);
SEPAL_C_EXPORT void sepal_serve_sync(sepal_t* db, const sepal_sync_channel_t* other, char** errptr);
/* Call this in place of serving: the other side gets the text as its error, with the code UNAVAILABLE. */
SEPAL_C_EXPORT void sepal_refuse_sync(const char* why, const sepal_sync_channel_t* other);

#ifdef __cplusplus
}
#endif

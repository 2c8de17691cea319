/* Snapshots with names in C: sepal/named_snapshots.h says what they promise and cost, and sepal/c.h has the rules for
   errors, strings and structs.

     const sepal_snapshot_t* before = sepal_create_named_snapshot(db, "before", 6, 0, &error);
     sepal_release_snapshot(db, before);
     ...
     before = sepal_find_snapshot(db, "before", 6, &error);
     sepal_readoptions_set_snapshot(options, before); */
#pragma once

#include "sepal/c.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sepal_snapshot_list_t sepal_snapshot_list_t;

/* Both return NULL after an error; to be given to sepal_release_snapshot, which does not drop the name. With
   `expires_after_millis` of 0 the snapshot does not expire. */
SEPAL_C_EXPORT const sepal_snapshot_t* sepal_create_named_snapshot(sepal_t* db, const char* name, size_t namelen,
                                                                   uint64_t expires_after_millis, char** errptr);
SEPAL_C_EXPORT const sepal_snapshot_t* sepal_find_snapshot(sepal_t* db, const char* name, size_t namelen,
                                                           char** errptr);
SEPAL_C_EXPORT void sepal_drop_snapshot(sepal_t* db, const char* name, size_t namelen, char** errptr);

/* All names, sorted; the second also finds the bytes held, and reads tables for that. NULL after an error. */
SEPAL_C_EXPORT sepal_snapshot_list_t* sepal_list_snapshots(sepal_t* db, char** errptr);
SEPAL_C_EXPORT sepal_snapshot_list_t* sepal_list_snapshots_with_bytes(sepal_t* db, char** errptr);
SEPAL_C_EXPORT void sepal_snapshot_list_destroy(sepal_snapshot_list_t* list);
SEPAL_C_EXPORT size_t sepal_snapshot_list_count(const sepal_snapshot_list_t* list);
/* The bytes are valid as long as the list, and a zero follows them. */
SEPAL_C_EXPORT const char* sepal_snapshot_list_name(const sepal_snapshot_list_t* list, size_t index, size_t* namelen);
SEPAL_C_EXPORT uint64_t sepal_snapshot_list_sequence(const sepal_snapshot_list_t* list, size_t index);
/* In milliseconds since 1970; the second is 0 if the snapshot does not expire. */
SEPAL_C_EXPORT uint64_t sepal_snapshot_list_created(const sepal_snapshot_list_t* list, size_t index);
SEPAL_C_EXPORT uint64_t sepal_snapshot_list_expires(const sepal_snapshot_list_t* list, size_t index);
/* About the bytes that are kept for this moment alone; 0 if that was not asked for. */
SEPAL_C_EXPORT uint64_t sepal_snapshot_list_bytes_held(const sepal_snapshot_list_t* list, size_t index);

#ifdef __cplusplus
}
#endif

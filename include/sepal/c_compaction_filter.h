/* Filters of compactions in C (sepal/compaction_filter.h). sepal/c.h has the rules for errors and strings. */
#pragma once

#include "sepal/c.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sepal_purefilter_t sepal_purefilter_t;

/* `keep` returns 0 if the key with that value is absent in that epoch. It is called by many threads at once. */
SEPAL_C_EXPORT sepal_purefilter_t* sepal_purefilter_create(void* state, void (*destructor)(void* state),
                                                           unsigned char (*keep)(void* state, const char* key,
                                                                                 size_t klen, const char* value,
                                                                                 size_t vlen, const char* epoch,
                                                                                 size_t elen),
                                                           const char* (*name)(void* state));
SEPAL_C_EXPORT void sepal_purefilter_destroy(sepal_purefilter_t* filter);

/* The options share the filter: it may be destroyed at any time. */
SEPAL_C_EXPORT void sepal_options_set_compaction_filter(sepal_options_t* options, const sepal_purefilter_t* filter);
/* The default family if `family` is NULL. */
SEPAL_C_EXPORT void sepal_set_filter_epoch(sepal_t* db, sepal_column_family_t* family, const char* epoch, size_t elen,
                                           char** errptr);

/* Filters with context (sepal/context_filter.h). */
typedef enum {
  sepal_verdict_keep = 0,
  sepal_verdict_remove = 1,
  sepal_verdict_change = 2,         /* to the value that sepal_filter_entry_set_bytes gave */
  sepal_verdict_remove_through = 3, /* the key that sepal_filter_entry_set_bytes gave */
  sepal_verdict_fail = 4            /* with sepal_filter_entry_set_error, or the error of sepal_filter_entry_value */
} sepal_filter_verdict_t;

typedef struct sepal_filter_entry_t sepal_filter_entry_t;
/* Valid until `judge` returns. */
SEPAL_C_EXPORT const char* sepal_filter_entry_key(const sepal_filter_entry_t* entry, size_t* klen);
SEPAL_C_EXPORT uint64_t sepal_filter_entry_value_bytes(const sepal_filter_entry_t* entry);
/* NULL if the value could not be read: then return sepal_verdict_fail. */
SEPAL_C_EXPORT const char* sepal_filter_entry_value(sepal_filter_entry_t* entry, size_t* vlen);
/* Milliseconds since 1970; 0: it does not expire. */
SEPAL_C_EXPORT uint64_t sepal_filter_entry_expires_at(const sepal_filter_entry_t* entry);
SEPAL_C_EXPORT void sepal_filter_entry_set_bytes(sepal_filter_entry_t* entry, const char* bytes, size_t size);
SEPAL_C_EXPORT void sepal_filter_entry_set_error(sepal_filter_entry_t* entry, const char* message);

/* For the default family of these options. `judge` is called by several threads at once, each with entries in key
   order; `destructor` frees `state` once neither options nor databases need it. */
SEPAL_C_EXPORT void sepal_options_set_context_filter(
    sepal_options_t* options, void* state, void (*destructor)(void* state),
    sepal_filter_verdict_t (*judge)(void* state, int output_level, unsigned char last_level, unsigned char manual,
                                    sepal_filter_entry_t* entry));

#ifdef __cplusplus
}
#endif

/* Filters of compactions in C (sepal/compaction_filter.h). sepal/c.h has the rules for errors and strings. */
#pragma once

#include "sepal/c.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sepal_purefilter_t sepal_purefilter_t;

/* `keep` returns 0 where the key with that value is not there in that epoch. It is called by many threads at once. */
SEPAL_C_EXPORT sepal_purefilter_t* sepal_purefilter_create(
    void* state, void (*destructor)(void* state),
    unsigned char (*keep)(void* state, const char* key, size_t klen, const char* value, size_t vlen, const char* epoch,
                          size_t elen),
    const char* (*name)(void* state));
SEPAL_C_EXPORT void sepal_purefilter_destroy(sepal_purefilter_t* filter);

/* The options share the filter: it may be destroyed at any time. */
SEPAL_C_EXPORT void sepal_options_set_compaction_filter(sepal_options_t* options, const sepal_purefilter_t* filter);
/* The default family if `family` is NULL. */
SEPAL_C_EXPORT void sepal_set_filter_epoch(sepal_t* db, sepal_column_family_t* family, const char* epoch, size_t elen,
                                           char** errptr);

#ifdef __cplusplus
}
#endif

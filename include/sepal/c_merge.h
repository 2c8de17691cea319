/* Merge operators in C (sepal/merge_operator.h). sepal/c.h has the calls that use them, and the rules for errors,
   strings and structs. */
#pragma once

#include "sepal/c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `merge` returns the value in memory from malloc, which the library frees, and its size in `*size`; NULL if the
   operands cannot be merged. `base` is NULL if there is no value; operands come oldest first. `combine` makes one
   operand of several in the same way; it may be NULL, and return NULL. */
SEPAL_C_EXPORT sepal_mergeoperator_t* sepal_mergeoperator_create(
    void* state, void (*destructor)(void* state),
    char* (*merge)(void* state, const char* key, size_t klen, const char* base, size_t blen,
                   const char* const* operands, const size_t* operand_sizes, size_t count, size_t* size),
    char* (*combine)(void* state, const char* key, size_t klen, const char* const* operands,
                     const size_t* operand_sizes, size_t count, size_t* size),
    const char* (*name)(void* state));
SEPAL_C_EXPORT sepal_mergeoperator_t* sepal_mergeoperator_create_add64(void);
SEPAL_C_EXPORT sepal_mergeoperator_t* sepal_mergeoperator_create_append(const char* separator, size_t size);
SEPAL_C_EXPORT sepal_mergeoperator_t* sepal_mergeoperator_create_max(void);
SEPAL_C_EXPORT sepal_mergeoperator_t* sepal_mergeoperator_create_min(void);
SEPAL_C_EXPORT sepal_mergeoperator_t* sepal_mergeoperator_create_json_merge_patch(void);
/* Returns NULL if no built-in operator has that name. */
SEPAL_C_EXPORT sepal_mergeoperator_t* sepal_mergeoperator_create_by_name(const char* name, size_t size);
SEPAL_C_EXPORT void sepal_mergeoperator_destroy(sepal_mergeoperator_t* merge);

#ifdef __cplusplus
}
#endif

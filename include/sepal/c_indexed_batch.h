/* Batches that are read over a database before they are written, in C: sepal/indexed_batch.h says what they promise and
   cost, and sepal/c.h has the rules for errors, strings and structs.

     sepal_indexedbatch_t* batch = sepal_indexedbatch_create(db);
     sepal_indexedbatch_put(batch, NULL, key, keylen, val, vallen, &error);
     char* value = sepal_indexedbatch_get(batch, read_options, NULL, key, keylen, &vallen, &error);
     sepal_write_indexedbatch(db, write_options, batch, &error);
     sepal_indexedbatch_destroy(batch);

   A family of NULL is the default one. A batch may outlive its database: calls then fail, but it must still be
   destroyed. */
#pragma once

#include "sepal/c.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sepal_indexedbatch_t sepal_indexedbatch_t;

SEPAL_C_EXPORT sepal_indexedbatch_t* sepal_indexedbatch_create(sepal_t* db);
SEPAL_C_EXPORT void sepal_indexedbatch_destroy(sepal_indexedbatch_t* batch);
SEPAL_C_EXPORT void sepal_indexedbatch_clear(sepal_indexedbatch_t* batch);
/* DB::Write of the batch's updates. The batch stays as it is. */
SEPAL_C_EXPORT void sepal_write_indexedbatch(sepal_t* db, const sepal_writeoptions_t* options,
                                             const sepal_indexedbatch_t* batch, char** errptr);
SEPAL_C_EXPORT uint32_t sepal_indexedbatch_count(const sepal_indexedbatch_t* batch);
SEPAL_C_EXPORT size_t sepal_indexedbatch_byte_size(const sepal_indexedbatch_t* batch);
SEPAL_C_EXPORT size_t sepal_indexedbatch_memory_bytes(const sepal_indexedbatch_t* batch);

SEPAL_C_EXPORT void sepal_indexedbatch_put(sepal_indexedbatch_t* batch, sepal_column_family_t* family, const char* key,
                                           size_t keylen, const char* val, size_t vallen, char** errptr);
/* The key expires at that time, in milliseconds since 1970, or that many milliseconds from now. */
SEPAL_C_EXPORT void sepal_indexedbatch_put_expiring(sepal_indexedbatch_t* batch, sepal_column_family_t* family,
                                                    const char* key, size_t keylen, const char* val, size_t vallen,
                                                    uint64_t expires_at, char** errptr);
SEPAL_C_EXPORT void sepal_indexedbatch_put_with_ttl(sepal_indexedbatch_t* batch, sepal_column_family_t* family,
                                                    const char* key, size_t keylen, const char* val, size_t vallen,
                                                    int64_t ttl_millis, char** errptr);
SEPAL_C_EXPORT void sepal_indexedbatch_delete(sepal_indexedbatch_t* batch, sepal_column_family_t* family,
                                              const char* key, size_t keylen, char** errptr);
SEPAL_C_EXPORT void sepal_indexedbatch_singledelete(sepal_indexedbatch_t* batch, sepal_column_family_t* family,
                                                    const char* key, size_t keylen, char** errptr);
SEPAL_C_EXPORT void sepal_indexedbatch_merge(sepal_indexedbatch_t* batch, sepal_column_family_t* family,
                                             const char* key, size_t keylen, const char* operand, size_t operandlen,
                                             char** errptr);
/* An `end` of NULL: up to the last key. */
SEPAL_C_EXPORT void sepal_indexedbatch_delete_range(sepal_indexedbatch_t* batch, sepal_column_family_t* family,
                                                    const char* begin, size_t beginlen, const char* end, size_t endlen,
                                                    char** errptr);
SEPAL_C_EXPORT void sepal_indexedbatch_set_savepoint(sepal_indexedbatch_t* batch);
SEPAL_C_EXPORT void sepal_indexedbatch_rollback_to_savepoint(sepal_indexedbatch_t* batch, char** errptr);

/* NULL for an absent key and after an error; to be freed with sepal_free. */
SEPAL_C_EXPORT char* sepal_indexedbatch_get(const sepal_indexedbatch_t* batch, const sepal_readoptions_t* options,
                                            sepal_column_family_t* family, const char* key, size_t keylen,
                                            size_t* vallen, char** errptr);
/* As sepal_multi_get. */
SEPAL_C_EXPORT void sepal_indexedbatch_multi_get(const sepal_indexedbatch_t* batch, const sepal_readoptions_t* options,
                                                 sepal_column_family_t* family, size_t num_keys,
                                                 const char* const* keys, const size_t* keylens, char** values,
                                                 size_t* vallens, char** errs);
SEPAL_C_EXPORT sepal_iterator_t* sepal_indexedbatch_create_iterator(const sepal_indexedbatch_t* batch,
                                                                    const sepal_readoptions_t* options,
                                                                    sepal_column_family_t* family);

#ifdef __cplusplus
}
#endif

/* Transactions, and writes with conditions, in C: sepal/transaction.h and sepal/write_conditions.h say what they
   promise and cost, and sepal/c.h has the rules for errors, strings and structs.

     sepal_transaction_t* txn =
         sepal_begin_transaction(db, sepal_isolation_serializable, sepal_locking_optimistic, 1000, &error);
     char* value = sepal_transaction_get(txn, read_options, NULL, key, keylen, &vallen, &error);
     sepal_transaction_put(txn, NULL, key, keylen, changed, changedlen, &error);
     sepal_transaction_commit(txn, write_options, &error);
     sepal_transaction_destroy(txn);

   An error that begins with "ABORTED" means that the transaction was rolled back and can be run again;
   sepal_run_transaction does that. A family of NULL is the default one. */
#pragma once

#include "sepal/c.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sepal_transaction_t sepal_transaction_t;
typedef struct sepal_prepared_list_t sepal_prepared_list_t;
typedef struct sepal_writeconditions_t sepal_writeconditions_t;

enum { sepal_isolation_snapshot = 0, sepal_isolation_serializable = 1 };
enum { sepal_locking_optimistic = 0, sepal_locking_pessimistic = 1 };

/* NULL after an error. */
SEPAL_C_EXPORT sepal_transaction_t* sepal_begin_transaction(sepal_t* db, int isolation, int locking,
                                                            uint64_t lock_timeout_millis, char** errptr);
/* Rolls back unless it was committed, or is prepared. */
SEPAL_C_EXPORT void sepal_transaction_destroy(sepal_transaction_t* txn);
/* Calls `body` with a transaction, and commits it unless `body` has set `*errptr`. Starts again from the beginning
   while either fails with ABORTED. */
SEPAL_C_EXPORT void sepal_run_transaction(sepal_t* db, int isolation, int locking, uint64_t lock_timeout_millis,
                                          void (*body)(void* state, sepal_transaction_t* txn, char** errptr),
                                          void* state, const sepal_writeoptions_t* options, char** errptr);
SEPAL_C_EXPORT void sepal_transaction_commit(sepal_transaction_t* txn, const sepal_writeoptions_t* options,
                                             char** errptr);
SEPAL_C_EXPORT void sepal_transaction_rollback(sepal_transaction_t* txn, char** errptr);
SEPAL_C_EXPORT void sepal_transaction_set_savepoint(sepal_transaction_t* txn, char** errptr);
SEPAL_C_EXPORT void sepal_transaction_rollback_to_savepoint(sepal_transaction_t* txn, char** errptr);
/* The first phase of two: Transaction::Prepare. */
SEPAL_C_EXPORT void sepal_transaction_prepare(sepal_transaction_t* txn, const char* name, size_t namelen,
                                              char** errptr);
/* A prepared transaction, to be committed or rolled back. NULL after an error. */
SEPAL_C_EXPORT sepal_transaction_t* sepal_find_prepared(sepal_t* db, const char* name, size_t namelen, char** errptr);
/* All prepared transactions, in the order of their names. NULL after an error. */
SEPAL_C_EXPORT sepal_prepared_list_t* sepal_prepared_transactions(sepal_t* db, char** errptr);
SEPAL_C_EXPORT void sepal_prepared_list_destroy(sepal_prepared_list_t* list);
SEPAL_C_EXPORT size_t sepal_prepared_list_count(const sepal_prepared_list_t* list);
/* The bytes are valid as long as the list, and a zero follows them. */
SEPAL_C_EXPORT const char* sepal_prepared_list_name(const sepal_prepared_list_t* list, size_t index, size_t* namelen);
/* When it was prepared, in milliseconds since 1970. */
SEPAL_C_EXPORT uint64_t sepal_prepared_list_prepared(const sepal_prepared_list_t* list, size_t index);
SEPAL_C_EXPORT uint32_t sepal_prepared_list_updates(const sepal_prepared_list_t* list, size_t index);
SEPAL_C_EXPORT uint64_t sepal_prepared_list_bytes(const sepal_prepared_list_t* list, size_t index);
SEPAL_C_EXPORT uint64_t sepal_prepared_list_locks(const sepal_prepared_list_t* list, size_t index);
SEPAL_C_EXPORT uint64_t sepal_transaction_id(const sepal_transaction_t* txn);
SEPAL_C_EXPORT uint32_t sepal_transaction_count(const sepal_transaction_t* txn);

/* Return NULL for an absent key and after an error; to be freed with sepal_free. */
SEPAL_C_EXPORT char* sepal_transaction_get(sepal_transaction_t* txn, const sepal_readoptions_t* options,
                                           sepal_column_family_t* family, const char* key, size_t keylen,
                                           size_t* vallen, char** errptr);
SEPAL_C_EXPORT char* sepal_transaction_get_for_update(sepal_transaction_t* txn, const sepal_readoptions_t* options,
                                                      sepal_column_family_t* family, const char* key, size_t keylen,
                                                      size_t* vallen, char** errptr);
SEPAL_C_EXPORT char* sepal_transaction_get_for_share(sepal_transaction_t* txn, const sepal_readoptions_t* options,
                                                     sepal_column_family_t* family, const char* key, size_t keylen,
                                                     size_t* vallen, char** errptr);
/* As sepal_multi_get. */
SEPAL_C_EXPORT void sepal_transaction_multi_get(sepal_transaction_t* txn, const sepal_readoptions_t* options,
                                                sepal_column_family_t* family, size_t num_keys, const char* const* keys,
                                                const size_t* keylens, char** values, size_t* vallens, char** errs);
SEPAL_C_EXPORT sepal_iterator_t* sepal_transaction_create_iterator(sepal_transaction_t* txn,
                                                                   const sepal_readoptions_t* options,
                                                                   sepal_column_family_t* family);
SEPAL_C_EXPORT void sepal_transaction_put(sepal_transaction_t* txn, sepal_column_family_t* family, const char* key,
                                          size_t keylen, const char* val, size_t vallen, char** errptr);
/* The key expires at that time, in milliseconds since 1970, or that many milliseconds from now. */
SEPAL_C_EXPORT void sepal_transaction_put_expiring(sepal_transaction_t* txn, sepal_column_family_t* family,
                                                   const char* key, size_t keylen, const char* val, size_t vallen,
                                                   uint64_t expires_at, char** errptr);
SEPAL_C_EXPORT void sepal_transaction_put_with_ttl(sepal_transaction_t* txn, sepal_column_family_t* family,
                                                   const char* key, size_t keylen, const char* val, size_t vallen,
                                                   int64_t ttl_millis, char** errptr);
SEPAL_C_EXPORT void sepal_transaction_delete(sepal_transaction_t* txn, sepal_column_family_t* family, const char* key,
                                             size_t keylen, char** errptr);
SEPAL_C_EXPORT void sepal_transaction_singledelete(sepal_transaction_t* txn, sepal_column_family_t* family,
                                                   const char* key, size_t keylen, char** errptr);
SEPAL_C_EXPORT void sepal_transaction_merge(sepal_transaction_t* txn, sepal_column_family_t* family, const char* key,
                                            size_t keylen, const char* operand, size_t operandlen, char** errptr);
/* An `end` of NULL: up to the last key. */
SEPAL_C_EXPORT void sepal_transaction_delete_range(sepal_transaction_t* txn, sepal_column_family_t* family,
                                                   const char* begin, size_t beginlen, const char* end, size_t endlen,
                                                   char** errptr);

SEPAL_C_EXPORT sepal_writeconditions_t* sepal_writeconditions_create(void);
SEPAL_C_EXPORT void sepal_writeconditions_destroy(sepal_writeconditions_t* conditions);
SEPAL_C_EXPORT void sepal_writeconditions_clear(sepal_writeconditions_t* conditions);
/* The handle must live as long as the conditions are used. */
SEPAL_C_EXPORT void sepal_writeconditions_absent(sepal_writeconditions_t* conditions, sepal_column_family_t* family,
                                                 const char* key, size_t keylen);
SEPAL_C_EXPORT void sepal_writeconditions_present(sepal_writeconditions_t* conditions, sepal_column_family_t* family,
                                                  const char* key, size_t keylen);
SEPAL_C_EXPORT void sepal_writeconditions_equals(sepal_writeconditions_t* conditions, sepal_column_family_t* family,
                                                 const char* key, size_t keylen, const char* val, size_t vallen);

/* All return whether something was written; 0 after an error too. */
SEPAL_C_EXPORT unsigned char sepal_write_if(sepal_t* db, const sepal_writeoptions_t* options,
                                            const sepal_writeconditions_t* conditions, const sepal_writebatch_t* batch,
                                            char** errptr);
SEPAL_C_EXPORT unsigned char sepal_put_if_absent(sepal_t* db, const sepal_writeoptions_t* options,
                                                 sepal_column_family_t* family, const char* key, size_t keylen,
                                                 const char* val, size_t vallen, char** errptr);
/* `expected` NULL: the key is absent. `desired` NULL: it is deleted. An empty value is a pointer with length 0. */
SEPAL_C_EXPORT unsigned char sepal_compare_and_set(sepal_t* db, const sepal_writeoptions_t* options,
                                                   sepal_column_family_t* family, const char* key, size_t keylen,
                                                   const char* expected, size_t expectedlen, const char* desired,
                                                   size_t desiredlen, char** errptr);
SEPAL_C_EXPORT unsigned char sepal_delete_if(sepal_t* db, const sepal_writeoptions_t* options,
                                             sepal_column_family_t* family, const char* key, size_t keylen,
                                             const char* expected, size_t expectedlen, char** errptr);

#ifdef __cplusplus
}
#endif

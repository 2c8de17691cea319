/* Filters and sketches in C: sepal/filter.h as one opaque type of any kind. The headers in sepal/filter/ say what each
   kind promises and costs, and sepal/c.h has the rules for errors, strings and structs.

     char* error = NULL;
     sepal_filter_t* filter = sepal_filter_create_bloom(sepal_filter_blocked_bloom, 1000000, 0.001, 0, &error);
     sepal_filter_add(filter, key, keylen, &error);
     if (sepal_filter_may_contain(filter, guess, guesslen, &error)) ask_the_server(guess, guesslen);
     sepal_filter_destroy(filter);

   They need no database: a program that uses only this header, without its last three calls, links sepal_filter
   (pkg-config sepal-filter, CMake's sepal::filter) in place of the engine. A call that a kind does not have fails with
   INVALID_ARGUMENT. A filter is used by one thread at a time while it is changed. */
#pragma once

#include "sepal/c.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sepal_filter_t sepal_filter_t;

/* The kinds, as the file format numbers them. */
enum {
  sepal_filter_classic_bloom = 1,
  sepal_filter_blocked_bloom = 2,
  sepal_filter_partitioned_bloom = 3,
  sepal_filter_counting_bloom = 4,
  sepal_filter_ageing = 5,
  sepal_filter_two_generations = 6,
  sepal_filter_scalable_bloom = 7,
  sepal_filter_fingerprint_table = 8,
  sepal_filter_static = 9,
  sepal_filter_count_min = 10,
  sepal_filter_hyperloglog = 11
};

/* All return NULL after an error. `keys` is the capacity, `rate` the rate of false positives, in (0, 1). Kind: classic,
   blocked or partitioned Bloom. */
SEPAL_C_EXPORT sepal_filter_t* sepal_filter_create_bloom(int kind, uint64_t keys, double rate, uint64_t seed,
                                                         char** errptr);
/* The same from bits and probes. */
SEPAL_C_EXPORT sepal_filter_t* sepal_filter_create_bloom_of_bits(int kind, uint64_t bits, int probes, uint64_t seed,
                                                                 char** errptr);
/* The smallest shape for a rate (`probes` may be NULL), and the rate of a shape at a number of keys; 0 after an error.
 */
SEPAL_C_EXPORT uint64_t sepal_filter_bits_for(int kind, uint64_t keys, double rate, int* probes, char** errptr);
SEPAL_C_EXPORT double sepal_filter_rate_at(int kind, uint64_t bits, int probes, uint64_t keys);
/* The number of keys that a shape holds at a rate. */
SEPAL_C_EXPORT uint64_t sepal_filter_keys_at(int kind, uint64_t bits, int probes, double rate);
/* The best number of probes for keys in bits; 0 after an error. */
SEPAL_C_EXPORT int sepal_filter_probes_of_bits(int kind, uint64_t keys, uint64_t bits, char** errptr);
/* Counters of 4 or 8 bits. */
SEPAL_C_EXPORT sepal_filter_t* sepal_filter_create_counting(uint64_t keys, double rate, int counter_bits, uint64_t seed,
                                                            char** errptr);
SEPAL_C_EXPORT sepal_filter_t* sepal_filter_create_ageing(uint64_t keys, double rate, uint64_t seed, char** errptr);
SEPAL_C_EXPORT sepal_filter_t* sepal_filter_create_two_generations(uint64_t keys, double rate, uint64_t seed,
                                                                   char** errptr);
SEPAL_C_EXPORT sepal_filter_t* sepal_filter_create_scalable(uint64_t first_keys, double rate, uint64_t seed,
                                                            char** errptr);
/* Fingerprints of 8 or 16 bits. */
SEPAL_C_EXPORT sepal_filter_t* sepal_filter_create_fingerprint_table(uint64_t keys, int fingerprint_bits, uint64_t seed,
                                                                     char** errptr);
SEPAL_C_EXPORT sepal_filter_t* sepal_filter_build_static(size_t num_keys, const char* const* keys,
                                                         const size_t* keylens, int fingerprint_bits, uint64_t seed,
                                                         char** errptr);
/* From sepal_filter_key_hash of each key. */
SEPAL_C_EXPORT sepal_filter_t* sepal_filter_build_from_hashes(size_t num_hashes, const uint64_t* hashes,
                                                              int fingerprint_bits, uint64_t seed, char** errptr);
SEPAL_C_EXPORT sepal_filter_t* sepal_filter_create_for_error(double error, double chance, uint64_t seed, char** errptr);
SEPAL_C_EXPORT sepal_filter_t* sepal_filter_create_hyperloglog(int precision, uint64_t seed, char** errptr);
/* Reads bytes that sepal_filter_serialize returned. `name` appears in errors. */
SEPAL_C_EXPORT sepal_filter_t* sepal_filter_parse_filter(const char* bytes, size_t size, const char* name,
                                                         char** errptr);
SEPAL_C_EXPORT void sepal_filter_destroy(sepal_filter_t* filter);

/* To be freed with sepal_free. */
SEPAL_C_EXPORT char* sepal_filter_serialize(const sepal_filter_t* filter, size_t* size);
/* The plain Bloom filter of a counting one. */
SEPAL_C_EXPORT sepal_filter_t* sepal_filter_to_bloom(const sepal_filter_t* filter, char** errptr);

SEPAL_C_EXPORT uint64_t sepal_filter_key_hash(const char* key, size_t keylen, uint64_t seed);
SEPAL_C_EXPORT void sepal_filter_add(sepal_filter_t* filter, const char* key, size_t keylen, char** errptr);
/* For Bloom filters: a key that was hashed with the filter's seed. */
SEPAL_C_EXPORT void sepal_filter_add_hash(sepal_filter_t* filter, uint64_t hash, char** errptr);
/* 0 is certain, unless there was an error. */
SEPAL_C_EXPORT unsigned char sepal_filter_may_contain(const sepal_filter_t* filter, const char* key, size_t keylen,
                                                      char** errptr);
SEPAL_C_EXPORT unsigned char sepal_filter_may_contain_hash(const sepal_filter_t* filter, uint64_t hash, char** errptr);
/* Sets maybe[i] for keys[i]. For Bloom filters it is faster than single calls. */
SEPAL_C_EXPORT void sepal_filter_may_contain_many(const sepal_filter_t* filter, size_t num_keys,
                                                  const char* const* keys, const size_t* keylens, unsigned char* maybe,
                                                  char** errptr);
/* Returns whether the key was perhaps seen before, and adds it. */
SEPAL_C_EXPORT unsigned char sepal_filter_add_and_test(sepal_filter_t* filter, const char* key, size_t keylen,
                                                       char** errptr);
/* Forgets a share of an ageing filter; of two generations the older one, whatever `share` is. */
SEPAL_C_EXPORT void sepal_filter_age(sepal_filter_t* filter, double share, char** errptr);
/* NOT_FOUND if the key was certainly never added. */
SEPAL_C_EXPORT void sepal_filter_remove(sepal_filter_t* filter, const char* key, size_t keylen, char** errptr);
SEPAL_C_EXPORT uint64_t sepal_filter_estimate_count(const sepal_filter_t* filter, const char* key, size_t keylen,
                                                    char** errptr);
/* FAILED_PRECONDITION for filters of different kinds, parameters or seeds. */
SEPAL_C_EXPORT void sepal_filter_merge(sepal_filter_t* filter, const sepal_filter_t* other, char** errptr);
SEPAL_C_EXPORT void sepal_filter_intersect(sepal_filter_t* filter, const sepal_filter_t* other, char** errptr);

/* sepal/filter/any_filter.h: FilterInfo. */
typedef struct sepal_filter_info_t {
  int kind;
  int probes;
  int width;
  uint64_t seed;
  uint64_t keys;
  uint64_t memory_bytes;
  uint64_t size;
  double estimated_keys;
  double fill;
  double false_positive_rate;
} sepal_filter_info_t;
SEPAL_C_EXPORT void sepal_filter_describe(const sepal_filter_t* filter, sepal_filter_info_t* info, size_t info_size);
/* For example "blocked"; empty for an unknown kind. Not to be freed. */
SEPAL_C_EXPORT const char* sepal_filter_name_of(int kind);

/* The keys of a database: DB::ExportFilter and DB::ApproximateDistinct (sepal/db.h), of the default family if `family`
   is NULL. NULL and 0 after an error. `kind`: classic, blocked or partitioned Bloom. A start_key and a limit_key of
   NULL mean no bounds; if one is NULL, both must be. */
SEPAL_C_EXPORT sepal_filter_t* sepal_export_filter(sepal_t* db, const sepal_readoptions_t* options,
                                                   sepal_column_family_t* family, int kind, double rate, uint64_t seed,
                                                   char** errptr);
SEPAL_C_EXPORT double sepal_approximate_distinct(sepal_t* db, sepal_column_family_t* family, const char* start_key,
                                                 size_t start_key_len, const char* limit_key, size_t limit_key_len,
                                                 char** errptr);
/* Keys that the filter says are absent are left out of scans and multi-gets (ReadOptions::key_filter); NULL: none. The
   filter must outlive the options, and both must outlive the iterators that were made with them; it must not change
   meanwhile. Fails for sketches, which contain no keys: count-min and HyperLogLog. */
SEPAL_C_EXPORT void sepal_readoptions_set_key_filter(sepal_readoptions_t* options, const sepal_filter_t* filter,
                                                     char** errptr);

#ifdef __cplusplus
}
#endif

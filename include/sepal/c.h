/* Sepal's C interface, for C and for every language that can call C. It has the shape of LevelDB's leveldb/c.h, with
   sepal_ for leveldb_; docs/guide/migration.md lists the few functions that differ or are missing.

     char* error = NULL;
     sepal_options_t* options = sepal_options_create();
     sepal_options_set_create_if_missing(options, 1);
     sepal_t* db = sepal_open(options, "/var/lib/app", &error);
     if (error != NULL) { ...; sepal_free(error); }

   Rules:
   - Objects are opaque. The result of a function named ..._create or sepal_open must be given to its ..._destroy
     function, or to sepal_close. Calls copy the options and batches that they take; comparators, listeners and filter
     policies must outlive what was opened with them, unless stated otherwise.
   - Functions that can fail take `char** errptr`. On failure they set it to a new string "CODE: message" (the codes are
     those of absl::Status: NOT_FOUND, DATA_LOSS, ...), to be freed with sepal_free; a string that it held before is
     freed first. On success they leave it unchanged. Initialise it to NULL.
   - Keys and values are a pointer and a length. A result of type char* must be freed with sepal_free, unless it is
     const.
   - Booleans are unsigned char: 0 is false, everything else is true.
   - NULL is allowed for a column family handle (the default family), for a key, value or bound of length 0, for a
     snapshot (as of now), for an env (the system's), for callbacks and arguments where this file says so, and for the
     argument of a ..._destroy function, sepal_close, sepal_release_snapshot or sepal_free (which then do nothing).
     `errptr` and all other pointers must not be NULL.
   - Later versions may append members to a struct. A function that takes a struct therefore also takes its size,
     `sizeof` as the caller's compiler knows it: nothing beyond that is read or written, and members that one side does
     not know are zero for the other. Structs that are passed to a callback begin with all the members that they have
     here.
   - Calls on a database, snapshots and handles are safe from any thread; an iterator or a batch is used by one thread
     at a time.

   sepal/c_file_system.h is for user-provided file systems. The C interface covers the whole public interface. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SEPAL_C_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sepal_t sepal_t;
typedef struct sepal_column_family_t sepal_column_family_t;
typedef struct sepal_comparator_t sepal_comparator_t;
typedef struct sepal_mergeoperator_t sepal_mergeoperator_t;
typedef struct sepal_env_t sepal_env_t;
typedef struct sepal_explanation_t sepal_explanation_t;
typedef struct sepal_filterpolicy_t sepal_filterpolicy_t;
typedef struct sepal_iterator_t sepal_iterator_t;
typedef struct sepal_options_t sepal_options_t;
typedef struct sepal_perfcontext_t sepal_perfcontext_t;
typedef struct sepal_pinned_value_t sepal_pinned_value_t;
typedef struct sepal_readoptions_t sepal_readoptions_t;
typedef struct sepal_repair_report_t sepal_repair_report_t;
typedef struct sepal_snapshot_t sepal_snapshot_t;
typedef struct sepal_writebatch_t sepal_writebatch_t;
typedef struct sepal_writeoptions_t sepal_writeoptions_t;

#define SEPAL_MAX_KEY_BYTES ((size_t)16 << 20)
#define SEPAL_MAX_VALUE_BYTES ((size_t)1 << 30)
#define SEPAL_MAX_LEVELS 8

/* --- the database --- */

SEPAL_C_EXPORT sepal_t* sepal_open(const sepal_options_t* options, const char* name, char** errptr);
/* Ignores errors. Iterators, snapshots and handles may outlive the database: calls with them then fail. */
SEPAL_C_EXPORT void sepal_close(sepal_t* db);
/* The same; reports the first error. */
SEPAL_C_EXPORT void sepal_close_with_error(sepal_t* db, char** errptr);
SEPAL_C_EXPORT void sepal_destroy_db(const sepal_options_t* options, const char* name, char** errptr);
/* Restores a damaged database, which must not be open, from what can still be read. Returns a text that says what was
   done and dropped, to be freed with sepal_free; NULL after an error. */
SEPAL_C_EXPORT char* sepal_repair_db(const sepal_options_t* options, const char* name, char** errptr);
/* Returns the text that says what a repair would do and drop; changes nothing. */
SEPAL_C_EXPORT char* sepal_repair_db_dry_run(const sepal_options_t* options, const char* name, char** errptr);

SEPAL_C_EXPORT void sepal_put(sepal_t* db, const sepal_writeoptions_t* options, const char* key, size_t keylen,
                              const char* val, size_t vallen, char** errptr);
SEPAL_C_EXPORT void sepal_put_cf(sepal_t* db, const sepal_writeoptions_t* options, sepal_column_family_t* family,
                                 const char* key, size_t keylen, const char* val, size_t vallen, char** errptr);
SEPAL_C_EXPORT void sepal_delete(sepal_t* db, const sepal_writeoptions_t* options, const char* key, size_t keylen,
                                 char** errptr);
SEPAL_C_EXPORT void sepal_delete_cf(sepal_t* db, const sepal_writeoptions_t* options, sepal_column_family_t* family,
                                    const char* key, size_t keylen, char** errptr);
/* Deletes a key that was put exactly once since its last single deletion. */
SEPAL_C_EXPORT void sepal_singledelete(sepal_t* db, const sepal_writeoptions_t* options, const char* key, size_t keylen,
                                       char** errptr);
SEPAL_C_EXPORT void sepal_singledelete_cf(sepal_t* db, const sepal_writeoptions_t* options,
                                          sepal_column_family_t* family, const char* key, size_t keylen, char** errptr);
SEPAL_C_EXPORT void sepal_merge(sepal_t* db, const sepal_writeoptions_t* options, const char* key, size_t keylen,
                                const char* operand, size_t operandlen, char** errptr);
SEPAL_C_EXPORT void sepal_merge_cf(sepal_t* db, const sepal_writeoptions_t* options, sepal_column_family_t* family,
                                   const char* key, size_t keylen, const char* operand, size_t operandlen,
                                   char** errptr);
/* Deletes all keys in [begin, end); `end` NULL: up to the last key. */
SEPAL_C_EXPORT void sepal_delete_range(sepal_t* db, const sepal_writeoptions_t* options, const char* begin, size_t blen,
                                       const char* end, size_t elen, char** errptr);
SEPAL_C_EXPORT void sepal_delete_range_cf(sepal_t* db, const sepal_writeoptions_t* options,
                                          sepal_column_family_t* family, const char* begin, size_t blen,
                                          const char* end, size_t elen, char** errptr);
SEPAL_C_EXPORT void sepal_write(sepal_t* db, const sepal_writeoptions_t* options, sepal_writebatch_t* batch,
                                char** errptr);

/* Returns NULL if the key does not exist (which is no error) or after an error; otherwise the value, to be freed with
   sepal_free. */
SEPAL_C_EXPORT char* sepal_get(sepal_t* db, const sepal_readoptions_t* options, const char* key, size_t keylen,
                               size_t* vallen, char** errptr);
SEPAL_C_EXPORT char* sepal_get_cf(sepal_t* db, const sepal_readoptions_t* options, sepal_column_family_t* family,
                                  const char* key, size_t keylen, size_t* vallen, char** errptr);
/* The same without a copy; the value is valid until sepal_pinned_value_destroy. */
SEPAL_C_EXPORT sepal_pinned_value_t* sepal_get_pinned(sepal_t* db, const sepal_readoptions_t* options,
                                                      sepal_column_family_t* family, const char* key, size_t keylen,
                                                      char** errptr);
SEPAL_C_EXPORT const char* sepal_pinned_value(const sepal_pinned_value_t* value, size_t* vallen);
SEPAL_C_EXPORT void sepal_pinned_value_destroy(sepal_pinned_value_t* value);
/* Reads all keys as of one moment. values[i] is NULL if the key does not exist or failed, errs[i] is NULL if it did not
   fail; free both with sepal_free. */
SEPAL_C_EXPORT void sepal_multi_get(sepal_t* db, const sepal_readoptions_t* options, sepal_column_family_t* family,
                                    size_t num_keys, const char* const* keys, const size_t* keylens, char** values,
                                    size_t* vallens, char** errs);
/* 0 means certainly absent; reads only memory. */
SEPAL_C_EXPORT unsigned char sepal_key_may_exist(sepal_t* db, const sepal_readoptions_t* options,
                                                 sepal_column_family_t* family, const char* key, size_t keylen);

SEPAL_C_EXPORT sepal_iterator_t* sepal_create_iterator(sepal_t* db, const sepal_readoptions_t* options);
SEPAL_C_EXPORT sepal_iterator_t* sepal_create_iterator_cf(sepal_t* db, const sepal_readoptions_t* options,
                                                          sepal_column_family_t* family);
SEPAL_C_EXPORT const sepal_snapshot_t* sepal_create_snapshot(sepal_t* db);
SEPAL_C_EXPORT void sepal_release_snapshot(sepal_t* db, const sepal_snapshot_t* snapshot);
SEPAL_C_EXPORT uint64_t sepal_snapshot_sequence(const sepal_snapshot_t* snapshot);

/* Returns NULL for an unknown property (sepal/properties.h lists the names). To be freed with sepal_free. */
SEPAL_C_EXPORT char* sepal_property_value(sepal_t* db, const char* propname);
SEPAL_C_EXPORT char* sepal_property_value_cf(sepal_t* db, sepal_column_family_t* family, const char* propname);
SEPAL_C_EXPORT void sepal_approximate_sizes(sepal_t* db, sepal_column_family_t* family, int num_ranges,
                                            const char* const* range_start_key, const size_t* range_start_key_len,
                                            const char* const* range_limit_key, const size_t* range_limit_key_len,
                                            uint64_t* sizes, char** errptr);
/* A null key stands for the first or the last key. */
SEPAL_C_EXPORT void sepal_compact_range(sepal_t* db, const char* start_key, size_t start_key_len, const char* limit_key,
                                        size_t limit_key_len, char** errptr);
SEPAL_C_EXPORT void sepal_compact_range_cf(sepal_t* db, sepal_column_family_t* family, const char* start_key,
                                           size_t start_key_len, const char* limit_key, size_t limit_key_len,
                                           char** errptr);
/* With progress (sepal/options.h: CompactionProgress); seconds_left is negative while unknown. `progress` returns 0 to
   end the call with CANCELLED. It is called by any thread of the database, one at a time. */
SEPAL_C_EXPORT void sepal_compact_range_with_progress(
    sepal_t* db, sepal_column_family_t* family, const char* start_key, size_t start_key_len, const char* limit_key,
    size_t limit_key_len, void* state,
    unsigned char (*progress)(void* state, uint64_t bytes_done, uint64_t bytes_total, double seconds_left),
    char** errptr);
/* Compacts only tables that deleted ranges cover (sepal/options.h: CompactRangeOptions::covered_only). */
SEPAL_C_EXPORT void sepal_compact_range_covered_only(sepal_t* db, sepal_column_family_t* family, const char* start_key,
                                                     size_t start_key_len, const char* limit_key, size_t limit_key_len,
                                                     char** errptr);
/* Calls are counted; sepal/db.h says what is paused. */
SEPAL_C_EXPORT void sepal_pause_background_work(sepal_t* db, char** errptr);
SEPAL_C_EXPORT void sepal_continue_background_work(sepal_t* db, char** errptr);
SEPAL_C_EXPORT void sepal_accept_clock(sepal_t* db, char** errptr);
SEPAL_C_EXPORT void sepal_flush(sepal_t* db, sepal_column_family_t* family, unsigned char wait, char** errptr);
SEPAL_C_EXPORT void sepal_sync(sepal_t* db, char** errptr);
SEPAL_C_EXPORT void sepal_wait_for_background_work(sepal_t* db, char** errptr);
SEPAL_C_EXPORT void sepal_catch_up(sepal_t* db, char** errptr);
SEPAL_C_EXPORT void sepal_checkpoint(sepal_t* db, const char* directory, char** errptr);
/* `base`: an earlier checkpoint to share tables with (NULL: none); without link_tables an incremental backup. */
SEPAL_C_EXPORT void sepal_checkpoint_from(sepal_t* db, const char* directory, const char* base,
                                          unsigned char link_tables, unsigned char verify, char** errptr);
/* The same; `progress`, unless NULL, is called after each table with the bytes done so far. */
SEPAL_C_EXPORT void sepal_checkpoint_with_progress(
    sepal_t* db, const char* directory, const char* base, unsigned char link_tables, unsigned char verify, void* state,
    void (*progress)(void* state, uint64_t done_bytes, uint64_t total_bytes), char** errptr);
SEPAL_C_EXPORT void sepal_check_consistency(sepal_t* db, char** errptr);
SEPAL_C_EXPORT void sepal_verify_checksums(sepal_t* db, char** errptr);
/* The same; `progress` is called before the first table and after each one, and ends the call by returning 0; `damage`
   is called for each damaged table or value. Either may be NULL. */
SEPAL_C_EXPORT void sepal_verify_checksums_with_progress(
    sepal_t* db, void* state,
    unsigned char (*progress)(void* state, uint64_t tables_done, uint64_t tables, uint64_t bytes_done, uint64_t bytes),
    void (*damage)(void* state, const char* message), char** errptr);
/* Explains how a lookup finds its answer, as text to be freed with sepal_free; in parts: sepal_explanation_create. */
SEPAL_C_EXPORT char* sepal_explain_get(sepal_t* db, const sepal_readoptions_t* options, sepal_column_family_t* family,
                                       const char* key, size_t keylen, char** errptr);

/* --- column families --- */

/* Returns *lencf names; sepal_list_column_families_destroy frees the names and the list. */
SEPAL_C_EXPORT char** sepal_list_column_families(const sepal_options_t* options, const char* name, size_t* lencf,
                                                 char** errptr);
/* The same for an open database. */
SEPAL_C_EXPORT char** sepal_column_family_names(sepal_t* db, size_t* lencf);
SEPAL_C_EXPORT void sepal_list_column_families_destroy(char** list, size_t len);
/* Returns a handle, to be given to sepal_column_family_handle_destroy. Only those of `family_options` that concern a
   family are used; NULL: the defaults. */
SEPAL_C_EXPORT sepal_column_family_t* sepal_create_column_family(sepal_t* db, const sepal_options_t* family_options,
                                                                 const char* name, char** errptr);
SEPAL_C_EXPORT sepal_column_family_t* sepal_find_column_family(sepal_t* db, const char* name, char** errptr);
SEPAL_C_EXPORT void sepal_drop_column_family(sepal_t* db, sepal_column_family_t* family, char** errptr);
/* Valid as long as the handle. */
SEPAL_C_EXPORT const char* sepal_column_family_name(const sepal_column_family_t* family, size_t* namelen);
SEPAL_C_EXPORT uint32_t sepal_column_family_id(const sepal_column_family_t* family);
SEPAL_C_EXPORT void sepal_column_family_handle_destroy(sepal_column_family_t* family);

/* --- iterators --- */

SEPAL_C_EXPORT void sepal_iter_destroy(sepal_iterator_t* iter);
SEPAL_C_EXPORT unsigned char sepal_iter_valid(const sepal_iterator_t* iter);
SEPAL_C_EXPORT void sepal_iter_seek_to_first(sepal_iterator_t* iter);
SEPAL_C_EXPORT void sepal_iter_seek_to_last(sepal_iterator_t* iter);
SEPAL_C_EXPORT void sepal_iter_seek(sepal_iterator_t* iter, const char* k, size_t klen);
SEPAL_C_EXPORT void sepal_iter_seek_for_prev(sepal_iterator_t* iter, const char* k, size_t klen);
SEPAL_C_EXPORT void sepal_iter_next(sepal_iterator_t* iter);
SEPAL_C_EXPORT void sepal_iter_prev(sepal_iterator_t* iter);
/* Valid until the iterator moves or is destroyed. */
SEPAL_C_EXPORT const char* sepal_iter_key(const sepal_iterator_t* iter, size_t* klen);
SEPAL_C_EXPORT const char* sepal_iter_value(const sepal_iterator_t* iter, size_t* vlen);
SEPAL_C_EXPORT void sepal_iter_get_error(const sepal_iterator_t* iter, char** errptr);

/* --- batches --- */

SEPAL_C_EXPORT sepal_writebatch_t* sepal_writebatch_create(void);
/* Makes a batch of the bytes of sepal_writebatch_data. */
SEPAL_C_EXPORT sepal_writebatch_t* sepal_writebatch_create_from(const char* data, size_t size, char** errptr);
SEPAL_C_EXPORT void sepal_writebatch_destroy(sepal_writebatch_t* batch);
SEPAL_C_EXPORT void sepal_writebatch_clear(sepal_writebatch_t* batch);
SEPAL_C_EXPORT uint32_t sepal_writebatch_count(const sepal_writebatch_t* batch);
SEPAL_C_EXPORT void sepal_writebatch_put(sepal_writebatch_t* batch, const char* key, size_t klen, const char* val,
                                         size_t vlen);
SEPAL_C_EXPORT void sepal_writebatch_put_expiring(sepal_writebatch_t* batch, sepal_column_family_t* family,
                                                  const char* key, size_t klen, const char* val, size_t vlen,
                                                  uint64_t unix_millis);
SEPAL_C_EXPORT void sepal_writebatch_put_cf(sepal_writebatch_t* batch, sepal_column_family_t* family, const char* key,
                                            size_t klen, const char* val, size_t vlen);
SEPAL_C_EXPORT void sepal_writebatch_delete(sepal_writebatch_t* batch, const char* key, size_t klen);
SEPAL_C_EXPORT void sepal_writebatch_delete_cf(sepal_writebatch_t* batch, sepal_column_family_t* family,
                                               const char* key, size_t klen);
SEPAL_C_EXPORT void sepal_writebatch_singledelete(sepal_writebatch_t* batch, const char* key, size_t klen);
SEPAL_C_EXPORT void sepal_writebatch_singledelete_cf(sepal_writebatch_t* batch, sepal_column_family_t* family,
                                                     const char* key, size_t klen);
SEPAL_C_EXPORT void sepal_writebatch_merge(sepal_writebatch_t* batch, const char* key, size_t klen, const char* operand,
                                           size_t olen);
SEPAL_C_EXPORT void sepal_writebatch_merge_cf(sepal_writebatch_t* batch, sepal_column_family_t* family, const char* key,
                                              size_t klen, const char* operand, size_t olen);
SEPAL_C_EXPORT void sepal_writebatch_delete_range(sepal_writebatch_t* batch, const char* begin, size_t blen,
                                                  const char* end, size_t elen);
SEPAL_C_EXPORT void sepal_writebatch_delete_range_cf(sepal_writebatch_t* batch, sepal_column_family_t* family,
                                                     const char* begin, size_t blen, const char* end, size_t elen);
/* Reports single deletions as deletions and puts that expire as puts; leaves out merges, ranges and families. */
SEPAL_C_EXPORT void sepal_writebatch_iterate(const sepal_writebatch_t* batch, void* state,
                                             void (*put)(void* state, const char* k, size_t klen, const char* v,
                                                         size_t vlen),
                                             void (*deleted)(void* state, const char* k, size_t klen));
/* Reports everything, but puts that expire as plain puts. `end` is NULL for a range up to the last key. */
SEPAL_C_EXPORT void sepal_writebatch_iterate_cf(
    const sepal_writebatch_t* batch, void* state,
    void (*put)(void* state, uint32_t family, const char* k, size_t klen, const char* v, size_t vlen),
    void (*deleted)(void* state, uint32_t family, const char* k, size_t klen),
    void (*singledeleted)(void* state, uint32_t family, const char* k, size_t klen),
    void (*merged)(void* state, uint32_t family, const char* k, size_t klen, const char* operand, size_t olen),
    void (*range_deleted)(void* state, uint32_t family, const char* begin, size_t blen, const char* end, size_t elen));
SEPAL_C_EXPORT void sepal_writebatch_append(sepal_writebatch_t* destination, const sepal_writebatch_t* source);
/* The batch as bytes, valid until it changes. */
SEPAL_C_EXPORT const char* sepal_writebatch_data(const sepal_writebatch_t* batch, size_t* size);

/* --- what a repair did (sepal/repair.h) --- */

/* Returns NULL after an error. `dry_run`: only report what a repair would do. */
SEPAL_C_EXPORT sepal_repair_report_t* sepal_repair_db_report(const sepal_options_t* options, const char* name,
                                                             unsigned char dry_run, char** errptr);
/* The same; `progress`, unless NULL, is called after each table with the bytes done so far. */
SEPAL_C_EXPORT sepal_repair_report_t* sepal_repair_db_with_progress(
    const sepal_options_t* options, const char* name, unsigned char dry_run, void* state,
    void (*progress)(void* state, uint64_t done_bytes, uint64_t total_bytes), char** errptr);
/* The same if the logs are lost for good: the other functions refuse a database whose logs are not where `options`
   say. */
SEPAL_C_EXPORT sepal_repair_report_t* sepal_repair_db_logs_lost(
    const sepal_options_t* options, const char* name, unsigned char dry_run, void* state,
    void (*progress)(void* state, uint64_t done_bytes, uint64_t total_bytes), char** errptr);
SEPAL_C_EXPORT void sepal_repair_report_destroy(sepal_repair_report_t* report);
/* To be freed with sepal_free. */
SEPAL_C_EXPORT char* sepal_repair_report_string(const sepal_repair_report_t* report);

typedef struct sepal_repair_summary_t {
  unsigned char changed, dry_run;
  size_t dropped, put_aside; /* the numbers of entries below */
  uint64_t tables_kept, tables_rewritten, updates_from_logs;
} sepal_repair_summary_t;
/* Data of a file that may now be missing; the strings live as long as the report. */
typedef struct sepal_dropped_data_t {
  const char* file;
  const char* column_family; /* "": any */
  const char* first_key;     /* both inclusive; NULL: unbounded on that side */
  size_t first_key_len;
  const char* last_key;
  size_t last_key_len;
  uint64_t begin_offset, end_offset;
  const char* reason;
} sepal_dropped_data_t;
SEPAL_C_EXPORT void sepal_repair_report_summary(const sepal_repair_report_t* report, sepal_repair_summary_t* summary,
                                                size_t size);
/* Returns 0 beyond the last, and then writes nothing. */
SEPAL_C_EXPORT unsigned char sepal_repair_report_dropped(const sepal_repair_report_t* report, size_t index,
                                                         sepal_dropped_data_t* dropped, size_t size);
/* Returns a file that was moved to `lost`; NULL beyond the last. */
SEPAL_C_EXPORT const char* sepal_repair_report_put_aside(const sepal_repair_report_t* report, size_t index);

/* --- how a lookup finds its answer (sepal/explanation.h) --- */

SEPAL_C_EXPORT sepal_explanation_t* sepal_explanation_create(sepal_t* db, const sepal_readoptions_t* options,
                                                             sepal_column_family_t* family, const char* key,
                                                             size_t keylen, char** errptr);
SEPAL_C_EXPORT void sepal_explanation_destroy(sepal_explanation_t* explanation);
/* To be freed with sepal_free. */
SEPAL_C_EXPORT char* sepal_explanation_string(const sepal_explanation_t* explanation);

enum { sepal_in_active_memtable = 0, sepal_in_immutable_memtable = 1, sepal_in_table = 2 };
enum {
  sepal_answer_found = 0,
  sepal_answer_deleted = 1,
  sepal_answer_absent = 2,
  sepal_guard_says_no = 3,
  sepal_lane_says_no = 4,
  sepal_explained_operand = 5,
  sepal_explained_expired = 6,
  sepal_explained_refused = 7
};
/* The strings live as long as the explanation. */
typedef struct sepal_explained_get_t {
  const char* key;
  size_t keylen;
  const char* column_family;
  unsigned char found;
  uint64_t value_bytes, visible_sequence, runs, runs_without_file;
  size_t sources; /* the number of entries below */
  uint64_t bytes_read, micros, merge_operands;
  uint64_t range_deleted_at;      /* by the newest delete of a range with the key; 0: by none */
  unsigned char expires, refused; /* the latter by the family's filter (sepal/c_compaction_filter.h) */
  const char* filter_epoch;       /* at which it is */
  size_t filter_epoch_len;
  uint64_t expires_at_millis; /* since 1970; 0: it does not, or operands were merged into what does */
} sepal_explained_get_t;
typedef struct sepal_explained_source_t {
  int kind, answer;
  uint64_t sequence, value_bytes;
  /* The rest is for tables only. */
  int level;
  uint64_t run, file_number;
  unsigned char was_open, has_guard, guard_cached, guard_admits;
  size_t blocks; /* the number of entries below */
  uint64_t bytes_read, micros;
} sepal_explained_source_t;
typedef struct sepal_explained_block_t {
  uint64_t offset, stored_bytes;
  uint32_t leaf_page;
  unsigned char leaf_page_cached;
  uint32_t fence, fences;
  unsigned char has_lane, lane_admits, cached, key_present;
} sepal_explained_block_t;
SEPAL_C_EXPORT void sepal_explanation_get(const sepal_explanation_t* explanation, sepal_explained_get_t* get,
                                          size_t size);
/* Return 0 beyond the last, and then write nothing. */
SEPAL_C_EXPORT unsigned char sepal_explanation_source(const sepal_explanation_t* explanation, size_t index,
                                                      sepal_explained_source_t* source, size_t size);
SEPAL_C_EXPORT unsigned char sepal_explanation_block(const sepal_explanation_t* explanation, size_t source,
                                                     size_t index, sepal_explained_block_t* block, size_t size);

/* --- options; sepal/options.h documents their meaning --- */

/* Any other number is out of range: opening a database or creating a column family with it fails with
   INVALID_ARGUMENT. */
enum { sepal_no_compression = 0, sepal_snappy_compression = 1, sepal_lz4_compression = 2, sepal_zstd_compression = 3 };
enum { sepal_lazy_leveling = 0, sepal_leveled = 1, sepal_universal = 2 };

SEPAL_C_EXPORT sepal_options_t* sepal_options_create(void);
SEPAL_C_EXPORT void sepal_options_destroy(sepal_options_t* options);
/* Changes the options as the text says (sepal/options_text.h), or, with an error, not at all. */
SEPAL_C_EXPORT void sepal_options_from_text(sepal_options_t* options, const char* text, char** errptr);
/* All options that a text can set. */
SEPAL_C_EXPORT char* sepal_options_to_text(const sepal_options_t* options);
SEPAL_C_EXPORT void sepal_options_set_create_if_missing(sepal_options_t* options, unsigned char value);
SEPAL_C_EXPORT void sepal_options_set_error_if_exists(sepal_options_t* options, unsigned char value);
SEPAL_C_EXPORT void sepal_options_set_read_only(sepal_options_t* options, unsigned char value);
SEPAL_C_EXPORT void sepal_options_set_take_over(sepal_options_t* options, unsigned char value);
SEPAL_C_EXPORT void sepal_options_set_memory_limit(sepal_options_t* options, size_t bytes);
/* LevelDB's name for memtable_bytes, the size of all active memtables together. */
SEPAL_C_EXPORT void sepal_options_set_write_buffer_size(sepal_options_t* options, size_t bytes);
SEPAL_C_EXPORT void sepal_options_set_large_batches(sepal_options_t* options, unsigned char value);
SEPAL_C_EXPORT void sepal_options_set_direct_reads(sepal_options_t* options, unsigned char value);
SEPAL_C_EXPORT void sepal_options_set_background_threads(sepal_options_t* options, int threads);
SEPAL_C_EXPORT void sepal_options_set_background_bytes_per_second(sepal_options_t* options, uint64_t bytes);
SEPAL_C_EXPORT void sepal_options_set_scrub_seconds(sepal_options_t* options, uint64_t seconds);
SEPAL_C_EXPORT void sepal_options_set_follow_milliseconds(sepal_options_t* options, uint64_t milliseconds);
SEPAL_C_EXPORT void sepal_options_set_log_directory(sepal_options_t* options, const char* directory);
SEPAL_C_EXPORT void sepal_options_set_info_log(sepal_options_t* options, unsigned char value);
SEPAL_C_EXPORT void sepal_options_set_latency_histograms(sepal_options_t* options, unsigned char value);
SEPAL_C_EXPORT void sepal_options_set_slow_call_micros(sepal_options_t* options, uint64_t micros);
/* The env is not copied: changes apply to databases that are opened later. It must outlive them and calls. */
SEPAL_C_EXPORT void sepal_options_set_env(sepal_options_t* options, sepal_env_t* env);
/* Sets what `family_options` says about families for the column family of that name; copies both. */
SEPAL_C_EXPORT void sepal_options_add_column_family(sepal_options_t* options, const char* name,
                                                    const sepal_options_t* family_options);
/* The options of a column family: */
SEPAL_C_EXPORT void sepal_options_set_comparator(sepal_options_t* options, sepal_comparator_t* comparator);
/* Milliseconds that puts of the family live; 0: they do not expire. */
SEPAL_C_EXPORT void sepal_options_set_ttl(sepal_options_t* options, int64_t milliseconds);
/* The options share the operator: it may be destroyed at any time. */
SEPAL_C_EXPORT void sepal_options_set_merge_operator(sepal_options_t* options, const sepal_mergeoperator_t* merge);
SEPAL_C_EXPORT void sepal_options_set_compression(sepal_options_t* options, int compression);
/* From the first level on; deeper levels use the last entry. */
SEPAL_C_EXPORT void sepal_options_set_compression_per_level(sepal_options_t* options, const int* kinds, size_t levels);
SEPAL_C_EXPORT void sepal_options_set_block_size(sepal_options_t* options, size_t bytes);
SEPAL_C_EXPORT void sepal_options_set_filter_policy(sepal_options_t* options, const sepal_filterpolicy_t* policy);
SEPAL_C_EXPORT void sepal_options_set_compaction_style(sepal_options_t* options, int style);
SEPAL_C_EXPORT void sepal_options_set_max_space_amplification(sepal_options_t* options, double most);
/* Values of at least so many bytes are written once, to value files; 0: none are. */
SEPAL_C_EXPORT void sepal_options_set_separate_from(sepal_options_t* options, size_t bytes);
SEPAL_C_EXPORT void sepal_options_set_last_level_inline_below(sepal_options_t* options, size_t bytes);

/* --- comparators --- */

SEPAL_C_EXPORT sepal_comparator_t* sepal_comparator_create(void* state, void (*destructor)(void* state),
                                                           int (*compare)(void* state, const char* a, size_t alen,
                                                                          const char* b, size_t blen),
                                                           const char* (*name)(void* state));
/* Sets whether keys that compare equal are identical bytes, so that filters can be used. Call it before the first
   opening, and never change it. */
SEPAL_C_EXPORT void sepal_comparator_set_equal_means_identical(sepal_comparator_t* comparator, unsigned char value);
SEPAL_C_EXPORT void sepal_comparator_destroy(sepal_comparator_t* comparator);

/* --- filters --- */

/* Bits per key for lanes and guards together. */
SEPAL_C_EXPORT sepal_filterpolicy_t* sepal_filterpolicy_create_bloom(double bits_per_key);
SEPAL_C_EXPORT sepal_filterpolicy_t* sepal_filterpolicy_create_split(double lane_bits_per_key,
                                                                     double guard_bits_per_key);
SEPAL_C_EXPORT sepal_filterpolicy_t* sepal_filterpolicy_create_rate(double false_positive_rate);
SEPAL_C_EXPORT sepal_filterpolicy_t* sepal_filterpolicy_create_none(void);
/* The rate at which an absent key passes the filters. */
SEPAL_C_EXPORT double sepal_filterpolicy_expected_rate(const sepal_filterpolicy_t* policy);
SEPAL_C_EXPORT double sepal_filterpolicy_lane_bits_per_key(const sepal_filterpolicy_t* policy);
SEPAL_C_EXPORT double sepal_filterpolicy_guard_bits_per_key(const sepal_filterpolicy_t* policy);
/* For one filter with that many bits per key: the number of probes, and its false positive rate. */
SEPAL_C_EXPORT int sepal_filterpolicy_probes_for(double bits_per_key);
SEPAL_C_EXPORT double sepal_filterpolicy_expected_rate_for(double bits_per_key);
/* May be called at any time, since options copy the policy. */
SEPAL_C_EXPORT void sepal_filterpolicy_destroy(sepal_filterpolicy_t* policy);

/* --- reading and writing --- */

SEPAL_C_EXPORT sepal_readoptions_t* sepal_readoptions_create(void);
SEPAL_C_EXPORT void sepal_readoptions_destroy(sepal_readoptions_t* options);
SEPAL_C_EXPORT void sepal_readoptions_set_fill_cache(sepal_readoptions_t* options, unsigned char value);
SEPAL_C_EXPORT void sepal_readoptions_set_snapshot(sepal_readoptions_t* options, const sepal_snapshot_t* snapshot);
SEPAL_C_EXPORT void sepal_readoptions_set_keys_only(sepal_readoptions_t* options, unsigned char value);
/* For iterators: the first key, and the first key after the last one; both are copied. A null key: unbounded. */
SEPAL_C_EXPORT void sepal_readoptions_set_lower_bound(sepal_readoptions_t* options, const char* key, size_t keylen);
SEPAL_C_EXPORT void sepal_readoptions_set_upper_bound(sepal_readoptions_t* options, const char* key, size_t keylen);
/* Sets both bounds so that in bytewise order iterators show the keys that begin with `prefix`; NULL: removes both. */
SEPAL_C_EXPORT void sepal_readoptions_set_prefix(sepal_readoptions_t* options, const char* prefix, size_t prefixlen);

SEPAL_C_EXPORT sepal_writeoptions_t* sepal_writeoptions_create(void);
SEPAL_C_EXPORT void sepal_writeoptions_destroy(sepal_writeoptions_t* options);
SEPAL_C_EXPORT void sepal_writeoptions_set_sync(sepal_writeoptions_t* options, unsigned char value);
SEPAL_C_EXPORT void sepal_writeoptions_set_disable_wal(sepal_writeoptions_t* options, unsigned char value);
SEPAL_C_EXPORT void sepal_writeoptions_set_no_slowdown(sepal_writeoptions_t* options, unsigned char value);
/* For puts only, and only one of the two: milliseconds from now, or milliseconds since 1970. */
SEPAL_C_EXPORT void sepal_writeoptions_set_ttl(sepal_writeoptions_t* options, int64_t milliseconds);
SEPAL_C_EXPORT void sepal_writeoptions_set_expires_at(sepal_writeoptions_t* options, uint64_t milliseconds);

/* --- statistics and events --- */

/* All counters, summaries and filters in Prometheus' text format; to be freed with sepal_free. */
SEPAL_C_EXPORT char* sepal_statistics_prometheus(sepal_t* db);
/* One line for each value that is not zero; to be freed with sepal_free. */
SEPAL_C_EXPORT char* sepal_statistics_string(sepal_t* db);
SEPAL_C_EXPORT void sepal_statistics_reset(sepal_t* db);

typedef struct sepal_histogram_t {
  uint64_t count;
  double average, minimum, maximum, p50, p95, p99, p999, p9999;
} sepal_histogram_t;
typedef struct sepal_filter_statistics_t {
  uint64_t lookups, guard_rejections, lane_rejections, blocks_searched, false_positives;
  double observed_rate;
} sepal_filter_statistics_t;
/* `name` is one that sepal_statistics_string prints ("get.count", "get.micros"). Return 0 for an unknown name or level,
   and then write nothing. */
SEPAL_C_EXPORT unsigned char sepal_statistics_ticker(sepal_t* db, const char* name, uint64_t* value);
SEPAL_C_EXPORT unsigned char sepal_statistics_histogram(sepal_t* db, const char* name, sepal_histogram_t* value,
                                                        size_t size);
SEPAL_C_EXPORT unsigned char sepal_statistics_filter(sepal_t* db, int level, sepal_filter_statistics_t* value,
                                                     size_t size);
/* The calling thread's counts. */
SEPAL_C_EXPORT unsigned char sepal_statistics_thread_ticker(sepal_t* db, const char* name, uint64_t* value);
SEPAL_C_EXPORT unsigned char sepal_statistics_thread_filter(sepal_t* db, int level, sepal_filter_statistics_t* value,
                                                            size_t size);

/* Measures the calls of this thread, and where their time goes, from here on; sepal/perf_context.h has the rules. */
SEPAL_C_EXPORT sepal_perfcontext_t* sepal_perfcontext_create(sepal_t* db);
SEPAL_C_EXPORT void sepal_perfcontext_destroy(sepal_perfcontext_t* context);
SEPAL_C_EXPORT void sepal_perfcontext_reset(sepal_perfcontext_t* context);
/* `name` is a ticker, "call.micros", or "call.PART.micros" where PART is throttle, lock, read, log or sync. */
SEPAL_C_EXPORT unsigned char sepal_perfcontext_metric(const sepal_perfcontext_t* context, const char* name,
                                                      uint64_t* value);
SEPAL_C_EXPORT unsigned char sepal_perfcontext_filter(const sepal_perfcontext_t* context, int level,
                                                      sepal_filter_statistics_t* value, size_t size);
/* One line for each value that is not zero; to be freed with sepal_free. */
SEPAL_C_EXPORT char* sepal_perfcontext_string(const sepal_perfcontext_t* context);

typedef struct sepal_flush_event_t {
  const char* column_family;
  uint64_t file_number, entries, bytes_written, micros;
  const char* error; /* NULL: none */
} sepal_flush_event_t;

typedef struct sepal_compaction_event_t {
  const char* column_family;
  const char* reason;
  int input_level, output_level, input_files, output_files;
  uint64_t bytes_read, bytes_written, value_bytes_moved, entries_in, entries_out, micros;
  unsigned char trivial_move;
  const char* error; /* NULL: none */
} sepal_compaction_event_t;

/* Times are in microseconds; the rest was spent on the processor or waiting for it. */
typedef struct sepal_slow_call_event_t {
  const char* call;
  const char* column_family; /* "": several */
  const char* key;
  size_t keylen;
  uint64_t micros, throttle_micros, lock_micros, read_micros, log_micros, sync_micros;
  uint64_t block_reads, block_read_bytes;
  const char* reason;
} sepal_slow_call_event_t;

/* Found by scrubbing. The damaged keys are those after `after`, up to and including `through`; NULL: from the first
   key, to the last. Of a value in a value file, which is the file then, both are its key. */
typedef struct sepal_damage_event_t {
  const char* column_family;
  uint64_t file_number, offset, bytes;
  const char* after;
  size_t afterlen;
  const char* through;
  size_t throughlen;
  const char* error;
} sepal_damage_event_t;

/* The functions are called from threads of the database, several at once; null members are not called. Strings are
   valid only during the call. sepal/event_listener.h says what they may do. `state` must outlive the database. */
typedef struct sepal_listener_t {
  void* state;
  void (*flush_begin)(void* state, const sepal_flush_event_t* event);
  void (*flush_end)(void* state, const sepal_flush_event_t* event);
  void (*compaction_begin)(void* state, const sepal_compaction_event_t* event);
  void (*compaction_end)(void* state, const sepal_compaction_event_t* event);
  void (*throttle_change)(void* state, const char* reason, uint64_t bytes_per_second);
  void (*slow_disk)(void* state, const char* path, const char* operation, uint64_t micros);
  void (*error)(void* state, const char* context, const char* message);
  void (*slow_call)(void* state, const sepal_slow_call_event_t* event);
  void (*damage)(void* state, const sepal_damage_event_t* event);
  void (*clock_doubt)(void* state, int in_doubt, uint64_t wall_millis, uint64_t removal_millis, const char* message);
} sepal_listener_t; /* sepal_options_add_listener copies it */
SEPAL_C_EXPORT void sepal_options_add_listener(sepal_options_t* options, const sepal_listener_t* listener, size_t size);

/* --- the environment that a database runs in (sepal/env.h): the system's, unless something is set. A change applies to
   databases that are opened later; open ones keep what they were opened with. --- */

SEPAL_C_EXPORT sepal_env_t* sepal_create_default_env(void);
SEPAL_C_EXPORT void sepal_env_destroy(sepal_env_t* env);
/* Returns a directory for tests, created if it is missing; NULL if that fails. To be freed with sepal_free. */
SEPAL_C_EXPORT char* sepal_env_get_test_directory(sepal_env_t* env);
/* The seed for everything that is chosen at random. 0: from the system. */
SEPAL_C_EXPORT void sepal_env_set_random_seed(sepal_env_t* env, uint64_t seed);
/* Microseconds of a clock that never goes back; microseconds since 1970; a sleep. */
SEPAL_C_EXPORT void sepal_env_set_clock(sepal_env_t* env, void* state, uint64_t (*monotonic_micros)(void* state),
                                        uint64_t (*unix_micros)(void* state),
                                        void (*sleep_micros)(void* state, uint64_t micros));
/* `schedule` must arrange that run(work) is called once, from any thread, after `schedule` has returned, and in the
   order of calls with the same priority (0: flushes, which writers may wait for; 1: compactions; 2: scrubbing, one task
   that runs until the database is closed). `concurrency` is the number of compactions that can run at once. */
SEPAL_C_EXPORT void sepal_env_set_executor(sepal_env_t* env, void* state, int concurrency,
                                           void (*schedule)(void* state, int priority, void (*run)(void* work),
                                                            void* work));

/* --- the rest --- */

SEPAL_C_EXPORT void sepal_free(void* ptr);
SEPAL_C_EXPORT int sepal_major_version(void);
SEPAL_C_EXPORT int sepal_minor_version(void);
SEPAL_C_EXPORT int sepal_patch_version(void);
/* Of the files that the library writes; sepal/version.h has the rule for files of other versions. */
#define SEPAL_TABLE_FORMAT_VERSION 1
#define SEPAL_LOG_FORMAT_VERSION 2
#define SEPAL_MANIFEST_FORMAT_VERSION 1
/* The version of the linked library, "major.minor.patch"; not to be freed. */
SEPAL_C_EXPORT const char* sepal_version_string(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

/* A user-provided file system in C: the storage interface of sepal/file_system.h as a table of functions. That header
   has the contract: what is durable when, which errors exist, and what several threads may call at once.

     sepal_filesystem_t calls = {.state = &mine, .open_directory = my_open_directory, ...};
     sepal_env_t* env = sepal_create_default_env();
     sepal_env_set_file_system(env, &calls, sizeof calls);
     sepal_options_set_env(options, env);

   Rules:
   - A function that can fail returns sepal_ok or another code. It may then put a reason into `message`, a buffer of
     SEPAL_MESSAGE_BYTES that holds an empty string; the engine adds the path and the name of the call.
   - Directories, files, locks and regions are opaque pointers of the file system. Each one that was opened with
     sepal_ok is given to its closing function once. Files, locks and regions may be used and closed after their
     directory, and regions after their file.
   - Names are relative to their directory and zero-terminated, as are paths.
   - A member marked as optional may be NULL if the file system cannot do it or does not need it. If any other member is
     NULL, opening a database fails with INVALID_ARGUMENT. Members that later versions add are optional. */
#pragma once

#include "sepal/c.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SEPAL_MESSAGE_BYTES 256

/* The codes of absl::Status that the engine distinguishes. */
enum {
  sepal_ok = 0,
  sepal_invalid_argument = 3,
  sepal_not_found = 5,
  sepal_already_exists = 6,
  sepal_permission_denied = 7,
  sepal_resource_exhausted = 8, /* the disk is full */
  sepal_failed_precondition = 9,
  sepal_aborted = 10, /* another client has taken the lock over */
  sepal_unimplemented = 12,
  sepal_internal = 13,
  sepal_unavailable = 14, /* the lock is held elsewhere */
  sepal_data_loss = 15
};

/* The use of a file: a hint. Later versions may have more kinds. `values`: values that the log refers to. */
enum { sepal_file_other = 0, sepal_file_log = 1, sepal_file_table = 2, sepal_file_manifest = 3, sepal_file_values = 4 };

/* One request of a read_many, which fills the members after `buffer`. */
typedef struct sepal_read_t {
  void* file;
  uint64_t offset;
  size_t length;
  char* buffer;
  size_t bytes_read; /* fewer than requested only at the end of the file */
  int code;
  char message[SEPAL_MESSAGE_BYTES];
} sepal_read_t;

typedef struct sepal_filesystem_t {
  void* state;
  /* Whether open_for_read with `direct` bypasses the operating system's page cache; if not, `direct` is never set. */
  unsigned char direct_reads;
  /* The number of files that the process may have open at once; 0: unlimited. */
  size_t max_open_files;

  /* With `create`, creates the directory and its missing parents, and makes all created names durable before it
     returns. Without it, returns sepal_not_found if the directory is missing. */
  int (*open_directory)(void* state, const char* path, unsigned char create, void** directory, char* message);
  void (*close_directory)(void* directory);
  /* Fails unless the directory is empty. */
  int (*remove_directory)(void* state, const char* path, char* message);

  /* Calls add(list, name, size) for each regular file. */
  int (*list)(void* directory, void* list, void (*add)(void* list, const char* name, uint64_t size_bytes),
              char* message);
  int (*remove)(void* directory, const char* name, char* message);
  /* Returns sepal_already_exists if `to` exists. */
  int (*rename)(void* directory, const char* from, const char* to, char* message);
  /* Optional: hard links. */
  int (*link)(void* directory, const char* name, void* target_directory, const char* new_name, char* message);
  int (*sync_directory)(void* directory, char* message);
  int (*free_bytes)(void* directory, uint64_t* bytes, char* message);

  /* Creates the file if it is missing; the file is never removed. */
  int (*lock)(void* directory, const char* name, void** lock, char* message);
  /* Returns sepal_ok while this process holds the lock. */
  int (*check_lock)(void* lock, char* message);
  void (*unlock)(void* lock);

  int (*open_for_read)(void* directory, const char* name, unsigned char direct, void** file, char* message);
  void (*close_read)(void* file);
  int (*read)(void* file, uint64_t offset, size_t length, char* buffer, size_t* bytes_read, char* message);
  int (*read_size)(void* file, uint64_t* bytes, char* message);
  /* Optional: a hint that reads are sequential, or random, from now on. */
  void (*advise)(void* file, unsigned char sequential);
  /* Optional: reads all requests concurrently rather than one by one. Returns when all are complete. */
  void (*read_many)(void* directory, sepal_read_t* const* reads, size_t count);

  /* With `create_new`, returns sepal_already_exists if the name is taken. Without it the file must exist, and
     `*size_bytes` is set to where appending continues. */
  int (*open_for_write)(void* directory, const char* name, unsigned char create_new, void** file, uint64_t* size_bytes,
                        char* message);
  /* Does not sync. The file must not be used afterwards, even after an error. */
  int (*close_write)(void* file, char* message);
  /* An append is a write at the end. */
  int (*write)(void* file, uint64_t offset, const char* bytes, size_t size, char* message);
  int (*sync)(void* file, char* message);
  /* Releases space that was reserved beyond `size`, even if the size does not change. */
  int (*truncate)(void* file, uint64_t size, char* message);
  /* Optional: reserves space; does not change the size. */
  int (*allocate)(void* file, uint64_t offset, uint64_t length, char* message);
  /* Optional: starts writing the range to the disk. */
  int (*sync_range)(void* file, uint64_t offset, uint64_t length, char* message);

  /* Optional, all four or none: a part of a file that is mapped for writing. Without them, or without `lock_memory`,
     each put is a file call of its own. `map` may be called by another thread concurrently with any call on the same
     file except close_write; `unmap` by any thread, also before close_write; and `contents` concurrently with
     `store`. */
  int (*map)(void* file, uint64_t offset, size_t length, void** region, char* message);
  void (*store)(void* region, size_t offset, const char* bytes, size_t size);
  const char* (*contents)(void* region);
  void (*unmap)(void* region);
  /* Optional: makes the region's memory ready, so that a store does not wait for it. Returns 0 if a store would raise a
     signal, for example because the disk is full; the region must not be used then. Called by any thread, concurrently
     with all calls except `unmap`. */
  unsigned char (*populate)(void* region);

  /* Optional: a hint that the range will be read soon; starts to load it into memory and does not wait. */
  void (*read_ahead)(void* file, uint64_t offset, uint64_t length);

  /* Optional, beside `map`: makes the system keep the region in memory until it is unmapped, so that a store never
     waits for the disk. Returns 0 if it does not. */
  unsigned char (*lock_memory)(void* region);

  /* Optional: reads only bytes in a cache of the system, without waiting for the disk; returns their number. */
  size_t (*read_cached)(void* file, uint64_t offset, size_t length, char* buffer);

  /* Optional: writes a string that is the same for every opening of one directory, under whatever path, into
     `identity`, a buffer of SEPAL_MESSAGE_BYTES that holds an empty string. Without it, two paths to one directory pass
     for two directories: a log_directory that is the database directory under another name is then refused, because its
     lock is taken. */
  void (*identity)(void* directory, char* identity);

  /* Whether calls that wait take a round trip over a network each. */
  unsigned char remote;
  /* Whether unsynced bytes may be lost when the process or its machine dies: of each file a suffix in the order of
     writing. */
  unsigned char dies_with_process;
  /* Optional: takes the lock over from another client that holds it, which is fenced: once this returns, its calls
     change nothing and fail with sepal_aborted (sepal/file_system.h has the exact guarantee). Without it databases
     cannot be opened with sepal_options_set_take_over. */
  int (*take_over)(void* directory, const char* name, void** lock, char* message);
  /* Optional: called in place of open_for_write, with the use of the file and about how many bytes it will have (0:
     unknown). */
  int (*open_for_write_as)(void* directory, const char* name, unsigned char create_new, int kind,
                           uint64_t expected_bytes, void** file, uint64_t* size_bytes, char* message);
} sepal_filesystem_t;

/* Copies the table; `state` must outlive everything that was opened with it. `size`: sizeof(sepal_filesystem_t). */
SEPAL_C_EXPORT void sepal_env_set_file_system(sepal_env_t* env, const sepal_filesystem_t* file_system, size_t size);

#ifdef __cplusplus
} /* extern "C" */
#endif

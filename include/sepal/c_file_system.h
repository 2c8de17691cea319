/* A file system of one's own, from C: what sepal/file_system.h asks of storage, as a table of functions. That header
   has the contract: what is durable when, which errors there are, what may be called at once from several threads.

     sepal_filesystem_t calls = {.state = &mine, .open_directory = my_open_directory, ...};
     sepal_env_t* env = sepal_create_default_env();
     sepal_env_set_file_system(env, &calls, sizeof calls);
     sepal_options_set_env(options, env);

   Rules:
   - A function that can fail returns sepal_ok or another code. It may then say why in `message`, a buffer of
     SEPAL_MESSAGE_BYTES that holds an empty string; path and call are added to it.
   - Directories, files, locks and regions are pointers of the file system's own. Each is given to one closing call, if
     it was opened with sepal_ok. Files, locks and regions may be used and closed after their directory, regions after
     their file.
   - Names are relative to their directory and end with a zero, as paths do.
   - A member that is said to be optional may be NULL: the file system then cannot do it, or has no need of it. One that
     lacks another is refused by whatever opens a database, with INVALID_ARGUMENT. Members that come with later versions
     are optional. */
#pragma once

#include "sepal/c.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SEPAL_MESSAGE_BYTES 256

/* The codes of absl::Status; those that mean something to the engine. */
enum {
  sepal_ok = 0,
  sepal_invalid_argument = 3,
  sepal_not_found = 5,
  sepal_already_exists = 6,
  sepal_permission_denied = 7,
  sepal_resource_exhausted = 8, /* the disk is full */
  sepal_failed_precondition = 9,
  sepal_unimplemented = 12,
  sepal_internal = 13,
  sepal_unavailable = 14, /* another holds the lock */
  sepal_data_loss = 15
};

/* One part of a read_many, which fills what stands behind `buffer`. */
typedef struct sepal_read_t {
  void* file;
  uint64_t offset;
  size_t length;
  char* buffer;
  size_t bytes_read; /* fewer than asked for only at the end of the file */
  int code;
  char message[SEPAL_MESSAGE_BYTES];
} sepal_read_t;

typedef struct sepal_filesystem_t {
  void* state;
  /* Whether open_for_read with `direct` reads past the operating system's cache; otherwise it is not asked for. */
  unsigned char direct_reads;
  /* Files that the process may have open at once; 0: any number. */
  size_t max_open_files;

  /* With `create`, missing parents are made too, and the names of all that are made are durable at return; without, a
     missing one is sepal_not_found. */
  int (*open_directory)(void* state, const char* path, unsigned char create, void** directory, char* message);
  void (*close_directory)(void* directory);
  /* Fails unless it is empty. */
  int (*remove_directory)(void* state, const char* path, char* message);

  /* Calls add(list, name, size) for each regular file. */
  int (*list)(void* directory, void* list, void (*add)(void* list, const char* name, uint64_t size_bytes),
              char* message);
  int (*remove)(void* directory, const char* name, char* message);
  /* `to` must not exist: sepal_already_exists. */
  int (*rename)(void* directory, const char* from, const char* to, char* message);
  /* Optional: hard links. */
  int (*link)(void* directory, const char* name, void* target_directory, const char* new_name, char* message);
  int (*sync_directory)(void* directory, char* message);
  int (*free_bytes)(void* directory, uint64_t* bytes, char* message);

  /* The file is made if it is missing, and stays. */
  int (*lock)(void* directory, const char* name, void** lock, char* message);
  /* sepal_ok while this process holds it. */
  int (*check_lock)(void* lock, char* message);
  void (*unlock)(void* lock);

  int (*open_for_read)(void* directory, const char* name, unsigned char direct, void** file, char* message);
  void (*close_read)(void* file);
  int (*read)(void* file, uint64_t offset, size_t length, char* buffer, size_t* bytes_read, char* message);
  int (*read_size)(void* file, uint64_t* bytes, char* message);
  /* Optional: a hint; from now on reads are sequential, or random. */
  void (*advise)(void* file, unsigned char sequential);
  /* Optional: all at once rather than one by one. Returns when all are filled. */
  void (*read_many)(void* directory, sepal_read_t* const* reads, size_t count);

  /* With `create_new` a name that is taken is sepal_already_exists; without, the file must exist, and *size_bytes is
     where appending goes on. */
  int (*open_for_write)(void* directory, const char* name, unsigned char create_new, void** file, uint64_t* size_bytes,
                        char* message);
  /* Without syncing. The file is gone afterwards, also after an error. */
  int (*close_write)(void* file, char* message);
  /* Appending is writing at the end. */
  int (*write)(void* file, uint64_t offset, const char* bytes, size_t size, char* message);
  int (*sync)(void* file, char* message);
  /* What was reserved behind the size is given back, also where the size stays. */
  int (*truncate)(void* file, uint64_t size, char* message);
  /* Optional: reserves space; the size stays. */
  int (*allocate)(void* file, uint64_t offset, uint64_t length, char* message);
  /* Optional: begins to write to the disk. */
  int (*sync_range)(void* file, uint64_t offset, uint64_t length, char* message);

  /* Optional, all four or none: bytes of a file mapped for writing. Without them, or without `lock_memory`, a put is a
     file call of its own. `map` may be called by another thread beside every call of the same file but its closing, and
     `unmap` by any, before it; `contents` beside `store`. */
  int (*map)(void* file, uint64_t offset, size_t length, void** region, char* message);
  void (*store)(void* region, size_t offset, const char* bytes, size_t size);
  const char* (*contents)(void* region);
  void (*unmap)(void* region);
  /* Optional: has the region's memory ready, so that storing does not wait for it. 0 where storing would end in a
     signal, for want of space for one; the region is of no use then. By any thread, beside all calls but `unmap`. */
  unsigned char (*populate)(void* region);

  /* Optional: a hint; begins to bring what will soon be read into memory, and does not wait for it. */
  void (*read_ahead)(void* file, uint64_t offset, uint64_t length);

  /* Optional, beside `map`: has the system keep the region's memory until it is unmapped, so that storing never waits
     for the disk. 0 where it does not. */
  unsigned char (*lock_memory)(void* region);

  /* Optional: reads what is there without a wait for the disk, in a cache of the system; returns how many bytes. */
  size_t (*read_cached)(void* file, uint64_t offset, size_t length, char* buffer);

  /* Optional: puts a text that is the same for all who opened one directory, under whatever path, into `identity`, a
     buffer of SEPAL_MESSAGE_BYTES that holds an empty string. Without it two paths of one directory pass for two: a
     log_directory that is the database's own under another name is refused, as its lock is taken. */
  void (*identity)(void* directory, char* identity);
} sepal_filesystem_t;

/* The table is copied; `state` must outlive what was opened with it. `size`: sizeof(sepal_filesystem_t). */
SEPAL_C_EXPORT void sepal_env_set_file_system(sepal_env_t* env, const sepal_filesystem_t* file_system, size_t size);

#ifdef __cplusplus
} /* extern "C" */
#endif

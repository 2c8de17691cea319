/* A file system written in C: the calls of the system, with a count of some of them and a disk that can break. */
#include "sepal/c_file_system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "c_test.h"

struct disk {
  int opened, reads_many;
  int broken; /* syncing a file fails */
};
static struct disk disk; /* what files know nothing of */

/* Files, directories and locks are descriptors. */
static void* of(int fd) { return (void*)(intptr_t)fd; }
static int fd_of(void* pointer) { return (int)(intptr_t)pointer; }

static int code_of_errno(char* message) {
  snprintf(message, SEPAL_MESSAGE_BYTES, "%s", strerror(errno));
  switch (errno) {
    case ENOENT:
      return sepal_not_found;
    case EEXIST:
      return sepal_already_exists;
    case EACCES:
      return sepal_permission_denied;
    case ENOSPC:
      return sepal_resource_exhausted;
    case EWOULDBLOCK:
      return sepal_unavailable;
    default:
      return sepal_internal;
  }
}
static int code(int result, char* message) { return result < 0 ? code_of_errno(message) : sepal_ok; }
static int opened(int fd, void** object, char* message) {
  *object = of(fd);
  return code(fd, message);
}
static void close_fd(void* object) { close(fd_of(object)); }

static int open_directory(void* state, const char* path, unsigned char create, void** directory, char* message) {
  ++((struct disk*)state)->opened;
  if (create && mkdir(path, 0700) != 0 && errno != EEXIST) return code_of_errno(message);
  return opened(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), directory, message);
}
static int remove_directory(void* state, const char* path, char* message) {
  (void)state;
  return code(rmdir(path), message);
}
static void identity(void* directory, char* text) {
  struct stat status;
  if (fstat(fd_of(directory), &status) == 0) {
    snprintf(text, SEPAL_MESSAGE_BYTES, "%llu:%llu", (unsigned long long)status.st_dev,
             (unsigned long long)status.st_ino);
  }
}
static int list(void* directory, void* names, void (*add)(void*, const char*, uint64_t), char* message) {
  DIR* listing = fdopendir(openat(fd_of(directory), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (listing == NULL) return code_of_errno(message);
  for (struct dirent* entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
    struct stat status;
    if (fstatat(fd_of(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
      continue;
    add(names, entry->d_name, (uint64_t)status.st_size);
  }
  closedir(listing);
  return sepal_ok;
}
static int remove_file(void* directory, const char* name, char* message) {
  return code(unlinkat(fd_of(directory), name, 0), message);
}
static int link_file(void* directory, const char* name, void* target, const char* new_name, char* message) {
  return code(linkat(fd_of(directory), name, fd_of(target), new_name, 0), message);
}
static int rename_file(void* directory, const char* from, const char* to, char* message) {
  const int result = link_file(directory, from, directory, to, message);
  return result != sepal_ok ? result : remove_file(directory, from, message);
}
static int sync_fd(void* object, char* message) { return code(fsync(fd_of(object)), message); }
static int free_bytes(void* directory, uint64_t* bytes, char* message) {
  struct statvfs status;
  const int result = fstatvfs(fd_of(directory), &status);
  *bytes = result == 0 ? (uint64_t)status.f_bavail * status.f_frsize : 0;
  return code(result, message);
}

static int lock(void* directory, const char* name, void** held, char* message) {
  const int fd = openat(fd_of(directory), name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int result = code_of_errno(message);
    close(fd);
    return result;
  }
  return opened(fd, held, message);
}
static int check_lock(void* held, char* message) {
  (void)held, (void)message;
  return sepal_ok;
}

static int open_for_read(void* directory, const char* name, unsigned char direct, void** file, char* message) {
  CHECK(!direct);
  return opened(openat(fd_of(directory), name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), file, message);
}
static int read_at(void* file, uint64_t offset, size_t length, char* buffer, size_t* bytes_read, char* message) {
  while (*bytes_read < length) {
    const ssize_t n = pread(fd_of(file), buffer + *bytes_read, length - *bytes_read, (off_t)(offset + *bytes_read));
    if (n < 0) return code_of_errno(message);
    if (n == 0) break;
    *bytes_read += (size_t)n;
  }
  return sepal_ok;
}
static void read_many(void* directory, sepal_read_t* const* reads, size_t count) {
  (void)directory;
  __atomic_add_fetch(&disk.reads_many, 1, __ATOMIC_RELAXED);
  for (size_t i = 0; i < count; ++i) {
    sepal_read_t* const r = reads[i];
    r->code = read_at(r->file, r->offset, r->length, r->buffer, &r->bytes_read, r->message);
  }
}
static int size_of(void* file, uint64_t* bytes, char* message) {
  struct stat status;
  const int result = fstat(fd_of(file), &status);
  *bytes = result == 0 ? (uint64_t)status.st_size : 0;
  return code(result, message);
}

static int open_for_write(void* directory, const char* name, unsigned char create_new, void** file,
                          uint64_t* size_bytes, char* message) {
  const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | (create_new ? O_CREAT | O_EXCL : 0);
  const int result = opened(openat(fd_of(directory), name, flags, 0600), file, message);
  return result != sepal_ok ? result : size_of(*file, size_bytes, message);
}
static int close_write(void* file, char* message) { return code(close(fd_of(file)), message); }
static int write_at(void* file, uint64_t offset, const char* bytes, size_t size, char* message) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = pwrite(fd_of(file), bytes + done, size - done, (off_t)(offset + done));
    if (n < 0) return code_of_errno(message);
    done += (size_t)n;
  }
  return sepal_ok;
}
static int sync_file(void* file, char* message) {
  if (!__atomic_load_n(&disk.broken, __ATOMIC_RELAXED)) return sync_fd(file, message);
  snprintf(message, SEPAL_MESSAGE_BYTES, "the head has crashed");
  return sepal_internal;
}
static int truncate_file(void* file, uint64_t size, char* message) {
  return code(ftruncate(fd_of(file), (off_t)size), message);
}

static const sepal_filesystem_t calls = {
    .state = &disk,
    .open_directory = open_directory,
    .close_directory = close_fd,
    .remove_directory = remove_directory,
    .list = list,
    .remove = remove_file,
    .rename = rename_file,
    .link = link_file,
    .sync_directory = sync_fd,
    .free_bytes = free_bytes,
    .lock = lock,
    .check_lock = check_lock,
    .unlock = close_fd,
    .open_for_read = open_for_read,
    .close_read = close_fd,
    .read = read_at,
    .read_size = size_of,
    .read_many = read_many,
    .open_for_write = open_for_write,
    .close_write = close_write,
    .write = write_at,
    .sync = sync_file,
    .truncate = truncate_file,
    .identity = identity,
};

static void fill(sepal_t* db, const sepal_writeoptions_t* wo) {
  char key[16];
  for (int i = 0; i < 2000; ++i) {
    snprintf(key, sizeof key, "key%06d", i);
    put(db, wo, key, key);
  }
}

/* Members behind the size that is told are taken for zero, whatever stands there. */
static void check_incomplete(sepal_env_t* env, sepal_options_t* options, const char* directory) {
  sepal_env_set_file_system(env, &calls, offsetof(sepal_filesystem_t, truncate));
  sepal_options_set_env(options, env);
  CHECK(sepal_open(options, directory, &error) == NULL);
  CHECK(error != NULL && strstr(error, "there is no truncate") != NULL);
  expect_error("INVALID_ARGUMENT");
  sepal_filesystem_t half_mapped = calls;
  half_mapped.unmap = close_fd;
  sepal_env_set_file_system(env, &half_mapped, sizeof half_mapped);
  sepal_options_set_env(options, env);
  CHECK(sepal_open(options, directory, &error) == NULL);
  expect_error("INVALID_ARGUMENT");
}

void test_file_system(const char* directory, const char* checkpoint, const sepal_readoptions_t* ro,
                      const sepal_writeoptions_t* wo) {
  begin("file system");
  sepal_env_t* env = sepal_create_default_env();
  sepal_options_t* options = sepal_options_create();
  check_incomplete(env, options, directory);
  sepal_env_set_file_system(env, &calls, sizeof calls);
  sepal_options_set_env(options, env);
  CHECK(sepal_open(options, directory, &error) == NULL);
  expect_error("NOT_FOUND");
  sepal_options_set_create_if_missing(options, 1);
  sepal_t* db = sepal_open(options, directory, &error);
  CHECK_OK();
  CHECK(sepal_open(options, directory, &error) == NULL);
  expect_error("UNAVAILABLE");
  fill(db, wo);
  sepal_flush(db, NULL, 1, &error);
  CHECK_OK();
  put(db, wo, "log", "only");
  sepal_checkpoint(db, checkpoint, &error);
  CHECK_OK();
  sepal_close_with_error(db, &error);
  CHECK_OK();

  begin("file system, the same directory under another name");
  char same[1024];
  snprintf(same, sizeof same, "%s/.", directory);
  sepal_options_set_log_directory(options, same);
  db = sepal_open(options, directory, &error);
  CHECK_OK();
  check_get(db, ro, "log", "only");
  sepal_close_with_error(db, &error);
  CHECK_OK();
  sepal_options_set_log_directory(options, "");

  begin("file system, read again");
  db = sepal_open(options, directory, &error);
  CHECK_OK();
  check_get(db, ro, "log", "only");
  const char* keys[] = {"key000001", "key000500", "key001000", "key001999"};
  const size_t lengths[] = {9, 9, 9, 9};
  char *values[4], *errors[4];
  size_t sizes[4];
  sepal_multi_get(db, ro, NULL, 4, keys, lengths, values, sizes, errors);
  for (int i = 0; i < 4; ++i) {
    CHECK(errors[i] == NULL);
    check_value(values[i], sizes[i], keys[i]);
  }
  CHECK(disk.opened > 0 && disk.reads_many > 0);
  sepal_verify_checksums(db, &error);
  CHECK_OK();
  sepal_close(db);
  db = sepal_open(options, checkpoint, &error);
  CHECK_OK();
  check_get(db, ro, "log", "only");

  begin("file system, broken");
  __atomic_store_n(&disk.broken, 1, __ATOMIC_RELAXED);
  sepal_writeoptions_t* durable = sepal_writeoptions_create();
  sepal_writeoptions_set_sync(durable, 1);
  sepal_put(db, durable, "k", 1, "v", 1, &error);
  CHECK(error != NULL && strstr(error, "the head has crashed") != NULL);
  expect_error("INTERNAL");
  sepal_writeoptions_destroy(durable);
  sepal_close(db);
  __atomic_store_n(&disk.broken, 0, __ATOMIC_RELAXED);

  sepal_destroy_db(options, directory, &error);
  sepal_destroy_db(options, checkpoint, &error);
  CHECK_OK();
  CHECK(access(directory, F_OK) != 0 && access(checkpoint, F_OK) != 0);
  sepal_options_destroy(options);
  sepal_env_destroy(env);
}

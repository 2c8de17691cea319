/* A sync of two databases from C, over sockets: the one that answers runs in a thread. */
#include "sepal/c_sync.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "c_test.h"

static unsigned char read_all(void* state, char* to, size_t size) {
  while (size > 0) {
    const ssize_t got = read(*(int*)state, to, size);
    if (got <= 0) return 0;
    to += got;
    size -= (size_t)got;
  }
  return 1;
}
static unsigned char write_all(void* state, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t sent = send(*(int*)state, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0) return 0;
    bytes += sent;
    size -= (size_t)sent;
  }
  return 1;
}

struct server {
  sepal_t* db; /* NULL: it refuses */
  int end;
  char* error;
};
static void* serve(void* state) {
  struct server* server = (struct server*)state;
  const sepal_sync_channel_t channel = {&server->end, read_all, write_all};
  if (server->db != NULL) {
    sepal_serve_sync(server->db, &channel, &server->error);
  } else {
    sepal_refuse_sync("no database today", &channel);
  }
  close(server->end);
  return NULL;
}

static void count_conflict(void* state, const char* family, const char* key, size_t keylen) {
  CHECK(strcmp(family, "default") == 0 && keylen == 4 && memcmp(key, "both", 4) == 0);
  ++*(int*)state;
}

static sepal_sync_report_t sync_with(sepal_t* db, sepal_t* other, int policy, int* conflicts, char** other_error) {
  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  struct server server = {other, ends[1], NULL};
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, serve, &server) == 0);
  const sepal_sync_channel_t channel = {&ends[0], read_all, write_all};
  sepal_sync_report_t report;
  memset(&report, 0, sizeof report);
  sepal_begin_sync(db, &channel, policy, 0, count_conflict, conflicts, &report, sizeof report, &error);
  close(ends[0]);
  pthread_join(thread, NULL);
  *other_error = server.error;
  return report;
}

/* From here on `b` has had keys that expire. */
static void sync_expiring(sepal_t* a, sepal_t* b, const sepal_writeoptions_t* wo) {
  sepal_writebatch_t* batch = sepal_writebatch_create();
  sepal_writebatch_put_expiring(batch, NULL, "soon", 4, "4", 1, (uint64_t)1 << 42);
  sepal_write(b, wo, batch, &error);
  CHECK_OK();
  sepal_writebatch_destroy(batch);
  int conflicts = 0;
  char* other_error = NULL;
  sync_with(a, b, sepal_sync_ours, &conflicts, &other_error);
  CHECK(error != NULL && strstr(error, "has had keys that expire") != NULL);
  expect_error("FAILED_PRECONDITION");
  CHECK(other_error != NULL && strstr(other_error, "has had keys that expire") != NULL);
  sepal_free(other_error);
}

void test_sync(const char* directory, const char* other_directory, const sepal_readoptions_t* ro,
               const sepal_writeoptions_t* wo) {
  begin("sync");
  sepal_options_t* options = sepal_options_create();
  sepal_options_set_create_if_missing(options, 1);
  sepal_t* a = sepal_open(options, directory, &error);
  CHECK_OK();
  sepal_t* b = sepal_open(options, other_directory, &error);
  CHECK_OK();
  put(a, wo, "one", "1");
  put(a, wo, "both", "a");
  put(b, wo, "two", "2");
  put(b, wo, "both", "b");
  int conflicts = 0;
  char* other_error = NULL;
  sepal_sync_report_t report = sync_with(a, b, sepal_sync_report_conflicts, &conflicts, &other_error);
  CHECK_OK();
  CHECK(other_error == NULL && conflicts == 1 && report.conflicts == 1);
  CHECK(report.entries == 2 && report.written == 1 && report.column_families == 1 && report.sent_bytes > 0);
  check_get(a, ro, "two", "2");
  check_get(b, ro, "one", "1");
  check_get(b, ro, "both", "b");
  report = sync_with(a, b, sepal_sync_ours, &conflicts, &other_error);
  CHECK_OK();
  CHECK(report.entries == 3 && report.conflicts == 0);
  check_get(b, ro, "both", "a");
  sync_with(a, b, 7, &conflicts, &other_error);
  expect_error("INVALID_ARGUMENT");
  CHECK(other_error != NULL); /* nobody spoke with it */
  sepal_free(other_error);
  sync_expiring(a, b, wo);
  sync_with(a, NULL, sepal_sync_ours, &conflicts, &other_error);
  CHECK(error != NULL && strstr(error, "no database today") != NULL);
  expect_error("UNAVAILABLE");
  sepal_close(a);
  sepal_close(b);
  sepal_destroy_db(options, directory, &error);
  sepal_destroy_db(options, other_directory, &error);
  CHECK_OK();
  sepal_options_destroy(options);
}

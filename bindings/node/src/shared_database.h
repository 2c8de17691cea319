// A database and its users in this process.
#pragma once

#include <uv.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/db.h"

namespace sepal_node {

// libuv's lock, since the addon uses only public headers.
class Mutex {
 public:
  Mutex() { uv_mutex_init(&mutex_); }
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  ~Mutex() { uv_mutex_destroy(&mutex_); }

 private:
  friend class MutexLock;
  uv_mutex_t mutex_;
};

class MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) : mutex_(mutex) { uv_mutex_lock(&mutex_.mutex_); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() { uv_mutex_unlock(&mutex_.mutex_); }

 private:
  Mutex& mutex_;
};

// Safe for all threads. Open and Close may wait for the disk.
class SharedDatabase {
 public:
  // Adds a user of the database in `location`. Users that open it with `shared` share one database, with the options of
  // the first. For others, a database that is already open is locked.
  static absl::StatusOr<std::shared_ptr<SharedDatabase>> Open(const sepal::Options& options,
                                                              const std::string& location, bool shared);

  // Called once by each user after its calls have ended. The last one closes the database.
  absl::Status Close();

  // For users.
  sepal::DB& db() { return *db_; }

 private:
  absl::Status AddUser(const sepal::Options& options, const std::string& location);

  Mutex mutex_;  // guards the two below; held while the database is opened or closed
  std::unique_ptr<sepal::DB> db_;
  int users_ = 0;
};

}  // namespace sepal_node

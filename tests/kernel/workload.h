// A history of updates that a seed determines, written by a process that may die at any moment, and the check of the
// database that it leaves. Update i is one batch over two column families, and also writes i itself, so that the
// contents show how far the history went: they must be exactly those after update i.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "sepal/db.h"

namespace sepal::kernel {

using Contents = std::map<std::string, std::string>;

// The contents of both families after an update.
class Model {
 public:
  explicit Model(uint64_t seed) : seed_(seed) {}
  // The batch of update `number`, for a database with these families; it is applied here too. Numbers begin with 1, and
  // go up by one.
  WriteBatch Next(const ColumnFamily& first, const ColumnFamily& second);
  uint64_t number() const { return number_; }
  const Contents& contents(int family) const { return contents_[family]; }

 private:
  const uint64_t seed_;
  uint64_t number_ = 0;
  Contents contents_[2];
};

// The updates and the options. Most seeds have small memtables, so that flushes and compactions come often; the others
// have such large ones that the log's ring is overwritten many times between two of them.
Options MakeOptions(uint64_t seed);

// Opens the database at `path`, checks it against the history, and writes on until it dies, or for good until a write
// fails: then that status is returned. `acknowledged(number, durable)` after each update. Never returns ok.
absl::Status WriteOn(const std::string& path, uint64_t seed,
                     const std::function<void(uint64_t number, bool durable)>& acknowledged);

// Returns the number of the last update in the database at `path` if its contents are exactly those after it; else an
// error.
absl::StatusOr<uint64_t> Check(const std::string& path, uint64_t seed);

}  // namespace sepal::kernel

// The objects of LevelDB's C interface.
#pragma once

#include <leveldb/c.h>
#include <leveldb/cache.h>
#include <leveldb/comparator.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

// Each holds the C++ object of its name.
struct leveldb_t {
  std::unique_ptr<leveldb::DB> rep;
};
struct leveldb_iterator_t {
  std::unique_ptr<leveldb::Iterator> rep;
};
struct leveldb_writebatch_t {
  leveldb::WriteBatch rep;
};
struct leveldb_snapshot_t {
  const leveldb::Snapshot* rep;
};
struct leveldb_readoptions_t {
  leveldb::ReadOptions rep;
};
struct leveldb_writeoptions_t {
  leveldb::WriteOptions rep;
};
struct leveldb_options_t {
  leveldb::Options rep;
};
struct leveldb_cache_t {
  std::unique_ptr<leveldb::Cache> rep;
};
struct leveldb_logger_t {
  leveldb::Logger* rep;
};
struct leveldb_env_t {
  leveldb::Env* rep;
};
// Databases get the policy inside.
struct leveldb_filterpolicy_t {
  std::unique_ptr<const leveldb::FilterPolicy> rep;
};
struct leveldb_comparator_t {
  std::unique_ptr<const leveldb::Comparator> rep;
};

namespace sepal::compat {

// For leveldb_free.
inline char* NewCopy(const std::string& text) { return ::strdup(text.c_str()); }

// Replaces `*error` by the message of a failure. Returns whether there was one.
inline bool SaveError(char** error, const leveldb::Status& status) {
  if (status.ok()) return false;
  std::free(*error);
  *error = NewCopy(status.ToString());
  return true;
}

}  // namespace sepal::compat

// Translates a program's leveldb::Options for Sepal.
//
// | LevelDB                          | Sepal                                                                       |
// |----------------------------------|-----------------------------------------------------------------------------|
// | write_buffer_size, block_cache   | memory_limit: the cache's capacity and four buffers, at least 128 MiB;      |
// |                                  | SEPAL_LEVELDB_MEMORY_LIMIT, in bytes, takes its place. Databases with the   |
// |                                  | same cache share it, and so do all without one, or with that variable       |
// |                                  | (sepal/shared_resources.h). memtable_bytes: what is derived from that, or   |
// |                                  | the buffer, where that is larger                                            |
// | comparator, compression,         | the same                                                                    |
// | block_size, NewBloomFilterPolicy |                                                                             |
// | info_log                         | a line for each event, instead of the file LOG                              |
// | env: Default(), NewMemEnv        | the system's files, files in memory; any other is refused                   |
// | all others                       | nothing: checksums are always verified, and files are opened as needed      |
//
// All databases of a process share its threads for flushes and compactions.
#pragma once

#include <leveldb/options.h>
#include <leveldb/status.h>

#include <memory>

#include "compat/leveldb/comparator.h"
#include "sepal/options.h"

namespace sepal::compat {

struct Setup {
  Options options;
  std::unique_ptr<const ComparatorOfProgram> comparator;  // of `options`, if it is the program's own
  bool in_memory = false;
};

leveldb::Status MakeSetup(const leveldb::Options& given, Setup* setup);

}  // namespace sepal::compat

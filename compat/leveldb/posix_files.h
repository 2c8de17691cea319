// The operating system's files as LevelDB's classes, for programs that use Env::Default() beside their databases.
#pragma once

#include <leveldb/env.h>

#include <string>

namespace sepal::compat {

leveldb::Status OpenSequential(const std::string& name, leveldb::SequentialFile** file);
leveldb::Status OpenRandomAccess(const std::string& name, leveldb::RandomAccessFile** file);
// Existing contents are kept, or truncated.
leveldb::Status OpenWritable(const std::string& name, bool keep, leveldb::WritableFile** file);
leveldb::Status OpenLogger(const std::string& name, leveldb::Logger** logger);

}  // namespace sepal::compat

// NewMemEnv's environment: its files, and databases that are opened with it, are in memory and end with it.
#pragma once

#include <leveldb/env.h>

#include <memory>
#include <string>

#include "sepal/file_system.h"
#include "sepal/simulation/memory_file_system.h"

namespace sepal::compat {

class MemoryEnv final : public leveldb::EnvWrapper {
 public:
  explicit MemoryEnv(leveldb::Env* base) : EnvWrapper(base) {}

  FileSystem* files() { return &files_; }

  leveldb::Status NewSequentialFile(const std::string& name, leveldb::SequentialFile** file) override;
  leveldb::Status NewRandomAccessFile(const std::string& name, leveldb::RandomAccessFile** file) override;
  leveldb::Status NewWritableFile(const std::string& name, leveldb::WritableFile** file) override;
  leveldb::Status NewAppendableFile(const std::string& name, leveldb::WritableFile** file) override;
  bool FileExists(const std::string& name) override;
  leveldb::Status GetChildren(const std::string& directory, std::vector<std::string>* names) override;
  leveldb::Status RemoveFile(const std::string& name) override;
  leveldb::Status CreateDir(const std::string& name) override;
  leveldb::Status RemoveDir(const std::string& name) override;
  leveldb::Status GetFileSize(const std::string& name, uint64_t* size) override;
  leveldb::Status RenameFile(const std::string& from, const std::string& to) override;
  leveldb::Status LockFile(const std::string& name, leveldb::FileLock** lock) override;
  leveldb::Status UnlockFile(leveldb::FileLock* lock) override;
  leveldb::Status GetTestDirectory(std::string* path) override;
  leveldb::Status NewLogger(const std::string& name, leveldb::Logger** logger) override;

 private:
  leveldb::Status Writable(const std::string& name, bool keep, leveldb::WritableFile** file);

  MemoryFileSystem files_;
};

}  // namespace sepal::compat

// The out-of-line parts of LevelDB's abstract classes. Programs that derive from them, and inline code of the headers,
// take destructors, virtual tables and type information from here.
#include <leveldb/cache.h>
#include <leveldb/comparator.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

#include "compat/leveldb/convert.h"

namespace leveldb {

Cache::~Cache() = default;
Comparator::~Comparator() = default;
DB::~DB() = default;
EnvWrapper::~EnvWrapper() = default;
FileLock::~FileLock() = default;
FilterPolicy::~FilterPolicy() = default;
Logger::~Logger() = default;
RandomAccessFile::~RandomAccessFile() = default;
SequentialFile::~SequentialFile() = default;
Snapshot::~Snapshot() = default;
WritableFile::~WritableFile() = default;
WriteBatch::Handler::~Handler() = default;

Env::Env() = default;
Env::~Env() = default;

// Each of a pair calls the other: a class has to override one.
Status Env::RemoveFile(const std::string& fname) { return DeleteFile(fname); }
Status Env::DeleteFile(const std::string& fname) { return RemoveFile(fname); }
Status Env::RemoveDir(const std::string& dirname) { return DeleteDir(dirname); }
Status Env::DeleteDir(const std::string& dirname) { return RemoveDir(dirname); }

Status Env::NewAppendableFile(const std::string& fname, WritableFile**) {
  return Status::NotSupported("NewAppendableFile", fname);
}

Status DB::Put(const WriteOptions& options, const Slice& key, const Slice& value) {
  WriteBatch batch;
  batch.Put(key, value);
  return Write(options, &batch);
}

Status DB::Delete(const WriteOptions& options, const Slice& key) {
  WriteBatch batch;
  batch.Delete(key);
  return Write(options, &batch);
}

// --- iterators ---

// The first cleanup lies in the iterator, all others in a list behind it.
Iterator::Iterator() : cleanup_head_{} {}

Iterator::~Iterator() {
  if (cleanup_head_.IsEmpty()) return;
  cleanup_head_.Run();
  for (CleanupNode* node = cleanup_head_.next; node != nullptr;) {
    node->Run();
    delete std::exchange(node, node->next);
  }
}

void Iterator::RegisterCleanup(CleanupFunction function, void* arg1, void* arg2) {
  CleanupNode* node = &cleanup_head_;
  if (!node->IsEmpty()) {
    node = new CleanupNode{};
    node->next = std::exchange(cleanup_head_.next, node);
  }
  node->function = function;
  node->arg1 = arg1;
  node->arg2 = arg2;
}

namespace {

class IteratorOverNothing final : public Iterator {
 public:
  explicit IteratorOverNothing(const Status& status) : status_(status) {}

  bool Valid() const override { return false; }
  void SeekToFirst() override {}
  void SeekToLast() override {}
  void Seek(const Slice&) override {}
  void Next() override {}
  void Prev() override {}
  Slice key() const override { return {}; }
  Slice value() const override { return {}; }
  Status status() const override { return status_; }

 private:
  const Status status_;
};

}  // namespace

Iterator* NewEmptyIterator() { return new IteratorOverNothing(Status()); }
Iterator* NewErrorIterator(const Status& status) { return new IteratorOverNothing(status); }

}  // namespace leveldb

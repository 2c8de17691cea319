// A leveldb::WriteBatch is one string, which inline code of the header copies; its bytes are those of a batch of
// Sepal's (db/format/batch_format.h), so that writing one converts nothing.
#pragma once

#include <leveldb/write_batch.h>

#include <string>

namespace leveldb {

class WriteBatchInternal {
 public:
  static std::string* Bytes(WriteBatch* batch) { return &batch->rep_; }
  static const std::string& Bytes(const WriteBatch& batch) { return batch.rep_; }
};

}  // namespace leveldb

// Values that are written and read in parts, so that none is in memory as a whole.
//
//   class FileSource : public sepal::ValueSource { ... read(fd_, ...) ... };
//   FileSource video(fd);
//   absl::Status written = db->PutStream("video", size_of_video, video, {.sync = true});
//   std::vector<char> buffer(64 << 10);
//   absl::StatusOr<sepal::ValuePart> part = db->ReadValue("video", offset, buffer);
//
// A value that is put so is as any other: Get, iterators, snapshots, backups and repairs know it. One of 1 MiB or more
// is written uncompressed to a file of its own, with a checksum for each 64 KiB, whatever `separate_from` is. The first
// of a database makes it one that earlier versions do not open. A shorter one is put as by DB::Put.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/column_family.h"
#include "sepal/export.h"
#include "sepal/options.h"

namespace sepal {

// Gives the bytes of a value from the first to the last.
class SEPAL_EXPORT ValueSource {
 public:
  virtual ~ValueSource() = default;
  // Fills a part of `buffer`, from its beginning, and returns how many bytes: at least one, or 0 at the end. An error
  // ends the put. Called in the thread of the put, without locks held: it may take its time, and call the database.
  virtual absl::StatusOr<size_t> Read(std::span<char> buffer) = 0;
};

// What DB::ReadValue read.
struct ValuePart {
  size_t copied = 0;         // bytes
  uint64_t value_bytes = 0;  // of the whole value
};

// The calls of DB for such values. They may be called from any number of threads at once.
class SEPAL_EXPORT ValueStreams {
 public:
  // Puts a value of exactly `value_bytes` bytes, which `source` gives and then ends. The key has it, and with `sync` is
  // durable, once the call returns ok; until then it has what it had, and after an error too. Other writes do not wait
  // while the source is read. Errors: those of Put; what the source returned; InvalidArgument if it ends early or goes
  // on. A time to live begins with the call.
  //
  // Cost: 512 KiB of memory, which count against `memory_limit`, and one sync of the value's file.
  virtual absl::Status PutStream(const ColumnFamily& family, std::string_view key, uint64_t value_bytes,
                                 ValueSource& source, const WriteOptions& options = {}) = 0;
  // Copies what the value of `key` has from `offset` on into `buffer`, as much as fits: nothing where it ends at
  // `offset` or before. Errors: those of Get. Each call reads the key anew: give `options` a snapshot to read parts of
  // one value.
  //
  // Cost: of a value that was put by PutStream with 1 MiB or more, those 64 KiB are read and checked that the part
  // touches. Any other is read and checked as a whole: if it is large and uncompressed in a value file, in steps of 256
  // KiB; else as by Get. So it is where a merge operator, or a filter that looks at values, has to see it.
  virtual absl::StatusOr<ValuePart> ReadValue(const ColumnFamily& family, std::string_view key, uint64_t offset,
                                              std::span<char> buffer,
                                              const ReadOptions& options = kDefaultReadOptions) = 0;

  // The same calls on the default column family.
  absl::Status PutStream(std::string_view key, uint64_t value_bytes, ValueSource& source,
                         const WriteOptions& options = {}) {
    return PutStream(*default_column_family_, key, value_bytes, source, options);
  }
  absl::StatusOr<ValuePart> ReadValue(std::string_view key, uint64_t offset, std::span<char> buffer,
                                      const ReadOptions& options = kDefaultReadOptions) {
    return ReadValue(*default_column_family_, key, offset, buffer, options);
  }

 protected:
  ~ValueStreams() = default;

  // The implementation sets it before any call.
  const ColumnFamily* default_column_family_ = nullptr;
};

}  // namespace sepal

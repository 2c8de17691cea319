// Writes one sorted table file, from front to back, in large pieces.
//
// Use: Add in internal key order, then Finish once, then sync and close the file as the caller's protocol requires.
// After any error the writer must not be used, and the file must be removed. Not safe for concurrent use. Memory: the
// block being built, one write buffer, and the leaf pages and key hashes of the whole file until Finish; MemoryBytes
// says how much.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "sepal/file_system.h"
#include "sepal/options.h"
#include "table/file/block_source.h"
#include "table/file/table_format.h"
#include "table/key/internal_key.h"
#include "util/base/hyperloglog.h"
#include "util/memory/memory_budget.h"
#include "util/memory/ready_pages.h"

namespace sepal {

struct TableWriterOptions {
  KeyOrder order;
  CompressionKind compression = CompressionKind::kSnappy;
  size_t block_bytes = 4096;
  FilterPolicy filter_policy = {};
  uint64_t hash_seed = 0;
  uint64_t table_id = 0;
  uint64_t database_id = 0;
  uint32_t column_family_id = 0;
  std::string column_family_name = {};
  uint64_t creation_unix_micros = 0;
  // Derived sizes, which tests make small.
  uint32_t blocks_per_leaf_page = 64;
  size_t write_buffer_bytes = size_t{256} << 10;
  uint64_t max_guard_bytes = kMaxUnitBytes;  // no guard would be larger
  MemoryBudget* budget = nullptr;            // charged to kCompaction while the writer lives; may be null
  ReadyPages* pool = nullptr;                // the source of its larger pieces of memory; may be null
  // Called for each data block, each leaf page and the guard, with the bytes that a reader will keep of it; may be
  // empty. They are not durable yet, and the file may never be.
  std::function<void(BlockHandle handle, UnitKind kind, std::string_view bytes)> on_unit = {};
};

// Values larger than this get a block of their own.
inline constexpr size_t kLoneValueBytes = size_t{256} << 10;

class TableWriter {
 public:
  // `file` must be empty and outlive the writer.
  TableWriter(TableWriterOptions options, WritableFile* file);
  ~TableWriter();

  // Requires a key after all keys that were added before.
  absl::Status Add(const InternalKeyView& key, std::string_view value);
  // Writes the rest. Requires at least one entry. Does not sync.
  absl::Status Finish();

  uint64_t entries() const;
  // Nearly the size that the file would have if Finish were called now.
  uint64_t EstimatedFileSize() const;
  size_t MemoryBytes() const;
  // Call after Finish.
  uint64_t FileSize() const;
  uint64_t footer_checksum() const;
  const TableProperties& properties() const;
  // The sketch of the user keys; null if keys are not hashed (FilterPolicy).
  const HyperLogLog* key_sketch() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sepal

// The interface of an engine in the comparison. Each engine has an adapter in a file of its own; the driver is the same
// for all and knows none of them.
//
// An adapter has no error paths: any error ends the process with a message (`Require`), since a comparison with errors
// is worthless. Values are returned without a copy if the engine can do so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sepal::compare {

struct EngineSettings {
  std::string path;
  // For everything in memory: block cache, memtables, filters.
  size_t memory_bytes = 0;
  size_t memtable_bytes = 0;
  double filter_bits_per_key = 10;
  // Entries of the whole data set: for the null engine's answers and LMDB's map.
  uint64_t entries = 0;
  size_t entry_bytes = 0;
  // Values of at least so many bytes are separated from their keys, in engines that can; 0: none.
  size_t separate_from = 0;
  // Snappy, for all that have it.
  bool compress = true;
  // Reads bypass the operating system's cache, in engines that can.
  bool direct_reads = false;
  // Values are counters (Session::Increment).
  bool counters = false;
  // Nothing is flushed, not even a full memtable: only the log has the writes.
  bool keep_in_log = false;
};

// Like a database's iterator; keys and values live until the next move.
class Cursor {
 public:
  virtual ~Cursor() = default;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  virtual void Seek(std::string_view target) = 0;
  virtual void Next() = 0;
  virtual void Prev() = 0;
  virtual bool Valid() = 0;
  virtual std::string_view key() = 0;
  virtual std::string_view value() = 0;
};

struct Entry {
  std::string key;
  std::string_view value;
};

// One thread's way to the engine.
class Session {
 public:
  virtual ~Session() = default;
  virtual void Put(std::string_view key, std::string_view value, bool sync) = 0;
  virtual void PutBatch(std::span<const Entry> entries) = 0;
  virtual void Delete(std::string_view key) = 0;
  // Adds to the counter of the key, of eight bytes, little-endian, which is 0 where there is none. By the engine's own
  // merge where it has one, else by a read and a put.
  virtual void Increment(std::string_view key, uint64_t by);
  // Deletes the keys in [begin, end): by a call where the engine has one, else one by one.
  virtual void DeleteRange(std::string_view begin, std::string_view end);
  // Whether the key exists; if so, its value, which lives until the session's next call.
  virtual bool Get(std::string_view key, std::string_view* value) = 0;
  // How many of the keys exist. Each value is set, or empty for an absent key; they live until the next call.
  virtual size_t MultiGet(std::span<const std::string_view> keys, std::span<std::string_view> values) = 0;
  virtual std::unique_ptr<Cursor> NewCursor() = 0;
};

// By the engine's own count, since its opening. Nothing where it does not count, or has no such thing.
struct EngineCounters {
  std::optional<uint64_t> table_bytes = {};  // written by flushes and compactions
  std::optional<uint64_t> log_bytes = {};    // written
  std::optional<uint64_t> runs = {};         // as of now: files at level 0, and deeper levels by their sorted runs
};

class Engine {
 public:
  virtual ~Engine() = default;
  // Every setting that differs from the engine's default, and the division of memory, as one line.
  virtual std::string DescribeSettings() const = 0;
  virtual std::unique_ptr<Session> NewSession() = 0;
  // Writes what is in memory to its place on disk and waits until no background work is left. Returns when (NowNanos)
  // the last activity was seen.
  virtual uint64_t FinishBackgroundWork() = 0;
  // Writes the memtable and compacts everything into one run. False if the engine has no such call.
  virtual bool CompactAll() = 0;
  virtual EngineCounters Counters() = 0;
};

using EngineFactory = std::unique_ptr<Engine> (*)(const EngineSettings&);

struct EngineEntry {
  const char* name;
  EngineFactory open;
  // Whether the last column's ratio is to the best of these (an LSM tree with the same promises).
  bool is_peer;
  bool has_direct_reads;
  bool has_log;  // to be replayed at an opening
  // It is asked only where values lie apart.
  bool for_separated = false;
  // What its memtables hold at most, however large they are asked for.
  uint64_t most_memtable_bytes = UINT64_MAX;
};
// All engines that were built in, Sepal first.
std::span<const EngineEntry> AllEngines();

std::unique_ptr<Engine> OpenNull(const EngineSettings& settings);
std::unique_ptr<Engine> OpenSepal(const EngineSettings& settings);
// With all values beside their keys.
std::unique_ptr<Engine> OpenSepalInline(const EngineSettings& settings);
std::unique_ptr<Engine> OpenLevelDb(const EngineSettings& settings);
std::unique_ptr<Engine> OpenRocksDb(const EngineSettings& settings);
// RocksDB with blob files.
std::unique_ptr<Engine> OpenBlobDb(const EngineSettings& settings);
std::unique_ptr<Engine> OpenLmdb(const EngineSettings& settings);

// "Bloom filter 10 bits a key, Snappy".
std::string DescribeTables(double filter_bits_per_key, bool compress);

[[noreturn]] void Fail(std::string_view what, std::string_view message);
// Any status type of `ok()` and `ToString()`.
template <class Status>
void Require(const Status& status, std::string_view what) {
  if (!status.ok()) [[unlikely]]
    Fail(what, status.ToString());
}

}  // namespace sepal::compare

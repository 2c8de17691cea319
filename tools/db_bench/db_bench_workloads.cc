#include "tools/db_bench/db_bench_workloads.h"

#include <algorithm>
#include <vector>

#include "tools/db_bench/filter_savings.h"
#include "util/base/status.h"

namespace sepal::tools {

bool BenchThread::More() {
  const uint64_t done = done_.load(std::memory_order_relaxed);
  if (options().duration_seconds <= 0) return done < limit_;
  // The clock is asked once in 64 operations.
  if (done % 64 != 0) return true;
  return static_cast<double>(NowNanos() - shared_->begin_nanos) < options().duration_seconds * 1e9;
}

void BenchThread::Finished(uint64_t operations, uint64_t bytes) {
  done_.store(done_.load(std::memory_order_relaxed) + operations, std::memory_order_relaxed);
  bytes_ += bytes;
  if (options().histogram) {
    const uint64_t now = NowNanos();
    latencies_.Add(now - last_nanos_);
    last_nanos_ = now;
  }
}

namespace {

ValueGenerator Values(const BenchThread& thread) {
  const DbBenchOptions& options = thread.options();
  return ValueGenerator(options.compression_ratio, options.seed + static_cast<uint64_t>(thread.index()),
                        static_cast<size_t>(options.value_size));
}

WriteOptions HowToWrite(const BenchThread& thread, bool sync) {
  return {.sync = sync, .disable_wal = !sync && thread.options().disable_wal};
}

// How many operations a thread does.
uint64_t EveryEntry(const DbBenchOptions& options, int) { return options.num; }
uint64_t EveryThousandthEntry(const DbBenchOptions& options, int) { return std::max<uint64_t>(1, options.num / 1000); }
uint64_t Reads(const DbBenchOptions& options, int) { return options.Reads(); }
uint64_t Writes(const DbBenchOptions& options, int) { return options.Writes(); }

// Where the threads share the entries out among them.
uint64_t FirstOfShare(const DbBenchOptions& options, int index) {
  return options.num * static_cast<uint64_t>(index) / static_cast<uint64_t>(options.threads);
}
uint64_t ShareOfEntries(const DbBenchOptions& options, int index) {
  return FirstOfShare(options, index + 1) - FirstOfShare(options, index);
}

// Puts the thread's entries, `per_batch` at a time; `number_of(i)` is the i-th entry's number.
template <class NumberOf>
absl::Status PutEntries(BenchThread& thread, uint64_t per_batch, bool sync, NumberOf number_of) {
  ValueGenerator values = Values(thread);
  const size_t value_bytes = static_cast<size_t>(thread.options().value_size);
  const WriteOptions write_options = HowToWrite(thread, sync);
  const bool timed = thread.options().duration_seconds > 0;
  WriteBatch batch;
  for (uint64_t i = 0; thread.More();) {
    uint64_t bytes = 0;
    uint64_t entries = 1;
    if (per_batch == 1) {
      const std::string_view key = thread.key().Format(number_of(i++));
      RETURN_IF_ERROR(thread.db()->Put(key, values.Next(value_bytes), write_options));
      bytes = key.size() + value_bytes;
    } else {
      batch.Clear();
      for (entries = 0; entries < per_batch && (timed || i < thread.limit()); ++entries) {
        const std::string_view key = thread.key().Format(number_of(i++));
        batch.Put(key, values.Next(value_bytes));
        bytes += key.size() + value_bytes;
      }
      RETURN_IF_ERROR(thread.db()->Write(&batch, write_options));
    }
    thread.Finished(entries, bytes);
  }
  return absl::OkStatus();
}

uint64_t BatchSize(const BenchThread& thread) { return static_cast<uint64_t>(thread.options().batch_size); }

absl::Status FillSeq(BenchThread& thread) {
  const uint64_t num = thread.options().num;
  return PutEntries(thread, BatchSize(thread), thread.options().sync, [num](uint64_t i) { return i % num; });
}

absl::Status FillBatch(BenchThread& thread) {
  const uint64_t num = thread.options().num;
  const uint64_t per_batch = BatchSize(thread) > 1 ? BatchSize(thread) : 1000;
  return PutEntries(thread, per_batch, thread.options().sync, [num](uint64_t i) { return i % num; });
}

absl::Status FillRandom(BenchThread& thread) {
  return PutEntries(thread, BatchSize(thread), thread.options().sync, [&](uint64_t) { return thread.RandomNumber(); });
}

absl::Status FillUniqueRandom(BenchThread& thread) {
  if (thread.limit() == 0) return absl::OkStatus();
  const uint64_t num = thread.options().num;
  const uint64_t first = FirstOfShare(thread.options(), thread.index());
  const Permutation shuffle(num, thread.options().seed);
  return PutEntries(thread, BatchSize(thread), thread.options().sync,
                    [&](uint64_t i) { return shuffle((first + i) % num); });
}

absl::Status FillSync(BenchThread& thread) {
  return PutEntries(thread, BatchSize(thread), true, [&](uint64_t) { return thread.RandomNumber(); });
}

absl::Status GetOne(BenchThread& thread, std::string_view key, PinnedValue* value) {
  absl::Status status = thread.db()->Get(key, value);
  const bool found = status.ok();
  if (!found && !absl::IsNotFound(status)) return status;
  thread.CountFound(found ? 1 : 0, 1);
  thread.Finished(1, found ? key.size() + value->value().size() : 0);
  return absl::OkStatus();
}

template <class KeyOf>
absl::Status GetEntries(BenchThread& thread, KeyOf key_of) {
  PinnedValue value;
  while (thread.More()) RETURN_IF_ERROR(GetOne(thread, key_of(), &value));
  return absl::OkStatus();
}

absl::Status ReadRandom(BenchThread& thread) {
  return GetEntries(thread, [&] { return thread.key().Format(thread.RandomNumber()); });
}

absl::Status ReadMissing(BenchThread& thread) {
  return GetEntries(thread, [&] { return thread.key().FormatMissing(thread.RandomNumber()); });
}

absl::Status ReadHot(BenchThread& thread) {
  const uint64_t hot = (thread.options().num + 99) / 100;
  return GetEntries(thread, [&, hot] { return thread.key().Format(thread.random().Uniform(hot)); });
}

absl::Status MultiReadRandom(BenchThread& thread) {
  const size_t keys_at_once = BatchSize(thread) > 1 ? BatchSize(thread) : 64;
  std::vector<KeyBuffer> buffers(keys_at_once, KeyBuffer(thread.options().key_size));
  std::vector<std::string_view> keys(keys_at_once);
  std::vector<PinnedValue> values(keys_at_once);
  std::vector<absl::Status> statuses(keys_at_once);
  while (thread.More()) {
    for (size_t i = 0; i < keys_at_once; ++i) keys[i] = buffers[i].Format(thread.RandomNumber());
    thread.db()->MultiGet(keys, values, statuses);
    uint64_t found = 0, bytes = 0;
    for (size_t i = 0; i < keys_at_once; ++i) {
      if (statuses[i].ok()) {
        ++found;
        bytes += keys[i].size() + values[i].value().size();
      } else if (!absl::IsNotFound(statuses[i])) {
        return statuses[i];
      }
    }
    thread.CountFound(found, keys_at_once);
    thread.Finished(keys_at_once, bytes);
  }
  return absl::OkStatus();
}

absl::Status Scan(BenchThread& thread, bool forward) {
  std::unique_ptr<Iterator> it = thread.db()->NewIterator();
  forward ? it->SeekToFirst() : it->SeekToLast();
  while (it->Valid() && thread.More()) {
    const uint64_t bytes = it->key().size() + it->value().size();
    forward ? it->Next() : it->Prev();
    thread.Finished(1, bytes);
  }
  return it->status();
}

absl::Status ReadSeq(BenchThread& thread) { return Scan(thread, true); }
absl::Status ReadReverse(BenchThread& thread) { return Scan(thread, false); }

absl::Status SeekRandom(BenchThread& thread) {
  const DbBenchOptions& options = thread.options();
  while (thread.More()) {
    // One for each seek, as in the db_bench of LevelDB and of RocksDB.
    const std::unique_ptr<Iterator> it = thread.db()->NewIterator();
    const std::string_view key = thread.key().Format(thread.RandomNumber());
    it->Seek(key);
    thread.CountFound(it->Valid() && it->key() == key ? 1 : 0, 1);
    uint64_t bytes = 0;
    for (int step = 0; step < options.seek_nexts && it->Valid(); ++step) {
      bytes += it->key().size() + it->value().size();
      options.reverse_iterator ? it->Prev() : it->Next();
    }
    RETURN_IF_ERROR(it->status());
    thread.Finished(1, bytes);
  }
  return absl::OkStatus();
}

absl::Status ReadWhileWriting(BenchThread& thread) {
  if (thread.index() < thread.options().threads) return ReadRandom(thread);
  ValueGenerator values = Values(thread);
  const size_t value_bytes = static_cast<size_t>(thread.options().value_size);
  while (thread.shared().measured_left.load(std::memory_order_relaxed) > 0) {
    RETURN_IF_ERROR(thread.db()->Put(thread.key().Format(thread.RandomNumber()), values.Next(value_bytes),
                                     HowToWrite(thread, thread.options().sync)));
  }
  return absl::OkStatus();
}

absl::Status ReadRandomWriteRandom(BenchThread& thread) {
  ValueGenerator values = Values(thread);
  const DbBenchOptions& options = thread.options();
  const size_t value_bytes = static_cast<size_t>(options.value_size);
  PinnedValue value;
  while (thread.More()) {
    const std::string_view key = thread.key().Format(thread.RandomNumber());
    if (thread.random().Uniform(100) < static_cast<uint64_t>(options.readwritepercent)) {
      RETURN_IF_ERROR(GetOne(thread, key, &value));
    } else {
      RETURN_IF_ERROR(thread.db()->Put(key, values.Next(value_bytes), HowToWrite(thread, options.sync)));
      thread.Finished(1, key.size() + value_bytes);
    }
  }
  return absl::OkStatus();
}

template <class NumberOf>
absl::Status DeleteEntries(BenchThread& thread, NumberOf number_of) {
  const WriteOptions write_options = HowToWrite(thread, thread.options().sync);
  const bool timed = thread.options().duration_seconds > 0;
  WriteBatch batch;
  for (uint64_t i = 0; thread.More();) {
    batch.Clear();
    uint64_t entries = 0;
    for (; entries < BatchSize(thread) && (timed || i < thread.limit()); ++entries) {
      batch.Delete(thread.key().Format(number_of(i++)));
    }
    RETURN_IF_ERROR(thread.db()->Write(&batch, write_options));
    thread.Finished(entries, 0);
  }
  return absl::OkStatus();
}

absl::Status DeleteSeq(BenchThread& thread) {
  const uint64_t num = thread.options().num;
  return DeleteEntries(thread, [num](uint64_t i) { return i % num; });
}
absl::Status DeleteRandom(BenchThread& thread) {
  return DeleteEntries(thread, [&](uint64_t) { return thread.RandomNumber(); });
}

absl::Status Compact(BenchThread& thread) {
  RETURN_IF_ERROR(thread.db()->CompactRange());
  thread.Finished(1, 0);
  return absl::OkStatus();
}
absl::Status Flush(BenchThread& thread) {
  RETURN_IF_ERROR(thread.db()->Flush());
  thread.Finished(1, 0);
  return absl::OkStatus();
}
absl::Status WaitForCompaction(BenchThread& thread) {
  RETURN_IF_ERROR(thread.db()->WaitForBackgroundWork());
  thread.Finished(1, 0);
  return absl::OkStatus();
}

struct Report {
  const char* name;
  const char* property;
};
constexpr Report kReports[] = {{"stats", "sepal.stats"},       {"levelstats", "sepal.levels"},
                               {"sstables", "sepal.sstables"}, {"memstats", "sepal.memory"},
                               {"options", "sepal.options"},   {"filters", "sepal.filters"}};

constexpr Workload kWorkloads[] = {
    {.name = "fillseq", .run = FillSeq, .limit = EveryEntry, .fresh = true},
    {.name = "fillrandom", .run = FillRandom, .limit = Writes, .fresh = true},
    {.name = "filluniquerandom", .run = FillUniqueRandom, .limit = ShareOfEntries, .fresh = true},
    {.name = "fillsync", .run = FillSync, .limit = EveryThousandthEntry, .fresh = true},
    {.name = "fillbatch", .run = FillBatch, .limit = EveryEntry, .fresh = true},
    {.name = "overwrite", .run = FillRandom, .limit = Writes},
    {.name = "readrandom", .run = ReadRandom, .limit = Reads},
    {.name = "readmissing", .run = ReadMissing, .limit = Reads},
    {.name = "readhot", .run = ReadHot, .limit = Reads},
    {.name = "readseq", .run = ReadSeq, .limit = Reads},
    {.name = "readreverse", .run = ReadReverse, .limit = Reads},
    {.name = "seekrandom", .run = SeekRandom, .limit = Reads},
    {.name = "multireadrandom", .run = MultiReadRandom, .limit = Reads},
    {.name = "readwhilewriting", .run = ReadWhileWriting, .limit = Reads, .extra_thread = true},
    {.name = "readrandomwriterandom", .run = ReadRandomWriteRandom, .limit = Reads},
    {.name = "deleteseq", .run = DeleteSeq, .limit = Writes},
    {.name = "deleterandom", .run = DeleteRandom, .limit = Writes},
    {.name = "compact", .run = Compact, .once = true},
    {.name = "flush", .run = Flush, .once = true},
    {.name = "waitforcompaction", .run = WaitForCompaction, .once = true},
    {.name = "stats", .run = nullptr},
    {.name = "levelstats", .run = nullptr},
    {.name = "sstables", .run = nullptr},
    {.name = "memstats", .run = nullptr},
    {.name = "options", .run = nullptr},
    {.name = "filters", .run = nullptr},
    {.name = "resetstats", .run = nullptr},
};

}  // namespace

const Workload* FindWorkload(std::string_view name) {
  for (const Workload& workload : kWorkloads) {
    if (name == workload.name) return &workload;
  }
  return nullptr;
}

uint64_t OperationsOf(const Workload& workload, const DbBenchOptions& options, int thread) {
  return workload.limit == nullptr ? 0 : workload.limit(options, thread);
}

uint64_t TotalOperations(const Workload& workload, const DbBenchOptions& options) {
  uint64_t total = 0;
  if (options.duration_seconds > 0) return total;
  for (int thread = 0; thread < options.threads; ++thread) total += OperationsOf(workload, options, thread);
  return total;
}

std::string BenchmarkNames() {
  std::string names;
  for (const Workload& workload : kWorkloads) names += (names.empty() ? "" : " ") + std::string(workload.name);
  return names;
}

std::optional<std::string> ReportText(std::string_view name, DB* db) {
  if (name == "resetstats") {
    db->statistics()->Reset();
    return "";
  }
  for (const Report& report : kReports) {
    if (name != report.name) continue;
    std::string text = db->GetProperty(report.property).value_or("");
    if (!text.empty() && text.back() != '\n') text += '\n';
    if (name == "filters") text += MeasureFilters(*db->statistics()).ToString() + "\n";
    return text;
  }
  return std::nullopt;
}

}  // namespace sepal::tools

#include "tools/db_bench/db_bench_workloads.h"

#include <algorithm>
#include <vector>

#include "tools/db_bench/filter_savings.h"
#include "util/base/status.h"

namespace sepal::tools {

uint64_t Reads(const DbBenchOptions& options, int) { return options.Reads(); }
uint64_t Writes(const DbBenchOptions& options, int) { return options.Writes(); }

namespace {

constexpr size_t kLargeValueBytes = 100'000;  // of fill100K

uint64_t EveryEntry(const DbBenchOptions& options, int) { return options.num; }
uint64_t EveryThousandthEntry(const DbBenchOptions& options, int) { return std::max<uint64_t>(1, options.num / 1000); }

// The beginning and the size of a thread's share if the threads divide all entries among themselves.
uint64_t FirstOfShare(const DbBenchOptions& options, int index) {
  return options.num * static_cast<uint64_t>(index) / static_cast<uint64_t>(options.threads);
}
uint64_t ShareOfEntries(const DbBenchOptions& options, int index) {
  return FirstOfShare(options, index + 1) - FirstOfShare(options, index);
}

// Puts the thread's entries, `per_batch` at a time; `number_of(i)` is the i-th entry's number.
template <class NumberOf>
absl::Status PutEntries(BenchThread& thread, uint64_t per_batch, bool sync, size_t value_bytes, NumberOf number_of) {
  const WriteOptions write_options = thread.HowToWrite(sync);
  const bool timed = thread.options().duration_seconds > 0;
  WriteBatch batch;
  for (uint64_t i = 0; thread.More();) {
    uint64_t bytes = 0;
    uint64_t entries = 1;
    if (per_batch == 1) {
      const uint64_t number = number_of(i++);
      const std::string_view key = thread.key().Format(number);
      RETURN_IF_ERROR(thread.db()->Put(thread.FamilyOf(number), key, thread.Value(value_bytes), write_options));
      bytes = key.size() + value_bytes;
    } else {
      batch.Clear();
      for (entries = 0; entries < per_batch && (timed || i < thread.limit()); ++entries) {
        const uint64_t number = number_of(i++);
        const std::string_view key = thread.key().Format(number);
        batch.Put(thread.FamilyOf(number), key, thread.Value(value_bytes));
        bytes += key.size() + value_bytes;
      }
      RETURN_IF_ERROR(thread.db()->Write(batch, write_options));
    }
    RETURN_IF_ERROR(thread.DeleteRangeIfDue(entries));
    thread.Finished(entries, bytes);
    thread.Pace(entries, bytes);
  }
  return absl::OkStatus();
}

template <class NumberOf>
absl::Status PutEntries(BenchThread& thread, uint64_t per_batch, NumberOf number_of) {
  return PutEntries(thread, per_batch, thread.options().sync, thread.options().ValueSize(), number_of);
}

uint64_t BatchSize(const BenchThread& thread) { return static_cast<uint64_t>(thread.options().batch_size); }

absl::Status FillSeq(BenchThread& thread) {
  const uint64_t num = thread.options().num;
  return PutEntries(thread, BatchSize(thread), [num](uint64_t i) { return i % num; });
}

absl::Status FillBatch(BenchThread& thread) {
  const uint64_t num = thread.options().num;
  const uint64_t per_batch = BatchSize(thread) > 1 ? BatchSize(thread) : 1000;
  return PutEntries(thread, per_batch, [num](uint64_t i) { return i % num; });
}

absl::Status FillRandom(BenchThread& thread) {
  return PutEntries(thread, BatchSize(thread), [&](uint64_t) { return thread.RandomNumber(); });
}

absl::Status FillUniqueRandom(BenchThread& thread) {
  if (thread.limit() == 0) return absl::OkStatus();
  const uint64_t num = thread.options().num;
  const uint64_t first = FirstOfShare(thread.options(), thread.index());
  const Permutation shuffle(num, thread.options().seed);
  return PutEntries(thread, BatchSize(thread), [&](uint64_t i) { return shuffle((first + i) % num); });
}

absl::Status FillSync(BenchThread& thread) {
  return PutEntries(thread, BatchSize(thread), /*sync=*/true, thread.options().ValueSize(),
                    [&](uint64_t) { return thread.RandomNumber(); });
}

absl::Status Fill100K(BenchThread& thread) {
  return PutEntries(thread, BatchSize(thread), thread.options().sync, kLargeValueBytes,
                    [&](uint64_t) { return thread.RandomNumber(); });
}

absl::Status ReadMissing(BenchThread& thread) {
  PinnedValue value;
  while (thread.More()) {
    const uint64_t number = thread.RandomNumber();
    const absl::Status status = thread.db()->Get(thread.FamilyOf(number), thread.key().FormatMissing(number), value);
    if (!absl::IsNotFound(status)) RETURN_IF_ERROR(status);
    thread.CountFound(status.ok() ? 1 : 0, 1);
    thread.Finished(1, 0);
  }
  return absl::OkStatus();
}

absl::Status ReadHot(BenchThread& thread) {
  const uint64_t hot = (thread.options().num + 99) / 100;
  PinnedValue value;
  while (thread.More()) RETURN_IF_ERROR(thread.Get(thread.random().Uniform(hot), value));
  return absl::OkStatus();
}

absl::Status Scan(BenchThread& thread, bool forward) {
  for (const ColumnFamily* family : thread.shared().families) {
    std::unique_ptr<Iterator> it = thread.db()->NewIterator(*family);
    forward ? it->SeekToFirst() : it->SeekToLast();
    while (it->Valid() && thread.More()) {
      const uint64_t bytes = it->key().size() + it->value().size();
      forward ? it->Next() : it->Prev();
      thread.Finished(1, bytes);
    }
    RETURN_IF_ERROR(it->status());
  }
  return absl::OkStatus();
}

absl::Status ReadSeq(BenchThread& thread) { return Scan(thread, true); }
absl::Status ReadReverse(BenchThread& thread) { return Scan(thread, false); }

// One iterator, whose seeks go upward, and start again at the end.
absl::Status SeekOrdered(BenchThread& thread) {
  const std::unique_ptr<Iterator> it = thread.db()->NewIterator(*thread.shared().families.front());
  for (uint64_t number = 0; thread.More();) {
    const std::string_view key = thread.key().Format(number);
    it->Seek(key);
    RETURN_IF_ERROR(it->status());
    thread.CountFound(it->Valid() && it->key() == key ? 1 : 0, 1);
    thread.Finished(1, 0);
    number = (number + thread.random().Uniform(100)) % thread.options().num;
  }
  return absl::OkStatus();
}

// Reads all entries whose keys share a prefix with a random one.
absl::Status PrefixScanRandom(BenchThread& thread) {
  while (thread.More()) {
    const uint64_t number = thread.RandomNumber();
    const std::string prefix(thread.key().Format(number).substr(0, thread.options().PrefixSize()));
    const std::unique_ptr<Iterator> it = thread.db()->NewIterator(thread.FamilyOf(number), {.prefix = prefix});
    uint64_t entries = 0, bytes = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++entries) bytes += it->key().size() + it->value().size();
    RETURN_IF_ERROR(it->status());
    thread.CountFound(entries > 0 ? 1 : 0, 1);
    thread.Finished(1, bytes);
  }
  return absl::OkStatus();
}

template <class NumberOf>
absl::Status DeleteEntries(BenchThread& thread, NumberOf number_of) {
  const WriteOptions write_options = thread.HowToWrite(thread.options().sync);
  const bool timed = thread.options().duration_seconds > 0;
  WriteBatch batch;
  for (uint64_t i = 0; thread.More();) {
    batch.Clear();
    uint64_t entries = 0;
    for (; entries < BatchSize(thread) && (timed || i < thread.limit()); ++entries) {
      const uint64_t number = number_of(i++);
      batch.Delete(thread.FamilyOf(number), thread.key().Format(number));
    }
    RETURN_IF_ERROR(thread.db()->Write(batch, write_options));
    thread.Finished(entries, 0);
    thread.Pace(entries, entries * thread.key().Format(0).size());
  }
  return absl::OkStatus();
}

absl::Status DeleteSeq(BenchThread& thread) {
  const uint64_t num = thread.options().num;
  return DeleteEntries(thread, [num](uint64_t i) { return i % num; });
}
absl::Status DeleteRangeRandom(BenchThread& thread) {
  while (thread.More()) {
    RETURN_IF_ERROR(thread.DeleteRange());
    thread.Finished(1, 0);
  }
  return absl::OkStatus();
}

absl::Status DeleteRandom(BenchThread& thread) {
  return DeleteEntries(thread, [&](uint64_t) { return thread.RandomNumber(); });
}

absl::Status Compact(BenchThread& thread) {
  for (const ColumnFamily* family : thread.shared().families) RETURN_IF_ERROR(thread.db()->CompactRange(*family));
  thread.Finished(1, 0);
  return absl::OkStatus();
}
// Of families with tables in level 0 alone. There is no compaction of one level on request: what is there goes into the
// last level, as by CompactRange.
absl::Status CompactLevel0(BenchThread& thread) {
  for (const ColumnFamily* family : thread.shared().families) {
    if (thread.db()->GetProperty(*family, "sepal.num-files-at-level0").value_or("0") == "0") continue;
    RETURN_IF_ERROR(thread.db()->CompactRange(*family));
  }
  thread.Finished(1, 0);
  return absl::OkStatus();
}
absl::Status Flush(BenchThread& thread) {
  for (const ColumnFamily* family : thread.shared().families) RETURN_IF_ERROR(thread.db()->Flush(*family));
  thread.Finished(1, 0);
  return absl::OkStatus();
}
absl::Status VerifyChecksum(BenchThread& thread) {
  RETURN_IF_ERROR(thread.db()->VerifyChecksums());
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
    {.name = "fill100K", .run = Fill100K, .limit = EveryThousandthEntry, .fresh = true},
    {.name = "overwrite", .run = FillRandom, .limit = Writes},
    {.name = "readrandom", .run = ReadRandom, .limit = Reads},
    {.name = "readmissing", .run = ReadMissing, .limit = Reads},
    {.name = "readhot", .run = ReadHot, .limit = Reads},
    {.name = "readseq", .run = ReadSeq, .limit = Reads},
    {.name = "readreverse", .run = ReadReverse, .limit = Reads},
    {.name = "seekrandom", .run = SeekRandom, .limit = Reads},
    {.name = "seekordered", .run = SeekOrdered, .limit = Reads},
    {.name = "prefixscanrandom", .run = PrefixScanRandom, .limit = Reads},
    {.name = "multireadrandom", .run = MultiReadRandom, .limit = Reads},
    {.name = "deleteseq", .run = DeleteSeq, .limit = Writes},
    {.name = "deleterandom", .run = DeleteRandom, .limit = Writes},
    {.name = "deleterangerandom", .run = DeleteRangeRandom, .limit = Writes},
    {.name = "compact", .run = Compact, .once = true},
    {.name = "compactall", .run = Compact, .once = true},
    {.name = "compact0", .run = CompactLevel0, .once = true},
    {.name = "flush", .run = Flush, .once = true},
    {.name = "waitforcompaction", .run = WaitForCompaction, .once = true},
    {.name = "verifychecksum", .run = VerifyChecksum, .once = true},
    {.name = "stats", .run = nullptr},
    {.name = "levelstats", .run = nullptr},
    {.name = "sstables", .run = nullptr},
    {.name = "memstats", .run = nullptr},
    {.name = "options", .run = nullptr},
    {.name = "filters", .run = nullptr},
    {.name = "resetstats", .run = nullptr},
};

}  // namespace

absl::Status ReadRandom(BenchThread& thread) {
  PinnedValue value;
  while (thread.More()) RETURN_IF_ERROR(thread.Get(thread.RandomNumber(), value));
  return absl::OkStatus();
}

// With several column families, each group of keys is of one.
absl::Status MultiReadRandom(BenchThread& thread) {
  const size_t keys_at_once = BatchSize(thread) > 1 ? BatchSize(thread) : 64;
  std::vector<KeyBuffer> buffers(keys_at_once, KeyBuffer(thread.options().key_size));
  std::vector<std::string_view> keys(keys_at_once);
  std::vector<PinnedValue> values(keys_at_once);
  std::vector<absl::Status> statuses(keys_at_once);
  const uint64_t num = thread.options().num, families = thread.shared().families.size();
  while (thread.More()) {
    const uint64_t family = families == 1 ? 0 : thread.random().Uniform(families);
    for (size_t i = 0; i < keys_at_once; ++i) {
      uint64_t number = thread.RandomNumber();
      if (families > 1) number = std::min(number - number % families + family, num - 1);
      keys[i] = buffers[i].Format(number);
    }
    thread.db()->MultiGet(thread.FamilyOf(family), keys, values, statuses).IgnoreError();
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

absl::Status SeekRandom(BenchThread& thread) {
  const DbBenchOptions& options = thread.options();
  while (thread.More()) {
    const uint64_t number = thread.RandomNumber();
    // One for each seek, as in the db_bench of LevelDB and of RocksDB.
    const std::unique_ptr<Iterator> it = thread.db()->NewIterator(thread.FamilyOf(number));
    const std::string_view key = thread.key().Format(number);
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

const Workload* FindWorkload(std::string_view name) {
  for (const std::span<const Workload> workloads : {std::span<const Workload>(kWorkloads), MixedWorkloads()}) {
    for (const Workload& workload : workloads) {
      if (name == workload.name) return &workload;
    }
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
  for (const std::span<const Workload> workloads : {std::span<const Workload>(kWorkloads), MixedWorkloads()}) {
    for (const Workload& workload : workloads) names += (names.empty() ? "" : " ") + std::string(workload.name);
  }
  return names;
}

std::optional<std::string> ReportText(std::string_view name, DB* db) {
  if (name == "resetstats") {
    db->statistics().Reset();
    return "";
  }
  for (const Report& report : kReports) {
    if (name != report.name) continue;
    std::string text = db->GetProperty(report.property).value_or("");
    if (!text.empty() && text.back() != '\n') text += '\n';
    if (name == "filters") text += MeasureFilters(db->statistics()).ToString() + "\n";
    return text;
  }
  return std::nullopt;
}

}  // namespace sepal::tools

#include "tools/db_bench/bench_thread.h"

#include <algorithm>

#include "sepal/merge_operator.h"
#include "util/base/hash.h"
#include "util/base/status.h"
#include "util/thread/sync.h"

namespace sepal::tools {

uint64_t SeedOf(uint64_t seed, std::string_view benchmark, uint64_t place) {
  return Random(seed ^ Checksum64(benchmark, place)).Next();
}

absl::Status BenchThread::Get(uint64_t number, PinnedValue& value) {
  const std::string_view key = key_.Format(number);
  absl::Status status = db()->Get(FamilyOf(number), key, value);
  const bool found = status.ok();
  if (!found && !absl::IsNotFound(status)) return status;
  CountFound(found ? 1 : 0, 1);
  Finished(1, found ? key.size() + value.value().size() : 0);
  return absl::OkStatus();
}

absl::Status BenchThread::Write(uint64_t number, size_t value_bytes, uint64_t* bytes) {
  const std::string_view key = key_.Format(number);
  RETURN_IF_ERROR(db()->Put(FamilyOf(number), key, Value(value_bytes), HowToWrite(options().sync)));
  *bytes = key.size() + value_bytes;
  Pace(1, *bytes);
  return absl::OkStatus();
}

absl::Status BenchThread::Put(uint64_t number, size_t value_bytes) {
  uint64_t bytes = 0;
  RETURN_IF_ERROR(Write(number, value_bytes, &bytes));
  Finished(1, bytes);
  return absl::OkStatus();
}

absl::Status BenchThread::Merge(uint64_t number) {
  static const std::string one = MergeOperators::EncodeInt64(1);
  const std::string_view key = key_.Format(number);
  const std::string_view operand = options().MergeOperatorName() == "uint64add" ? one : Value(options().ValueSize());
  RETURN_IF_ERROR(db()->Merge(FamilyOf(number), key, operand, HowToWrite(options().sync)));
  const uint64_t bytes = key.size() + operand.size();
  Pace(1, bytes);
  Finished(1, bytes);
  return absl::OkStatus();
}

absl::Status BenchThread::DeleteRange() {
  const uint64_t begin = RandomNumber();
  const uint64_t end = begin + options().range_tombstone_width;
  if (options().expand_range_tombstones) {
    for (uint64_t number = begin; number < end; ++number) {
      RETURN_IF_ERROR(db()->Delete(FamilyOf(number), key_.Format(number), HowToWrite(options().sync)));
    }
    return absl::OkStatus();
  }
  const std::string first(key_.Format(begin));
  for (const ColumnFamily* family : shared_->families) {
    RETURN_IF_ERROR(db()->DeleteRange(*family, first, key_.Format(end), HowToWrite(options().sync)));
  }
  return absl::OkStatus();
}

absl::Status BenchThread::CountToDeleteRange(uint64_t entries) {
  const uint64_t every = options().writes_per_range_tombstone, most = options().max_num_range_tombstones;
  if (most > 0 && deleted_ranges_ == most) return absl::OkStatus();
  entries_since_range_ += entries;
  if (entries_since_range_ < every) return absl::OkStatus();
  entries_since_range_ = 0;
  ++deleted_ranges_;
  return DeleteRange();
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

void BenchThread::KeepPace(uint64_t entries, uint64_t bytes) {
  const uint64_t entry_rate = options().writes_per_second, byte_rate = options().benchmark_write_rate_limit;
  const auto all_entries = static_cast<double>(shared_->written_entries.fetch_add(entries) + entries);
  const auto all_bytes = static_cast<double>(shared_->written_bytes.fetch_add(bytes) + bytes);
  double due_seconds = 0;
  if (entry_rate > 0) due_seconds = all_entries / static_cast<double>(entry_rate);
  if (byte_rate > 0) due_seconds = std::max(due_seconds, all_bytes / static_cast<double>(byte_rate));
  const uint64_t due = shared_->begin_nanos + static_cast<uint64_t>(due_seconds * 1e9);
  Mutex mutex;
  CondVar never;
  MutexLock lock(&mutex);
  for (uint64_t now = NowNanos(); now < due; now = NowNanos()) never.WaitFor(&mutex, (due - now) / 1000 + 1);
}

}  // namespace sepal::tools

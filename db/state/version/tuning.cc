#include "db/state/version/tuning.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "util/base/strings.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

// Sizes are multiples of a page; each piece of the ring has at least one.
constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kRingUnit = 8 * kPageBytes;
constexpr uint64_t kLeastLogStep = 4 * kPageBytes;
// The part of a shared memory limit for the rings of the first databases, of which at least this many are expected.
constexpr uint64_t kRingsPart = 16;
constexpr size_t kFewestSharers = 16;

// If keys are updated repeatedly, the log is several times as large as the memtable when that is full, and the flush
// writes correspondingly less. The ring, the space beyond the records of the current log, and the log that is made
// ahead are counted with the live logs.
void SizeLogs(const Options& options, size_t sharers, Tuning* t) {
  uint64_t share = t->memtable_bytes / 16;
  // Each of many databases has a ring, which takes memory from the shared limit.
  if (options.shared != nullptr) {
    share = std::min<uint64_t>(share, options.memory_limit / kRingsPart / std::max(sharers, kFewestSharers));
  }
  t->log_ring_bytes = std::clamp(std::min<uint64_t>(options.memory_limit / 64, share) / kRingUnit * kRingUnit,
                                 kRingUnit, t->log_ring_bytes);
  t->log_allocation_bytes = std::clamp(share / kPageBytes * kPageBytes, kLeastLogStep, t->log_allocation_bytes);
  const uint64_t beside_records =
      kPageBytes + t->log_ring_bytes + std::max(t->log_ring_bytes, t->log_allocation_bytes) + t->log_allocation_bytes;
  t->log_limit_bytes = t->memtable_bytes * 6 - beside_records;
}

}  // namespace

Tuning Tuning::From(const Options& options, size_t sharers) {
  Tuning t;
  t.memtable_bytes =
      options.memtable_bytes != 0 ? options.memtable_bytes : std::min(options.memory_limit / 4, size_t{64} << 20);
  t.memtable_limit_bytes = t.memtable_bytes * 2;
  t.table_bytes = std::max(t.memtable_bytes, size_t{1} << 20);
  t.cached_block_bytes = options.family.block_bytes;
  SizeLogs(options, sharers, &t);
  t.scrub_period_micros = std::min<uint64_t>(options.scrub_seconds, UINT64_MAX / 4'000'000) * 1'000'000;
  t.follow_period_micros = std::min<uint64_t>(options.follow_milliseconds, UINT64_MAX / 4'000) * 1'000;
  t.compaction_threads =
      options.background_threads > 0 ? options.background_threads : std::clamp(Thread::HardwareConcurrency(), 1, 8);
  return t;
}

std::string Tuning::ToString() const {
  return absl::StrFormat(
      "memtable_bytes: %s\nmemtable_limit_bytes: %s\nearly_flushes: %d\ntable_bytes: %s\nblocks_per_leaf_page: %u\n"
      "write_buffer_bytes: %s\nrange_keys: %u\nruns_per_level: %d\nunread_runs: %d\nfanout: %s\n"
      "compaction_threads: %d\npart_bytes: %s\nlog_limit_bytes: %s\n"
      "log_allocation_bytes: %s\nlog_ring_bytes: %s\nmanifest_limit_bytes: %s\nscrub_period_micros: %u\n"
      "follow_period_micros: %u\n",
      HumanBytes(memtable_bytes), HumanBytes(memtable_limit_bytes), early_flushes, HumanBytes(table_bytes),
      blocks_per_leaf_page, HumanBytes(write_buffer_bytes), range_keys, runs_per_level, unread_runs,
      fanout > 0 ? std::to_string(fanout) : "as the compaction style has it", compaction_threads,
      HumanBytes(part_bytes), HumanBytes(log_limit_bytes), HumanBytes(log_allocation_bytes), HumanBytes(log_ring_bytes),
      HumanBytes(manifest_limit_bytes), scrub_period_micros, follow_period_micros);
}

}  // namespace sepal

// Tables in memory for tests: written from entries, opened with or without a cache.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "table/file/table_reader.h"
#include "table/file/table_writer.h"
#include "tests/table/file/string_file.h"
#include "tests/table/iterate/vector_iterator.h"
#include "util/base/random.h"
#include "util/cache/block_cache.h"
#include "util/memory/memory_budget.h"
#include "util/stats/statistics_impl.h"

namespace sepal {

inline constexpr uint64_t kTestHashSeed = 0x5eed;
inline constexpr uint64_t kTestTableId = 0x7ab1e1d;

inline TableWriterOptions TestWriterOptions() {
  TableWriterOptions options;
  options.hash_seed = kTestHashSeed;
  options.table_id = kTestTableId;
  options.database_id = 77;
  options.column_family_id = 3;
  options.column_family_name = "family";
  options.creation_unix_micros = 1234567;
  return options;
}

// Compares without regard to case: equal keys may have different bytes.
class CaselessTestComparator final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override {
    const size_t n = std::min(a.size(), b.size());
    for (size_t i = 0; i < n; ++i) {
      const int c = Fold(a[i]) - Fold(b[i]);
      if (c != 0) return c;
    }
    return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
  }
  std::string_view Name() const override { return "test.caseless"; }

 private:
  static int Fold(char c) {
    const int u = static_cast<unsigned char>(c);
    return u >= 'A' && u <= 'Z' ? u + 32 : u;
  }
};
inline const Comparator* CaselessComparatorForTest() {
  static const CaselessTestComparator comparator;
  return &comparator;
}

inline void WriteEntries(const std::vector<TestEntry>& entries, TableWriter* writer) {
  for (const TestEntry& entry : entries) {
    const absl::Status status = writer->Add(entry.key(), entry.value);
    ASSERT_TRUE(status.ok()) << status;
  }
  const absl::Status status = writer->Finish();
  ASSERT_TRUE(status.ok()) << status;
}

inline std::string WriteTable(const TableWriterOptions& options, const std::vector<TestEntry>& entries) {
  StringWritableFile file;
  TableWriter writer(options, &file);
  WriteEntries(entries, &writer);
  EXPECT_EQ(writer.FileSize(), file.contents.size());
  return file.contents;
}

// A cache with the objects that it needs.
struct TestCache {
  // With `epochs`, lookups need a guard of it.
  explicit TestCache(size_t limit, EpochDomain* epochs = nullptr) : budget(limit), cache(&budget, 4096, epochs) {}
  MemoryBudget budget;
  BlockCache cache;
  StatisticsImpl statistics;
};

// `with` may be null: no cache.
inline absl::StatusOr<std::shared_ptr<TableReader>> OpenTable(std::shared_ptr<const std::string> contents,
                                                              TestCache* with, KeyOrder order = KeyOrder(),
                                                              std::shared_ptr<ReadFaults> faults = nullptr) {
  TableReaderOptions options;
  options.name = "test.sst";
  options.order = order;
  if (with != nullptr) {
    options.cache = &with->cache;
    options.budget = &with->budget;
    options.statistics = &with->statistics;
  }
  return TableReader::Open(std::move(options),
                           std::make_unique<StringReadableFile>(std::move(contents), std::move(faults)));
}
inline std::shared_ptr<TableReader> MustOpenTable(const std::string& contents, TestCache* with,
                                                  KeyOrder order = KeyOrder()) {
  absl::StatusOr<std::shared_ptr<TableReader>> reader =
      OpenTable(std::make_shared<const std::string>(contents), with, order);
  EXPECT_TRUE(reader.ok()) << reader.status();
  return reader.ok() ? *reader : nullptr;
}

inline LookupKey TestLookupKey(std::string_view user_key, SequenceNumber visible = kMaxSequenceNumber) {
  return {
      .user_key = user_key, .hash = HashKey(user_key, kTestHashSeed), .hash_seed = kTestHashSeed, .visible = visible};
}

// The expected result of a lookup of `user_key` as of `visible`; null if nothing.
inline const TestEntry* FindInModel(const std::vector<TestEntry>& entries, KeyOrder order, std::string_view user_key,
                                    SequenceNumber visible) {
  const InternalKeyView target{user_key, SeekTrailer(visible)};
  const auto less = [order](const TestEntry& entry, InternalKeyView t) { return order.Less(entry.key(), t); };
  const auto it = std::lower_bound(entries.begin(), entries.end(), target, less);
  return it != entries.end() && order.Equal(it->user_key, user_key) ? &*it : nullptr;
}

// Entries "key000000", "key000002", ... with one version each.
inline std::vector<TestEntry> EvenEntries(size_t count, size_t value_bytes = 20) {
  std::vector<TestEntry> entries;
  Random random(count);
  for (size_t i = 0; i < count; ++i) {
    std::string number = std::to_string(2 * i);
    TestEntry entry;
    entry.user_key = "key" + std::string(6 - number.size(), '0') + number;
    entry.trailer = PackTrailer(SequenceNumber(100 + i), ValueKind::kPut);
    for (size_t n = 0; n < value_bytes; ++n) entry.value += static_cast<char>(random.Next());
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace sepal

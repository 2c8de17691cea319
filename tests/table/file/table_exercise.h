// All calls on a table whose bytes may be damaged or hostile. Results must be right, or DataLoss.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/table/file/table_fixture.h"

namespace sepal {

// Whether damaged bytes may cause this failure.
inline bool IsDamage(const absl::Status& status) { return status.code() == absl::StatusCode::kDataLoss; }

// Lookups of `entries` and of keys beside them, scans of both directions and all kinds. With `entries` null the answers
// may be anything, as long as nothing but damage is reported.
inline void ExerciseTable(const std::shared_ptr<TableReader>& reader, const std::vector<TestEntry>* entries,
                          const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    LevelFilterStatistics filters;
    TableHit hit;
    const absl::Status status = reader->Lookup(TestLookupKey(key), {}, &filters, &hit);
    if (!status.ok()) {
      ASSERT_TRUE(IsDamage(status)) << status;
      ASSERT_EQ(hit.kind, TableHit::Kind::kAbsent);
      continue;
    }
    if (entries == nullptr) continue;
    const TestEntry* expected = FindInModel(*entries, KeyOrder(), key, kMaxSequenceNumber);
    ASSERT_EQ(hit.kind, expected != nullptr ? TableHit::Kind::kFound : TableHit::Kind::kAbsent) << key;
    if (expected != nullptr) {
      ASSERT_EQ(hit.value, expected->value);
    }
    const absl::StatusOr<uint64_t> offset = reader->ApproximateOffset(key);
    ASSERT_TRUE(offset.ok() || IsDamage(offset.status())) << offset.status();
  }
  for (const auto kind : {TableReader::ReadKind::kUser, TableReader::ReadKind::kCompaction}) {
    for (const bool forward : {true, false}) {
      const std::unique_ptr<InternalIterator> it = TableReader::NewIterator(reader, kind);
      size_t count = 0;
      for (forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid(); forward ? it->Next() : it->Prev()) {
        ++count;
        if (entries == nullptr) {
          if (count > 100'000) break;
          continue;
        }
        ASSERT_LE(count, entries->size());
        const TestEntry& expected = (*entries)[forward ? count - 1 : entries->size() - count];
        ASSERT_EQ(it->key(), expected.key());
        ASSERT_EQ(it->value(), expected.value);
      }
      if (!it->status().ok()) {
        ASSERT_TRUE(IsDamage(it->status())) << it->status();
      } else if (entries != nullptr) {
        ASSERT_EQ(count, entries->size());
      }
    }
  }
}

}  // namespace sepal

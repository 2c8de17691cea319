// What a value store makes of compressed values: reads give them as they were put, what copies them gets what is
// stored, and stored bytes that lie are damage, told by file and offset.
#include "db/format/stored_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/act/files/value_store.h"
#include "db/act/files/value_window.h"
#include "db/format/file_names.h"
#include "db/format/value_file.h"
#include "sepal/db.h"
#include "sepal/simulation/memory_file_system.h"
#include "tests/noise.h"

namespace sepal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class StoredValueTest : public ::testing::TestWithParam<CompressionKind> {
 protected:
  void SetUp() override {
    store_.Identify(7);
    store_.Start({.deleter = std::make_shared<ObsoleteTableDeleter>(directory_.get(), &cache_),
                  .new_file_number = [this] { return FileNumber(++numbers_); },
                  .new_file_id = [this] { return ++numbers_; }});
  }
  ValueReference Append(const StoredValue& stored) {
    const absl::StatusOr<ValueWriter::Written> written = store_.fresh().Append(stored);
    EXPECT_TRUE(written.ok()) << written.status();
    files_.push_back(written->file);
    return written->reference;
  }
  ValueReference AppendCompressed(std::string_view value) {
    return Append(CompressedValue(GetParam(), value).stored());
  }
  std::string Stored(const ValueReference& reference) {
    std::string stored;
    EXPECT_TRUE(store_.ReadStored(reference, &stored).ok());
    return stored;
  }
  absl::Status StatusOfPart(const ValueReference& reference) {
    char byte = 0;
    return store_.ReadPart(reference, 0, {&byte, 1}, /*fill_cache=*/true);
  }

  MemoryFileSystem memory_;
  std::unique_ptr<Directory> directory_ = memory_.OpenDirectory("/db", true).value();
  MemoryBudget budget_{size_t{8} << 20};
  BlockCache cache_{&budget_, 1000};
  WindowPool windows_{size_t{1} << 20, &budget_};
  ValueStore store_{directory_.get(), /*beside_a_writer=*/false, &cache_};
  uint64_t numbers_ = 0;
  std::vector<ValueFileRef> files_;
};

TEST_P(StoredValueTest, EveryWayOfReadingGivesTheValueThatWasPut) {
  std::vector<std::string> values;
  std::vector<ValueReference> references;
  for (uint64_t i = 0; i < 12; ++i) {
    const size_t bytes = i == 7 ? 700'000 : 100 + 700 * i;  // one that no cache keeps
    values.push_back(i % 3 == 0 ? NoiseOf(i, bytes) : PatternOf(i, bytes));
    references.push_back(AppendCompressed(values.back()));
    EXPECT_EQ(references.back().compressed(), i % 3 != 0);
    EXPECT_EQ(references.back().value_bytes(), bytes);
  }
  for (const bool fill_cache : {false, true, true}) {
    store_.FetchMany(references, fill_cache, [&](size_t i, absl::StatusOr<CachePin> value) {
      ASSERT_TRUE(value.ok()) << value.status();
      EXPECT_EQ(value->bytes(), values[i]);
    });
    ValueWindow window(&store_, &windows_);
    const size_t tried = window.Fill(references);
    EXPECT_GT(tried, 5u);
    for (size_t i = 0; i < tried; ++i) {
      const CachePin pin = window.Take(i, references[i], fill_cache);
      if (pin) {
        EXPECT_EQ(pin.bytes(), values[i]);
      }
    }
    for (size_t i = 0; i < references.size(); ++i) {
      std::string value;
      ASSERT_TRUE(store_.Read(references[i], &value).ok());
      EXPECT_EQ(value, values[i]);
      EXPECT_EQ(store_.Fetch(references[i], fill_cache).value().bytes(), values[i]);
      std::string part(50, '\0');
      ASSERT_TRUE(store_.ReadPart(references[i], values[i].size() - 77, part, fill_cache).ok());
      EXPECT_EQ(part, values[i].substr(values[i].size() - 77, 50));
      EXPECT_TRUE(store_.Verify(references[i]).ok());
    }
  }
  EXPECT_TRUE(store_.FindCached(references[1]));
}

TEST_P(StoredValueTest, WhatCopiesAValueGetsWhatIsStoredAlsoWhereTheCacheHasIt) {
  std::vector<ValueReference> references;
  for (uint64_t i = 0; i < 4; ++i) {
    references.push_back(AppendCompressed(i % 2 == 0 ? PatternOf(i, 3000) : NoiseOf(i, 3000)));
    ASSERT_TRUE(store_.Fetch(references.back(), /*fill_cache=*/true).ok());
    ASSERT_TRUE(store_.FindCached(references.back()));
  }
  size_t count = 0;
  store_.FetchStored(references, [&](size_t i, absl::StatusOr<CachePin> stored) {
    ASSERT_TRUE(stored.ok());
    EXPECT_EQ(stored->bytes(), Stored(references[i]));
    const ValueReference copy = Append(StoredAs(references[i], stored->bytes()));
    EXPECT_EQ(copy.stored_bytes, references[i].stored_bytes);
    EXPECT_EQ(copy.value_bytes(), 3000u);
    EXPECT_EQ(store_.Fetch(copy, false)->bytes(), store_.Fetch(references[i], false)->bytes());
    ++count;
  });
  EXPECT_EQ(count, 4u);
}

// Their checksums are right, so that nothing but the codec can tell.
TEST_P(StoredValueTest, StoredBytesThatLieAreDamageForWhatReadsThemAndNotForWhatCopiesThem) {
  const std::string value = PatternOf(3, 5000);
  const std::string good(CompressedValue(GetParam(), value).stored().bytes);
  const std::vector<StoredValue> lies = {{good, GetParam(), 4999},
                                         {good, GetParam(), 5001},
                                         {good, GetParam(), kMaxValueBytes},  // of which no byte is taken
                                         {std::string_view(good).substr(0, good.size() - 1), GetParam(), 5000},
                                         {"\xff\xff\xff\xff\xff\xff\xff\xff", GetParam(), 5000},
                                         {"x", GetParam(), 5000}};
  for (const StoredValue& lie : lies) {
    const ValueReference reference = Append(lie);
    ASSERT_EQ(ParseValueReference(EncodeValueReference(reference)), reference);
    std::string read;
    std::vector<absl::Status> told = {store_.Read(reference, &read), store_.Fetch(reference, true).status(),
                                      StatusOfPart(reference), store_.Decompress(reference, Stored(reference), &read)};
    store_.FetchMany({&reference, 1}, true,
                     [&](size_t, absl::StatusOr<CachePin> pin) { told.push_back(pin.status()); });
    for (const absl::Status& status : told) {
      EXPECT_TRUE(absl::IsDataLoss(status)) << status;
      EXPECT_THAT(status.ToString(), AllOf(HasSubstr("/db/" + ValueFileName(reference.file)),
                                           HasSubstr("offset " + std::to_string(reference.offset)),
                                           HasSubstr("compressed separated value")));
    }
    EXPECT_FALSE(store_.FindCached(reference));
    EXPECT_TRUE(store_.Verify(reference).ok()) << "as it was written";
    store_.FetchStored({&reference, 1}, [&](size_t, absl::StatusOr<CachePin> pin) { EXPECT_TRUE(pin.ok()); });
    ValueWindow window(&store_, &windows_);
    const std::vector<ValueReference> two = {reference, AppendCompressed(value)};
    window.Fill(two);
    EXPECT_FALSE(window.Take(0, two[0], true));
    // One that is large by what it says is not read ahead, and of a single one nothing is.
    const CachePin other = window.Take(1, two[1], true);
    EXPECT_EQ(static_cast<bool>(other), lie.uncompressed_bytes != kMaxValueBytes);
    if (other) {
      EXPECT_EQ(other.bytes(), value);
    }
  }
}

TEST_P(StoredValueTest, AFlippedBitIsFoundByTheChecksumOfWhatIsStored) {
  const ValueReference reference = AppendCompressed(PatternOf(3, 5000));
  const std::string path = "/db/" + ValueFileName(reference.file);
  for (uint64_t at = 0; at < reference.stored_bytes; ++at) {
    ASSERT_TRUE(memory_.FlipBit(path, reference.offset + at, 2).ok());
    const absl::Status status = store_.Fetch(reference, true).status();
    EXPECT_THAT(status.ToString(), AllOf(HasSubstr("DATA_LOSS"), HasSubstr(path + ": offset 64: checksum")));
    EXPECT_TRUE(absl::IsDataLoss(store_.Verify(reference)));
    ASSERT_TRUE(memory_.FlipBit(path, reference.offset + at, 2).ok());
  }
  EXPECT_TRUE(store_.Fetch(reference, true).ok());
}

TEST_P(StoredValueTest, WhatIsTakenBackIsTheStoredBytes) {
  const ValueReference first = AppendCompressed(PatternOf(1, 5000));
  store_.fresh().TakeBack(first);
  const ValueReference second = AppendCompressed(PatternOf(2, 4000));
  EXPECT_EQ(second.offset, first.offset);
  const ValueReference third = AppendCompressed(PatternOf(3, 4000));
  EXPECT_EQ(third.offset, second.offset + second.stored_bytes);
}

// As where a file system of the caller keeps what it is given in another database.
TEST(CompressedValueTest, OneThatIsMadeWhileAnotherIsInUseLeavesThatAsItIs) {
  const std::string value(4096, 'a'), other(8192, 'b');
  const CompressedValue outer(CompressionKind::kLz4, value);
  ASSERT_TRUE(outer.stored().compressed());
  const std::string stored(outer.stored().bytes);
  {
    const CompressedValue inner(CompressionKind::kSnappy, other);
    ASSERT_TRUE(inner.stored().compressed());
  }
  EXPECT_EQ(outer.stored().bytes, stored);
}

TEST(CompressedValueTest, ALargeOneIsStoredAsItIs) {
  const std::string value(kStoredAsTheyAreFrom, 'a');
  EXPECT_FALSE(CompressedValue(CompressionKind::kSnappy, value).stored().compressed());
  EXPECT_TRUE(CompressedValue(CompressionKind::kSnappy, value.substr(1)).stored().compressed());
}

INSTANTIATE_TEST_SUITE_P(Codecs, StoredValueTest,
                         ::testing::Values(CompressionKind::kSnappy, CompressionKind::kLz4, CompressionKind::kZstd));

}  // namespace
}  // namespace sepal

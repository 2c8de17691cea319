#include "db/format/batch_format.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/format/owned_family.h"
#include "sepal/write_batch.h"
#include "util/base/random.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

class NamedFamily final : public OwnedFamily {
 public:
  explicit NamedFamily(uint32_t id, uint64_t database_id = 1, std::string_view directory = "/one")
      : OwnedFamily(ColumnFamilyId(id), database_id, directory) {}
  std::string_view name() const override { return "family"; }
};

class Recorder final : public WriteBatch::Handler {
 public:
  absl::Status Put(uint32_t family, std::string_view key, std::string_view value) override {
    return Note(absl::StrFormat("put %u %s=%s", family, key, value));
  }
  absl::Status Delete(uint32_t family, std::string_view key) override {
    return Note(absl::StrFormat("delete %u %s", family, key));
  }
  absl::Status SingleDelete(uint32_t family, std::string_view key) override {
    return Note(absl::StrFormat("single-delete %u %s", family, key));
  }
  absl::Status Merge(uint32_t family, std::string_view key, std::string_view operand) override {
    return Note(absl::StrFormat("merge %u %s+%s", family, key, operand));
  }

  std::vector<std::string> updates;
  size_t stop_after = 1000;

 private:
  absl::Status Note(std::string update) {
    updates.push_back(std::move(update));
    return updates.size() < stop_after ? absl::OkStatus() : absl::CancelledError("enough");
  }
};

WriteBatch Sample() {
  const NamedFamily family(300);
  WriteBatch batch;
  batch.Put("k", "v1");
  batch.Delete("");
  batch.SingleDelete(family, "xy");
  batch.Put(family, std::string_view("\0z", 2), "");
  return batch;
}

TEST(BatchFormatTest, BytesAreAsTheTableSays) {
  EXPECT_EQ(ToHex(WriteBatch().bytes()), "00000000");
  EXPECT_EQ(ToHex(Sample().bytes()),
            "04000000"  // entries
            "01"
            "00"
            "016b"
            "027631"  // put, family 0, "k", "v1"
            "00"
            "00"
            "00"  // delete, family 0, ""
            "02"
            "ac02"
            "027879"  // single delete, family 300, "xy"
            "01"
            "ac02"
            "02007a"
            "00");  // put, family 300, "\0z", ""
}

TEST(BatchFormatTest, IterateGivesTheUpdatesInOrder) {
  Recorder recorder;
  ASSERT_TRUE(Sample().Iterate(recorder).ok());
  EXPECT_EQ(recorder.updates, (std::vector<std::string>{"put 0 k=v1", "delete 0 ", "single-delete 300 xy",
                                                        std::string("put 300 \0z=", 11)}));
}

TEST(BatchFormatTest, AnErrorOfTheHandlerEndsTheIteration) {
  for (size_t calls = 1; calls <= 4; ++calls) {
    Recorder recorder;
    recorder.stop_after = calls;
    EXPECT_TRUE(absl::IsCancelled(Sample().Iterate(recorder)));
    EXPECT_EQ(recorder.updates.size(), calls);
  }
}

TEST(BatchFormatTest, AppendAddsTheOtherBatchAlsoIfItIsTheSame) {
  WriteBatch batch = Sample();
  batch.Append(batch);
  EXPECT_EQ(batch.Count(), 8u);
  EXPECT_EQ(batch.ByteSize(), 2 * Sample().ByteSize() - kBatchHeaderBytes);
  Recorder recorder;
  ASSERT_TRUE(batch.Iterate(recorder).ok());
  EXPECT_EQ(recorder.updates.size(), 8u);
  EXPECT_EQ(recorder.updates[4], "put 0 k=v1");
  batch.Clear();
  EXPECT_EQ(batch.bytes(), WriteBatch().bytes());
}

TEST(BatchFormatTest, FromBytesTakesWhatBytesGave) {
  const absl::StatusOr<WriteBatch> copy = WriteBatch::FromBytes(Sample().bytes());
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(copy->bytes(), Sample().bytes());
}

TEST(BatchFormatTest, EveryTruncationAndExtensionIsRefused) {
  const std::string bytes = Sample().bytes();
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_TRUE(absl::IsDataLoss(WriteBatch::FromBytes(bytes.substr(0, n)).status())) << n;
  }
  EXPECT_TRUE(absl::IsDataLoss(WriteBatch::FromBytes(bytes + '\0').status()));
}

TEST(BatchFormatTest, ABatchKnowsWhoseFamiliesItNames) {
  const auto check = [](const WriteBatch& batch) { return BatchOrigin::Check(batch, 1, "/one"); };
  const NamedFamily own(3), foreign(3, 2, "/two");
  WriteBatch batch;
  batch.Put("k", "v");
  EXPECT_TRUE(check(batch).ok());
  batch.Delete(own, "k");
  EXPECT_TRUE(check(batch).ok());
  WriteBatch other;
  other.Put(foreign, "k", "v");
  EXPECT_EQ(check(other).message(),
            "the batch names a column family of another database, in /two: it cannot be written to the one in /one");
  for (const auto& [first, second] : {std::pair(batch, other), std::pair(other, batch)}) {
    WriteBatch both = first;
    both.Append(second);
    EXPECT_TRUE(absl::IsInvalidArgument(check(both)));
    EXPECT_NE(check(both).message().find("/one"), absl::string_view::npos);
    EXPECT_NE(check(both).message().find("/two"), absl::string_view::npos);
    WriteBatch third;
    third.Append(both);
    EXPECT_TRUE(absl::IsInvalidArgument(check(third)));
    both.Clear();
    EXPECT_TRUE(check(both).ok());
    both.SingleDelete(own, "k");
    EXPECT_TRUE(check(both).ok());
  }
}

class KnowsNoMerges final : public WriteBatch::Handler {
 public:
  absl::Status Put(uint32_t, std::string_view, std::string_view) override { return absl::OkStatus(); }
  absl::Status Delete(uint32_t, std::string_view) override { return absl::OkStatus(); }
  absl::Status SingleDelete(uint32_t, std::string_view) override { return absl::OkStatus(); }
};

TEST(BatchFormatTest, MergesHaveOperands) {
  const NamedFamily family(300);
  WriteBatch batch;
  batch.Merge("k", "+1");
  batch.Merge(family, "l", "");
  EXPECT_EQ(ToHex(batch.bytes()),
            "02000000"
            "03"
            "00"
            "016b"
            "022b31"
            "03"
            "ac02"
            "016c"
            "00");
  Recorder recorder;
  EXPECT_TRUE(batch.Iterate(recorder).ok());
  EXPECT_EQ(recorder.updates, (std::vector<std::string>{"merge 0 k++1", "merge 300 l+"}));
  KnowsNoMerges knows_none;
  EXPECT_TRUE(absl::IsUnimplemented(batch.Iterate(knows_none))) << "none is passed over";
}

TEST(BatchFormatTest, UnknownKindsAreRefused) {
  for (int kind = kMaxValueKind + 1; kind < 256; ++kind) {
    if (IsKindOnDisk(static_cast<uint8_t>(kind))) continue;
    std::string bytes = Sample().bytes();
    bytes[kBatchHeaderBytes] = static_cast<char>(kind);
    EXPECT_TRUE(absl::IsDataLoss(CheckBatch(bytes))) << kind;
  }
}

TEST(BatchFormatTest, AnyChangeGivesABatchOrDataLoss) {
  Random random(301);
  const std::string original = Sample().bytes();
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = original;
    for (uint64_t i = 0; i <= random.Uniform(3); ++i)
      bytes[random.Uniform(bytes.size())] = static_cast<char>(random.Next());
    uint32_t entries = 0;
    BatchReader reader(bytes);
    BatchEntry entry;
    while (reader.Next(&entry)) ++entries;
    if (reader.status().ok()) {
      EXPECT_EQ(entries, reader.count());
    } else {
      EXPECT_TRUE(absl::IsDataLoss(reader.status()));
    }
  }
}

}  // namespace
}  // namespace sepal

// How large a manifest becomes before the next one takes over from it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "db/format/manifest_format.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

// Follows the manifests by the calls of whoever writes them. A decider that fails nothing.
class ManifestSizes {
 public:
  explicit ManifestSizes(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  Fault Note(const FileCall& call) {
    if (!call.name.starts_with("MANIFEST-")) return Fault::kNone;
    if (call.op == FileOp::kOpenWrite) Begin(call.name);
    if (call.name != name_) return Fault::kNone;  // the old one's last record
    if (call.op == FileOp::kAppend) Append(call.length);
    if (call.op == FileOp::kSync && snapshot_bytes_ == 0) snapshot_bytes_ = size_bytes_ + kControlRecordBytes;
    return Fault::kNone;
  }

  const std::string& name() const { return name_; }
  uint64_t size_bytes() const { return size_bytes_; }
  uint64_t edits() const { return edits_; }
  // How often one took over because of the fixed limit, and because of the snapshot's size.
  uint64_t rolls_at_limit() const { return rolls_at_limit_; }
  uint64_t rolls_at_snapshot() const { return rolls_at_snapshot_; }

 private:
  static constexpr uint64_t kControlRecordBytes = kManifestRecordHeaderBytes + kManifestControlBytes;

  uint64_t Bound() const { return std::max(limit_bytes_, 4 * snapshot_bytes_); }
  void Begin(const std::string& name) {
    if (!name_.empty()) {
      EXPECT_GT(size_bytes_, Bound()) << name_ << " was given up early";
      ++(4 * snapshot_bytes_ > limit_bytes_ ? rolls_at_snapshot_ : rolls_at_limit_);
    }
    name_ = name;
    size_bytes_ = snapshot_bytes_ = 0;
  }
  void Append(uint64_t bytes) {
    // Edits come after the snapshot, and other records there are of one size. So the size never exceeds the bound by
    // more than one edit.
    if (snapshot_bytes_ > 0 && bytes != kControlRecordBytes) {
      ++edits_;
      EXPECT_LE(size_bytes_, Bound()) << name_ << " takes one more edit of " << bytes << " bytes";
    }
    size_bytes_ += bytes;
  }

  const uint64_t limit_bytes_;
  std::string name_;
  uint64_t size_bytes_ = 0;
  uint64_t snapshot_bytes_ = 0;  // with the mark behind it; 0: not written yet
  uint64_t edits_ = 0;
  uint64_t rolls_at_limit_ = 0;
  uint64_t rolls_at_snapshot_ = 0;
};

// Many small flushes, with the compactions that they bring about.
void FlushManyTimes(ManifestSizes* sizes, uint64_t limit_bytes) {
  constexpr uint64_t kFlushes = 600;
  constexpr uint64_t kKeys = 500;
  constexpr uint64_t kKeysPerFlush = 10;
  TestDatabase database;
  database.tuning.manifest_limit_bytes = limit_bytes;
  database.files.SetDecider([sizes](const FileCall& call) { return sizes->Note(call); });
  ASSERT_OK(database.Open());
  for (uint64_t i = 0; i < kFlushes * kKeysPerFlush; ++i) {
    ASSERT_OK(database.db->Put(NumberedKey(i * 7 % kKeys), std::to_string(i)));
    if (i % kKeysPerFlush == kKeysPerFlush - 1) ASSERT_OK(database.db->Flush());
  }
  ASSERT_OK(database.db->WaitForBackgroundWork());
  EXPECT_GE(sizes->edits(), kFlushes);

  // What was followed is what is there, alone.
  uint64_t manifests = 0;
  for (const std::string& name : FilesIn(&database.memory, database.path)) manifests += name.starts_with("MANIFEST-");
  EXPECT_EQ(manifests, 1u);
  const absl::StatusOr<std::string> current = database.memory.ReadFileContents(database.path + "/" + sizes->name());
  ASSERT_OK(current.status());
  EXPECT_EQ(current->size(), sizes->size_bytes());
  EXPECT_EQ(ReadAll(database.db->NewIterator().get()).size(), kKeys);
}

TEST(ManifestBoundTest, AManifestOutgrowsItsLimitByNoMoreThanAnEdit) {
  constexpr uint64_t kLimitBytes = uint64_t{16} << 10;
  ManifestSizes sizes(kLimitBytes);
  FlushManyTimes(&sizes, kLimitBytes);
  EXPECT_GE(sizes.rolls_at_limit(), 2u);
}

TEST(ManifestBoundTest, AManifestOutgrowsFourTimesItsSnapshotByNoMoreThanAnEdit) {
  ManifestSizes sizes(/*limit_bytes=*/1);
  FlushManyTimes(&sizes, /*limit_bytes=*/1);
  EXPECT_GE(sizes.rolls_at_snapshot(), 3u);
  EXPECT_EQ(sizes.rolls_at_limit(), 0u);
}

// With a million tables each listing takes a second on a real file system. That a new manifest takes over needs none.
TEST(ManifestBoundTest, AnOpeningListsTheDirectoryOnceAndAnEditNever) {
  int listings = 0;
  int manifests = 0;
  TestDatabase database;
  database.tuning.manifest_limit_bytes = 1;
  ASSERT_OK(database.Open());
  database.files.SetDecider([&](const FileCall& call) {
    listings += call.op == FileOp::kList;
    manifests += call.op == FileOp::kOpenWrite && call.name.starts_with("MANIFEST-");
    return Fault::kNone;
  });
  for (int i = 0; i < 60; ++i) {
    ASSERT_OK(database.db->Put(NumberedKey(static_cast<uint64_t>(i)), "v"));
    ASSERT_OK(database.db->Flush());
  }
  EXPECT_GT(manifests, 1);
  EXPECT_EQ(listings, 0);
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(listings, 1);
}

}  // namespace
}  // namespace sepal

// A database of more tables than the process may have open files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sepal/repair.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/base/random.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kEntries = 10'000;
constexpr uint64_t kFewFiles = 64;

// The process's limit of open files, while it lives.
class OpenFileLimit {
 public:
  explicit OpenFileLimit(uint64_t files) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const struct rlimit few = {.rlim_cur = files, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~OpenFileLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  struct rlimit before_;
};

class OpenFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(path_), nullptr);
    tuning_ = SmallTuning();
    tuning_.table_bytes = 1 << 10;
    tuning_.memtable_bytes = size_t{64} << 10;
    tuning_.memtable_limit_bytes = size_t{256} << 10;
    options_.create_if_missing = true;
    options_.memory_limit = size_t{16} << 20;
    options_.family.block_bytes = 256;
  }
  void TearDown() override {
    db_ = nullptr;
    std::filesystem::remove_all(path_);
  }
  absl::Status Open() {
    db_ = nullptr;
    absl::StatusOr<std::unique_ptr<DB>> opened = Engine::Open(options_, tuning_, path_);
    if (opened.ok()) db_ = std::move(opened).value();
    return opened.status();
  }
  // Values that do not compress, so that there are many tables.
  static std::string ValueOf(uint64_t i, uint64_t round) {
    std::string value;
    Random random(i * 1000 + round);
    while (value.size() < 64) value.push_back(static_cast<char>(random.Next()));
    return value;
  }
  void Fill(uint64_t round) {
    for (uint64_t i = 0; i < kEntries; ++i) ASSERT_OK(db_->Put(NumberedKey(i), ValueOf(i, round)));
    ASSERT_OK(db_->Flush());
    ASSERT_OK(db_->WaitForBackgroundWork());
  }
  size_t Tables() {
    size_t tables = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      tables += entry.path().extension() == ".sst" ? 1 : 0;
    }
    return tables;
  }
  // The largest file whose name holds `part`.
  std::filesystem::path Largest(std::string_view part) {
    std::filesystem::path largest;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      if (entry.path().filename().string().find(part) == std::string::npos) continue;
      if (largest.empty() || entry.file_size() > std::filesystem::file_size(largest)) largest = entry.path();
    }
    return largest;
  }
  static void FlipByte(const std::filesystem::path& file, uint64_t offset) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(offset));
    const auto byte = static_cast<char>(stream.get() ^ 1);
    stream.seekp(static_cast<std::streamoff>(offset));
    stream.put(byte);
    ASSERT_TRUE(stream.good()) << file;
  }
  // Writes both rounds, so that several runs have every key, and closes the database.
  void FillTwiceAndClose() {
    ASSERT_OK(Open());
    Fill(1);
    Fill(2);
    ASSERT_OK(db_->Close());
    db_ = nullptr;
    ASSERT_GE(Tables(), 500u);
  }
  size_t Descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }
  void ExpectAll(uint64_t round) {
    for (uint64_t i = 0; i < kEntries; i += 7) ASSERT_EQ(Value(db_.get(), NumberedKey(i)), ValueOf(i, round)) << i;
    const Entries all = ReadAll(db_->NewIterator().get());
    ASSERT_EQ(all.size(), kEntries);
    EXPECT_EQ(all.back().second, ValueOf(kEntries - 1, round));
  }

  char path_[40] = "/tmp/sepal_open_files_XXXXXX";
  Options options_;
  Tuning tuning_;
  std::unique_ptr<DB> db_;
};

TEST_F(OpenFilesTest, FiveHundredTablesAreWrittenReadAndMergedWithSixtyFourDescriptors) {
  const OpenFileLimit limit(kFewFiles);
  ASSERT_OK(Open());
  Fill(1);
  ASSERT_OK(db_->CompactRange());
  ASSERT_GE(Tables(), 500u);
  ExpectAll(1);
  EXPECT_LT(Descriptors(), kFewFiles);
  ASSERT_OK(Open());
  ExpectAll(1);
  Fill(2);
  ASSERT_OK(db_->CompactRange());
  ExpectAll(2);
  ASSERT_OK(db_->Close());
}

TEST_F(OpenFilesTest, WhereTheProgramTookAllDescriptorsAReadSaysWhatToDoAndWorksAgainOnceTheyAreBack) {
  ASSERT_OK(Open());
  Fill(1);
  ASSERT_OK(db_->CompactRange());
  ASSERT_OK(Open());
  // UBSan looks at objects of a class that it meets for the first time through a pipe: so all are met before, in
  // another table, and nothing is looked at in between.
  ASSERT_OK(db_->Get(NumberedKey(kEntries - 5)).status());
  absl::Status status;
  {
    const OpenFileLimit none(0);
    status = db_->Get(NumberedKey(5)).status();
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(ToStd(status.message()), HasSubstr("ulimit -n"));
  EXPECT_THAT(ToStd(status.message()), HasSubstr(".sst"));
  ExpectAll(1);
}

TEST_F(OpenFilesTest, FiveHundredTablesAreCheckedAndOneRewrittenByARepairWithSixtyFourDescriptors) {
  FillTwiceAndClose();
  const OpenFileLimit limit(kFewFiles);
  RepairReport report;
  ASSERT_OK(RepairTo(&report, options_, path_, {.dry_run = true}));
  EXPECT_FALSE(report.changed) << report.ToString();
  FlipByte(Largest(".sst"), 20);
  ASSERT_OK(RepairTo(&report, options_, path_));
  EXPECT_EQ(report.tables_rewritten, 1u) << report.ToString();
  EXPECT_EQ(report.dropped.size(), 1u) << report.ToString();
  ASSERT_OK(Open());
  EXPECT_OK(db_->CheckConsistency());
  EXPECT_GT(ReadAll(db_->NewIterator().get()).size(), kEntries - 100);
}

TEST_F(OpenFilesTest, ARepairMergesFiveHundredTablesWithSixtyFourDescriptors) {
  FillTwiceAndClose();
  const std::filesystem::path manifest = Largest("MANIFEST");
  FlipByte(manifest, std::filesystem::file_size(manifest) / 2);
  const OpenFileLimit limit(kFewFiles);
  RepairReport report;
  ASSERT_OK(RepairTo(&report, options_, path_));
  EXPECT_TRUE(report.changed);
  ASSERT_OK(Open());
  ExpectAll(2);
}

}  // namespace
}  // namespace sepal

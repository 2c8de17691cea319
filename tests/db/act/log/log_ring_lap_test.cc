// The ring's pages: that there must be such that are locked, and how often they are made ready to be written.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "sepal/simulation/manual_clock.h"
#include "tests/db/act/files/passing_directory.h"
#include "tests/db/act/log/log_ring_fixture.h"
#include "util/base/status.h"

namespace sepal {
namespace {

// Counts the calls of `Populate`. They fail if that is asked for, and so do those of `Lock`.
class PopulateDirectory final : public PassingDirectory {
 public:
  struct Calls {
    int count = 0;
    bool fail = false;
    bool refuse_lock = false;
  };

  PopulateDirectory(Directory* base, Calls* calls) : PassingDirectory(base), calls_(calls) {}

  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(std::string_view name, WriteMode mode,
                                                             FileUse use) override {
    ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, PassingDirectory::OpenForWrite(name, mode, use));
    return std::make_unique<File>(std::move(file), calls_);
  }

 private:
  class Region final : public MappedRegion {
   public:
    Region(std::unique_ptr<MappedRegion> base, Calls* calls) : base_(std::move(base)), calls_(calls) {}
    void Store(size_t offset, std::string_view bytes) override { base_->Store(offset, bytes); }
    bool Populate() override {
      ++calls_->count;
      return !calls_->fail && base_->Populate();
    }
    bool Lock() override { return !calls_->refuse_lock && base_->Lock(); }
    std::string_view Contents() const override { return base_->Contents(); }

   private:
    const std::unique_ptr<MappedRegion> base_;
    Calls* const calls_;
  };

  class File final : public WritableFile {
   public:
    File(std::unique_ptr<WritableFile> base, Calls* calls) : base_(std::move(base)), calls_(calls) {}
    absl::Status Append(std::string_view bytes) override { return base_->Append(bytes); }
    absl::Status WriteAt(uint64_t offset, std::string_view bytes) override { return base_->WriteAt(offset, bytes); }
    absl::Status Allocate(uint64_t offset, uint64_t length) override { return base_->Allocate(offset, length); }
    absl::Status SyncRange(uint64_t offset, uint64_t length) override { return base_->SyncRange(offset, length); }
    absl::Status Sync() override { return base_->Sync(); }
    absl::Status Truncate(uint64_t size) override { return base_->Truncate(size); }
    absl::StatusOr<std::unique_ptr<MappedRegion>> Map(uint64_t offset, size_t length) override {
      ASSIGN_OR_RETURN(std::unique_ptr<MappedRegion> region, base_->Map(offset, length));
      return std::make_unique<Region>(std::move(region), calls_);
    }
    uint64_t Size() const override { return base_->Size(); }
    absl::Status Close() override { return base_->Close(); }

   private:
    const std::unique_ptr<WritableFile> base_;
    Calls* const calls_;
  };

  Calls* const calls_;
};

class LogRingLapTest : public LogRingFixture {
 protected:
  void CreateCounted(Clock* clock = nullptr) {
    tasks_ = std::make_unique<TaskGroup>(&executor_, Executor::Priority::kFlush);
    counted_ = std::make_unique<PopulateDirectory>(directory_.get(), &populate_);
    LogOptions options = RingOptions();
    options.clock = clock;
    log_ = WriteAheadLog::Create(counted_.get(), options, FirstLog()).value();
    ASSERT_EQ(populate_.count, 1);
  }
  uint64_t Lap() const { return log_->End().value() / kRing; }
  void AppendAndRun(size_t bytes) {
    Append(sequence_++, std::string(bytes, 'x'));
    executor_.RunAll();
  }

  PopulateDirectory::Calls populate_;
  std::unique_ptr<Directory> counted_;
  uint64_t sequence_ = 1;
};

TEST_F(LogRingLapTest, WithoutMemoryThatIsLockedThereIsNoRing) {
  for (const bool populated : {false, true}) {
    SCOPED_TRACE(populated);
    counted_ = std::make_unique<PopulateDirectory>(directory_.get(), &populate_);
    populate_.fail = !populated;
    populate_.refuse_lock = populated;
    log_ = WriteAheadLog::Create(counted_.get(), RingOptions(), FirstLog()).value();
    EXPECT_EQ(log_->RingNumber(), FileNumber(0));
    EXPECT_FALSE(memory_.ReadFileContents(kRingFile).ok());
    appended_.clear();
    Append(1, "written at once");
    ExpectAllAfterTheProcessDied();
    RemoveAll();
  }
}

TEST_F(LogRingLapTest, PagesAreMadeReadyOnceALap) {
  CreateCounted();
  while (Lap() < 10) AppendAndRun(300);
  EXPECT_EQ(populate_.count, 1 + 10);
  ExpectAllAfterTheProcessDied();
}

TEST_F(LogRingLapTest, AFastWritersPagesAreMadeReadyTenTimesASecond) {
  ManualClock clock;
  clock.Advance(3 * LogRing::kReadyMicros);
  CreateCounted(&clock);
  clock.Advance(LogRing::kReadyMicros - 1);
  while (log_->End().value() % kRing < kRing / 2 || Lap() < 10) AppendAndRun(300);
  EXPECT_EQ(populate_.count, 1) << "they were when the ring was made";
  // In the middle of a lap, and then no more in this one.
  clock.Advance(1);
  while (Lap() == 10) AppendAndRun(300);
  EXPECT_EQ(populate_.count, 1 + 1);
  while (Lap() < 20) AppendAndRun(300);
  EXPECT_EQ(populate_.count, 1 + 1);
  clock.Advance(10 * LogRing::kReadyMicros);
  while (Lap() < 30) AppendAndRun(300);
  EXPECT_EQ(populate_.count, 1 + 2);
  ExpectAllAfterTheProcessDied();
}

TEST_F(LogRingLapTest, AClockThatGoesBackHoldsNothingUp) {
  struct : Clock {
    uint64_t MonotonicMicros() override { return now; }
    uint64_t UnixMicros() override { return now; }
    void SleepMicros(uint64_t micros) override { now += micros; }
    std::atomic<uint64_t> now{10'000'000};
  } clock;
  CreateCounted(&clock);
  clock.now = 5'000'000;
  while (Lap() < 10) AppendAndRun(300);
  EXPECT_EQ(populate_.count, 1 + 1);
  ExpectAllAfterTheProcessDied();
}

// They are larger than a piece of the ring, and end where they happen to.
TEST_F(LogRingLapTest, PagesAreMadeReadyWhereRecordsGoRoundTheRingFromOneLapToTheNext) {
  CreateCounted();
  uint64_t laps = 0;  // in which something was stored
  while (Lap() < 20) {
    while (log_->End().value() % kRing < kRing * 7 / 8) AppendAndRun(300);
    const uint64_t before = Lap();
    AppendAndRun(3000);
    ASSERT_EQ(Lap(), before + 1);
    ++laps;
    // The next piece begins.
    while (log_->End().value() % kRing < kRing / 2) AppendAndRun(300);
    EXPECT_EQ(populate_.count, 1 + static_cast<int>(laps));
  }
  ExpectAllAfterTheProcessDied();
}

TEST_F(LogRingLapTest, PagesThatCannotBeMadeReadyAreFinalAndLoseNothing) {
  ManualClock clock;
  CreateCounted(&clock);
  populate_.fail = true;
  while (Lap() < 2) AppendAndRun(300);
  EXPECT_TRUE(log_->Failure().ok()) << "nobody has looked";
  clock.Advance(LogRing::kReadyMicros);
  while (log_->Failure().ok() && Lap() < 4) AppendAndRun(300);
  EXPECT_EQ(Lap(), 2u);
  EXPECT_FALSE(log_->Failure().ok());
  EXPECT_FALSE(log_->Append(SequenceNumber(sequence_), Batch("refused")).ok());
  ExpectAllAfterTheProcessDied();
}

}  // namespace
}  // namespace sepal

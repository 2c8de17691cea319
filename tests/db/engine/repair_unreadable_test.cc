// Repairs of tables that cannot be read for other reasons than bad checksums.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/db/engine/repair_fixture.h"

namespace sepal {
namespace {

using ::testing::SizeIs;

class RepairUnreadableTest : public RepairSalvageTest {
 protected:
  // A table of many blocks, and its process gone.
  void MakeTable() {
    ASSERT_OK(database.Open());
    Fill(0, 100);
    ASSERT_OK(db()->Flush());
    Kill();
    table = Last(".sst");
  }

  std::string table;
};

TEST_F(RepairUnreadableTest, AReadThatFailsInPassingDropsNoBlockThatIsWhole) {
  MakeTable();
  ASSERT_OK(database.memory.FlipBit("/db/" + table, 600, 3));
  for (const Fault fault : {Fault::kIoError, Fault::kTooManyFiles}) {
    for (uint64_t k = 0, failed = 1; failed > 0; ++k) {
      SCOPED_TRACE("read " + std::to_string(k));
      TestDatabase copy(Threads::kSimulated, {.seed = 1}, database.memory.Clone());
      copy.files.Inject({.fault = fault, .op = FileOp::kRead, .name_contains = ".sst", .skip = k});
      RepairReport told;
      const absl::Status status = Repairing(copy.options, database.tuning, "/db", &told).Run();
      failed = copy.files.FaultCount();
      if (status.ok()) {
        ASSERT_THAT(told.dropped, SizeIs(1)) << told.ToString();
        EXPECT_EQ(told.dropped[0].file, table);
      } else {
        EXPECT_EQ(status.code(),
                  fault == Fault::kIoError ? absl::StatusCode::kInternal : absl::StatusCode::kResourceExhausted);
      }
    }
  }
}

}  // namespace
}  // namespace sepal

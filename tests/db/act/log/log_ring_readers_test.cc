// Logs that are read while their writer goes on, so that records move from the ring into the file.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/format/file_names.h"
#include "tests/db/act/log/log_ring_fixture.h"

namespace sepal {
namespace {

class MeanwhileTest : public LogRingFixture {
 protected:
  // Runs `meanwhile` before reads of files whose names end so: the n-th, or each from then on.
  void BeforeReads(std::string suffix, int n, bool each, std::function<void()> meanwhile) {
    reader_faults_.SetDecider([=, reads = 0](const FileCall& call) mutable {
      if (call.op != FileOp::kRead || !call.name.ends_with(suffix)) return Fault::kNone;
      if (++reads == n || (each && reads > n)) meanwhile();
      return Fault::kNone;
    });
  }
  // Through a file system of its own, so that the writer may write while a call of the reader is under way.
  void ExpectPrefixOfAtLeast(size_t count) {
    const std::unique_ptr<Directory> directory = reader_faults_.OpenDirectory("db", false).value();
    std::vector<std::string> seen;
    const auto logs = ListLogs(directory.get());
    ASSERT_TRUE(logs.ok());
    const auto recovery = RecoverLogs(directory.get(), *logs, {.database_id = kDatabase},
                                      [&](SequenceNumber first, std::string_view batch) {
                                        seen.push_back(absl::StrFormat("%u %s", first.value(), batch));
                                        return absl::OkStatus();
                                      });
    ASSERT_TRUE(recovery.ok()) << recovery.status();
    ASSERT_GE(seen.size(), count);
    ASSERT_LE(seen.size(), appended_.size());
    EXPECT_EQ(seen,
              std::vector<std::string>(appended_.begin(), appended_.begin() + static_cast<ptrdiff_t>(seen.size())));
  }

  FaultFileSystem reader_faults_{&memory_};
};

TEST_F(MeanwhileTest, WhatGoesFromTheRingIntoTheFileWhileTheyAreReadIsSeen) {
  for (const char* const suffix : {".log", ".ring"}) {
    for (int read = 1; read <= 8; ++read) {
      for (const bool each : {false, true}) {
        for (const bool synced : {false, true}) {
          SCOPED_TRACE(absl::StrFormat("%s %d %d %d", suffix, read, each, synced));
          Create();
          for (uint64_t i = 1; i <= 30; ++i) Append(i, std::string(100, 'a'));
          const size_t before = appended_.size();
          uint64_t sequence = 31;
          // The ring is stored over each time.
          BeforeReads(suffix, read, each, [&] {
            for (int i = 0; i < 90; ++i) Append(sequence++, std::string(100, 'b'));
            if (!synced) return;
            AppendAndSync(sequence++, "");
            AppendAndSync(sequence++, "");
          });
          ExpectPrefixOfAtLeast(before);
          log_.reset();
          RemoveAll();
          appended_.clear();
        }
      }
    }
  }
}

// Each time the reader has come to the end, what it finds behind that says that the end was synced.
TEST_F(MeanwhileTest, AWriterThatSyncsAllTheTimeIsNotTakenForDamage) {
  Create();
  for (uint64_t i = 1; i <= 30; ++i) Append(i, std::string(100, 'a'));
  const size_t before = appended_.size();
  uint64_t sequence = 31;
  BeforeReads(".ring", 1, /*each=*/true, [&] {
    for (int i = 0; i < 3; ++i) AppendAndSync(sequence++, "b");
  });
  ExpectPrefixOfAtLeast(before);
}

// A header is damage that happens to pass, or a name that somebody gave.
TEST(NewestNumberTest, NumbersThatNoFileCanHaveDoNotCount) {
  EXPECT_EQ(NewestNumber({}), FileNumber());
  const RingFile ring{"000007.ring", FileNumber(7), RingHeader{4096, FileNumber(9)}};
  EXPECT_EQ(NewestNumber({ring}), FileNumber(9));
  const RingFile unread{"000011.ring", FileNumber(11), std::nullopt};
  EXPECT_EQ(NewestNumber({ring, unread}), FileNumber(11));
  const RingFile impossible{"000012.ring", FileNumber(12), RingHeader{4096, FileNumber(kFileNumbersEnd)}};
  EXPECT_EQ(NewestNumber({ring, impossible}), FileNumber(12));
}

}  // namespace
}  // namespace sepal

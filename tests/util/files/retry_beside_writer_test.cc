#include "util/files/retry_beside_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"

namespace sepal {
namespace {

// Gives these answers in turn, the last one for ever.
struct Answers {
  std::vector<absl::StatusOr<int>> answers;
  size_t looks = 0;

  absl::StatusOr<int> Ask() {
    return RetryBesideWriter([&] { return answers[std::min(looks++, answers.size() - 1)]; });
  }
};

TEST(RetryBesideWriterTest, WhatIsSeenIsTakenAtOnce) {
  Answers found{{42}};
  EXPECT_EQ(found.Ask().value(), 42);
  EXPECT_EQ(found.looks, 1u);
}

TEST(RetryBesideWriterTest, WhatAWriterCannotHaveDoneIsToldAtOnce) {
  Answers refused{{absl::PermissionDeniedError("no")}};
  EXPECT_TRUE(absl::IsPermissionDenied(refused.Ask().status()));
  EXPECT_EQ(refused.looks, 1u);
}

TEST(RetryBesideWriterTest, AfterLooksThatWereOvertakenTheNextOneCounts) {
  Answers overtaken{{absl::DataLossError("a"), absl::NotFoundError("b"), absl::AbortedError("c"), 42}};
  EXPECT_EQ(overtaken.Ask().value(), 42);
  EXPECT_EQ(overtaken.looks, 4u);
}

TEST(RetryBesideWriterTest, DamageAndAbsenceThatStayAreToldAsTheyAre) {
  for (const absl::Status& status : {absl::DataLossError("damaged"), absl::NotFoundError("no database")}) {
    Answers lasting{{absl::AbortedError("by chance"), status}};
    EXPECT_EQ(lasting.Ask().status(), status);
    EXPECT_EQ(lasting.looks, 8u);
  }
}

TEST(RetryBesideWriterTest, WhatChangesFromLookToLookIsNoDamage) {
  Answers changing;
  for (int i = 0; i < 20; ++i) changing.answers.emplace_back(absl::DataLossError(absl::StrFormat("log %d", i)));
  EXPECT_EQ(changing.Ask().status(),
            absl::AbortedError("log 7 (a writer changed the files during every attempt); open it again"));
  EXPECT_EQ(changing.looks, 8u);
}

}  // namespace
}  // namespace sepal

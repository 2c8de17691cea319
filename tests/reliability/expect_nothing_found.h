// A harness as a test: so many of its cases find nothing.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "tests/reliability/harness.h"

namespace sepal::reliability {

inline void ExpectNothingFound(std::string_view name, SearchOptions options) {
  const std::vector<Harness> all = AllHarnesses();
  const Harness* harness = FindHarness(all, name);
  ASSERT_NE(harness, nullptr);
  Search search(options);
  harness->body(&search);
  for (const Failure& failure : search.failures())
    ADD_FAILURE() << name << ": " << failure.name << "\n" << failure.what;
  EXPECT_GE(search.cases(), options.count);
}

}  // namespace sepal::reliability

// The figures of a database, by name and type, from the page that Prometheus scrapes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "util/memory/memory_budget.h"

namespace sepal {

class TestMetrics {
 public:
  // Fails the test on anything that the format does not allow.
  explicit TestMetrics(const std::string& page) {
    std::set<std::string> families;
    std::string family, type;
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string skipped, name;
      if (line.starts_with("# HELP ")) {
        words >> skipped >> skipped >> family;
        EXPECT_TRUE(families.insert(family).second) << "twice: " << family;
        EXPECT_TRUE(line.ends_with(".")) << line;
      } else if (line.starts_with("# TYPE ")) {
        words >> skipped >> skipped >> name >> type;
        EXPECT_EQ(name, family);
        EXPECT_EQ(type == "counter", family.ends_with("_total")) << line;
      } else if (!line.starts_with("# ")) {
        const size_t space = line.rfind(' ');
        name = line.substr(0, std::min(line.find('{'), space));
        EXPECT_TRUE(type == "summary" ? name.starts_with(family) : name == family) << line << " under " << family;
        EXPECT_TRUE(samples_.emplace(line.substr(0, space), std::stod(line.substr(space + 1))).second) << line;
      }
    }
  }

  // By name and labels; a failure if there is none.
  double Sample(const std::string& name) const {
    const auto sample = samples_.find(name);
    EXPECT_NE(sample, samples_.end()) << name;
    return sample == samples_.end() ? -1 : sample->second;
  }
  int ImmutableMemtables(const std::string& family = "default") const {
    return static_cast<int>(Sample("sepal_immutable_memtables{family=\"" + family + "\"}"));
  }
  uint64_t MemoryBytes(MemoryPart part) const {
    return static_cast<uint64_t>(Sample("sepal_memory_bytes{part=\"" + std::string(Name(part)) + "\"}"));
  }

 private:
  std::map<std::string, double> samples_;
};

}  // namespace sepal

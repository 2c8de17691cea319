// Replays the corpus of every fuzz target: what was once found stays found, and every target runs in every
// configuration. A file in `corpus/TARGET/` is one input.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#define SEPAL_FUZZ_TARGET(name) extern "C" int name(const uint8_t* data, size_t size);
#include <fuzz_targets.inc>
#undef SEPAL_FUZZ_TARGET

namespace sepal {
namespace {

struct Target {
  const char* name;
  int (*run)(const uint8_t* data, size_t size);
};

const Target kTargets[] = {
#define SEPAL_FUZZ_TARGET(name) {#name, &name},
#include <fuzz_targets.inc>
#undef SEPAL_FUZZ_TARGET
};

class FuzzCorpusTest : public testing::TestWithParam<Target> {};

TEST_P(FuzzCorpusTest, EveryInputIsTaken) {
  std::string directory = std::string(SEPAL_FUZZ_CORPUS) + "/" + GetParam().name;
  directory.resize(directory.size() - std::string("_fuzz").size());
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  EXPECT_FALSE(files.empty());
  for (const std::filesystem::path& path : files) {
    SCOPED_TRACE(path.string());
    std::ifstream in(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    EXPECT_EQ(GetParam().run(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzCorpusTest, testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace sepal

#include "table/short_bytes.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "util/random.h"

namespace sepal {
namespace {

TEST(EqualBytesTest, OneBitAnywhereMakesBytesOfAnyLengthDiffer) {
  Random random(7);
  for (size_t size = 0; size < 80; ++size) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(random.Next());
    const std::unique_ptr<char[]> exact(new char[size]);  // no byte beyond may be read
    bytes.copy(exact.get(), size);
    const std::string_view same(exact.get(), size);
    EXPECT_TRUE(EqualBytes(same, bytes)) << size;
    EXPECT_FALSE(EqualBytes(same, bytes + '\0')) << size;
    for (size_t i = 0; i < size; ++i) {
      std::string other = bytes;
      other[i] = static_cast<char>(other[i] ^ 1 << random.Uniform(8));
      EXPECT_FALSE(EqualBytes(same, other)) << size << ", byte " << i;
    }
  }
}

}  // namespace
}  // namespace sepal
